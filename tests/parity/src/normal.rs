//! Replaces what is random in answers with names, so that the answers of two servers can be compared.
//!
//! * A uid becomes `uid1`, `uid2` … in the order of appearance.
//! * The resource version of an object becomes `rv1`, `rv2` … by size: what is equal stays equal, what is
//!   later stays later.
//! * The resource version of a list or a bookmark becomes `≥rv3`: the last object's version that is not
//!   later. Other scenarios write at the same time, so that it is often greater than that of any object.
//! * A time that the server made becomes `<time>`; a time before the year 2026 comes from the scenario and stays.
//! * An object that a message quotes becomes `<object>`: its fields come in the order of Go's structs.
//! * The entries of managed fields, the causes of a status and the resources of a group are sorted, and a message does not repeat the
//!   causes: the server orders entries by the second of their time, and causes by chance. A cause that is given
//!   twice counts once: the server checks metadata several times and keeps what it finds.
//! * An age in a table becomes `<age>`.
//! * The hashes of the storage versions of the scenario's own group become `<hash>`.
//! * Generated names, the scenario's namespace and group, continue tokens, the addresses and ports that a
//!   Service is given, and the server's own address get fixed names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The answers of one run of a scenario, normalised. The unique name of the run is `id`.
pub fn normalised(id: &str, answers: &[Value]) -> Vec<Value> {
    let mut names = Names { id, ..Names::default() };
    for answer in answers {
        names.collect(answer, false);
    }
    let sorted: BTreeSet<u64> = std::mem::take(&mut names.found);
    names.versions = sorted.into_iter().zip(1..).collect();
    answers.iter().map(|answer| names.replace("", answer, false)).collect()
}

#[derive(Default)]
struct Names<'a> {
    id: &'a str,
    /// The versions of objects, and their places in the order.
    versions: BTreeMap<u64, usize>,
    found: BTreeSet<u64>,
    uids: BTreeMap<String, usize>,
    generated: Vec<String>,
    /// Whether a group of the scenario's own is discovered.
    own_group: bool,
}

/// Whether the version of this value is the version of a collection at some time, and not of one object.
fn is_collection(value: &Value) -> bool {
    let kind = value["kind"].as_str().unwrap_or_default();
    value["items"].is_array() || kind.ends_with("List") || kind == "Table"
}

