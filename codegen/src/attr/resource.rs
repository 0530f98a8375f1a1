//! The attributes of one annotated struct, read and checked as far as one struct shows.

use proc_macro2::{Ident, Span, TokenStream};
use syn::spanned::Spanned as _;

use super::{
    entry::{Entry, Value, entries},
    table::{ATTRIBUTES, lookup},
};
use crate::{
    diag::{Ctxt, Diagnostic, did_you_mean},
    names,
    verb::{self, Verb, Verbs},
};

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// Where it was written.
    pub span: Span,
    /// The value.
    pub value: T,
}

/// All that `#[genclient(…)]` says of a struct.
#[derive(Clone, Debug, Default)]
pub struct ResourceAttrs {
    /// `cluster_scoped`
    pub cluster_scoped: bool,
    /// `no_status`
    pub no_status: bool,
    /// Which verbs the client has.
    pub verbs: VerbRule,
    /// Each `method(…)`.
    pub methods: Vec<MethodAttr>,
    /// `plural = "…"`
    pub plural: Option<Spanned<String>>,
    /// `path = "…"`
    pub path: Option<Spanned<String>>,
    /// `no_crd`
    pub no_crd: bool,
    /// `singular = "…"`
    pub singular: Option<Spanned<String>>,
    /// Each `shortname = "…"`.
    pub shortnames: Vec<Spanned<String>>,
    /// Each `category = "…"`.
    pub categories: Vec<Spanned<String>>,
    /// Each `printcolumn(…)`.
    pub printcolumns: Vec<PrintColumn>,
    /// Each `selectable = "…"`.
    pub selectable: Vec<Spanned<String>>,
    /// `scale(…)`
    pub scale: Option<Scale>,
    /// Each `annotation("…", "…")`.
    pub annotations: Vec<(Spanned<String>, Spanned<String>)>,
    /// Each `label("…", "…")`.
    pub labels: Vec<(Spanned<String>, Spanned<String>)>,
    /// `storage`, `storage = false`
    pub storage: Option<Spanned<bool>>,
    /// `served`, `served = false`
    pub served: Option<Spanned<bool>>,
    /// `deprecated`, `deprecated = "…"`
    pub deprecated: Option<Option<String>>,
    /// Each `validation = …`: an expression that gives a `kube::core::Rule`, or a CEL text.
    pub validations: Vec<TokenStream>,
}

/// Which verbs a client has.
#[derive(Clone, Debug, Default)]
pub enum VerbRule {
    /// All that the type allows.
    #[default]
    All,
    /// `no_verbs`
    None,
    /// `readonly`, perhaps with `skip_verbs(…)`.
    ReadOnly(Vec<Spanned<Verb>>),
    /// `only_verbs(…)`
    Only(Vec<Spanned<Verb>>),
    /// `skip_verbs(…)`
    Skip(Vec<Spanned<Verb>>),
}

impl VerbRule {
    /// The verbs of a kind with or without a status subresource.
    pub fn verbs(&self, has_status: bool) -> Verbs {
        let possible = |verb: &Verb| has_status || !Verb::STATUS.contains(verb);
        let without = |all: &[Verb], skipped: &[Spanned<Verb>]| -> Verbs {
            all.iter().copied().filter(|verb| !skipped.iter().any(|skip| skip.value == *verb)).collect()
        };
        let mut verbs = match self {
            Self::All => Verb::ALL.iter().copied().collect(),
            Self::None => Verbs::new(),
            Self::ReadOnly(skipped) => without(Verb::READ, skipped),
            Self::Only(only) => only.iter().map(|verb| verb.value).collect(),
            Self::Skip(skipped) => without(Verb::ALL, skipped),
        };
        verbs.retain(possible);
        verbs
    }

    fn written(&self) -> &[Spanned<Verb>] {
        match self {
            Self::All | Self::None => &[],
            Self::ReadOnly(verbs) | Self::Only(verbs) | Self::Skip(verbs) => verbs,
        }
    }
}

/// One `printcolumn(…)`.
#[derive(Clone, Debug)]
pub struct PrintColumn {
    /// The column's heading.
    pub name: String,
    /// The column's OpenAPI type.
    pub type_: String,
    /// Where the value is.
    pub json_path: String,
    /// What `kubectl explain` says of it.
    pub description: Option<String>,
    /// The OpenAPI format.
    pub format: Option<String>,
    /// Columns above 0 are shown with `-o wide` only.
    pub priority: Option<i32>,
}

