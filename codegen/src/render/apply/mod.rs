//! `apply/`: the types of apply configurations, by group and version.

mod fields;
mod kind;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::quote;

use super::{
    file::{Files, any_condition, doc, ident, link},
    uses::Uses,
};
use crate::model::{ApplyType, Model};

/// The types of one version, by their modules.
type Types<'m> = BTreeMap<&'m str, &'m ApplyType>;

pub(super) fn render(model: &Model, files: &mut Files<'_>) {
    let mut groups: BTreeMap<&str, BTreeMap<&str, Types<'_>>> = BTreeMap::new();
    for of in &model.apply {
        groups.entry(&of.group).or_default().entry(&of.version).or_default().insert(&of.module, of);
    }
    if groups.is_empty() {
        return;
    }
    let all = users(&model.apply);
    let modules = groups.iter().map(|(name, versions)| {
        let users = users(versions.values().flat_map(BTreeMap::values).copied());
        let (condition, module) = (condition(model, &users, &all), ident(name));
        quote!(#condition pub mod #module;)
    });
    let docs = [
        "The apply configurations, by group.",
        "",
        "Each configuration has the fields of an API type, all of them optional. Applying it makes the field",
        "manager own exactly the fields that it sets.",
    ];
    let docs: Vec<_> = docs.map(str::to_owned).to_vec();
    files.add("apply/mod.rs", &docs, files.uses([]), quote!(#(#modules)*));
    for (group, versions) in &groups {
        let of_group = users(versions.values().flat_map(BTreeMap::values).copied());
        let modules = versions.iter().map(|(name, types)| {
            let users = users(types.values().copied());
            let (condition, module) = (condition(model, &users, &of_group), ident(name));
            quote!(#condition pub mod #module;)
        });
        files.add(
            format!("apply/{group}/mod.rs"),
            &[format!("The apply configurations of `{group}`, by version.")],
            files.uses([]),
            quote!(#(#modules)*),
        );
        for (version, types) in versions {
            render_version(model, (group, version), types, files);
        }
    }
}

fn render_version(model: &Model, (group, version): (&str, &str), types: &Types<'_>, files: &mut Files<'_>) {
    let of_version = users(types.values().copied());
    let condition = |of: &ApplyType| condition(model, &of.users, &of_version);
    let modules = types.iter().map(|(module, of)| {
        let (condition, module) = (condition(of), ident(module));
        quote!(#condition mod #module;)
    });
    let exports = types.iter().map(|(module, of)| {
        let (condition, module, name) = (condition(of), ident(module), ident(&of.name));
        quote!(#condition pub use #module::#name;)
    });
    files.add(
        format!("apply/{group}/{version}/mod.rs"),
        &[format!("The apply configurations of `{group}`, version `{version}`.")],
        files.uses([]),
        quote!(#(#modules)* #(#exports)*),
    );
    for of in types.values() {
        render_type(model, of, files);
    }
}

fn render_type(model: &Model, of: &ApplyType, files: &mut Files<'_>) {
    let mut uses = files.uses([of.name.clone()]);
    let items = match &of.root {
        Some(root) => kind::render(model, of, root, &mut uses),
        None => render_part(model, of, &mut uses),
    };
    let of_what = match &of.root {
        Some(root) => format!("`{}` (`{}`)", of.of, root.api_version),
        None => format!("`{}`", of.of),
    };
    files.add(
        format!("apply/{}/{}/{}.rs", of.group, of.version, of.module),
        &[format!("The apply configuration of {of_what}.")],
        uses,
        items,
    );
}

/// The type of a part of kinds.
fn render_part(model: &Model, of: &ApplyType, uses: &mut Uses<'_>) -> TokenStream {
    let name = ident(&of.name);
    let attributes = attributes(of, uses, &["Default"]);
    let fields::Fields { declared, setters } = fields::render(model, of, uses, &[]);
    let docs = doc([match &of.path {
        Some(path) => {
            format!("Server-side apply configuration for [`{}`]({}).", of.of, link(&uses.whole(path)))
        }
        None => format!("Server-side apply configuration for `{}`.", of.of),
    }]);
    quote! {
        #docs
        #attributes
        pub struct #name {
            #declared
        }

        impl #name {
            /// Creates a configuration that sets no field.
            pub fn new() -> Self {
                Self::default()
            }

            #setters
        }
    }
}

/// What stands before the struct.
fn attributes(of: &ApplyType, uses: &mut Uses<'_>, more: &[&str]) -> TokenStream {
    let (serialize, deserialize) = (uses.runtime("Serialize"), uses.runtime("Deserialize"));
    let more = more.iter().copied().chain(of.comparable.then_some("PartialEq")).map(ident);
    let serde = uses.runtime_path("serde");
    let rename = of.rename_all.as_ref().filter(|rule| {
        of.fields.iter().any(|field| {
            !field.flatten && crate::decl::renamed(field.name.as_str(), rule) != field.name.as_str()
        })
    });
    let rename = rename.map(|rule| quote!(, rename_all = #rule));
    quote! {
        #[derive(Clone, Debug, #(#more,)* #serialize, #deserialize)]
        #[serde(crate = #serde #rename)]
        #[must_use]
    }
}

/// The names of the groups that use one of these types.
fn users<'m>(types: impl IntoIterator<Item = &'m ApplyType>) -> BTreeSet<&'m str> {
    types.into_iter().flat_map(|of| of.users.iter().map(String::as_str)).collect()
}

/// The condition under which one of these groups is there, unless it is that of what is around it.
fn condition<U: AsRef<str> + Ord>(
    model: &Model,
    users: &BTreeSet<U>,
    around: &BTreeSet<&str>,
) -> Option<TokenStream> {
    if users.len() == around.len() {
        return None;
    }
    let uses = |name: &str| users.iter().any(|user| user.as_ref() == name);
    any_condition(model.groups.iter().filter(|group| uses(&group.name)))
}