impl Names<'_> {
    fn collect(&mut self, value: &Value, bookmark: bool) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, bookmark)),
            Value::Object(fields) => {
                self.own_group |= value["groupVersion"]
                    .as_str()
                    .is_some_and(|group| !self.id.is_empty() && group.contains(self.id));
                let metadata = &value["metadata"];
                let version = metadata["resourceVersion"].as_str().and_then(|text| text.parse().ok());
                if let Some(version) = version
                    && !bookmark
                    && !is_collection(value)
                {
                    self.found.insert(version);
                }
                if let (Some(prefix), Some(name)) =
                    (metadata["generateName"].as_str(), metadata["name"].as_str())
                    && name.strip_prefix(shortened(prefix)).is_some_and(|rest| rest.len() == 5)
                {
                    self.generated(name);
                }
                // The answer to a prefix that is refused is the only place where the name appears.
                if let (Some(causes), Some(name)) = (value["causes"].as_array(), value["name"].as_str())
                    && causes.iter().any(|cause| cause["field"] == "metadata.generateName")
                {
                    self.generated(name);
                }
                let bookmark = bookmark || value["type"] == "BOOKMARK";
                fields.values().for_each(|field| self.collect(field, bookmark));
            }
            _ => (),
        }
    }

    fn generated(&mut self, name: &str) {
        if !self.generated.iter().any(|other| other == name) {
            self.generated.push(name.to_owned());
        }
    }

    fn replace(&mut self, key: &str, value: &Value, floor: bool) -> Value {
        match value {
            Value::String(text) => self.string(key, text, floor).into(),
            Value::Number(_) if key == "nodePort" || key == "healthCheckNodePort" => "<port>".into(),
            Value::Array(items) => {
                let mut items: Vec<_> = items.iter().map(|item| self.replace(key, item, floor)).collect();
                if ["managedFields", "causes", "resources"].contains(&key) {
                    items.sort_by_cached_key(identity);
                }
                if key == "causes" {
                    items.dedup();
                }
                items.into()
            }
            Value::Object(fields) if fields.contains_key("details") => {
                let mut fields = fields.clone();
                if let Some(message) = without_causes(value) {
                    fields.insert(String::from("message"), message.into());
                }
                let replaced =
                    fields.iter().map(|(key, field)| (self.text(key), self.replace(key, field, floor)));
                replaced.collect()
            }
            Value::Object(fields) => {
                let floor = floor || value["type"] == "BOOKMARK";
                let collection = is_collection(value);
                let replaced = fields.iter().map(|(key, field)| {
                    let floor = floor || collection && key == "metadata";
                    (self.text(key), self.replace(key, field, floor))
                });
                replaced.collect()
            }
            other => other.clone(),
        }
    }

    fn string(&mut self, key: &str, text: &str, floor: bool) -> String {
        match key {
            "resourceVersion" => self.version(text, floor),
            "continue" if !text.is_empty() => String::from("<continue>"),
            "clusterIP" | "clusterIPs" if text.starts_with("10.0.0.") => String::from("<address>"),
            "cells" if is_age(text) => String::from("<age>"),
            "storageVersionHash" if self.own_group => String::from("<hash>"),
            "serverAddress" => String::from("<address>"),
            "message" if DUMPS.iter().any(|(start, _)| text.contains(start)) => {
                let text = DUMPS
                    .iter()
                    .fold(text.to_owned(), |text, (start, end)| without_dumps(&text, start, *end));
                self.text(&text)
            }
            "message" if text.contains("esource version") || text.contains("ResourceVersion") => {
                let text = self.text(text);
                self.numbers(&text)
            }
            _ => self.text(text),
        }
    }

    fn version(&self, text: &str, floor: bool) -> String {
        let Ok(version) = text.parse::<u64>() else { return text.to_owned() };
        if version == 0 {
            return text.to_owned();
        }
        match self.versions.range(..=version).next_back() {
            Some((_, rank)) if floor => format!("≥rv{rank}"),
            Some((exact, rank)) if *exact == version => format!("rv{rank}"),
            _ if floor => String::from("≥rv0"),
            _ => String::from("rv?"),
        }
    }

    /// Replaces the numbers in a message about resource versions.
    fn numbers(&self, text: &str) -> String {
        let mut replaced = String::new();
        let mut digits = String::new();
        for char in text.chars().chain(['\0']) {
            let inside_word = replaced.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '-');
            if char.is_ascii_digit() && !inside_word {
                digits.push(char);
                continue;
            }
            if !digits.is_empty() {
                replaced.push_str(&match digits.len() {
                    1 => digits.clone(),
                    _ => self.version(&digits, false),
                });
                digits.clear();
            }
            if char != '\0' {
                replaced.push(char);
            }
        }
        replaced
    }

    /// Replaces uids, times and unique names anywhere in a text.
    fn text(&mut self, text: &str) -> String {
        let mut replaced = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some(uid) = rest.get(..36).filter(|text| is_uid(text)) {
                let next = self.uids.len() + 1;
                let number = self.uids.entry(uid.to_owned()).or_insert(next);
                replaced.push_str(&format!("uid{number}"));
                rest = &rest[36..];
            } else if let Some(length) = time_length(rest) {
                replaced.push_str(if rest[..length].contains('.') { "<microtime>" } else { "<time>" });
                rest = &rest[length..];
            } else if let Some((number, name)) =
                self.generated.iter().enumerate().find(|(_, name)| rest.starts_with(name.as_str()))
            {
                replaced.push_str(&format!("<generated{}>", number + 1));
                rest = &rest[name.len()..];
            } else if !self.id.is_empty() && rest.starts_with(self.id) {
                replaced.push_str("{id}");
                rest = &rest[self.id.len()..];
            } else {
                replaced.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        replaced
    }
}

/// The server cuts a prefix so that the name with its five random characters has at most 63.
fn shortened(prefix: &str) -> &str {
    prefix.get(..58).unwrap_or(prefix)
}