/// `scale(…)`.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Where it was written.
    pub span: Span,
    /// Where the wanted number is.
    pub spec_replicas_path: String,
    /// Where the present number is.
    pub status_replicas_path: String,
    /// Where the selector is, as a text.
    pub label_selector_path: Option<String>,
}

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

/// A type named in an attribute.
#[derive(Clone, Debug)]
pub struct TypeRef {
    /// Where it was written.
    pub span: Span,
    /// The path, without spaces.
    pub path: String,
    /// The path as tokens, for the derive to refer to.
    pub tokens: syn::Path,
    /// Written as a string: the path holds from anywhere and is not resolved.
    pub absolute: bool,
}

/// Reads every `#[genclient(…)]` of a struct.
pub fn resource_attrs(cx: &Ctxt, attrs: &[syn::Attribute], has_status: bool) -> ResourceAttrs {
    let mut reader = Reader { cx, attrs: ResourceAttrs::default(), seen: Vec::new(), verb_words: Vec::new() };
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("genclient")) {
        match &attr.meta {
            syn::Meta::List(list) => {
                for entry in entries(cx, list.tokens.clone()) {
                    reader.entry(&entry);
                }
            }
            _ => cx.error(
                Diagnostic::new(attr.span(), "`genclient` is written `#[genclient(…)]`")
                    .help("`genclient explain` lists every attribute"),
            ),
        }
    }
    reader.finish(has_status)
}

struct Reader<'a> {
    cx: &'a Ctxt,
    attrs: ResourceAttrs,
    /// The entries read so far, to find one given twice.
    seen: Vec<(String, Span)>,
    /// `no_verbs`, `readonly`, `only_verbs`, `skip_verbs` in their order.
    verb_words: Vec<(String, Span, Vec<Spanned<Verb>>)>,
}

