//! `listers/`: typed reads from an informer's cache.

use quote::{format_ident, quote};

use super::file::{Files, doc, doc_with, group_modules, ident, link};
use crate::model::{Group, Model, Resource, Version};

pub(super) fn render(model: &Model, files: &mut Files<'_>) {
    let with_lister = |version: &Version| version.resources.iter().any(Resource::has_lister);
    let groups: Vec<_> = model.groups.iter().filter(|group| group.versions.iter().any(with_lister)).collect();
    if groups.is_empty() {
        return;
    }
    files.add(
        "listers/mod.rs",
        &["The listers, by group.".to_owned()],
        files.uses([]),
        group_modules(groups.iter().copied()),
    );
    for group in groups {
        let versions: Vec<_> = group.versions.iter().filter(|version| with_lister(version)).collect();
        let modules = versions.iter().map(|version| ident(&version.ident));
        files.add(
            format!("listers/{}/mod.rs", group.ident),
            &[format!("The listers of the group `{}`, by version.", group.display_name())],
            files.uses([]),
            quote!(#(pub mod #modules;)*),
        );
        for version in versions {
            render_version(group, version, files);
        }
    }
}

fn render_version(group: &Group, version: &Version, files: &mut Files<'_>) {
    let api_version = group.api_version(version);
    let resources: Vec<_> = version.resources.iter().filter(|resource| resource.has_lister()).collect();
    let modules = resources.iter().map(|resource| ident(&resource.module));
    let exports = resources.iter().map(|resource| {
        let (module, lister) = (ident(&resource.module), format_ident!("{}Lister", resource.kind));
        quote!(pub use #module::#lister;)
    });
    files.add(
        format!("listers/{}/{}/mod.rs", group.ident, version.ident),
        &[format!("The listers of `{api_version}`.")],
        files.uses([]),
        quote!(#(mod #modules;)* #(#exports)*),
    );
    for resource in resources {
        render_resource(group, version, resource, files);
    }
}

fn render_resource(group: &Group, version: &Version, resource: &Resource, files: &mut Files<'_>) {
    let name = format_ident!("{}Lister", resource.kind);
    let mut uses = files.uses([name.to_string()]);
    let object = uses.api_type(&resource.type_path, &version.ident);
    let (lister, selector) = (uses.runtime("Lister"), uses.runtime("Selector"));
    let arc = uses.import("std::sync::Arc");
    let kind = &resource.kind;
    let reads = if resource.namespaced {
        let accessor = ident(&resource.accessor);
        let namespace_lister = uses.runtime("NamespaceLister");
        let docs = doc([format!("Returns a lister of the `{kind}` objects in one namespace.")]);
        quote! {
            #docs
            pub fn #accessor(&self, namespace: &str) -> #namespace_lister<#object> {
                self.lister.namespace(namespace)
            }
        }
    } else {
        let not_found = uses.runtime("lister::NotFound");
        let get = doc([format!("Returns the `{kind}` with this name, if it is in the cache.")]);
        let require = doc([
            format!("Returns the `{kind}` with this name.").as_str(),
            "",
            "# Errors",
            "",
            "Returns an error if it is not in the cache.",
        ]);
        quote! {
            #get
            #[must_use]
            pub fn get(&self, name: &str) -> Option<#arc<#object>> {
                self.lister.get(name)
            }

            #require
            pub fn require(&self, name: &str) -> Result<#arc<#object>, #not_found> {
                self.lister.require(name)
            }
        }
    };
    let list = doc([format!("Returns the `{kind}` objects that the selector matches.")]);
    let docs =
        doc_with(&format!("Reads [`{}`] objects from an informer's cache.", link(&object)), &resource.docs);
    files.add(
        format!("listers/{}/{}/{}.rs", group.ident, version.ident, resource.module),
        &[format!("The lister of `{kind}` (`{}`).", group.api_version(version))],
        uses,
        quote! {
            #docs
            #[derive(Clone, Debug)]
            #[must_use]
            pub struct #name {
                lister: #lister<#object>,
            }

            impl #name {
                /// Creates a lister that reads through the generic one.
                pub fn new(lister: #lister<#object>) -> Self {
                    Self { lister }
                }

                #list
                #[must_use]
                pub fn list(&self, selector: &#selector) -> Vec<#arc<#object>> {
                    self.lister.list(selector)
                }

                #reads
            }
        },
    );
}