/// How a message begins and ends to quote an object.
const DUMPS: [(&str, char); 2] = [(r#": "{\""#, '"'), (r#" '{""#, '\'')];

/// A message without the objects that it quotes: their fields come in the order of Go's structs.
fn without_dumps(text: &str, start: &str, end: char) -> String {
    let mut shortened = String::new();
    let mut rest = text;
    while let Some(place) = rest.find(start) {
        shortened.push_str(&rest[..place]);
        shortened.push_str(start.trim_end_matches(['{', '"', '\\', '\'']));
        shortened.push_str("<object>");
        let quoted = &rest[place + start.len()..];
        let mut escaped = false;
        let end = quoted.find(|char| {
            let ends = char == end && !escaped;
            escaped = char == '\\' && !escaped;
            ends
        });
        rest = end.map_or("", |end| &quoted[end + 1..]);
    }
    shortened + rest
}

/// What tells one entry of managed fields, one cause, or one resource from the others. The server orders the entries
/// by time, of which a second is the smallest unit, and the others by chance.
fn identity(entry: &Value) -> String {
    let fields =
        ["operation", "manager", "subresource", "apiVersion", "field", "message", "name", "resource"];
    fields.map(|field| entry[field].as_str().unwrap_or_default()).join("\n")
}

/// The message of a status that repeats several causes, without them.
fn without_causes(status: &Value) -> Option<String> {
    let causes = status["details"]["causes"].as_array()?;
    let message = status["message"].as_str()?;
    let (start, list) = message.split_once(" is invalid: [")?;
    let mut list = list.to_owned();
    for cause in causes {
        let repeated = format!("{}: {}", cause["field"].as_str()?, cause["message"].as_str()?);
        if let Some(place) = list.find(&repeated) {
            list.replace_range(place..place + repeated.len(), "");
        }
    }
    Some(format!("{start} is invalid: [<causes>{}", list.trim_start_matches([',', ' '])))
}

/// Whether a text is an age as tables show it, such as `5s` or `2m3s`.
fn is_age(text: &str) -> bool {
    text.ends_with(['s', 'm', 'h', 'd'])
        && text.starts_with(|char: char| char.is_ascii_digit())
        && text.chars().all(|char| char.is_ascii_digit() || "smhd".contains(char))
}

fn is_uid(text: &str) -> bool {
    text.bytes().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// The length of the time that a text begins with, if it is of this year or later.
fn time_length(text: &str) -> Option<usize> {
    const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:dd";
    let bytes = text.as_bytes();
    let fits = |(byte, shape): (&u8, &u8)| if *shape == b'd' { byte.is_ascii_digit() } else { byte == shape };
    if bytes.len() < SHAPE.len() + 1 || !bytes.iter().zip(SHAPE).all(fits) || &text[..4] < "2026" {
        return None;
    }
    let fraction =
        bytes[SHAPE.len()..].iter().take_while(|byte| **byte == b'.' || byte.is_ascii_digit()).count();
    let length = SHAPE.len() + fraction + 1;
    (bytes.get(length - 1) == Some(&b'Z')).then_some(length)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_keep_their_order_and_their_equality() {
        let object = |version: &str| json!({"metadata": {"resourceVersion": version}});
        let list = json!({"items": [], "metadata": {"resourceVersion": "12"}});
        let answers = [object("9"), object("11"), object("9"), list];
        let versions: Vec<_> = normalised("p1", &answers)
            .iter()
            .map(|answer| answer["metadata"]["resourceVersion"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(versions, ["rv1", "rv2", "rv1", "≥rv2"]);
    }

    #[test]
    fn an_object_in_a_message_is_replaced() {
        let message = r#"patch: Invalid value: "{\"a\":\"b\\\"c\"}": unknown field "dta""#;
        let replaced = normalised("", &[json!({"message": message})]);
        assert_eq!(replaced[0]["message"], json!(r#"patch: Invalid value: <object>: unknown field "dta""#));
        let message = r#"Object 'Kind' is missing in '{"a":1}'"#;
        let replaced = normalised("", &[json!({"message": message})]);
        assert_eq!(replaced[0]["message"], json!("Object 'Kind' is missing in <object>"));
    }

    #[test]
    fn uids_and_times_are_replaced_inside_texts() {
        let text = "uid 0a1b2c3d-0000-4000-8000-00000000000f of p000001 at 2026-01-02T03:04:05.000006Z, not 2020-01-01T00:00:00Z";
        let replaced = normalised("p000001", &[json!(text)]);
        assert_eq!(replaced[0], json!("uid uid1 of {id} at <microtime>, not 2020-01-01T00:00:00Z"));
    }
}
