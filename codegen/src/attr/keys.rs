//! The keys of `word(key = value, …)`.

use super::entry::{Entry, entries};
use crate::diag::{Ctxt, Diagnostic, did_you_mean};

/// The keys of one entry, each known and given once.
pub(super) struct Keys<'e> {
    entry: &'e Entry,
    keys: Vec<Entry>,
}

impl<'e> Keys<'e> {
    /// Reads the keys of an entry; `example` is what stands between the parentheses.
    pub fn read(cx: &Ctxt, entry: &'e Entry, known: &[&str], example: &str) -> Option<Self> {
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
        Some(Self { entry, keys })
    }

    /// A key that may be absent.
    pub fn optional(&self, name: &str) -> Option<&Entry> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// A key that must be there.
    pub fn required(&self, cx: &Ctxt, name: &str) -> Option<&Entry> {
        let found = self.optional(name);
        if found.is_none() {
            let entry = &self.entry.name;
            cx.error(
                Diagnostic::new(self.entry.span(), format!("`{entry}` needs `{name}`"))
                    .help(format!("`genclient explain {entry}` shows an example")),
            );
        }
        found
    }

    /// The text of a key that may be absent.
    pub fn optional_string(&self, cx: &Ctxt, name: &str) -> Option<String> {
        self.optional(name).and_then(|key| key.string(cx)).map(|text| text.value)
    }
}
