//! `method(…)`: an extra method of the client.

use proc_macro2::Ident;
use syn::spanned::Spanned as _;

use super::{
    entry::{Entry, Spanned, Value},
    keys::Keys,
    rule::{Rule, SUBRESOURCE},
    type_ref::TypeRef,
    verbs,
};
use crate::{
    diag::{Ctxt, Diagnostic},
    names,
    verb::{self, Verb},
};

/// One `method(…)`.
#[derive(Clone, Debug)]
pub struct MethodAttr {
    /// The method's name.
    pub name: Spanned<String>,
    /// What it does.
    pub verb: Verb,
    /// The subresource it acts on, or none for the object itself.
    pub subresource: Option<Spanned<String>>,
    /// The type of its body; the annotated type where it is not given.
    pub input: Option<TypeRef>,
    /// The type of its answer; the annotated type where it is not given.
    pub result: Option<TypeRef>,
}

const KEYS: &[&str] = &["name", "verb", "subresource", "input", "result"];

/// The methods that every client has beside its verbs.
const OWN: &[&str] = &[
    "all",
    "api",
    "apply_status_untyped",
    "apply_untyped",
    "new",
    "pages",
    "update_status_with",
    "update_with",
];

impl MethodAttr {
    pub(super) fn read(cx: &Ctxt, entry: &Entry) -> Option<Self> {
        let example = "name = \"update_scale\", verb = update, subresource = \"scale\"";
        let keys = Keys::read(cx, entry, KEYS, example)?;
        let name = keys.required(cx, "name").and_then(|key| key.checked(cx, &METHOD_NAME));
        let verb = keys.required(cx, "verb").and_then(|key| method_verb(cx, key));
        let subresource = match keys.optional("subresource") {
            Some(key) => Some(key.checked(cx, &SUBRESOURCE)?),
            None => None,
        };
        let type_of = |name: &str| match keys.optional(name) {
            Some(key) => TypeRef::read(cx, key).map(Some),
            None => Some(None),
        };
        let (input, result) = (type_of("input"), type_of("result"));
        let verb = verb?;
        if let (Some(Some(input)), false) = (&input, verb.takes_input()) {
            cx.error(
                Diagnostic::new(input.span, format!("a method with the verb `{verb}` takes no `input` type"))
                    .help("remove `input`; `create` and `update` have one"),
            );
            return None;
        }
        Some(Self { name: name?, verb, subresource, input: input?, result: result? })
    }
}

fn method_verb(cx: &Ctxt, key: &Entry) -> Option<Verb> {
    let Value::Assign(tokens) = &key.value else {
        key.wrong_form(cx, "verb = update");
        return None;
    };
    let Ok(word) = syn::parse2::<Ident>(tokens.clone()) else {
        cx.error(
            Diagnostic::new(tokens.span(), "expected a verb, as in `verb = update`")
                .help(format!("a method's verb is one of {}", verb::join(Verb::METHOD))),
        );
        return None;
    };
    verbs::verb(cx, &word, Verb::METHOD)
}

const METHOD_NAME: Rule = Rule {
    what: "method name",
    check: method_name,
    help: "a method's name is in snake case and no keyword, such as `update_scale`",
};

fn method_name(text: &str) -> Result<(), String> {
    if syn::parse_str::<Ident>(text).is_err() {
        return Err("it is not a Rust identifier".into());
    }
    if text.chars().any(char::is_uppercase) {
        return Err(format!("methods are in snake case: `{}`", names::snake(text)));
    }
    Ok(())
}

/// Checks that the methods of one struct get along with each other and with the client's own.
/// `no_status` says why there is no status subresource, where there is none.
pub(super) fn check(cx: &Ctxt, methods: &[MethodAttr], no_status: Option<&str>) {
    for (i, method) in methods.iter().enumerate() {
        let name = method.name.value.as_str();
        if name.parse::<Verb>().is_ok() || OWN.contains(&name) {
            cx.error(
                Diagnostic::new(
                    method.name.span,
                    format!("the method `{name}` would clash with the client's own"),
                )
                .help("choose another name"),
            );
        }
        if let (Some(subresource), Some(why)) = (&method.subresource, no_status)
            && subresource.value == "status"
        {
            cx.error(
                Diagnostic::new(subresource.span, format!("the subresource `status` does not exist: {why}"))
                    .help("add a `status` field, or use another subresource"),
            );
        }
        if let Some(first) = methods[..i].iter().find(|first| first.name.value == name) {
            cx.error(
                Diagnostic::new(method.name.span, format!("two methods are called `{name}`"))
                    .help("choose another name")
                    .related(first.name.span, "the first one is here"),
            );
        }
    }
}