impl Reader<'_> {
    fn entry(&mut self, entry: &Entry) {
        let cx = self.cx;
        let name = entry.name.to_string();
        let Some(attribute) = lookup(&name) else {
            let error = Diagnostic::new(entry.span(), format!("unknown attribute `{name}`"));
            cx.error(match did_you_mean(&name, ATTRIBUTES.iter().map(|known| known.name)) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help("`genclient explain` lists every attribute"),
            });
            return;
        };
        if let (false, Some((_, first))) =
            (attribute.repeatable, self.seen.iter().find(|(seen, _)| *seen == name))
        {
            cx.error(
                Diagnostic::new(entry.span(), format!("`{name}` is given twice"))
                    .help("remove one of them")
                    .related(*first, "first given here"),
            );
            return;
        }
        self.seen.push((name.clone(), entry.span()));

        let attrs = &mut self.attrs;
        match name.as_str() {
            "cluster_scoped" => attrs.cluster_scoped = entry.flag(cx).is_some(),
            "no_status" => attrs.no_status = entry.flag(cx).is_some(),
            "no_crd" => attrs.no_crd = entry.flag(cx).is_some(),
            "no_verbs" | "readonly" => {
                if entry.flag(cx).is_some() {
                    self.verb_words.push((name, entry.span(), Vec::new()));
                }
            }
            "only_verbs" | "skip_verbs" => {
                let verbs = verb_list(cx, entry);
                self.verb_words.push((name, entry.span(), verbs));
            }
            "method" => attrs.methods.extend(method(cx, entry)),
            "plural" => attrs.plural = checked(cx, entry, "plural", names::dns_1035_label),
            "singular" => attrs.singular = checked(cx, entry, "singular", names::dns_1035_label),
            "path" => attrs.path = checked(cx, entry, "path", type_path),
            "shortname" => {
                attrs.shortnames.extend(checked(cx, entry, "short name", names::dns_1035_label));
            }
            "category" => attrs.categories.extend(checked(cx, entry, "category", names::dns_1035_label)),
            "printcolumn" => attrs.printcolumns.extend(printcolumn(cx, entry)),
            "selectable" => attrs.selectable.extend(checked(cx, entry, "JSON path", json_path)),
            "scale" => attrs.scale = scale(cx, entry),
            "annotation" => attrs.annotations.extend(entry.pair(cx)),
            "label" => attrs.labels.extend(entry.pair(cx)),
            "storage" => attrs.storage = entry.bool(cx),
            "served" => attrs.served = entry.bool(cx),
            "deprecated" => {
                attrs.deprecated = match entry.value {
                    Value::Flag => Some(None),
                    _ => entry.string(cx).map(|text| Some(text.value)),
                }
            }
            "validation" => match &entry.value {
                Value::Assign(rule) => {
                    if cx.ok(syn::parse2::<syn::Expr>(rule.clone())).is_some() {
                        attrs.validations.push(rule.clone());
                    }
                }
                _ => cx.error(Diagnostic::new(
                    entry.span(),
                    "`validation` is written `validation = \"self.spec.min <= self.spec.max\"`",
                )),
            },
            other => unreachable!("`{other}` is in the table of attributes and has no reader"),
        }
    }

    fn finish(mut self, has_status: bool) -> ResourceAttrs {
        self.attrs.verbs = self.verb_rule();
        let attrs = self.attrs;
        let cx = self.cx;
        let status = has_status && !attrs.no_status;
        let why = match has_status {
            true => "`no_status` takes the status subresource away",
            false => "the struct has no `status` field",
        };
        for verb in attrs.verbs.written() {
            if Verb::STATUS.contains(&verb.value) && !status {
                cx.error(
                    Diagnostic::new(verb.span, format!("`{}` needs a status, and {why}", verb.value))
                        .help("add a `status` field, or leave the verb out"),
                );
            }
        }
        if let (Some(scale), false) = (&attrs.scale, has_status) {
            cx.error(
                Diagnostic::new(scale.span, "`scale` needs a status, and the struct has no `status` field")
                    .help("add a `status` field that holds the present number of replicas"),
            );
        }
        for method in &attrs.methods {
            let taken = Verb::ALL.iter().any(|verb| verb.name() == method.name.value);
            if taken || ["api", "all", "new", "pages"].contains(&method.name.value.as_str()) {
                cx.error(
                    Diagnostic::new(
                        method.name.span,
                        format!("the method `{}` would clash with the client's own", method.name.value),
                    )
                    .help("choose another name"),
                );
            }
            if let Some(subresource) = &method.subresource
                && subresource.value == "status"
                && !status
            {
                cx.error(
                    Diagnostic::new(
                        subresource.span,
                        format!("the subresource `status` does not exist: {why}"),
                    )
                    .help("add a `status` field, or use another subresource"),
                );
            }
        }
        for (i, method) in attrs.methods.iter().enumerate() {
            if let Some(first) = attrs.methods[..i].iter().find(|m| m.name.value == method.name.value) {
                cx.error(
                    Diagnostic::new(
                        method.name.span,
                        format!("two methods are called `{}`", method.name.value),
                    )
                    .help("choose another name")
                    .related(first.name.span, "the first one is here"),
                );
            }
        }
        attrs
    }

    fn verb_rule(&mut self) -> VerbRule {
        let words = std::mem::take(&mut self.verb_words);
        for (i, (name, span, _)) in words.iter().enumerate() {
            for (other, first, _) in &words[..i] {
                let mut both = [other.as_str(), name.as_str()];
                both.sort_unstable();
                if both != ["readonly", "skip_verbs"] {
                    self.cx.error(
                        Diagnostic::new(*span, format!("`{name}` cannot be combined with `{other}`"))
                            .help("keep the one that says what you mean")
                            .related(*first, format!("`{other}` is here")),
                    );
                }
            }
        }
        let find =
            |wanted: &str| words.iter().find(|(name, ..)| name == wanted).map(|(_, _, verbs)| verbs.clone());
        if find("no_verbs").is_some() {
            VerbRule::None
        } else if let Some(only) = find("only_verbs") {
            VerbRule::Only(only)
        } else if find("readonly").is_some() {
            let skipped = find("skip_verbs").unwrap_or_default();
            for verb in skipped.iter().filter(|verb| !Verb::READ.contains(&verb.value)) {
                self.cx.error(
                    Diagnostic::new(verb.span, format!("`readonly` leaves `{}` out already", verb.value))
                        .help("remove it from `skip_verbs`"),
                );
            }
            VerbRule::ReadOnly(skipped)
        } else if let Some(skipped) = find("skip_verbs") {
            VerbRule::Skip(skipped)
        } else {
            VerbRule::All
        }
    }
}

/// `word = "text"` where the text must follow a rule.
fn checked(
    cx: &Ctxt,
    entry: &Entry,
    what: &str,
    rule: impl Fn(&str) -> Result<(), String>,
) -> Option<Spanned<String>> {
    let text = entry.string(cx)?;
    match rule(&text.value) {
        Ok(()) => Some(text),
        Err(why) => {
            cx.error(Diagnostic::new(text.span, format!("`{}` is not a valid {what}: {why}", text.value)));
            None
        }
    }
}

