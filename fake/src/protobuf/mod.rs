//! Objects in protobuf, which typed clients in Go and kubectl send.
//!
//! Requests are read; answers are JSON, which every client takes. An object becomes the JSON that the same client
//! would have sent. `messages.txt` says how the messages are written; see `hack/testenv/protobuf`.

mod special;
mod wire;

use std::{collections::HashMap, sync::LazyLock};

use serde_json::{Map, Value};

use self::wire::{Field, Reader};

/// The media type of objects in protobuf.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every object begins with.
const MAGIC: &[u8] = b"k8s\0";

/// How deep messages may be within each other.
const MAX_DEPTH: usize = 64;

/// How an object is written.
#[derive(Debug, Default)]
struct Messages {
    /// The message of a kind, by its `apiVersion` and name.
    kinds: HashMap<(&'static str, &'static str), &'static str>,
    messages: HashMap<&'static str, HashMap<u64, Entry>>,
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
struct Entry {
    name: &'static str,
    container: Container,
    content: Content,
    /// Whether zero is a value of its own, and not the absence of one.
    keeps_zero: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    One,
    List,
    Map,
}

#[derive(Clone, Copy, Debug)]
enum Content {
    Text,
    Bytes,
    Integer,
    Flag,
    Double,
    Message(&'static str),
}

static MESSAGES: LazyLock<Messages> = LazyLock::new(|| Messages::parse(include_str!("messages.txt")));

impl Messages {
    fn parse(text: &'static str) -> Self {
        let mut messages = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            let Some(first) = words.next() else { continue };
            if let [kind, "=", message] = words.clone().collect::<Vec<_>>()[..] {
                messages.kinds.insert((first, kind), message);
            } else {
                messages.messages.insert(first, words.filter_map(entry).collect());
            }
        }
        messages
    }
}

/// Reads `8:resources:core/v1.ResourceRequirements?`.
fn entry(text: &'static str) -> Option<(u64, Entry)> {
    let (number, rest) = text.split_once(':')?;
    let (name, content) = rest.split_once(':')?;
    let keeps_zero = content.ends_with('?');
    let content = content.trim_end_matches('?');
    let (container, content) = match (content.strip_prefix("[]"), content.strip_prefix("{}")) {
        (Some(content), _) => (Container::List, content),
        (_, Some(content)) => (Container::Map, content),
        _ => (Container::One, content),
    };
    let content = match content {
        "s" => Content::Text,
        "b" => Content::Bytes,
        "i" => Content::Integer,
        "t" => Content::Flag,
        "d" => Content::Double,
        message => Content::Message(message),
    };
    Some((number.parse().ok()?, Entry { name, container, content, keeps_zero }))
}

/// Returns whether clients leave a field out if it is empty. The name of the message is that of its OpenAPI definition,
/// such as `io.k8s.api.apps.v1.Deployment`.
pub(crate) fn is_optional(definition: &str, field: &str) -> bool {
    let mut parts = definition.rsplitn(4, '.');
    let (Some(name), Some(version), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let entries = MESSAGES.messages.get(format!("{group}/{version}.{name}").as_str());
    let entry = entries.and_then(|entries| entries.values().find(|entry| entry.name == field));
    entry.is_some_and(|entry| !entry.keeps_zero)
}

/// Reads an object, or returns what is wrong with it.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, String> {
    let Some(bytes) = bytes.strip_prefix(MAGIC) else {
        return Err(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]".into()
        );
    };
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in Reader::new(bytes) {
        match field? {
            (1, field) => {
                for field in Reader::new(field.bytes()?) {
                    match field? {
                        (1, field) => api_version = field.text()?,
                        (2, field) => kind = field.text()?,
                        _ => {}
                    }
                }
            }
            (2, field) => raw = field.bytes()?,
            _ => {}
        }
    }
    // Every group has the options of requests.
    let place = if kind == "DeleteOptions" { "v1" } else { api_version.as_str() };
    let message = MESSAGES
        .kinds
        .get(&(place, kind.as_str()))
        .ok_or_else(|| format!("no kind {kind:?} is registered for version {api_version:?} in protobuf"))?;
    let mut object = Map::from_iter([
        ("apiVersion".into(), api_version.as_str().into()),
        ("kind".into(), kind.as_str().into()),
    ]);
    add_fields(raw, message, 0, &mut object)?;
    Ok(Value::Object(object))
}

/// Reads a message.
fn message(bytes: &[u8], name: &str, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err(format!("exceeded max depth of {MAX_DEPTH}"));
    }
    if let Some(special) = special::decode(bytes, name, depth) {
        return special;
    }
    let mut fields = Map::new();
    add_fields(bytes, name, depth, &mut fields)?;
    // A list with a name of its own is a message with a list.
    Ok(fields.remove("=").unwrap_or(Value::Object(fields)))
}

