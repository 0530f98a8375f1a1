//! Generates typed Kubernetes clientsets, listers and shared informers from annotated Rust structs.
//!
//! The stages, each of which only reads what the one before it made:
//!
//! ```text
//! Sources ── parse ──▶ declarations ── lower ──▶ Model ── check ──▶ Model ── render ──▶ GeneratedFile…
//! ```
//!
//! `generate` is pure: files are read into `Sources` before it and written by
//! the command line after it. Every stage collects all its errors; between the stages they are looked at.
//!
//! Without the feature `generate` the crate is the part that the derives share: the attribute
//! grammar ([`attr`]), what one item says ([`decl`]), names ([`names`]) and errors ([`diag`]).

// Whatever can fail is an error that the caller can handle; tests may end with a panic.
#![warn(clippy::unwrap_used)]

pub mod attr;
pub mod decl;
pub mod diag;
pub mod names;
pub mod verb;

#[cfg(feature = "generate")]
mod check;
#[cfg(feature = "generate")]
pub mod config;
#[cfg(feature = "generate")]
mod lower;
#[cfg(feature = "generate")]
pub mod model;
#[cfg(feature = "generate")]
mod parse;
#[cfg(feature = "generate")]
mod render;
#[cfg(feature = "generate")]
pub mod source;

#[cfg(feature = "generate")]
pub use generate::*;

#[cfg(feature = "generate")]
mod generate {
    use crate::{
        check,
        config::{ClientConfig, Config},
        diag::Ctxt,
        lower,
        model::Model,
        parse,
        source::{Error, Sources},
    };

    pub use crate::render::{GeneratedFile, HEADER, render};

    /// Generates the files of one client, or says all that is wrong with its sources.
    pub fn generate(
        sources: &Sources,
        config: &Config,
        client: &ClientConfig,
    ) -> Result<Vec<GeneratedFile>, Vec<Error>> {
        let model = model(sources)?;
        Ok(render(&model, config, client))
    }

    /// Reads and checks what the sources declare.
    pub fn model(sources: &Sources) -> Result<Model, Vec<Error>> {
        let cx = Ctxt::new();
        sources.errors.iter().cloned().for_each(|error| cx.error(error));
        let declarations = parse::parse(sources, &cx);
        sorted(cx)?;

        let cx = Ctxt::new();
        let model = lower::lower(sources, &declarations, &cx);
        check::check(&model, &cx);
        sorted(cx)?;

        if model.groups.is_empty() {
            let folders: Vec<_> = sources.crates.iter().map(|krate| format!("`{}`", krate.folder)).collect();
            return Err(vec![
                Error::new(None, format!("no annotated type was found in {}", folders.join(", ")))
                    .help("put `#[derive(GenClient)]` on a struct with a `metadata: ObjectMeta` field"),
            ]);
        }
        Ok(model)
    }

    /// Ends a stage: its errors in the order of the sources.
    fn sorted(cx: Ctxt<Option<crate::source::Location>>) -> Result<(), Vec<Error>> {
        cx.check().map_err(|mut errors| {
            errors.sort_by_key(|error| error.at.as_ref().map(|at| (at.file, at.range.start, at.range.end)));
            // Two modules may share a file, and its errors.
            errors.dedup_by(|a, b| a.at.is_some() && a.at == b.at && a.message == b.message);
            errors
        })
    }
}
