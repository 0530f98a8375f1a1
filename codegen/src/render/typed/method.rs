//! The methods of a client. Each one calls the generic client with its own arguments.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::{
    model::{Method, Resource, TypePath, Version},
    render::{
        file::{doc, ident},
        uses::Uses,
    },
    verb::Verb,
};

/// What the methods of one client are written with.
pub(super) struct Methods<'a, 'l> {
    version: &'a Version,
    resource: &'a Resource,
    pub uses: Uses<'l>,
    /// The kind's own type.
    pub object: TokenStream,
    /// The type of its lists.
    list: TokenStream,
}

/// A method that calls the generic client.
struct Call {
    docs: String,
    name: Ident,
    /// The parameter of a method that takes values of any type that has a trait, or the lifetime of a change.
    generic: Option<TokenStream>,
    arguments: Vec<Argument>,
    answer: TokenStream,
    /// The method of the generic client.
    function: Ident,
}

/// An argument of the generic client.
enum Argument {
    /// The caller gives it.
    Given(&'static str, TokenStream),
    /// It is part of the method.
    Fixed(String),
}

impl Call {
    fn render(self) -> TokenStream {
        let Self { docs, name, generic, arguments, answer, function } = self;
        let docs = doc([docs]);
        let generic = generic.map(|generic| quote!(<#generic>));
        let parameters = arguments.iter().filter_map(|argument| match argument {
            Argument::Given(name, of_type) => {
                let name = ident(name);
                Some(quote!(#name: #of_type))
            }
            Argument::Fixed(_) => None,
        });
        let values = arguments.iter().map(|argument| match argument {
            Argument::Given(name, _) => {
                let name = ident(name);
                quote!(#name)
            }
            Argument::Fixed(text) => quote!(#text),
        });
        quote! {
            #docs
            pub fn #name #generic(&self, #(#parameters),*) -> #answer {
                self.client.#function(#(#values),*)
            }
        }
    }
}

impl<'a, 'l> Methods<'a, 'l> {
    pub fn new(version: &'a Version, resource: &'a Resource, mut uses: Uses<'l>) -> Self {
        let object = uses.api_type(&resource.type_path, &version.ident);
        // Skip the list type if no method returns it, or its import would be unused.
        let lists = resource.verbs.contains(&Verb::List)
            || resource.methods.iter().any(|method| method.verb == Verb::List && method.result.is_none());
        let list = match &resource.list_path {
            _ if !lists => quote!(),
            Some(path) => uses.api_type(path, &version.ident),
            None => {
                let list = uses.runtime("ObjectList");
                quote!(#list<#object>)
            }
        };
        Self { version, resource, uses, object, list }
    }

    /// The method of a verb; `list` comes with `pages`, `patch` with `update_with`, and each apply with one
    /// that takes any serializable value.
    pub fn of_verb(&mut self, verb: Verb) -> TokenStream {
        let kind = &self.resource.kind;
        let docs = match verb {
            Verb::Create => format!("Creates the `{kind}`."),
            Verb::Update => format!("Replaces the `{kind}`. Its resource version must be current."),
            Verb::UpdateStatus => format!("Replaces the status of the `{kind}`, and nothing else."),
            Verb::Delete => format!("Deletes the `{kind}` with this name."),
            Verb::DeleteCollection => format!("Deletes the `{kind}` objects that the parameters select."),
            Verb::Get => format!("Reads the `{kind}` with this name."),
            Verb::List => format!("Lists the `{kind}` objects that the parameters select."),
            Verb::Watch => {
                format!("Watches the `{kind}` objects that the parameters select. Resumes automatically.")
            }
            Verb::Patch => format!("Patches the `{kind}` with this name."),
            Verb::Apply => format!("Applies a configuration to the `{kind}` that it names."),
            Verb::ApplyStatus => {
                format!("Applies a configuration to the status of the `{kind}` that it names.")
            }
        };
        let object = self.object.clone();
        let answer = match verb {
            Verb::List => self.list.clone(),
            _ => object.clone(),
        };
        let mut arguments = Vec::new();
        if matches!(verb, Verb::Get | Verb::Delete | Verb::Patch) {
            arguments.push(Argument::Given("name", quote!(&str)));
        }
        arguments.extend(self.body(verb, quote!(&#object), "object"));
        let name = ident(verb.name());
        let generic = match verb {
            Verb::Apply | Verb::ApplyStatus => {
                let configuration = self.uses.runtime("apply::ApplyConfiguration");
                Some(quote!(A: #configuration<Object = #object>))
            }
            _ => None,
        };
        let answer = self.request(verb, &answer);
        let call = Call { docs, name: name.clone(), generic, arguments, answer, function: name }.render();
        let others = match verb {
            Verb::List => self.pages(),
            Verb::Patch => self.updates(),
            Verb::Apply | Verb::ApplyStatus => self.untyped(verb),
            _ => quote!(),
        };
        quote!(#call #others)
    }

    /// A method that `method(…)` asks for.
    pub fn extra(&mut self, method: &Method) -> TokenStream {
        let Method { verb, subresource, .. } = method;
        let input = self.named_type(method.input.as_ref(), self.object.clone());
        let own = if *verb == Verb::List { &self.list } else { &self.object };
        let result = self.named_type(method.result.as_ref(), own.clone());
        let does = match verb {
            Verb::Get => "Reads",
            Verb::List => "Lists",
            Verb::Patch => "Patches",
            Verb::Apply => "Applies a configuration to",
            Verb::Create => "Creates",
            _ => "Replaces",
        };
        let kind = &self.resource.kind;
        let mut arguments = Vec::new();
        // A new object has no name yet, and a list has none; their subresources belong to one that exists.
        if !matches!(verb, Verb::Create | Verb::List) || subresource.is_some() {
            arguments.push(Argument::Given("name", quote!(&str)));
        }
        arguments.extend(subresource.clone().map(Argument::Fixed));
        let docs = match subresource {
            Some(subresource) => format!("{does} the subresource `{subresource}` of the `{kind}`."),
            None if *verb == Verb::List => {
                format!("Lists the `{kind}` objects that the parameters select.")
            }
            None => format!("{does} the `{kind}`."),
        };
        arguments.extend(self.body(*verb, quote!(&#input), "input"));
        let function = match subresource {
            Some(_) => format_ident!("{}_subresource", verb.name()),
            None if *verb == Verb::List => ident("list"),
            None => format_ident!("{}_as", verb.name()),
        };
        let generic = (*verb == Verb::Apply).then(|| self.serializable());
        let answer = self.request(*verb, &result);
        Call { docs, name: ident(&method.name), generic, arguments, answer, function }.render()
    }

    /// A type that a method names, or the kind's own.
    fn named_type(&mut self, path: Option<&TypePath>, own: TokenStream) -> TokenStream {
        match path {
            None => own,
            Some(path) if path.module() == self.resource.type_path.module() => {
                self.uses.api_type(path, &self.version.ident)
            }
            Some(path) => self.uses.other_type(path),
        }
    }

    /// What a verb takes beside a name.
    fn body(&mut self, verb: Verb, input: TokenStream, called: &'static str) -> Vec<Argument> {
        match verb {
            Verb::Get | Verb::Delete => Vec::new(),
            Verb::List | Verb::Watch | Verb::DeleteCollection => {
                let params = self.uses.runtime("ListParams");
                vec![Argument::Given("params", quote!(&#params))]
            }
            Verb::Patch => {
                let patch = self.uses.runtime("Patch");
                vec![Argument::Given("patch", quote!(&#patch))]
            }
            Verb::Apply | Verb::ApplyStatus => vec![Argument::Given("config", quote!(&A))],
            Verb::Create | Verb::Update | Verb::UpdateStatus => vec![Argument::Given(called, input)],
        }
    }

    /// The parameter of a method that takes any serializable value.
    fn serializable(&mut self) -> TokenStream {
        let serialize = self.uses.runtime("Serialize");
        quote!(A: #serialize)
    }

    /// The request that a verb answers with.
    fn request(&mut self, verb: Verb, answer: &TokenStream) -> TokenStream {
        let request = self.uses.runtime(match verb {
            Verb::Create | Verb::Update | Verb::UpdateStatus => "client::Write",
            Verb::Delete => "client::Delete",
            Verb::DeleteCollection => return self.uses.runtime("client::DeleteCollection"),
            Verb::Get => "client::Get",
            Verb::List => "client::List",
            Verb::Watch => "client::WatchStream",
            Verb::Patch => "client::PatchRequest",
            Verb::Apply | Verb::ApplyStatus => "client::Apply",
        });
        quote!(#request<#answer>)
    }

    /// `list`, page by page.
    fn pages(&mut self) -> TokenStream {
        let (pages, object) = (self.uses.runtime("client::Pages"), &self.object);
        Call {
            docs: format!(
                "Lists the `{}` objects that the parameters select, page by page.",
                self.resource.kind
            ),
            name: ident("pages"),
            generic: None,
            answer: quote!(#pages<#object>),
            arguments: self.body(Verb::List, quote!(), ""),
            function: ident("pages"),
        }
        .render()
    }

    /// `update_with` and `update_status_with`, for a kind that can be read and patched.
    fn updates(&mut self) -> TokenStream {
        let (kind, verbs) = (&self.resource.kind, &self.resource.verbs);
        let mut methods = Vec::new();
        if verbs.contains(&Verb::Get) {
            let docs =
                format!("Reads the `{kind}`, applies `change` and writes it back, retrying on conflict.");
            methods.push((docs, "update_with"));
            if verbs.contains(&Verb::UpdateStatus) {
                let docs = format!(
                    "Reads the `{kind}`, applies `change` and writes its status back, retrying on conflict."
                );
                methods.push((docs, "update_status_with"));
            }
        }
        let methods = methods.into_iter().map(|(docs, name)| {
            let (update, object) = (self.uses.runtime("client::UpdateWith"), &self.object);
            let change = quote!(impl FnMut(&mut #object) + Send + 'f);
            let arguments = vec![Argument::Given("name", quote!(&str)), Argument::Given("change", change)];
            let (generic, answer) = (Some(quote!('f)), quote!(#update<'f, #object>));
            Call { docs, name: ident(name), generic, arguments, answer, function: ident(name) }.render()
        });
        methods.collect()
    }

    /// An apply that takes any serializable value.
    fn untyped(&mut self, verb: Verb) -> TokenStream {
        let (kind, name) = (&self.resource.kind, format_ident!("{}_untyped", verb.name()));
        let what = if verb == Verb::Apply { "" } else { "the status of " };
        Call {
            docs: format!("Applies any serializable value to {what}the `{kind}` that it names."),
            name: name.clone(),
            generic: Some(self.serializable()),
            arguments: self.body(verb, quote!(), ""),
            answer: self.request(verb, &self.object.clone()),
            function: name,
        }
        .render()
    }
}
