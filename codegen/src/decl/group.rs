//! The groups in which the API server takes no CRD.
//!
//! A derive does not know the group of its struct: it asks the compiler, with these words.

/// Why the API server would refuse a CRD because of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrdGroupError {
    /// The core group, which has no name.
    Core,
    /// A group without a dot, such as the built-in `apps`.
    NoDot,
}

impl CrdGroupError {
    /// What is wrong with a CRD in this group, if anything is.
    pub fn of(group: &str) -> Option<Self> {
        if group.is_empty() {
            Some(Self::Core)
        } else if !group.contains('.') {
            Some(Self::NoDot)
        } else {
            None
        }
    }

    /// What is wrong.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Core => "the API server takes no CRD in the core group",
            Self::NoDot => "the API server takes no CRD in a group without a dot",
        }
    }

    /// What to do about it.
    pub const fn help(self) -> &'static str {
        "choose a group such as `samplecrd.k8s.io`, or add `#[genclient(no_crd)]` if the kind is built in or \
         another server has it"
    }
}
