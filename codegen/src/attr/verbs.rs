//! `no_verbs`, `readonly`, `only_verbs(…)` and `skip_verbs(…)`: which verbs a client has.

use proc_macro2::{Ident, Span};

use super::entry::{Entry, Spanned};
use crate::{
    diag::{Ctxt, Diagnostic, did_you_mean},
    verb::{self, Verb, Verbs},
};

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

    /// Checks the verbs that were written. `no_status` says why there is no status subresource, where
    /// there is none.
    pub(super) fn check(&self, cx: &Ctxt, no_status: Option<&str>) {
        let Some(why) = no_status else { return };
        for verb in self.written().iter().filter(|verb| Verb::STATUS.contains(&verb.value)) {
            cx.error(
                Diagnostic::new(verb.span, format!("`{}` needs a status, and {why}", verb.value))
                    .help("add a `status` field, or leave the verb out"),
            );
        }
    }

    fn written(&self) -> &[Spanned<Verb>] {
        match self {
            Self::All | Self::None => &[],
            Self::ReadOnly(verbs) | Self::Only(verbs) | Self::Skip(verbs) => verbs,
        }
    }
}

/// The verb attributes of one struct, each with where it was written.
#[derive(Default)]
pub(super) struct VerbWords {
    /// In the order of the source.
    order: Vec<(&'static str, Span)>,
    no_verbs: bool,
    readonly: bool,
    only: Option<Vec<Spanned<Verb>>>,
    skip: Option<Vec<Spanned<Verb>>>,
}

impl VerbWords {
    pub fn no_verbs(&mut self, cx: &Ctxt, entry: &Entry) {
        if entry.flag(cx).is_some() {
            self.order.push(("no_verbs", entry.span()));
            self.no_verbs = true;
        }
    }

    pub fn readonly(&mut self, cx: &Ctxt, entry: &Entry) {
        if entry.flag(cx).is_some() {
            self.order.push(("readonly", entry.span()));
            self.readonly = true;
        }
    }

    pub fn only(&mut self, cx: &Ctxt, entry: &Entry) {
        self.order.push(("only_verbs", entry.span()));
        self.only = Some(verb_list(cx, entry, "write `no_verbs` for a client without verbs"));
    }

    pub fn skip(&mut self, cx: &Ctxt, entry: &Entry) {
        self.order.push(("skip_verbs", entry.span()));
        self.skip = Some(verb_list(cx, entry, "remove it"));
    }

    /// What the words say together.
    pub fn rule(self, cx: &Ctxt) -> VerbRule {
        for (i, (name, span)) in self.order.iter().enumerate() {
            for (other, first) in &self.order[..i] {
                let both = [*other, *name];
                if both.contains(&"readonly") && both.contains(&"skip_verbs") {
                    continue;
                }
                cx.error(
                    Diagnostic::new(*span, format!("`{name}` cannot be combined with `{other}`"))
                        .help("keep the one that says what you mean")
                        .related(*first, format!("`{other}` is here")),
                );
            }
        }
        if self.no_verbs {
            VerbRule::None
        } else if let Some(only) = self.only {
            VerbRule::Only(only)
        } else if self.readonly {
            let skipped = self.skip.unwrap_or_default();
            for verb in skipped.iter().filter(|verb| !Verb::READ.contains(&verb.value)) {
                cx.error(
                    Diagnostic::new(verb.span, format!("`readonly` leaves `{}` out already", verb.value))
                        .help("remove it from `skip_verbs`"),
                );
            }
            VerbRule::ReadOnly(skipped)
        } else if let Some(skipped) = self.skip {
            VerbRule::Skip(skipped)
        } else {
            VerbRule::All
        }
    }
}

/// The verbs of an entry, each named once; `empty` is the help where there is none.
fn verb_list(cx: &Ctxt, entry: &Entry, empty: &str) -> Vec<Spanned<Verb>> {
    let Some(words) = entry.words(cx, "get, list") else { return Vec::new() };
    if words.is_empty() {
        cx.error(Diagnostic::new(entry.span(), format!("`{}` names no verb", entry.name)).help(empty));
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

/// One of the allowed verbs.
pub(super) fn verb(cx: &Ctxt, word: &Ident, allowed: &[Verb]) -> Option<Verb> {
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