fn add_fields(bytes: &[u8], name: &str, depth: usize, fields: &mut Map<String, Value>) -> Result<(), String> {
    let entries = MESSAGES.messages.get(name).ok_or_else(|| format!("there is no message {name}"))?;
    for read in Reader::new(bytes) {
        let (number, field) = read?;
        // What a newer client knows is left out, as on the server.
        let Some(entry) = entries.get(&number) else { continue };
        match entry.container {
            Container::List => {
                let list = fields.entry(entry.name).or_insert_with(|| Value::Array(Vec::new()));
                let Value::Array(list) = list else { continue };
                if let (Content::Integer, Field::Bytes(packed)) = (entry.content, field) {
                    for number in wire::packed(packed) {
                        list.push(wire::signed(number?).into());
                    }
                } else {
                    list.push(value(field, entry.content, depth)?);
                }
            }
            Container::Map => {
                let map = fields.entry(entry.name).or_insert_with(|| Value::Object(Map::new()));
                let (mut key, mut content) = (String::new(), None);
                for read in Reader::new(field.bytes()?) {
                    match read? {
                        (1, field) => key = field.text()?,
                        (2, field) => content = Some(value(field, entry.content, depth)?),
                        _ => {}
                    }
                }
                map[key] = content.unwrap_or_else(|| nothing(entry.content));
            }
            Container::One if entry.name == "~" => {
                if let Content::Message(name) = entry.content {
                    let Value::Object(inner) = message(field.bytes()?, name, depth + 1)? else { continue };
                    fields.extend(inner);
                }
            }
            Container::One => {
                let value = value(field, entry.content, depth)?;
                if !value.is_null() && (entry.keeps_zero || !is_zero(&value)) {
                    fields.insert(entry.name.to_owned(), value);
                }
            }
        }
    }
    Ok(())
}

fn value(field: Field<'_>, content: Content, depth: usize) -> Result<Value, String> {
    Ok(match content {
        Content::Text => field.text()?.into(),
        Content::Bytes => special::base64(field.bytes()?).into(),
        Content::Integer => wire::signed(field.integer()?).into(),
        Content::Flag => (field.integer()? != 0).into(),
        Content::Double => f64::from_bits(field.fixed()?).into(),
        Content::Message(name) => message(field.bytes()?, name, depth + 1)?,
    })
}

/// What a map has at a key without a value.
fn nothing(content: Content) -> Value {
    match content {
        Content::Text | Content::Bytes => "".into(),
        Content::Integer | Content::Double => 0.into(),
        Content::Flag => false.into(),
        Content::Message(name) => message(&[], name, 0).unwrap_or_default(),
    }
}

/// Returns whether a client leaves a value out. It never leaves out a message.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(flag) => !flag,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Writes a field of bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).unwrap();
        assert!(length < 128);
        [&[number << 3 | 2, length], bytes].concat()
    }

    fn object(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC, &field(1, &meta), &field(2, raw)].concat()
    }

    #[test]
    fn every_line_is_read_and_every_message_is_there() {
        let lines = include_str!("messages.txt").lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(MESSAGES.kinds.len() + MESSAGES.messages.len(), lines);
        for message in MESSAGES.kinds.values() {
            assert!(MESSAGES.messages.contains_key(message), "{message}");
        }
        for (name, entries) in &MESSAGES.messages {
            for entry in entries.values() {
                if let Content::Message(message) = entry.content {
                    let known =
                        MESSAGES.messages.contains_key(message) || special::decode(&[], message, 0).is_some();
                    assert!(known, "{message} in {name}");
                }
            }
        }
    }

    #[test]
    fn every_kind_of_kubernetes_has_a_message() {
        for line in include_str!("../kinds/builtin.txt").lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<_> = line.split(' ').collect();
            assert!(MESSAGES.kinds.contains_key(&(words[0], words[1])), "{line}");
        }
    }

    #[test]
    fn an_object_is_the_json_that_the_client_would_have_sent() {
        // What is empty is written by clients in Go, whatever it is.
        let metadata = [
            field(1, b"web"),
            field(3, b""),
            field(8, b""),
            field(11, &[field(1, b"a"), field(2, b"b")].concat()),
        ];
        let raw = [field(1, &metadata.concat()), field(2, &[field(1, b"key"), field(2, b"value")].concat())]
            .concat();
        assert_eq!(
            decode(&object("v1", "ConfigMap", &raw)).unwrap(),
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": { "name": "web", "labels": { "a": "b" } },
                "data": { "key": "value" },
            })
        );
    }

    #[test]
    fn what_clients_leave_out_is_optional() {
        assert!(is_optional("io.k8s.api.apps.v1.Deployment", "metadata"));
        assert!(!is_optional("io.k8s.api.apps.v1.DeploymentSpec", "selector"));
        assert!(!is_optional("io.k8s.api.apps.v1.Nothing", "metadata"));
    }

    #[test]
    fn zero_is_kept_where_it_is_a_value() {
        // `spec.replicas` is a pointer, `spec.minReadySeconds` is not.
        let raw = field(2, &[0x08, 0, 0x28, 0]);
        let deployment = decode(&object("apps/v1", "Deployment", &raw)).unwrap();
        assert_eq!(deployment["spec"], json!({ "replicas": 0 }));
    }

    #[test]
    fn nothing_that_is_broken_is_read() {
        assert!(decode(b"{}").unwrap_err().contains("does not appear to be a protobuf message"));
        assert!(decode(&object("v1", "Wrong", &[])).unwrap_err().contains("no kind \"Wrong\""));
        let whole = object("v1", "Namespace", &field(1, &field(1, b"name")));
        for end in 5..whole.len() {
            // Whatever is left is an error or an object, and never a panic.
            let _ = decode(&whole[..end]);
        }
        assert!(decode(&whole[..whole.len() - 1]).is_err());
    }

    #[test]
    fn messages_within_each_other_have_an_end() {
        let mut schema = Vec::new();
        for _ in 0..MAX_DEPTH + 2 {
            // `not` of JSONSchemaProps.
            let length = wire::tests::varint(schema.len() as u64);
            schema = [&wire::tests::varint(28 << 3 | 2)[..], &length, &schema].concat();
        }
        let error = message(&schema, "apiextensions/v1.JSONSchemaProps", 0).unwrap_err();
        assert!(error.contains("max depth"), "{error}");
    }
}
