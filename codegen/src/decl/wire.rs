//! The keys under which an object's fields are written, and which of them serde may change.

use proc_macro2::Span;

use super::shape::{Field, Shape};
use crate::{
    attr::{SerdeAttrs, Spanned},
    diag::{Ctxt, Diagnostic},
};

/// What serde's attributes cannot say of an API type as a whole, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("tag", "`apiVersion` and `kind` tell the types of objects apart; remove it"),
    ("content", "`apiVersion` and `kind` tell the types of objects apart; remove it"),
    ("untagged", "`apiVersion` and `kind` tell the types of objects apart; remove it"),
    ("transparent", "an object has `apiVersion`, `kind` and `metadata` beside its other fields; remove it"),
    ("from", "put it on the type of a field, such as the spec"),
    ("try_from", "put it on the type of a field, such as the spec"),
    ("into", "put it on the type of a field, such as the spec"),
    ("remote", "put `#[derive(GenClient)]` on the type itself"),
];

/// What serde's attributes cannot say of a field that the API server knows by name.
const REFUSED_ON_KNOWN: &[&str] = &["alias", "flatten", "skip", "skip_serializing", "skip_deserializing"];

/// Checks that the object is written with each key once, and that the API server finds the fields
/// that it knows by name. The keys of a `flatten`ed field are those of its type, which is not seen here: one
/// that is there already is found when the object is read, as an error of serde.
pub(super) fn check(cx: &Ctxt, shape: &Shape, known: &[&str]) {
    for (word, help) in REFUSED {
        if let Some(span) = shape.serde.says(word) {
            cx.error(
                Diagnostic::new(span, format!("serde's `{word}` cannot be used on an API type")).help(*help),
            );
        }
    }
    let mut written: Vec<(String, &Field)> = Vec::new();
    let mut read: Vec<(String, &Field)> = Vec::new();
    for field in &shape.fields {
        if field.name == "kind" || field.name == "api_version" {
            cx.error(
                Diagnostic::new(
                    field.ident.span(),
                    format!("`{}` cannot be a field of the object itself", field.name),
                )
                .help("the derive reads and writes `apiVersion` and `kind`; remove the field"),
            );
        } else if known.contains(&field.name.as_str()) {
            check_known(cx, field);
        } else {
            let keys = Keys::of(field, &shape.serde);
            let mut told = check_free(cx, field, &keys, known);
            for (key, span) in keys.write {
                told = told || twice(cx, &written, field, &key, span, "written");
                written.push((key, field));
            }
            for (key, span) in keys.read {
                told = told || twice(cx, &read, field, &key, span, "read");
                read.push((key, field));
            }
        }
    }
}

/// Checks a field that the API server knows by its name.
fn check_known(cx: &Ctxt, field: &Field) {
    let name = &field.name;
    for word in REFUSED_ON_KNOWN {
        if let Some(span) = field.serde.says(word) {
            cx.error(
                Diagnostic::new(span, format!("serde's `{word}` cannot be used on `{name}`"))
                    .help(format!("the API server reads and writes `{name}` by this name; remove it")),
            );
        }
    }
    let rename = field.serde.both_ways("rename");
    if let Some(other) = rename.write.into_iter().chain(rename.read).find(|other| other.value != *name) {
        cx.error(
            Diagnostic::new(other.span, format!("`{name}` cannot be renamed to `{}`", other.value))
                .help(format!("the API server reads and writes `{name}` by this name; remove `rename`")),
        );
    }
}

/// Checks that a field does not take the key of another that is always there.
fn check_free(cx: &Ctxt, field: &Field, keys: &Keys, known: &[&str]) -> bool {
    let taken = |key: &str| key == "kind" || key == "apiVersion" || known.contains(&key);
    let Some((key, span)) = keys.write.iter().chain(&keys.read).find(|(key, _)| taken(key)) else {
        return false;
    };
    let help = match key.as_str() {
        "kind" | "apiVersion" => {
            "the derive reads and writes `apiVersion` and `kind`; choose another name".to_owned()
        }
        _ => format!("choose another name, or call the field `{key}`"),
    };
    cx.error(
        Diagnostic::new(*span, format!("the field `{}` cannot have the key `{key}`", field.name)).help(help),
    );
    true
}

/// Reports a key that another field has already.
fn twice(cx: &Ctxt, seen: &[(String, &Field)], field: &Field, key: &str, span: Span, how: &str) -> bool {
    let Some((_, first)) = seen.iter().find(|(seen, first)| seen == key && first.name != field.name) else {
        return false;
    };
    cx.error(
        Diagnostic::new(span, format!("`{}` and `{}` are both {how} as `{key}`", first.name, field.name))
            .help("choose another name for one of them")
            .related(first.ident.span(), format!("`{}` is here", first.name)),
    );
    true
}

/// The keys of one field, each with the place that gives it.
struct Keys {
    write: Vec<(String, Span)>,
    read: Vec<(String, Span)>,
}

impl Keys {
    fn of(field: &Field, container: &SerdeAttrs) -> Self {
        let (mut write, mut read) = (Vec::new(), Vec::new());
        let serde = &field.serde;
        if serde.says("flatten").is_some() || serde.says("skip").is_some() {
            return Self { write, read };
        }
        let rename = serde.both_ways("rename");
        let rule = container.both_ways("rename_all");
        if serde.says("skip_serializing").is_none() {
            write.push(key(field, rename.write, rule.write));
        }
        if serde.says("skip_deserializing").is_none() {
            read.push(key(field, rename.read, rule.read));
            read.extend(serde.texts("alias").map(|alias| (alias.value, alias.span)));
        }
        Self { write, read }
    }
}

/// The key of a field with this name of its own, or in a struct with this rule, and the place that gives it.
fn key(field: &Field, rename: Option<Spanned<String>>, rule: Option<Spanned<String>>) -> (String, Span) {
    match (rename, rule) {
        (Some(name), _) => (name.value, name.span),
        (None, Some(rule)) => (renamed(&field.name, &rule.value), field.ident.span()),
        (None, None) => (field.name.clone(), field.ident.span()),
    }
}

/// The key under which a field of a struct with these attributes is written, unless it is skipped or
/// flattened.
#[cfg(feature = "generate")]
pub(crate) fn written_key(field: &Field, container: &SerdeAttrs) -> String {
    key(field, field.serde.both_ways("rename").write, container.both_ways("rename_all").write).0
}

/// The key that one of serde's rules for `rename_all` makes of a field's name.
pub(crate) fn renamed(name: &str, rule: &str) -> String {
    let pascal = || -> String {
        name.split('_')
            .map(|word| match word.split_at_checked(1) {
                Some((first, rest)) => first.to_ascii_uppercase() + rest,
                None => word.to_owned(),
            })
            .collect()
    };
    match rule {
        "UPPERCASE" | "SCREAMING_SNAKE_CASE" => name.to_ascii_uppercase(),
        "PascalCase" => pascal(),
        "camelCase" => {
            let pascal = pascal();
            match pascal.split_at_checked(1) {
                Some((first, rest)) => first.to_ascii_lowercase() + rest,
                None => pascal,
            }
        }
        "kebab-case" => name.replace('_', "-"),
        "SCREAMING-KEBAB-CASE" => name.to_ascii_uppercase().replace('_', "-"),
        _ => name.to_owned(),
    }
}
