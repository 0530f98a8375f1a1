//! Errors for people: the message, the marked source, what to do. Plain text when not on a terminal.

use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use genclient::{
    config::ConfigError,
    plan,
    source::{Error, Location, Sources},
};

use crate::print::{colours, note};

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    problems: Vec<Problem>,
}

#[derive(Debug)]
enum Problem {
    /// Something that no source is to blame for.
    Message { text: String, help: Option<String> },
    /// The command was asked to end.
    Interruption,
    /// Errors in sources.
    Sources { sources: Box<Sources>, errors: Vec<Error> },
    /// A place in the configuration.
    Config { path: String, text: String, message: String, range: std::ops::Range<usize> },
}

impl Failure {
    pub fn message(text: impl Into<String>) -> Self {
        Self { problems: vec![Problem::Message { text: text.into(), help: None }] }
    }

    pub fn help(mut self, text: &str) -> Self {
        if let Some(Problem::Message { help, .. }) = self.problems.last_mut() {
            *help = Some(text.to_owned());
        }
        self
    }

    pub fn sources(sources: Sources, errors: Vec<Error>) -> Self {
        Self { problems: vec![Problem::Sources { sources: Box::new(sources), errors }] }
    }

    pub fn config(path: &Path, text: &str, error: &ConfigError) -> Self {
        match error {
            ConfigError::Parse(parse) => Self {
                problems: vec![Problem::Config {
                    path: path.display().to_string(),
                    text: text.to_owned(),
                    message: parse.message().to_owned(),
                    range: parse.span().unwrap_or(0..0),
                }],
            },
            other => Self::message(format!("{}: {other}", path.display()))
                .help("`genclient --help` shows every key"),
        }
    }

    /// The command was asked to end, and has left everything as it was.
    pub fn interrupted() -> Self {
        Self { problems: vec![Problem::Interruption] }
    }

    pub fn is_interruption(&self) -> bool {
        self.problems.iter().any(|problem| matches!(problem, Problem::Interruption))
    }

    pub fn both(mut first: Self, second: Self) -> Self {
        first.problems.extend(second.problems);
        first
    }

    /// Prints everything that is wrong to the standard error.
    pub fn print(&self) {
        let renderer = if colours() { Renderer::styled() } else { Renderer::plain() };
        let mut count = 0;
        for problem in &self.problems {
            match problem {
                Problem::Message { text, help } => {
                    count += 1;
                    let title = Level::ERROR.primary_title(text.as_str());
                    let group = title.elements(None::<Snippet<'_, annotate_snippets::Annotation<'_>>>);
                    note(&format!("{}\n", renderer.render(&[with_help(group, help.as_deref())])));
                }
                Problem::Interruption => note("interrupted"),
                Problem::Config { path, text, message, range } => {
                    count += 1;
                    let snippet = Snippet::source(text.as_str())
                        .path(path.as_str())
                        .annotation(AnnotationKind::Primary.span(range.clone()));
                    let group = Level::ERROR.primary_title(message.as_str()).element(snippet);
                    note(&format!("{}\n", renderer.render(&[group])));
                }
                Problem::Sources { sources, errors } => {
                    for error in errors {
                        count += 1;
                        note(&format!("{}\n", renderer.render(&[draw(sources, error)])));
                    }
                }
            }
        }
        note(&match count {
            0 => "nothing was written".to_owned(),
            1 => "1 error; nothing was written".to_owned(),
            count => format!("{count} errors; nothing was written"),
        });
    }
}

impl From<plan::Error> for Failure {
    fn from(error: plan::Error) -> Self {
        if error.is_interruption() {
            return Self::interrupted();
        }
        let failure = Self::message(error.to_string());
        match error.advice() {
            Some(advice) => failure.help(advice),
            None => failure,
        }
    }
}

/// One error with every place that belongs to it, the file of the first place first.
fn draw<'a>(sources: &'a Sources, error: &'a Error) -> Group<'a> {
    let mut group = Level::ERROR
        .primary_title(error.message.as_str())
        .elements(None::<Snippet<'_, annotate_snippets::Annotation<'_>>>);
    let mut places: Vec<(&Location, AnnotationKind, Option<&str>)> = Vec::new();
    places.extend(error.at.as_ref().map(|at| (at, AnnotationKind::Primary, None)));
    for (at, label) in &error.related {
        places.extend(at.as_ref().map(|at| (at, AnnotationKind::Context, Some(label.as_str()))));
    }
    while let Some((Location { file, .. }, ..)) = places.first() {
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            places.iter().copied().partition(|(at, ..)| at.file == *file);
        let source = &sources.files[*file];
        let annotations = here.into_iter().map(|(at, kind, label)| {
            // A range must not leave the text, whatever a parser says.
            let end = at.range.end.min(source.text.len());
            let annotation = kind.span(at.range.start.min(end)..end);
            match label {
                Some(label) => annotation.label(label),
                None => annotation,
            }
        });
        group = group.element(
            Snippet::source(source.text.as_str()).path(source.path.as_str()).annotations(annotations),
        );
        places = elsewhere;
    }
    with_help(group, error.help.as_deref())
}

fn with_help<'a>(group: Group<'a>, help: Option<&'a str>) -> Group<'a> {
    match help {
        Some(help) => group.element(Level::HELP.message(help)),
        None => group,
    }
}
