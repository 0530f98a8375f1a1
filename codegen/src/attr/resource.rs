//! The attributes of one annotated struct, read and checked as far as one struct shows.

use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned as _;

use super::{
    column::PrintColumn,
    entry::{Entry, Spanned, Value, entries},
    json_path::json_path,
    method::{self, MethodAttr},
    scale::Scale,
    table::{ATTRIBUTES, Word, lookup},
    type_ref::{crate_path, type_path},
    verbs::{VerbRule, VerbWords},
};
use crate::{
    diag::{Ctxt, Diagnostic, did_you_mean},
    names,
};

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
            Word::Plural => attrs.plural = entry.checked(cx, "plural", names::dns_1035_label),
            Word::Path => attrs.path = entry.checked(cx, "path", type_path),
            Word::Crate => attrs.krate = crate_path(cx, entry),
            Word::NoCrd => attrs.no_crd = entry.flag(cx).is_some(),
            Word::Shortname => {
                attrs.shortnames.extend(entry.checked(cx, "short name", names::dns_1035_label));
            }
            Word::Singular => attrs.singular = entry.checked(cx, "singular", names::dns_1035_label),
            Word::Category => {
                attrs.categories.extend(entry.checked(cx, "category", names::dns_1035_label));
            }
            Word::Printcolumn => attrs.printcolumns.extend(PrintColumn::read(cx, entry)),
            Word::Selectable => attrs.selectable.extend(entry.checked(cx, "JSON path", json_path)),
            Word::Scale => attrs.scale = Scale::read(cx, entry),
            Word::Annotation => attrs.annotations.extend(entry.pair(cx)),
            Word::Label => attrs.labels.extend(entry.pair(cx)),
            Word::Storage => attrs.storage = entry.bool(cx),
            Word::Served => attrs.served = entry.bool(cx),
            Word::Deprecated => {
                attrs.deprecated = match entry.value {
                    Value::Flag => Some(None),
                    _ => entry.string(cx).map(|text| Some(text.value)),
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
        method::check(cx, &attrs.methods, no_status);
        attrs
    }
}

/// `validation = …`: a CEL rule, or an expression that gives one.
fn validation(cx: &Ctxt, entry: &Entry) -> Option<TokenStream> {
    let Value::Assign(rule) = &entry.value else {
        cx.error(Diagnostic::new(
            entry.span(),
            "`validation` is written `validation = \"self.spec.min <= self.spec.max\"`",
        ));
        return None;
    };
    cx.ok(syn::parse2::<syn::Expr>(rule.clone())).map(|_| rule.clone())
}