fn type_path(text: &str) -> Result<(), String> {
    let path = syn::parse_str::<syn::Path>(text).map_err(|_| "it is not a Rust path".to_owned())?;
    if !path.segments.iter().all(|segment| segment.arguments.is_empty()) {
        return Err("it must not have generic arguments".into());
    }
    // The generated crate is another one, so that only a path from a crate's name on holds there.
    let from_crate = path.segments.len() > 1
        && path
            .segments
            .iter()
            .all(|segment| !["crate", "self", "super", "Self"].iter().any(|word| segment.ident == word));
    match from_crate {
        true => Ok(()),
        false => Err("it must start with the name of a crate, as in `samplecrd_apis::v1::Network`".into()),
    }
}

fn json_path(text: &str) -> Result<(), String> {
    match text.strip_prefix('.') {
        Some(rest) if !rest.is_empty() => Ok(()),
        _ => Err("it must start at the object, as in `.spec.cidr`".into()),
    }
}

fn verb_list(cx: &Ctxt, entry: &Entry) -> Vec<Spanned<Verb>> {
    let Some(words) = entry.words(cx, "get, list") else { return Vec::new() };
    if words.is_empty() {
        cx.error(Diagnostic::new(entry.span(), format!("`{}` names no verb", entry.name)).help(match () {
            () if entry.name == "only_verbs" => "write `no_verbs` for a client without verbs",
            () => "remove it",
        }));
    }
    let mut verbs: Vec<Spanned<Verb>> = Vec::new();
    for word in words {
        let Some(verb) = verb(cx, &word, Verb::ALL) else { continue };
        if let Some(first) = verbs.iter().find(|seen| seen.value == verb) {
            cx.error(
                Diagnostic::new(word.span(), format!("`{verb}` is named twice"))
                    .help("remove one of them")
                    .related(first.span, "first named here"),
            );
            continue;
        }
        verbs.push(Spanned { span: word.span(), value: verb });
    }
    verbs
}

fn verb(cx: &Ctxt, word: &Ident, allowed: &[Verb]) -> Option<Verb> {
    let text = word.to_string();
    let Ok(verb) = text.parse::<Verb>() else {
        let error = Diagnostic::new(word.span(), format!("unknown verb `{text}`"));
        cx.error(match did_you_mean(&text, allowed.iter().map(|verb| verb.name())) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("the verbs are {}", verb::join(allowed))),
        });
        return None;
    };
    if !allowed.contains(&verb) {
        cx.error(
            Diagnostic::new(word.span(), format!("a method cannot have the verb `{verb}`"))
                .help(format!("a method's verb is one of {}", verb::join(allowed))),
        );
        return None;
    }
    Some(verb)
}

/// The entries of `word(key = value, …)`, each key known and given once.
fn keys(cx: &Ctxt, entry: &Entry, known: &[&str], example: &str) -> Option<Vec<Entry>> {
    let mut keys: Vec<Entry> = Vec::new();
    for key in entries(cx, entry.args(cx, example)?) {
        let name = key.name.to_string();
        if !known.contains(&name.as_str()) {
            let error = Diagnostic::new(key.span(), format!("`{}` has no `{name}`", entry.name));
            cx.error(match did_you_mean(&name, known.iter().copied()) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("it has {}", known.join(", "))),
            });
        } else if let Some(first) = keys.iter().find(|seen| seen.name == key.name) {
            cx.error(
                Diagnostic::new(key.span(), format!("`{name}` is given twice"))
                    .help("remove one of them")
                    .related(first.span(), "first given here"),
            );
        } else {
            keys.push(key);
        }
    }
    Some(keys)
}

/// Finds a key that must be there.
fn required<'e>(cx: &Ctxt, entry: &Entry, keys: &'e [Entry], name: &str) -> Option<&'e Entry> {
    let found = keys.iter().find(|key| key.name == name);
    if found.is_none() {
        cx.error(
            Diagnostic::new(entry.span(), format!("`{}` needs `{name}`", entry.name))
                .help(format!("`genclient explain {}` shows an example", entry.name)),
        );
    }
    found
}

fn optional_string(cx: &Ctxt, keys: &[Entry], name: &str) -> Option<String> {
    keys.iter().find(|key| key.name == name).and_then(|key| key.string(cx)).map(|text| text.value)
}

