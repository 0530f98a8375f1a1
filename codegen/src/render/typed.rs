//! `clientset/typed/`: the client of each kind, with exactly the verbs that the kind allows.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::file::{Files, Uses, doc, doc_with, ident, type_path};
use crate::{
    model::{Group, Method, Model, Resource, Version},
    verb::Verb,
};

pub(super) fn render(model: &Model, files: &mut Files) {
    let groups = model.groups.iter().map(|group| ident(&group.ident));
    files.add(
        "src/clientset/typed/mod.rs",
        &["The typed clients, by group.".to_owned()],
        Uses::default(),
        quote!(#(pub mod #groups;)*),
    );
    for group in &model.groups {
        let versions = group.versions.iter().map(|version| ident(&version.ident));
        files.add(
            format!("src/clientset/typed/{}/mod.rs", group.ident),
            &[format!("The typed clients of the group `{}`, by version.", group.display_name())],
            Uses::default(),
            quote!(#(pub mod #versions;)*),
        );
        for version in &group.versions {
            render_version(group, version, files);
            for resource in &version.resources {
                render_resource(group, version, resource, files);
            }
        }
    }
}

fn render_version(group: &Group, version: &Version, files: &mut Files) {
    let api_version = group.api_version(version);
    let name = format!("{}Client", group.camel(version));
    let kinds = version.resources.iter().map(Resource::client_name);
    let mut uses = Uses::new(kinds.chain([name.clone()]));
    let (client, rest_client) = (uses.runtime("Client"), uses.runtime("RestClient"));
    let name = ident(&name);
    let (mut modules, mut exports) = (Vec::new(), Vec::new());
    let mut accessors = Vec::new();
    for resource in &version.resources {
        let module = ident(&resource.module);
        let kind_client = format_ident!("{}", resource.client_name());
        let all = resource.all_name().map(|name| ident(&name));
        exports.push(match &all {
            Some(all) => quote!(pub use #module::{#all, #kind_client};),
            None => quote!(pub use #module::#kind_client;),
        });
        modules.push(module);
        let accessor = ident(&resource.accessor);
        if resource.namespaced {
            let docs = doc([format!("The `{}` objects of one namespace.", resource.kind)]);
            accessors.push(quote! {
                #docs
                pub fn #accessor(&self, namespace: &str) -> #kind_client {
                    #kind_client::new(self.client.clone(), namespace)
                }
            });
        } else {
            let docs = doc([format!("The `{}` objects of the cluster.", resource.kind)]);
            accessors.push(quote! {
                #docs
                pub fn #accessor(&self) -> #kind_client {
                    #kind_client::new(self.client.clone())
                }
            });
        }
        if let Some(all) = all {
            let accessor = format_ident!("all_{}", resource.accessor);
            let docs = doc([format!("The `{}` objects of all namespaces.", resource.kind)]);
            accessors.push(quote! {
                #docs
                pub fn #accessor(&self) -> #all {
                    #all::new(self.client.clone())
                }
            });
        }
    }
    let docs = doc([format!("The typed clients of `{api_version}`.")]);
    files.add(
        format!("src/clientset/typed/{}/{}/mod.rs", group.ident, version.ident),
        &[format!("The typed clients of `{api_version}`.")],
        uses,
        quote! {
            #(mod #modules;)*
            #(#exports)*

            #docs
            #[derive(Clone, Debug)]
            pub struct #name {
                client: #rest_client,
            }

            impl #name {
                /// The clients over a `Client`, or over a `RestClient` with limits of its own.
                pub fn new(client: impl Into<#rest_client>) -> Self {
                    Self { client: client.into() }
                }

                #(#accessors)*

                /// The connection, for whatever has no typed client.
                pub fn client(&self) -> &#client {
                    self.client.client()
                }
            }
        },
    );
}

/// What the methods of one client are written with.
struct Context<'a> {
    resource: &'a Resource,
    uses: Uses,
    object: TokenStream,
    list: TokenStream,
}

