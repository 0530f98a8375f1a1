//! Errors, collected: every stage reports all it finds, and the stages meet in [`Ctxt::check`].

use std::{cell::RefCell, thread};

use proc_macro2::Span;

/// One error: where it is, what is wrong, and what to do about it.
///
/// While one item is read the place is a [`Span`], which is what a macro has; the command line
/// turns it into a location, which also names the file.
#[derive(Clone, Debug)]
pub struct Diagnostic<S = Span> {
    /// The source to mark.
    pub at: S,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Other places that belong to the error, each with what there is to say about it.
    pub related: Vec<(S, String)>,
}

impl<S> Diagnostic<S> {
    /// An error at this place.
    pub fn new(at: S, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), help: None, related: Vec::new() }
    }

    /// Adds what the reader can do about the error.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another place that belongs to the error.
    #[must_use]
    pub fn related(mut self, at: S, label: impl Into<String>) -> Self {
        self.related.push((at, label.into()));
        self
    }

    /// The same error with its places expressed in another way.
    pub fn map<T>(self, mut place: impl FnMut(S) -> T) -> Diagnostic<T> {
        Diagnostic {
            at: place(self.at),
            message: self.message,
            help: self.help,
            related: self.related.into_iter().map(|(at, label)| (place(at), label)).collect(),
        }
    }
}

impl From<syn::Error> for Diagnostic {
    fn from(error: syn::Error) -> Self {
        Self::new(error.span(), error.to_string())
    }
}

/// Collects errors so that a reader sees all of them at once.
///
/// Forgetting to look at what was collected is a bug: dropping a context without
/// [`check`](Ctxt::check) panics.
#[derive(Debug)]
pub struct Ctxt<S = Span> {
    errors: RefCell<Option<Vec<Diagnostic<S>>>>,
}

impl<S> Default for Ctxt<S> {
    fn default() -> Self {
        Self { errors: RefCell::new(Some(Vec::new())) }
    }
}

impl<S> Ctxt<S> {
    /// A context without errors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error.
    pub fn error(&self, error: impl Into<Diagnostic<S>>) {
        if let Some(errors) = self.errors.borrow_mut().as_mut() {
            errors.push(error.into());
        }
    }

    /// Takes the value, or adds the error and gives `None`.
    pub fn ok<T>(&self, result: Result<T, impl Into<Diagnostic<S>>>) -> Option<T> {
        result.map_err(|error| self.error(error)).ok()
    }

    /// Ends the collection: all errors, or none.
    pub fn check(self) -> Result<(), Vec<Diagnostic<S>>> {
        match self.errors.take() {
            Some(errors) if !errors.is_empty() => Err(errors),
            _ => Ok(()),
        }
    }
}

impl<S> Drop for Ctxt<S> {
    fn drop(&mut self) {
        if !thread::panicking() && self.errors.borrow().is_some() {
            panic!("the collected errors were never looked at");
        }
    }
}

/// Of the candidates, the one the writer may have meant.
pub fn did_you_mean<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(written, candidate), candidate))
        // A third of the word wrong is still a slip; more is another word.
        .filter(|(distance, candidate)| *distance <= candidate.len().max(3) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}
