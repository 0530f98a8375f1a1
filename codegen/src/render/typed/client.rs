//! The client of one kind, and the one that reads it in all namespaces.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{all_module, method::Methods};
use crate::{
    model::{Group, Resource, Version},
    render::{
        file::{Files, doc_with, ident, link},
        uses::Uses,
    },
    verb::Verb,
};

pub(super) fn render(group: &Group, version: &Version, resource: &Resource, files: &mut Files<'_>) {
    let folder = format!("clientset/typed/{}/{}", group.ident, version.ident);
    let what = format!("`{}` (`{}`)", resource.kind, group.api_version(version));
    let (uses, items) = client(version, resource, files);
    let docs = [format!("The typed client of {what}.")];
    files.add(format!("{folder}/{}.rs", resource.module), &docs, uses, items);
    if let (Some(name), Some(module)) = (resource.all_name(), all_module(version, resource)) {
        let (uses, items) = all_namespaces(version, resource, &name, files);
        let docs = [format!("The typed client of {what} for all namespaces.")];
        files.add(format!("{folder}/{module}.rs"), &docs, uses, items);
    }
}

fn client<'a>(version: &Version, resource: &Resource, files: &Files<'a>) -> (Uses<'a>, TokenStream) {
    let name = format_ident!("{}", resource.client_name());
    let mut methods = Methods::new(version, resource, files.uses([name.to_string()]));
    let verbs: Vec<_> = resource.verbs.iter().map(|verb| methods.of_verb(*verb)).collect();
    let extra: Vec<_> = resource.methods.iter().map(|method| methods.extra(method)).collect();
    let Methods { mut uses, object, .. } = methods;
    let (typed_client, rest_client) = (uses.runtime("TypedClient"), uses.runtime("RestClient"));
    let api = uses.runtime("Api");
    let scope = if resource.namespaced { "in one namespace" } else { "of the cluster" };
    let sentence = format!("{} [`{}`] objects {scope}.", what_it_does(resource), link(&object));
    let docs = doc_with(&sentence, &resource.docs);
    let new = match resource.namespaced {
        true => quote! {
            /// Creates a client for one namespace.
            pub fn new(client: impl Into<#rest_client>, namespace: &str) -> Self {
                let client = #typed_client::namespaced(client, namespace);
                Self { client }
            }
        },
        false => quote! {
            /// Creates a client for the cluster.
            pub fn new(client: impl Into<#rest_client>) -> Self {
                let client = #typed_client::cluster(client);
                Self { client }
            }
        },
    };
    let methods = quote! {
        #new
        #(#verbs)*
        #(#extra)*

        /// Returns kube's client of the kind, for requests that this client does not offer.
        #[must_use]
        pub fn api(&self) -> &#api<#object> {
            self.client.api()
        }
    };
    (uses, client_type(&docs, &name, &quote!(#typed_client<#object>), &methods))
}

/// The struct around a client of the runtime.
fn client_type(docs: &TokenStream, name: &Ident, client: &TokenStream, methods: &TokenStream) -> TokenStream {
    quote! {
        #docs
        #[derive(Clone, Debug)]
        #[must_use]
        pub struct #name {
            client: #client,
        }

        impl #name {
            #methods
        }
    }
}

fn all_namespaces<'a>(
    version: &Version,
    resource: &Resource,
    name: &str,
    files: &Files<'a>,
) -> (Uses<'a>, TokenStream) {
    let mut methods = Methods::new(version, resource, files.uses([name.to_owned()]));
    let reads = [Verb::List, Verb::Watch].into_iter().filter(|verb| resource.verbs.contains(verb));
    let reads: Vec<_> = reads.map(|verb| methods.of_verb(verb)).collect();
    let Methods { mut uses, object, .. } = methods;
    let (typed_client, rest_client) = (uses.runtime("TypedClient"), uses.runtime("RestClient"));
    let name = ident(name);
    let docs = doc_with(&format!("Reads the [`{}`] objects in all namespaces.", link(&object)), &[]);
    let methods = quote! {
        /// Creates a client for all namespaces.
        pub fn new(client: impl Into<#rest_client>) -> Self {
            let client = #typed_client::cluster(client);
            Self { client }
        }

        #(#reads)*
    };
    (uses, client_type(&docs, &name, &quote!(#typed_client<#object>), &methods))
}

/// Summarizes what a client's verbs do.
fn what_it_does(resource: &Resource) -> &'static str {
    let reads = |verb: &Verb| matches!(verb, Verb::Get | Verb::List | Verb::Watch);
    let verbs: Vec<Verb> =
        resource.verbs.iter().copied().chain(resource.methods.iter().map(|method| method.verb)).collect();
    match (verbs.iter().any(reads), verbs.iter().any(|verb| !reads(verb))) {
        (true, true) => "Reads and writes the",
        (true, false) => "Reads the",
        (false, true) => "Writes the",
        (false, false) => "Provides kube's client of the",
    }
}