fn render_resource(group: &Group, version: &Version, resource: &Resource, files: &mut Files) {
    let client_name = format_ident!("{}", resource.client_name());
    let all = resource.all_name().map(|name| ident(&name));
    let own = [Some(client_name.to_string()), all.as_ref().map(ToString::to_string)];
    let mut uses = Uses::new(own.into_iter().flatten());
    let object = uses.api_type(&resource.type_path, &version.ident);
    // A list that no method answers with is not named, lest its import be of no use.
    let lists = resource.verbs.contains(&Verb::List)
        || resource.methods.iter().any(|method| method.verb == Verb::List && method.result.is_none());
    let list = match &resource.list_path {
        _ if !lists => quote!(),
        Some(path) if path.module() == resource.type_path.module() => uses.api_type(path, &version.ident),
        Some(path) => type_path(path),
        None => {
            let list = uses.runtime("ObjectList");
            quote!(#list<#object>)
        }
    };
    let mut context = Context { resource, uses, object, list };
    let methods: Vec<_> = resource.verbs.iter().map(|verb| context.verb(*verb)).collect();
    let extra: Vec<_> = resource.methods.iter().map(|method| context.method(method)).collect();
    let all_struct = all.map(|all| context.all_namespaces(&all));

    let Context { mut uses, object, .. } = context;
    let typed_client = uses.runtime("TypedClient");
    let (rest_client, api) = (uses.runtime("RestClient"), uses.runtime("Api"));
    let scope = if resource.namespaced { "one namespace" } else { "the cluster" };
    let docs =
        doc_with(&format!("Reads and writes the `{}` objects of {scope}.", resource.kind), &resource.docs);
    let new = match resource.namespaced {
        true => quote! {
            /// A client for one namespace.
            pub fn new(client: impl Into<#rest_client>, namespace: &str) -> Self {
                Self { client: #typed_client::namespaced(client, namespace) }
            }
        },
        false => quote! {
            /// A client for the cluster.
            pub fn new(client: impl Into<#rest_client>) -> Self {
                Self { client: #typed_client::cluster(client) }
            }
        },
    };
    files.add(
        format!("src/clientset/typed/{}/{}/{}.rs", group.ident, version.ident, resource.module),
        &[format!("The typed client of `{}` (`{}`).", resource.kind, group.api_version(version))],
        uses,
        quote! {
            #docs
            #[derive(Clone, Debug)]
            pub struct #client_name {
                client: #typed_client<#object>,
            }

            impl #client_name {
                #new

                #(#methods)*

                #(#extra)*

                /// kube's own client of the kind, for whatever is not offered here.
                pub fn api(&self) -> &#api<#object> {
                    self.client.api()
                }
            }

            #all_struct
        },
    );
}

