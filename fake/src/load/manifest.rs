//! The objects of manifests.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::{LoadError, error::Source};
use crate::decode;

/// Adds an object, or the items of a list. Documents without content are left out.
pub(super) fn flatten(source: &Source, value: Value, objects: &mut Vec<(Source, Value)>) {
    let list = value["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).map(str::to_owned);
    match (value, list) {
        (Value::Null, _) => {}
        (Value::Object(mut fields), Some(kind)) if fields.get("items").is_some_and(Value::is_array) => {
            let api_version = fields.remove("apiVersion").unwrap_or_default();
            let Some(Value::Array(items)) = fields.remove("items") else { return };
            for mut item in items {
                // The items of a typed list do not say what they are.
                if let Value::Object(fields) = &mut item
                    && !kind.is_empty()
                {
                    complete(fields, "apiVersion", &api_version);
                    complete(fields, "kind", &kind.as_str().into());
                }
                flatten(source, item, objects);
            }
        }
        (value, _) => objects.push((source.clone(), value)),
    }
}

fn complete(fields: &mut Map<String, Value>, field: &str, value: &Value) {
    if !fields.contains_key(field) {
        fields.insert(field.to_owned(), value.clone());
    }
}

/// Reads the objects of a YAML text.
pub(super) fn read(
    file: Option<&Path>,
    text: &str,
    objects: &mut Vec<(Source, Value)>,
) -> Result<(), LoadError> {
    for (index, document) in documents(text).enumerate() {
        let source = Source { file: file.map(Path::to_owned), document: index + 1 };
        let value = match parse(document.text) {
            Ok(value) => value,
            Err(_) => {
                // Once more, with the line numbers of the whole text.
                let text = format!("{}{}", "\n".repeat(document.line), document.text);
                let message = parse(&text).err().unwrap_or_else(|| "this is no YAML".to_owned());
                return Err(source.error(message));
            }
        };
        flatten(&source, value, objects);
    }
    Ok(())
}

/// Returns the manifests at a path.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, LoadError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| unreadable(path, &error))? {
        let file = entry.map_err(|error| unreadable(path, &error))?.path();
        let is_manifest = file.extension().is_some_and(|extension| {
            ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known))
        });
        if is_manifest && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

pub(super) fn unreadable(file: &Path, error: &io::Error) -> LoadError {
    Source { file: Some(file.to_owned()), document: 0 }.error(format!("cannot be read: {error}"))
}

/// A document of a YAML text.
struct Document<'t> {
    text: &'t str,
    /// How many lines come before it.
    line: usize,
}

/// Returns the documents of a YAML text that have content. A line that begins with `---` always separates.
fn documents(text: &str) -> impl Iterator<Item = Document<'_>> {
    let mut documents = Vec::new();
    let (mut start, mut first, mut at) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        {
            documents.push(Document { text: &text[start..at], line: first });
            // What follows on the line belongs to the document.
            (start, first) = (at + 3, number);
        }
        at += line.len();
    }
    documents.push(Document { text: &text[start..], line: first });
    let has_content = |document: &Document<'_>| {
        document.text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#'))
    };
    documents.into_iter().filter(has_content)
}

fn parse(text: &str) -> Result<Value, String> {
    decode::yaml(text.as_bytes())
}
