//! Actions as people read them.

use std::fmt;

use super::{Action, Content, PatchType, Verb};
use crate::kinds;

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "delete-collection",
        })
    }
}

/// One line without the body: `update apps/v1 deployments/status default/web`.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match &self.content {
            Some(Content::Patch(PatchType::Json, _)) => "json-patch".to_owned(),
            Some(Content::Patch(PatchType::Merge, _)) => "merge-patch".to_owned(),
            Some(Content::Patch(PatchType::Strategic, _)) => "strategic-patch".to_owned(),
            Some(Content::Patch(PatchType::Apply, _)) => "apply".to_owned(),
            _ => self.verb.to_string(),
        };
        write!(f, "{verb} {} {}", kinds::api_version(&self.group, &self.version), self.resource)?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        match (self.namespace.as_str(), self.name.as_str()) {
            ("", "") => {}
            ("", name) => write!(f, " {name}")?,
            (namespace, name) => write!(f, " {namespace}/{name}")?,
        }
        for (what, selector) in [("labels", &self.labels), ("fields", &self.fields)] {
            if !selector.is_empty() {
                write!(f, " with {what} {selector}")?;
            }
        }
        for (what, holds) in [("forced", self.force), ("dry run", self.dry_run)] {
            if holds {
                write!(f, " ({what})")?;
            }
        }
        Ok(())
    }
}

/// The line of the action on a line of its own, and under it the body, so that `assert_eq!` shows lists that people
/// can compare.
impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n    {self}")?;
        if let Some(body) = self.body() {
            for line in format!("{body:#}").lines() {
                write!(f, "\n        {line}")?;
            }
        }
        Ok(())
    }
}
