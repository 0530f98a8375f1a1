//! The records of a file.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// All objects at one version.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Snapshot<'r> {
    /// The version of the newest write.
    pub(crate) version: u64,
    /// How many addresses and ports services have got.
    pub(crate) addresses: u16,
    pub(crate) node_ports: i64,
    #[serde(borrow)]
    pub(crate) objects: Vec<Change<'r>>,
}

/// What one request changed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Commit<'r> {
    /// How many addresses and ports services have got.
    pub(crate) addresses: u16,
    pub(crate) node_ports: i64,
    #[serde(borrow)]
    pub(crate) changes: Vec<Change<'r>>,
}

/// One version of an object, or its end.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Change<'r> {
    pub(crate) version: u64,
    #[serde(borrow)]
    pub(crate) resource: Cow<'r, str>,
    #[serde(borrow)]
    pub(crate) key: Cow<'r, str>,
    /// The fingerprint of the schema under which a custom resource was written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) schema: u64,
    /// The version of the kind in which the object is stored.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) stored_version: Option<Cow<'r, str>>,
    /// The values of the fields that selectors of a custom resource can name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) fields: Vec<(String, String)>,
    /// Whether the kinds of a CRD are served.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) serves: bool,
    /// The object without its kind and version, byte for byte as it is in memory. None is a deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) object: Option<Box<RawValue>>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What was found at some place of a file.
#[derive(Debug, PartialEq)]
pub(super) enum Scanned<'f> {
    /// A record, and where the next one begins.
    Record { json: &'f str, end: usize },
    /// The end of the file.
    End,
    /// The beginning of a record, and then the end of the file.
    Torn,
}

/// Encodes a record.
pub(super) fn line(record: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(record).unwrap_or_default();
    let mut line = prefix(&json).into_bytes();
    line.extend(json);
    line.push(b'\n');
    line
}

/// Decodes a record.
pub(super) fn parse<'f, R: Deserialize<'f>>(json: &'f str) -> Result<R, String> {
    serde_json::from_str(json).map_err(|error| format!("the record is not what was expected: {error}"))
}

/// What is before the JSON of a record.
fn prefix(json: &[u8]) -> String {
    format!("{:08x} {:08x} ", json.len(), crc32fast::hash(json))
}

/// Looks at the record that begins at `offset`, and returns what is wrong with it.
///
/// A record that was written in part has no end of line, and ends before the length that it begins with. Whatever is
/// wrong with a record that was written in full, it has one of the two.
pub(super) fn scan(bytes: &[u8], offset: usize) -> Result<Scanned<'_>, String> {
    let rest = &bytes[offset..];
    if rest.is_empty() {
        return Ok(Scanned::End);
    }
    let Some(length) = rest.iter().position(|byte| *byte == b'\n') else {
        let expected = declared(rest);
        // Some file systems leave zeros where a write was under way when the power failed.
        let interrupted = rest.len() < prefix(b"").len()
            || rest.ends_with(b"\0")
            || expected.is_some_and(|expected| rest.len() <= expected);
        return match interrupted {
            true => Ok(Scanned::Torn),
            false => Err("the last record does not end where it should".to_owned()),
        };
    };
    let line = &rest[..length];
    let json = line.splitn(3, |byte| *byte == b' ').nth(2).unwrap_or_default();
    if line.strip_suffix(json).is_none_or(|given| given != prefix(json).as_bytes()) {
        return Err("the checksum of the record does not match its contents".to_owned());
    }
    let json = str::from_utf8(json).map_err(|error| format!("the record is no text: {error}"))?;
    Ok(Scanned::Record { json, end: offset + length + 1 })
}

/// Returns how long a record should be without its end of line.
fn declared(record: &[u8]) -> Option<usize> {
    let mut parts = record.splitn(3, |byte| *byte == b' ');
    let (length, checksum) = (parts.next()?, parts.next()?);
    parts.next()?;
    let number = usize::from_str_radix(str::from_utf8(length).ok()?, 16).ok()?;
    Some(number.saturating_add(length.len() + checksum.len() + 2))
}
