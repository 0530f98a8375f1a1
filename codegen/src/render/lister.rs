//! `listers/`: typed reads from an informer's cache.

use quote::{format_ident, quote};

use super::file::{Files, Uses, doc, doc_with, ident};
use crate::model::{Group, Model, Resource, Version};

pub(super) fn render(model: &Model, files: &mut Files) {
    let with_lister = |version: &Version| version.resources.iter().any(Resource::has_lister);
    let groups: Vec<_> = model.groups.iter().filter(|group| group.versions.iter().any(with_lister)).collect();
    if groups.is_empty() {
        return;
    }
    let modules = groups.iter().map(|group| ident(&group.ident));
    files.add(
        "src/listers/mod.rs",
        &["The listers, by group.".to_owned()],
        Uses::default(),
        quote!(#(pub mod #modules;)*),
    );
    for group in groups {
        let versions: Vec<_> = group.versions.iter().filter(|version| with_lister(version)).collect();
        let modules = versions.iter().map(|version| ident(&version.ident));
        files.add(
            format!("src/listers/{}/mod.rs", group.ident),
            &[format!("The listers of the group `{}`, by version.", group.display_name())],
            Uses::default(),
            quote!(#(pub mod #modules;)*),
        );
        for version in versions {
            render_version(group, version, files);
        }
    }
}

fn render_version(group: &Group, version: &Version, files: &mut Files) {
    let api_version = group.api_version(version);
    let resources: Vec<_> = version.resources.iter().filter(|resource| resource.has_lister()).collect();
    let modules = resources.iter().map(|resource| ident(&resource.module));
    let exports = resources.iter().map(|resource| {
        let (module, lister) = (ident(&resource.module), format_ident!("{}Lister", resource.kind));
        quote!(pub use #module::#lister;)
    });
    files.add(
        format!("src/listers/{}/{}/mod.rs", group.ident, version.ident),
        &[format!("The listers of `{api_version}`.")],
        Uses::default(),
        quote!(#(mod #modules;)* #(#exports)*),
    );
    for resource in resources {
        render_resource(group, version, resource, files);
    }
}

fn render_resource(group: &Group, version: &Version, resource: &Resource, files: &mut Files) {
    let name = format_ident!("{}Lister", resource.kind);
    let mut uses = Uses::new([name.to_string()]);
    let object = uses.api_type(&resource.type_path, &version.ident);
    let (lister, selector) = (uses.runtime("Lister"), uses.runtime("Selector"));
    uses.import(quote!(std::sync::Arc));
    let kind = &resource.kind;
    let reads = if resource.namespaced {
        let accessor = ident(&resource.accessor);
        let namespace_lister = uses.runtime("NamespaceLister");
        let docs = doc([format!("The `{kind}` objects of one namespace.")]);
        quote! {
            #docs
            pub fn #accessor(&self, namespace: &str) -> #namespace_lister<#object> {
                self.lister.namespace(namespace)
            }
        }
    } else {
        let not_found = uses.runtime("lister::NotFound");
        let get = doc([format!("The `{kind}` of this name, if the cache holds it.")]);
        let require = doc([format!("The `{kind}` of this name, or a typed error.")]);
        quote! {
            #get
            pub fn get(&self, name: &str) -> Option<Arc<#object>> {
                self.lister.get(name)
            }

            #require
            pub fn require(&self, name: &str) -> Result<Arc<#object>, #not_found> {
                self.lister.require(name)
            }
        }
    };
    let list = doc([format!("Every `{kind}` that the selector matches.")]);
    let docs = doc_with(&format!("Reads `{kind}` objects from an informer's cache."), &resource.docs);
    files.add(
        format!("src/listers/{}/{}/{}.rs", group.ident, version.ident, resource.module),
        &[format!("The lister of `{kind}` (`{}`).", group.api_version(version))],
        uses,
        quote! {
            #docs
            #[derive(Clone, Debug)]
            pub struct #name {
                lister: #lister<#object>,
            }

            impl #name {
                /// Reads from this cache.
                pub fn new(lister: #lister<#object>) -> Self {
                    Self { lister }
                }

                #list
                pub fn list(&self, selector: &#selector) -> Vec<Arc<#object>> {
                    self.lister.list(selector)
                }

                #reads
            }
        },
    );
}
