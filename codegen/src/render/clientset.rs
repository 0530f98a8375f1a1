//! `clientset/`: one type that leads to the typed clients of every group and version.

use quote::{format_ident, quote};

use super::file::{Files, any_condition, condition, doc};
use crate::model::Model;

pub(super) fn render(model: &Model, files: &mut Files<'_>) {
    let mut uses = files.uses(["Clientset".to_owned()]);
    let (client, rest_client) = (uses.runtime("Client"), uses.runtime("RestClient"));
    let result = uses.runtime("Result");
    let mut accessors = Vec::new();
    for group in &model.groups {
        for version in &group.versions {
            let accessor = format_ident!("{}", group.accessor(version));
            let name = format!("{}Client", group.camel(version));
            let path = format!("self::typed::{}::{}::{name}", group.ident, version.ident);
            let name = uses.of_group(group, |uses| uses.import(&path));
            let condition = condition(group);
            let docs = doc([format!("Returns the typed clients for `{}`.", group.api_version(version))]);
            accessors.push(quote! {
                #docs
                #condition
                pub fn #accessor(&self) -> #name {
                    #name::new(self.client.clone())
                }
            });
        }
    }
    let some_group = any_condition(&model.groups);
    files.add(
        "clientset/mod.rs",
        &["The clientset: typed clients for every group and version.".to_owned()],
        uses,
        quote! {
            #some_group
            pub mod scheme;
            pub mod typed;

            /// Typed clients for every group and version.
            ///
            /// A fake has the same type, because `Clientset::new` accepts a client over any tower service.
            #[derive(Clone, Debug)]
            #[must_use]
            pub struct Clientset {
                client: #rest_client,
            }

            impl Clientset {
                /// Creates a clientset from a `Client`, or from a `RestClient` with its own limits.
                pub fn new(client: impl Into<#rest_client>) -> Self {
                    Self { client: client.into() }
                }

                /// Creates a clientset for the cluster of the kubeconfig or of the pod's service account.
                ///
                /// # Errors
                ///
                /// Returns an error if there is neither, or if the configuration cannot be used.
                pub async fn try_default() -> #result<Self> {
                    Ok(Self::new(#rest_client::try_default().await?))
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
