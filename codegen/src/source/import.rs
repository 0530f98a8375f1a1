//! The imports of a module, one for each name of a `use`.

use syn::{Item, UseTree};

use super::{Condition, Module, scope::Visibility};
use crate::names::Name;

/// One name that a `use` brings in, or one glob.
#[derive(Debug)]
pub(super) struct Import {
    /// The name in the module; `None` for a glob.
    pub name: Option<Name>,
    /// The path as written.
    pub path: Vec<Name>,
    /// Whether the path starts with `::`.
    pub from_crate: bool,
    pub visibility: Visibility,
    /// Whether the `use` depends on no condition.
    pub certain: bool,
}

/// Every import of a module that is not for tests.
pub(super) fn imports(module: &Module) -> Vec<Import> {
    let mut imports = Vec::new();
    for item in &module.items {
        let Item::Use(item) = item else { continue };
        let certain = match Condition::of(&item.attrs) {
            Condition::True => true,
            Condition::False => continue,
            Condition::Unknown(_) => false,
        };
        let visibility = Visibility::of(&item.vis, &module.path);
        let from_crate = item.leading_colon.is_some();
        collect(&item.tree, &mut Vec::new(), &mut |name, path| {
            imports.push(Import { name, path, from_crate, visibility: visibility.clone(), certain });
        });
    }
    imports
}

fn collect(tree: &UseTree, prefix: &mut Vec<Name>, add: &mut impl FnMut(Option<Name>, Vec<Name>)) {
    let whole = |prefix: &[Name], last: &syn::Ident| match last == "self" && !prefix.is_empty() {
        true => prefix.to_vec(),
        false => [prefix, &[Name::from(last)]].concat(),
    };
    match tree {
        UseTree::Name(name) => {
            let path = whole(prefix, &name.ident);
            add(path.last().cloned(), path);
        }
        // `as _` makes a trait's methods known and gives it no name.
        UseTree::Rename(rename) if rename.rename == "_" => {}
        UseTree::Rename(rename) => add(Some(Name::from(&rename.rename)), whole(prefix, &rename.ident)),
        UseTree::Glob(_) => add(None, prefix.clone()),
        UseTree::Path(path) => {
            prefix.push(Name::from(&path.ident));
            collect(&path.tree, prefix, add);
            prefix.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                collect(tree, prefix, add);
            }
        }
    }
}
