//! A source crate: its files, the kinds in it, and what the generator may say of it.

use std::{collections::BTreeMap, fmt};

use crate::kind::Kind;

/// What the generator must do with a crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It generates a client.
    Accepted,
    /// It refuses the crate.
    Refused,
    /// Either is right, as long as a client is one of the right kinds.
    Either,
}

#[derive(Clone, Debug)]
pub struct Crate {
    /// The crate's name, by which a failure is found; `{crate}` stands for it in the files.
    pub name: String,
    /// The files below `src`.
    pub files: BTreeMap<String, String>,
    pub kinds: Vec<Kind>,
    pub verdict: Verdict,
    /// Whether it is built as a crate of its own, because it depends on being one.
    pub alone: bool,
    pub edition: &'static str,
}

impl Crate {
    /// A crate with this root.
    pub fn new(root: &str) -> Self {
        Self {
            name: String::new(),
            files: BTreeMap::from([("lib.rs".to_owned(), root.to_owned())]),
            kinds: Vec::new(),
            verdict: Verdict::Refused,
            alone: false,
            edition: "2024",
        }
    }

    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    /// The generator makes clients of exactly these kinds.
    pub fn accepted(mut self, kinds: impl IntoIterator<Item = Kind>) -> Self {
        self.kinds = kinds.into_iter().collect();
        self.verdict = Verdict::Accepted;
        self
    }

    pub fn alone(mut self, edition: &'static str) -> Self {
        self.alone = true;
        self.edition = edition;
        self
    }

    /// The text of a file in the crate itself.
    pub fn text(&self, text: &str) -> String {
        text.replace("{crate}", &self.name)
    }

    /// The text of a file in a crate that has this one as a module.
    pub fn text_in_batch(&self, text: &str) -> String {
        self.text(text).replace("crate::", &format!("crate::{}::", self.name))
    }
}

impl fmt::Display for Crate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the crate {} ({:?}):", self.name, self.verdict)?;
        for (path, text) in &self.files {
            writeln!(f, "--- src/{path}\n{text}")?;
        }
        Ok(())
    }
}

/// What an item needs that stands in a module.
pub const HEAD: &str =
    "#[allow(unused_imports)]\nuse genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};\n";

/// The items of a module of this group and version.
pub fn module(group_version: &str, items: &str) -> String {
    format!("{HEAD}genclient_runtime::group_version!({group_version:?});\n{items}")
}

/// A kind with these attributes. It has no CRD, so that its group and its versions may be any.
pub fn kind(name: &str, attributes: &str) -> String {
    format!(
        "#[derive(Clone, Debug, GenClient)]\n#[genclient(no_crd)]\n{attributes}\npub struct {name} {{ pub metadata: ObjectMeta }}\n"
    )
}
