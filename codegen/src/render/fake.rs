//! `fake.rs`: the clientset on an API server in memory.

use quote::quote;

use super::{crds, file::Files};
use crate::{config::ClientConfig, model::Model};

pub(super) fn render(model: &Model, client: &ClientConfig, files: &mut Files<'_>) {
    let mut uses = files.uses(["Clientset".to_owned()]);
    let generated = uses.import("genclient_fake::Generated");
    let (client_type, clientset) = (uses.runtime("Client"), uses.generated("clientset"));
    let (definition, error) =
        (uses.runtime("crd::CustomResourceDefinition"), uses.runtime("crd::MergeError"));
    let definitions = match client.crds && crds::has_crds(model) {
        true => {
            let crds = uses.generated("crds");
            quote!(#crds::all())
        }
        false => quote!(Ok(Vec::new())),
    };
    files.add(
        "fake.rs",
        &["The clientset on an in-memory API server, for tests.".to_owned()],
        uses,
        quote! {
            /// The clientset on an in-memory API server. The server has the CRDs of the kinds, and records the
            /// requests that it receives.
            pub type Clientset = genclient_fake::Clientset<#clientset::Clientset>;

            impl #generated for #clientset::Clientset {
                fn on_client(client: #client_type) -> Self {
                    Self::new(client)
                }

                fn crds() -> Result<Vec<#definition>, #error> {
                    #definitions
                }
            }
        },
    );
}
