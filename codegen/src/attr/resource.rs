//! The attributes of one annotated struct, read and checked as far as one struct shows.

use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned as _;

use super::{
    column::PrintColumn,
    entry::{Entry, Spanned, Value, entries, given_once},
    json_path::SELECTABLE_PATH,
    metadata,
    method::{self, MethodAttr},
    rule::{CATEGORY, PLURAL, SHORT_NAME, SINGULAR, WARNING},
    scale::Scale,
    table::{ATTRIBUTES, Word, lookup},
    type_ref::{TYPE_PATH, crate_path},
    verbs::{VerbRule, VerbWords},
};
use crate::diag::{Ctxt, Diagnostic, did_you_mean};

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
    /// `crate = "…"`
    pub krate: Option<syn::Path>,
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

/// Reads every `#[genclient(…)]` of a struct.
pub fn resource_attrs(cx: &Ctxt, attrs: &[syn::Attribute], has_status: bool) -> ResourceAttrs {
    let mut reader =
        Reader { cx, attrs: ResourceAttrs::default(), seen: Vec::new(), verbs: VerbWords::default() };
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

/// How many selectable fields the API server allows.
const MAX_SELECTABLE: usize = 8;

struct Reader<'a> {
    cx: &'a Ctxt,
    attrs: ResourceAttrs,
    /// The attributes read so far, to find one given twice.
    seen: Vec<(Word, Span)>,
    verbs: VerbWords,
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
        let first = self.seen.iter().find(|(seen, _)| *seen == attribute.word);
        if let (Some((_, first)), false) = (first, attribute.repeatable) {
            cx.error(
                Diagnostic::new(entry.span(), format!("`{name}` is given twice"))
                    .help("remove one of them")
                    .related(*first, "first given here"),
            );
            return;
        }
        self.seen.push((attribute.word, entry.span()));

        let attrs = &mut self.attrs;
        match attribute.word {
            Word::ClusterScoped => attrs.cluster_scoped = entry.flag(cx).is_some(),
            Word::NoStatus => attrs.no_status = entry.flag(cx).is_some(),
            Word::NoVerbs => self.verbs.no_verbs(cx, entry),
            Word::Readonly => self.verbs.readonly(cx, entry),
            Word::OnlyVerbs => self.verbs.only(cx, entry),
            Word::SkipVerbs => self.verbs.skip(cx, entry),
            Word::Method => attrs.methods.extend(MethodAttr::read(cx, entry)),
            Word::Plural => attrs.plural = entry.checked(cx, &PLURAL),
            Word::Path => attrs.path = entry.checked(cx, &TYPE_PATH),
            Word::Crate => attrs.krate = crate_path(cx, entry),
            Word::NoCrd => attrs.no_crd = entry.flag(cx).is_some(),
            Word::Shortname => {
                let name = entry.checked(cx, &SHORT_NAME);
                attrs
                    .shortnames
                    .extend(name.filter(|name| given_once(cx, "short name", name, &attrs.shortnames)));
            }
            Word::Singular => attrs.singular = entry.checked(cx, &SINGULAR),
            Word::Category => {
                let name = entry.checked(cx, &CATEGORY);
                attrs
                    .categories
                    .extend(name.filter(|name| given_once(cx, "category", name, &attrs.categories)));
            }
            Word::Printcolumn => {
                let column = PrintColumn::read(cx, entry, &attrs.printcolumns);
                attrs.printcolumns.extend(column);
            }
            Word::Selectable => {
                let path = entry.checked(cx, &SELECTABLE_PATH);
                attrs
                    .selectable
                    .extend(path.filter(|path| given_once(cx, "selectable field", path, &attrs.selectable)));
            }
            Word::Scale => attrs.scale = Scale::read(cx, entry),
            Word::Annotation => {
                let pair = metadata::annotation(cx, entry, &attrs.annotations);
                attrs.annotations.extend(pair);
            }
            Word::Label => {
                let pair = metadata::label(cx, entry, &attrs.labels);
                attrs.labels.extend(pair);
            }
            Word::Storage => attrs.storage = entry.bool(cx),
            Word::Served => attrs.served = entry.bool(cx),
            Word::Deprecated => {
                attrs.deprecated = match entry.value {
                    Value::Flag => Some(None),
                    _ => entry.checked(cx, &WARNING).map(|text| Some(text.value)),
                }
            }
            Word::Validation => attrs.validations.extend(validation(cx, entry)),
        }
    }

    /// What one attribute asks of another, or of the fields.
    fn finish(mut self, has_status: bool) -> ResourceAttrs {
        let cx = self.cx;
        self.attrs.verbs = self.verbs.rule(cx);
        let attrs = self.attrs;
        let no_status = if !has_status {
            Some("the struct has no `status` field")
        } else if attrs.no_status {
            Some("`no_status` takes the status subresource away")
        } else {
            None
        };
        attrs.verbs.check(cx, no_status);
        if let (Some(scale), false) = (&attrs.scale, has_status) {
            cx.error(
                Diagnostic::new(scale.span, "`scale` needs a status, and the struct has no `status` field")
                    .help("add a `status` field that holds the present number of replicas"),
            );
        }
        if let Some(path) = attrs.selectable.get(MAX_SELECTABLE) {
            cx.error(
                Diagnostic::new(path.span, format!("a kind has at most {MAX_SELECTABLE} selectable fields"))
                    .help("remove the others"),
            );
        }
        method::check(cx, &attrs.methods, no_status);
        attrs
    }
}

/// `validation = …`: a CEL rule, or an expression that gives one.
fn validation(cx: &Ctxt, entry: &Entry) -> Option<TokenStream> {
    let Value::Assign(rule) = &entry.value else {
        entry.wrong_form(cx, "validation = \"self.spec.min <= self.spec.max\"");
        return None;
    };
    let parsed = syn::parse2::<syn::Expr>(rule.clone()).map_err(|error| {
        Diagnostic::from(error)
            .help("a rule is a text in CEL, or an expression that gives a `kube::core::Rule`")
    });
    cx.ok(parsed).map(|_| rule.clone())
}
