//! `clientset/typed/`: the client of each kind, with exactly the verbs that the kind allows.

mod client;
mod method;

use quote::{format_ident, quote};

use super::file::{Files, doc, group_modules, ident};
use crate::model::{Group, Model, Resource, Version};

pub(super) fn render(model: &Model, files: &mut Files<'_>) {
    files.add(
        "clientset/typed/mod.rs",
        &["The typed clients, by group.".to_owned()],
        files.uses([]),
        group_modules(&model.groups),
    );
    for group in &model.groups {
        let versions = group.versions.iter().map(|version| ident(&version.ident));
        files.add(
            format!("clientset/typed/{}/mod.rs", group.ident),
            &[format!("The typed clients of the group `{}`, by version.", group.display_name())],
            files.uses([]),
            quote!(#(pub mod #versions;)*),
        );
        for version in &group.versions {
            render_version(group, version, files);
            for resource in &version.resources {
                client::render(group, version, resource, files);
            }
        }
    }
}

fn render_version(group: &Group, version: &Version, files: &mut Files<'_>) {
    let api_version = group.api_version(version);
    let name = format!("{}Client", group.camel(version));
    let kinds = version.resources.iter().map(Resource::client_name);
    let mut uses = files.uses(kinds.chain([name.clone()]));
    let (client, rest_client) = (uses.runtime("Client"), uses.runtime("RestClient"));
    let name = ident(&name);
    let (mut modules, mut exports) = (Vec::new(), Vec::new());
    let mut accessors = Vec::new();
    for resource in &version.resources {
        let module = ident(&resource.module);
        let kind_client = format_ident!("{}", resource.client_name());
        let all = resource.all_name().map(|name| ident(&name));
        exports.push(quote!(pub use #module::#kind_client;));
        modules.push(module);
        let accessor = ident(&resource.accessor);
        if resource.namespaced {
            let docs =
                doc([format!("Returns a client for the `{}` objects in one namespace.", resource.kind)]);
            accessors.push(quote! {
                #docs
                pub fn #accessor(&self, namespace: &str) -> #kind_client {
                    #kind_client::new(self.client.clone(), namespace)
                }
            });
        } else {
            let docs = doc([format!("Returns a client for the `{}` objects of the cluster.", resource.kind)]);
            accessors.push(quote! {
                #docs
                pub fn #accessor(&self) -> #kind_client {
                    #kind_client::new(self.client.clone())
                }
            });
        }
        if let (Some(all), Some(module)) = (all, all_module(version, resource)) {
            let module = ident(&module);
            exports.push(quote!(pub use #module::#all;));
            modules.push(module);
            let accessor = format_ident!("all_{}", resource.accessor);
            let docs =
                doc([format!("Returns a client for the `{}` objects in all namespaces.", resource.kind)]);
            accessors.push(quote! {
                #docs
                pub fn #accessor(&self) -> #all {
                    #all::new(self.client.clone())
                }
            });
        }
    }
    modules.sort();
    exports.sort_by_key(ToString::to_string);
    let docs = doc([format!("Typed clients for `{api_version}`.")]);
    files.add(
        format!("clientset/typed/{}/{}/mod.rs", group.ident, version.ident),
        &[format!("The typed clients of `{api_version}`.")],
        uses,
        quote! {
            #(mod #modules;)*
            #(#exports)*

            #docs
            #[derive(Clone, Debug)]
            #[must_use]
            pub struct #name {
                client: #rest_client,
            }

            impl #name {
                /// Creates the clients from a `Client`, or from a `RestClient` with its own limits.
                pub fn new(client: impl Into<#rest_client>) -> Self {
                    Self { client: client.into() }
                }

                #(#accessors)*

                /// Returns the underlying `Client`, for requests that no typed client offers.
                #[must_use]
                pub fn client(&self) -> &#client {
                    self.client.client()
                }
            }
        },
    );
}

/// The module of a kind's client for all namespaces, beside those of the kinds.
fn all_module(version: &Version, resource: &Resource) -> Option<String> {
    resource.all_name()?;
    let mut name = format!("all_{}", resource.accessor.trim_end_matches('_'));
    while version.resources.iter().any(|other| other.module == name) {
        name.push('_');
    }
    Some(name)
}
