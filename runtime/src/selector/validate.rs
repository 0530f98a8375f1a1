//! The API server's rules for label keys, label values and namespaces.

const LABEL_LENGTH: usize = 63;
const SUBDOMAIN_LENGTH: usize = 253;

/// Checks a label key: `name`, or `prefix/name` with a DNS subdomain as its prefix.
pub(super) fn label_key(key: &str) -> Result<(), String> {
    let name = match key.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            if !is_dns_subdomain(prefix) {
                return Err("the part before the slash must be a DNS subdomain".to_owned());
            }
            name
        }
        _ => return Err("it must have the form `name` or `prefix/name`".to_owned()),
    };
    if name.is_empty() {
        return Err("the name must not be empty".to_owned());
    }
    label_text(name, "the name")
}

/// Checks a label value: empty, or up to 63 letters, digits, `-`, `_` and `.` that begin and end with
/// a letter or digit.
pub(super) fn label_value(value: &str) -> Result<(), String> {
    if value.is_empty() { Ok(()) } else { label_text(value, "it") }
}

fn label_text(text: &str, what: &str) -> Result<(), String> {
    if text.len() > LABEL_LENGTH {
        return Err(format!("{what} must not be longer than {LABEL_LENGTH} characters"));
    }
    let bytes = text.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    let good = ends
        .is_some_and(|(first, last)| first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if good {
        Ok(())
    } else {
        Err(format!(
            "{what} must consist of letters, digits, `-`, `_` and `.`, and begin and end with a letter or digit"
        ))
    }
}

/// Returns whether the text consists of lower-case letters, digits and `-`, and begins and ends with a letter
/// or digit. A namespace and each part of a DNS subdomain do.
fn is_dns_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
}

/// Returns whether the text is a DNS label, such as a namespace.
pub(crate) fn is_dns_label(text: &str) -> bool {
    text.len() <= LABEL_LENGTH && is_dns_text(text)
}

/// Returns whether the text consists of DNS labels joined by dots. As on the API server, only the total
/// length is limited.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_LENGTH && text.split('.').all(is_dns_text)
}
