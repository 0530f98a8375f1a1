//! The `fieldPath` of a rule: where in the value its failure is reported.

use super::super::{
    model::{Additional, Schema},
    path,
};

/// Reads a path such as `.spec.labels['app']` and checks it against the schema; gives it as causes print it.
pub(in super::super) fn resolve(text: &str, schema: &Schema) -> Result<String, String> {
    let mut schema = schema;
    let mut resolved = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let name;
        (name, rest) = segment(rest)?;
        if schema.properties.is_empty() {
            let values = schema.additional.as_ref().and_then(Additional::schema);
            schema = values.ok_or("does not refer to a valid field")?;
            resolved = path::key(&resolved, &name);
        } else {
            schema = schema.properties.get(&name).ok_or("does not refer to a valid field")?;
            resolved = path::child(&resolved, &name);
        }
    }
    Ok(resolved)
}

/// Splits off `.name` or `['name']`.
fn segment(text: &str) -> Result<(String, &str), String> {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        if end == 0 {
            return Err("unexpected end of JSON path".into());
        }
        return Ok((rest[..end].to_owned(), &rest[end..]));
    }
    let Some(rest) = text.strip_prefix("['") else {
        return Err(format!("expected [ or . but got: {text}"));
    };
    let mut name = String::new();
    let mut chars = rest.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '\'' => {
                let after = rest[i + 1..].strip_prefix(']').ok_or("expected ]")?;
                return Ok((name, after));
            }
            '\\' => name.push(match chars.next().map(|(_, c)| c) {
                Some('a') => '\u{7}',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('v') => '\u{b}',
                Some(c @ ('\'' | '\\')) => c,
                _ => return Err("invalid escape char".into()),
            }),
            c => name.push(c),
        }
    }
    Err("unexpected end of JSON path".into())
}