impl Context<'_> {
    /// The method of one verb.
    fn verb(&mut self, verb: Verb) -> TokenStream {
        let object = self.object.clone();
        let name = ident(verb.name());
        let kind = &self.resource.kind;
        match verb {
            Verb::Create | Verb::Update | Verb::UpdateStatus => {
                let request = self.uses.runtime("client::Write");
                let docs = doc([match verb {
                    Verb::Create => format!("Creates the `{kind}`."),
                    Verb::Update => {
                        format!("Replaces the `{kind}`; its resource version must be the current one.")
                    }
                    _ => format!("Replaces the status of the `{kind}` and nothing else of it."),
                }]);
                quote! {
                    #docs
                    pub fn #name(&self, object: &#object) -> #request<#object> {
                        self.client.#name(object)
                    }
                }
            }
            Verb::Delete | Verb::Get => {
                let request =
                    self.uses.runtime(if verb == Verb::Get { "client::Get" } else { "client::Delete" });
                let docs = doc([match verb {
                    Verb::Get => format!("Reads the `{kind}` of this name."),
                    _ => format!("Deletes the `{kind}` of this name."),
                }]);
                quote! {
                    #docs
                    pub fn #name(&self, name: &str) -> #request<#object> {
                        self.client.#name(name)
                    }
                }
            }
            Verb::DeleteCollection => {
                let (request, params) =
                    (self.uses.runtime("client::DeleteCollection"), self.uses.runtime("ListParams"));
                let docs = doc([format!("Deletes every `{kind}` that the parameters select.")]);
                quote! {
                    #docs
                    pub fn delete_collection(&self, params: &#params) -> #request {
                        self.client.delete_collection(params)
                    }
                }
            }
            Verb::List => {
                let (request, params) = (self.uses.runtime("client::List"), self.uses.runtime("ListParams"));
                let pages = self.uses.runtime("client::Pages");
                let list = &self.list;
                let list_docs = doc([format!("Reads every `{kind}` that the parameters select.")]);
                let pages_docs =
                    doc([format!("Reads every `{kind}` that the parameters select, page by page.")]);
                quote! {
                    #list_docs
                    pub fn list(&self, params: &#params) -> #request<#list> {
                        self.client.list(params)
                    }

                    #pages_docs
                    pub fn pages(&self, params: &#params) -> #pages<#object> {
                        self.client.pages(params)
                    }
                }
            }
            Verb::Watch => {
                let (stream, params) =
                    (self.uses.runtime("client::WatchStream"), self.uses.runtime("ListParams"));
                let docs =
                    doc([format!("Follows every `{kind}` that the parameters select; resumes by itself.")]);
                quote! {
                    #docs
                    pub fn watch(&self, params: &#params) -> #stream<#object> {
                        self.client.watch(params)
                    }
                }
            }
            Verb::Patch => {
                let (request, patch) =
                    (self.uses.runtime("client::PatchRequest"), self.uses.runtime("Patch"));
                let serialize = self.uses.runtime("Serialize");
                let docs = doc([format!("Changes parts of the `{kind}` of this name.")]);
                quote! {
                    #docs
                    pub fn patch<P: #serialize>(&self, name: &str, patch: &#patch<P>) -> #request<#object> {
                        self.client.patch(name, patch)
                    }
                }
            }
            Verb::Apply | Verb::ApplyStatus => {
                let (request, serialize) =
                    (self.uses.runtime("client::Apply"), self.uses.runtime("Serialize"));
                let what = if verb == Verb::Apply { "" } else { "the status of " };
                let docs = doc([
                    format!(
                        "Applies a configuration to {what}the `{kind}` that it names, as this field manager."
                    ),
                    String::new(),
                    "The configuration must name its `apiVersion`, `kind` and `metadata.name`.".into(),
                ]);
                quote! {
                    #docs
                    pub fn #name<A: #serialize>(&self, config: &A, field_manager: &str) -> #request<#object> {
                        self.client.#name(config, field_manager)
                    }
                }
            }
        }
    }

    /// A method that `method(…)` asks for.
    fn method(&mut self, method: &Method) -> TokenStream {
        let object = self.object.clone();
        let name = ident(&method.name);
        let input = method.input.as_ref().map_or_else(|| object.clone(), type_path);
        let result = match (&method.result, method.verb) {
            (Some(result), _) => type_path(result),
            (None, Verb::List) => self.list.clone(),
            (None, _) => object.clone(),
        };
        let kind = &self.resource.kind;
        let (target, subresource) = match &method.subresource {
            Some(subresource) => {
                (format!("the subresource `{subresource}` of the `{kind}`"), quote!(#subresource,))
            }
            None => (format!("the `{kind}`"), quote!()),
        };
        let function = match method.subresource {
            Some(_) => format_ident!("{}_subresource", method.verb.name()),
            None => format_ident!("{}_as", method.verb.name()),
        };
        // A new object has no name yet, and a list has none; their subresources belong to one that exists.
        let named = !matches!(method.verb, Verb::Create | Verb::List) || method.subresource.is_some();
        let name_argument = named.then(|| quote!(name: &str,));
        let name_value = named.then(|| quote!(name,));
        let docs = |verb: &str| doc([format!("{verb} {target}.")]);
        match method.verb {
            Verb::Get => {
                let request = self.uses.runtime("client::Get");
                let docs = docs("Reads");
                quote! {
                    #docs
                    pub fn #name(&self, #name_argument) -> #request<#result> {
                        self.client.#function(#name_value #subresource)
                    }
                }
            }
            Verb::List => {
                let request = self.uses.runtime("client::List");
                let function = match method.subresource {
                    Some(_) => function,
                    None => ident("list"),
                };
                let params = self.uses.runtime("ListParams");
                let docs = docs("Lists");
                quote! {
                    #docs
                    pub fn #name(&self, #name_argument params: &#params) -> #request<#result> {
                        self.client.#function(#name_value #subresource params)
                    }
                }
            }
            Verb::Patch => {
                let request = self.uses.runtime("client::PatchRequest");
                let (patch, serialize) = (self.uses.runtime("Patch"), self.uses.runtime("Serialize"));
                let docs = docs("Changes parts of");
                quote! {
                    #docs
                    pub fn #name<P: #serialize>(&self, #name_argument patch: &#patch<P>) -> #request<#result> {
                        self.client.#function(#name_value #subresource patch)
                    }
                }
            }
            Verb::Apply => {
                let (request, serialize) =
                    (self.uses.runtime("client::Apply"), self.uses.runtime("Serialize"));
                let docs = docs("Applies a configuration to");
                quote! {
                    #docs
                    pub fn #name<A: #serialize>(
                        &self,
                        #name_argument
                        config: &A,
                        field_manager: &str,
                    ) -> #request<#result> {
                        self.client.#function(#name_value #subresource config, field_manager)
                    }
                }
            }
            _ => {
                let request = self.uses.runtime("client::Write");
                let docs = docs(if method.verb == Verb::Create { "Creates" } else { "Replaces" });
                quote! {
                    #docs
                    pub fn #name(&self, #name_argument input: &#input) -> #request<#result> {
                        self.client.#function(#name_value #subresource input)
                    }
                }
            }
        }
    }

    /// The client that reads across namespaces.
    fn all_namespaces(&mut self, name: &proc_macro2::Ident) -> TokenStream {
        let (rest_client, typed_client) = (self.uses.runtime("RestClient"), self.uses.runtime("TypedClient"));
        let object = self.object.clone();
        let reads: Vec<_> =
            [Verb::List, Verb::Watch].into_iter().filter(|verb| self.resource.verbs.contains(verb)).collect();
        let methods: Vec<_> = reads.into_iter().map(|verb| self.verb(verb)).collect();
        let docs = doc([format!("Reads the `{}` objects of all namespaces.", self.resource.kind)]);
        quote! {
            #docs
            #[derive(Clone, Debug)]
            pub struct #name {
                client: #typed_client<#object>,
            }

            impl #name {
                /// A client for all namespaces.
                pub fn new(client: impl Into<#rest_client>) -> Self {
                    Self { client: #typed_client::cluster(client) }
                }

                #(#methods)*
            }
        }
    }
}