fn printcolumn(cx: &Ctxt, entry: &Entry) -> Option<PrintColumn> {
    const TYPES: &[&str] = &["string", "integer", "number", "boolean", "date"];
    let known = ["name", "type_", "json_path", "description", "format", "priority"];
    let keys = keys(cx, entry, &known, "name = \"CIDR\", type_ = \"string\", json_path = \".spec.cidr\"")?;
    let name = required(cx, entry, &keys, "name").and_then(|key| key.string(cx));
    let type_ = required(cx, entry, &keys, "type_").and_then(|key| key.string(cx));
    let path =
        required(cx, entry, &keys, "json_path").and_then(|key| checked(cx, key, "JSON path", json_path));
    let priority = keys.iter().find(|key| key.name == "priority").and_then(|key| key.int(cx));
    let type_ = type_?;
    if !TYPES.contains(&type_.value.as_str()) {
        cx.error(
            Diagnostic::new(type_.span, format!("a column cannot have the type `{}`", type_.value))
                .help(format!("the types are {}", TYPES.join(", "))),
        );
        return None;
    }
    Some(PrintColumn {
        name: name?.value,
        type_: type_.value,
        json_path: path?.value,
        description: optional_string(cx, &keys, "description"),
        format: optional_string(cx, &keys, "format"),
        priority,
    })
}

fn scale(cx: &Ctxt, entry: &Entry) -> Option<Scale> {
    let known = ["spec_replicas_path", "status_replicas_path", "label_selector_path"];
    let keys = keys(
        cx,
        entry,
        &known,
        "spec_replicas_path = \".spec.replicas\", status_replicas_path = \".status.replicas\"",
    )?;
    let path = |name: &str| {
        required(cx, entry, &keys, name).and_then(|key| checked(cx, key, "JSON path", json_path))
    };
    let (spec, status) = (path("spec_replicas_path"), path("status_replicas_path"));
    Some(Scale {
        span: entry.span(),
        spec_replicas_path: spec?.value,
        status_replicas_path: status?.value,
        label_selector_path: optional_string(cx, &keys, "label_selector_path"),
    })
}

fn method(cx: &Ctxt, entry: &Entry) -> Option<MethodAttr> {
    let known = ["name", "verb", "subresource", "input", "result"];
    let keys = keys(cx, entry, &known, "name = \"update_scale\", verb = update, subresource = \"scale\"")?;
    let name =
        required(cx, entry, &keys, "name").and_then(|key| checked(cx, key, "method name", method_name));
    let verb = required(cx, entry, &keys, "verb").and_then(|key| match &key.value {
        Value::Assign(tokens) => match syn::parse2::<Ident>(tokens.clone()) {
            Ok(word) => verb(cx, &word, Verb::METHOD),
            Err(_) => {
                cx.error(
                    Diagnostic::new(tokens.span(), "expected a verb, as in `verb = update`")
                        .help(format!("a method's verb is one of {}", verb::join(Verb::METHOD))),
                );
                None
            }
        },
        _ => {
            cx.error(Diagnostic::new(key.span(), "`verb` is written `verb = update`"));
            None
        }
    });
    let subresource = match keys.iter().find(|key| key.name == "subresource") {
        Some(key) => Some(checked(cx, key, "subresource", names::dns_label)?),
        None => None,
    };
    let type_of = |name: &str| match keys.iter().find(|key| key.name == name) {
        Some(key) => type_ref(cx, key).map(Some),
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
    Some(MethodAttr { name: name?, verb, subresource, input: input?, result: result? })
}

fn method_name(text: &str) -> Result<(), String> {
    match syn::parse_str::<Ident>(text) {
        Err(_) => Err("it is not a Rust identifier".into()),
        Ok(_) if text.chars().any(char::is_uppercase) => {
            Err(format!("methods are in snake case: `{}`", names::snake(text)))
        }
        Ok(_) => Ok(()),
    }
}

/// `input = Scale`, `input = other::Scale` or `input = "any::path::Scale"`.
fn type_ref(cx: &Ctxt, key: &Entry) -> Option<TypeRef> {
    let Value::Assign(tokens) = &key.value else {
        cx.error(Diagnostic::new(key.span(), format!("`{0}` is written `{0} = Type`", key.name)));
        return None;
    };
    let (text, absolute) = match syn::parse2::<syn::LitStr>(tokens.clone()) {
        Ok(text) => (text.value(), true),
        Err(_) => (tokens.to_string(), false),
    };
    if absolute {
        checked(cx, key, "path", type_path)?;
    }
    let parsed = match absolute {
        true => syn::parse_str::<syn::Path>(&text),
        false => syn::parse2::<syn::Path>(tokens.clone()),
    };
    match parsed {
        Ok(path) if path.segments.iter().all(|segment| segment.arguments.is_empty()) => Some(TypeRef {
            span: tokens.span(),
            path: text.split_whitespace().collect(),
            tokens: path,
            absolute,
        }),
        _ => {
            cx.error(
                Diagnostic::new(tokens.span(), format!("`{}` must be the path of a type", key.name))
                    .help("generic arguments are not allowed; give the type a name with `type`"),
            );
            None
        }
    }
}
