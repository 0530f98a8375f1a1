//! `informers/<group>/<version>/`: the informer of each kind.

use quote::{format_ident, quote};

use super::file::{Files, doc, doc_with, ident, link};
use crate::{
    model::{Group, Model, Resource, Version},
    names,
};

pub(super) fn with_informer(version: &Version) -> bool {
    version.resources.iter().any(Resource::has_informer)
}

pub(super) fn render(model: &Model, files: &mut Files<'_>) {
    for group in &model.groups {
        let versions: Vec<_> = group.versions.iter().filter(|version| with_informer(version)).collect();
        if versions.is_empty() {
            continue;
        }
        render_group(group, &versions, files);
        for version in versions {
            render_version(group, version, files);
        }
    }
}

/// The type that holds the informers of a version.
fn version_type(version: &Version) -> proc_macro2::Ident {
    format_ident!("{}Informers", names::camel(&version.ident))
}

/// The type that leads to the versions of a group.
pub(super) fn group_type(group: &Group) -> proc_macro2::Ident {
    format_ident!("{}Informers", names::camel(&group.ident))
}

fn render_group(group: &Group, versions: &[&Version], files: &mut Files<'_>) {
    let name = group_type(group);
    let mut uses = files.uses([name.to_string()]);
    let factory = uses.runtime("InformerFactory");
    let modules = versions.iter().map(|version| ident(&version.ident));
    let accessors = versions.iter().map(|version| {
        let (module, name) = (ident(&version.ident), version_type(version));
        let docs = doc([format!("Returns the informers of `{}`.", group.api_version(version))]);
        quote! {
            #docs
            pub fn #module(&self) -> #module::#name {
                #module::#name::new(self.factory.clone())
            }
        }
    });
    let docs = doc([format!("Shared informers for `{}`.", group.display_name())]);
    files.add(
        format!("informers/{}/mod.rs", group.ident),
        &[format!("The informers of the group `{}`, by version.", group.display_name())],
        uses,
        quote! {
            #(pub mod #modules;)*

            #docs
            #[derive(Clone, Debug)]
            #[must_use]
            pub struct #name {
                factory: #factory,
            }

            impl #name {
                pub(super) fn new(factory: #factory) -> Self {
                    Self { factory }
                }

                #(#accessors)*
            }
        },
    );
}

fn render_version(group: &Group, version: &Version, files: &mut Files<'_>) {
    let name = version_type(version);
    let api_version = group.api_version(version);
    let resources: Vec<_> = version.resources.iter().filter(|resource| resource.has_informer()).collect();
    let mut uses = files.uses([name.to_string()]);
    let factory = uses.runtime("InformerFactory");
    let modules = resources.iter().map(|resource| ident(&resource.module));
    let exports = resources.iter().map(|resource| {
        let (module, informer) = (ident(&resource.module), format_ident!("{}Informer", resource.kind));
        quote!(pub use #module::#informer;)
    });
    let accessors = resources.iter().map(|resource| {
        let (accessor, informer) = (ident(&resource.accessor), format_ident!("{}Informer", resource.kind));
        let docs = doc([format!("Returns the informer of `{}`.", resource.kind)]);
        quote! {
            #docs
            pub fn #accessor(&self) -> #informer {
                #informer::new(self.factory.clone())
            }
        }
    });
    let docs = doc([format!("Shared informers for `{api_version}`.")]);
    files.add(
        format!("informers/{}/{}/mod.rs", group.ident, version.ident),
        &[format!("The informers of `{api_version}`.")],
        uses,
        quote! {
            #(mod #modules;)*
            #(#exports)*

            #docs
            #[derive(Clone, Debug)]
            #[must_use]
            pub struct #name {
                factory: #factory,
            }

            impl #name {
                pub(super) fn new(factory: #factory) -> Self {
                    Self { factory }
                }

                #(#accessors)*
            }
        },
    );
    for resource in resources {
        render_resource(group, version, resource, files);
    }
}

fn render_resource(group: &Group, version: &Version, resource: &Resource, files: &mut Files<'_>) {
    let name = format_ident!("{}Informer", resource.kind);
    let lister_name = format_ident!("{}Lister", resource.kind);
    let mut uses = files.uses([name.to_string()]);
    let object = uses.api_type(&resource.type_path, &version.ident);
    let (factory, informer) = (uses.runtime("InformerFactory"), uses.runtime("SharedInformer"));
    let lister = resource.has_lister().then(|| {
        let lister_name =
            uses.generated(&format!("listers::{}::{}::{lister_name}", group.ident, version.ident));
        quote! {
            /// Returns a lister, which reads the informer's cache.
            pub fn lister(&self) -> #lister_name {
                #lister_name::new(self.informer().lister())
            }
        }
    });
    let kind = &resource.kind;
    let docs = doc_with(
        &format!("The informer of [`{}`], shared by all callers of its factory.", link(&object)),
        &resource.docs,
    );
    files.add(
        format!("informers/{}/{}/{}.rs", group.ident, version.ident, resource.module),
        &[format!("The informer of `{kind}` (`{}`).", group.api_version(version))],
        uses,
        quote! {
            #docs
            #[derive(Clone, Debug)]
            #[must_use]
            pub struct #name {
                factory: #factory,
            }

            impl #name {
                pub(super) fn new(factory: #factory) -> Self {
                    Self { factory }
                }

                /// Returns the shared informer, which has the event handlers, the indexes and the store.
                pub fn informer(&self) -> #informer<#object> {
                    self.factory.informer()
                }

                #lister
            }
        },
    );
}
