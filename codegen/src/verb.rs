//! The verbs of a typed client.

use std::{collections::BTreeSet, fmt, str::FromStr};

macro_rules! verbs {
    ($($variant:ident $name:literal $doc:literal,)*) => {
        /// A verb of a typed client, in the order in which generated clients list their methods.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Verb {
            $(#[doc = $doc] $variant,)*
        }

        impl Verb {
            /// Every verb.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The verb as it is written in an attribute, and the name of its method.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

verbs! {
    Create "create" "Creates one object.",
    Update "update" "Replaces one object.",
    UpdateStatus "update_status" "Replaces the status of one object.",
    Delete "delete" "Deletes one object.",
    DeleteCollection "delete_collection" "Deletes all objects that a selector matches.",
    Get "get" "Reads one object.",
    List "list" "Reads all objects that a selector matches.",
    Watch "watch" "Follows the changes of the objects that a selector matches.",
    Patch "patch" "Changes parts of one object.",
    Apply "apply" "Applies a configuration to one object, on the server.",
    ApplyStatus "apply_status" "Applies a configuration to the status of one object, on the server.",
}

impl Verb {
    /// The verbs that only read.
    pub const READ: &[Self] = &[Self::Get, Self::List, Self::Watch];

    /// The verbs that act on the status subresource.
    pub const STATUS: &[Self] = &[Self::UpdateStatus, Self::ApplyStatus];

    /// The verbs that an extra method may use.
    pub const METHOD: &[Self] =
        &[Self::Create, Self::Update, Self::Get, Self::List, Self::Patch, Self::Apply];

    /// Whether an extra method with this verb takes a body of a type that the writer may name.
    pub fn takes_input(self) -> bool {
        matches!(self, Self::Create | Self::Update)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Verb {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.iter().copied().find(|verb| verb.name() == text).ok_or(())
    }
}

/// Several verbs.
pub type Verbs = BTreeSet<Verb>;

/// The verbs as a sentence lists them.
pub(crate) fn join(verbs: &[Verb]) -> String {
    verbs.iter().map(|verb| format!("`{verb}`")).collect::<Vec<_>>().join(", ")
}
