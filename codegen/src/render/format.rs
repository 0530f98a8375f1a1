//! The one layout of generated code: prettyplease's, with blank lines between items and methods.

use quote::ToTokens as _;
use syn::{File, Item};

/// The items as text. Imports and module declarations that belong together stand together.
pub(super) fn format(imports: Vec<Vec<Item>>, items: Vec<Item>) -> String {
    let mut text = String::new();
    for group in imports {
        text.extend(group.into_iter().map(|import| unparse(vec![import])));
        text.push('\n');
    }
    let mut before: Option<Sort> = None;
    for item in items {
        let sort = Sort::of(&item);
        if before.is_some_and(|before| before != sort || sort == Sort::Other) {
            text.push('\n');
        }
        text.push_str(&match item {
            Item::Impl(item) if item.items.len() > 1 => unparse_impl(item),
            item => unparse(vec![item]),
        });
        before = Some(sort);
    }
    text
}

/// What may stand on the line after another of its sort.
#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Module { public: bool },
    Use,
    Other,
}

impl Sort {
    fn of(item: &Item) -> Self {
        match item {
            Item::Mod(module) if module.attrs.is_empty() => {
                Self::Module { public: matches!(module.vis, syn::Visibility::Public(_)) }
            }
            Item::Use(_) => Self::Use,
            _ => Self::Other,
        }
    }
}

fn unparse(items: Vec<Item>) -> String {
    prettyplease::unparse(&File { shebang: None, frontmatter: None, attrs: Vec::new(), items })
}

/// An `impl` block with a blank line between its items, each of which is laid out by itself.
fn unparse_impl(mut block: syn::ItemImpl) -> String {
    let items = std::mem::take(&mut block.items);
    let empty = unparse(vec![Item::Impl(block.clone())]);
    let Some(head) = empty.strip_suffix("{}\n") else {
        unreachable!("an empty `impl` ends with its brackets: {}", block.to_token_stream())
    };
    let bodies = items.into_iter().map(|item| {
        let one = unparse(vec![Item::Impl(syn::ItemImpl { items: vec![item], ..block.clone() })]);
        one[head.len() + "{\n".len()..one.len() - "}\n".len()].to_owned()
    });
    format!("{head}{{\n{}}}\n", bodies.collect::<Vec<_>>().join("\n"))
}
