//! `informers/`: the factory that owns one informer for each kind, and access to them by name.

use quote::{format_ident, quote};

use super::{
    file::{Files, condition, doc, group_modules, ident},
    informer::{group_type, with_informer},
};
use crate::model::Model;

pub(super) fn render(model: &Model, files: &mut Files<'_>) {
    let groups: Vec<_> =
        model.groups.iter().filter(|group| group.versions.iter().any(with_informer)).collect();
    if groups.is_empty() {
        return;
    }
    let modules = group_modules(groups.iter().copied());
    files.add(
        "informers/mod.rs",
        &["The shared informers: the factory, and its informers by group.".to_owned()],
        files.uses([]),
        quote! {
            mod factory;
            mod generic;
            #modules
            pub use factory::SharedInformerFactory;
        },
    );
    render_factory(&groups, files);
    render_generic(model, files);
}

fn render_factory(groups: &[&crate::model::Group], files: &mut Files<'_>) {
    let mut uses = files.uses(["SharedInformerFactory".to_owned()]);
    let clientset = uses.generated("clientset::Clientset");
    let duration = uses.import("std::time::Duration");
    let (factory, builder) =
        (uses.runtime("InformerFactory"), uses.runtime("factory::InformerFactoryBuilder"));
    let error = uses.runtime("factory::CacheSyncError");
    let accessors = groups.iter().map(|group| {
        let accessor = ident(&group.ident);
        let path = format!("super::{}::{}", group.ident, group_type(group));
        let name = uses.of_group(group, |uses| uses.import(&path));
        let condition = condition(group);
        let docs = doc([format!("Returns the informers of the group `{}`.", group.display_name())]);
        quote! {
            #docs
            #condition
            pub fn #accessor(&self) -> #name {
                #name::new(self.factory.clone())
            }
        }
    });
    let accessors: Vec<_> = accessors.collect();
    files.add(
        "informers/factory.rs",
        &["The factory of shared informers.".to_owned()],
        uses,
        quote! {
            /// Owns one shared informer per kind. Every request for a kind returns the same informer.
            #[derive(Clone, Debug)]
            #[must_use]
            pub struct SharedInformerFactory {
                pub(super) factory: #factory,
            }

            impl SharedInformerFactory {
                /// Returns a builder, which sets resync periods, namespaces, list options and transforms.
                pub fn builder(clientset: #clientset) -> #builder<Self> {
                    #builder::new(clientset.client().clone())
                }

                #(#accessors)*

                /// Returns the underlying factory, for metadata informers and for kinds that are not known at
                /// compile time.
                #[must_use]
                pub fn factory(&self) -> &#factory {
                    &self.factory
                }

                /// Starts every requested informer that does not run yet. It can be called repeatedly.
                pub fn start(&self) {
                    self.factory.start();
                }

                /// Stops every informer, and waits until all of them have ended.
                pub async fn shutdown(&self) {
                    self.factory.shutdown().await;
                }

                /// Waits until every requested informer is synced.
                ///
                /// # Errors
                ///
                /// Returns an error at the deadline, or as soon as an informer can no longer sync. It names each
                /// informer that is not synced, and why.
                pub async fn wait_for_cache_sync(&self, deadline: #duration) -> Result<(), #error> {
                    self.factory.wait_for_cache_sync(deadline).await
                }
            }

            impl From<#factory> for SharedInformerFactory {
                fn from(factory: #factory) -> Self {
                    Self { factory }
                }
            }
        },
    );
}

fn render_generic(model: &Model, files: &mut Files<'_>) {
    let mut uses = files.uses([]);
    let factory = uses.import("super::SharedInformerFactory");
    let (resource_name, unknown) =
        (uses.runtime("GroupVersionResource"), uses.runtime("meta::UnknownResource"));
    let generic = uses.runtime("informer::GenericInformer");
    let arms = model.resources().filter(|(.., resource)| resource.has_informer()).map(|(group, version, resource)| {
        let (group_name, version_name, plural) = (&group.name, &version.name, &resource.plural);
        let condition = condition(group);
        let (group, version) = (ident(&group.ident), ident(&version.ident));
        let accessor = format_ident!("{}", resource.accessor);
        quote! {
            #condition
            (#group_name, #version_name, #plural) => Ok(self.#group().#version().#accessor().informer().generic()),
        }
    });
    let arms: Vec<_> = arms.collect();
    files.add(
        "informers/generic.rs",
        &["Access to the informers by group, version and resource.".to_owned()],
        uses,
        quote! {
            impl #factory {
                /// Returns the informer of a resource whose name is not known at compile time.
                ///
                /// # Errors
                ///
                /// Returns an error if no informer is generated for the resource.
                pub fn for_resource(&self, resource: &#resource_name) -> Result<#generic, #unknown> {
                    match (resource.group.as_str(), resource.version.as_str(), resource.resource.as_str()) {
                        #(#arms)*
                        _ => Err(#unknown::new(resource)),
                    }
                }
            }
        },
    );
}
