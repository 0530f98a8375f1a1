//! Writes YAML as the API server does.
//!
//! * Keys are sorted, numbers in them by their value; a list stands below its key, not indented.
//! * A text stands without quotes if it reads as the same text; in double quotes if it would read as something else,
//!   in single ones if a character of it means something in YAML, and below a `|` if it has several lines.
//! * Long texts go on in the next line after 80 characters.

use std::{cmp::Ordering, fmt::Write};

use serde_json::{Number, Value};

/// The column after which a text goes on in the next line.
const WIDTH: usize = 80;

/// Writes a value.
pub(crate) fn write(value: &Value) -> String {
    let mut writer = Writer { text: String::new() };
    writer.node(value, 0, true);
    writer.text.truncate(writer.text.trim_end_matches('\n').len());
    writer.text.push('\n');
    writer.text
}

struct Writer {
    text: String,
}

impl Writer {
    /// Writes a value. `indent` is that of its lines, and `fresh` says whether the cursor is where the first of them
    /// begins.
    fn node(&mut self, value: &Value, indent: usize, fresh: bool) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_by(|(left, _), (right, _)| natural(left, right));
                for (index, (key, value)) in fields.into_iter().enumerate() {
                    if index > 0 || !fresh {
                        self.line(indent);
                    }
                    self.scalar(key, indent, true);
                    self.text.push(':');
                    match value {
                        // The lines of a list stand below its key.
                        Value::Array(items) if !items.is_empty() => self.node(value, indent, false),
                        Value::Object(fields) if !fields.is_empty() => self.node(value, indent + 2, false),
                        _ => {
                            self.text.push(' ');
                            self.node(value, indent, true);
                        }
                    }
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 || !fresh {
                        self.line(indent);
                    }
                    self.text.push_str("- ");
                    let below = if item.is_object() || item.is_array() { indent + 2 } else { indent };
                    self.node(item, below, true);
                }
            }
            Value::Object(_) => self.text.push_str("{}"),
            Value::Array(_) => self.text.push_str("[]"),
            Value::Null => self.text.push_str("null"),
            Value::Bool(flag) => self.text.push_str(if *flag { "true" } else { "false" }),
            Value::Number(number) => self.text.push_str(&number_text(number)),
            Value::String(text) => self.scalar(text, indent, false),
        }
    }

    fn line(&mut self, indent: usize) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', indent));
    }

    fn column(&self) -> usize {
        self.text.rsplit('\n').next().unwrap_or_default().chars().count()
    }

    /// Writes a text. A key has to stand in one line.
    fn scalar(&mut self, text: &str, indent: usize, key: bool) {
        let looks = Looks::of(text);
        let below = indent + 2;
        if text.contains('\n') {
            if looks.block && !key { self.literal(text, below) } else { self.double_quoted(text, below, key) }
        } else if means_something_else(text) {
            self.double_quoted(text, below, key);
        } else if looks.plain {
            self.folded(text, below, key);
        } else if looks.single_quoted {
            self.text.push('\'');
            self.folded(&text.replace('\'', "''"), below, key);
            self.text.push('\'');
        } else {
            self.double_quoted(text, below, key);
        }
    }

    /// Writes a text whose long lines go on in the next one.
    fn folded(&mut self, text: &str, indent: usize, key: bool) {
        let mut rest = text.chars().peekable();
        let (mut after_space, mut first) = (false, true);
        while let Some(char) = rest.next() {
            let next = rest.peek().copied();
            let fits = key || after_space || first || self.column() <= WIDTH;
            if char == ' ' && !fits && next.is_some_and(|next| next != ' ') {
                self.line(indent);
            } else {
                self.text.push(char);
            }
            (after_space, first) = (char == ' ', false);
        }
    }

    fn double_quoted(&mut self, text: &str, indent: usize, key: bool) {
        self.text.push('"');
        let mut rest = text.chars().peekable();
        let (mut after_space, mut first) = (false, true);
        while let Some(char) = rest.next() {
            let next = rest.peek().copied();
            let fits = key || after_space || first || self.column() <= WIDTH;
            match char {
                ' ' if !fits && next.is_some() => {
                    self.line(indent);
                    if next == Some(' ') {
                        self.text.push('\\');
                    }
                }
                '"' | '\\' => self.text.extend(['\\', char]),
                '\0' => self.text.push_str("\\0"),
                '\x07' => self.text.push_str("\\a"),
                '\x08' => self.text.push_str("\\b"),
                '\t' => self.text.push_str("\\t"),
                '\n' => self.text.push_str("\\n"),
                '\x0b' => self.text.push_str("\\v"),
                '\x0c' => self.text.push_str("\\f"),
                '\r' => self.text.push_str("\\r"),
                '\x1b' => self.text.push_str("\\e"),
                '\u{85}' => self.text.push_str("\\N"),
                '\u{a0}' => self.text.push_str("\\_"),
                '\u{2028}' => self.text.push_str("\\L"),
                '\u{2029}' => self.text.push_str("\\P"),
                char if !is_printable(char) => {
                    let code = u32::from(char);
                    let _ = match code {
                        0..=0xff => write!(self.text, "\\x{code:02X}"),
                        0x100..=0xffff => write!(self.text, "\\u{code:04X}"),
                        _ => write!(self.text, "\\U{code:08X}"),
                    };
                }
                char => self.text.push(char),
            }
            (after_space, first) = (char == ' ', false);
        }
        self.text.push('"');
    }

    /// Writes the lines of a text below a `|`.
    fn literal(&mut self, text: &str, indent: usize) {
        self.text.push('|');
        if text.starts_with([' ', '\n']) {
            self.text.push('2');
        }
        let content = text.strip_suffix('\n');
        match content {
            None => self.text.push('-'),
            Some(content) if content.is_empty() || content.ends_with('\n') => self.text.push('+'),
            Some(_) => {}
        }
        for line in content.unwrap_or(text).split('\n') {
            if line.is_empty() {
                self.text.push('\n');
            } else {
                self.line(indent);
                self.text.push_str(line);
            }
        }
    }
}

/// In which ways a text can be written.
struct Looks {
    plain: bool,
    single_quoted: bool,
    /// Below a `|`.
    block: bool,
}

impl Looks {
    fn of(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let is_space_at =
            |index: usize| chars.get(index).is_none_or(|char| matches!(char, ' ' | '\t' | '\n' | '\r'));
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let (mut special, mut space_break) = (false, false);
        for (index, &char) in chars.iter().enumerate() {
            indicators |= match char {
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
                | '`'
                    if index == 0 =>
                {
                    true
                }
                '?' | '-' if index == 0 => is_space_at(1),
                ':' => is_space_at(index + 1),
                '#' => is_space_at(index - 1),
                _ => false,
            };
            special |= !is_printable(char) && char != '\n';
            space_break |= char == ' ' && chars.get(index + 1) == Some(&'\n');
        }
        let edge_space = text.starts_with(' ') || text.ends_with(' ');
        Self {
            plain: !indicators && !special && !edge_space && !text.is_empty(),
            single_quoted: !special,
            block: !special && !space_break && !text.ends_with(' '),
        }
    }
}

fn is_printable(char: char) -> bool {
    matches!(char, '\x20'..='\x7e' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && char != '\u{feff}'
}

/// Whether a text without quotes would be read as a number, a flag, a time or nothing.
fn means_something_else(text: &str) -> bool {
    const WORDS: [&str; 11] = ["y", "yes", "n", "no", "true", "false", "on", "off", "null", ".inf", ".nan"];
    let lower = text.to_ascii_lowercase();
    let capitalised = || text.chars().skip(1).all(|char| char.is_ascii_lowercase());
    let same_case = || text == lower || text == text.to_ascii_uppercase() || capitalised();
    if matches!(
        text,
        "" | "~" | "<<" | ".NaN" | "+.inf" | "-.inf" | "+.Inf" | "-.Inf" | ".Inf" | "+.INF" | "-.INF"
    ) {
        return true;
    }
    if WORDS.contains(&lower.as_str()) && same_case() {
        return true;
    }
    is_number(text) || is_base_60(text) || is_time(text)
}

fn is_number(text: &str) -> bool {
    let plain = text.replace('_', "");
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    let digits = |text: &str, radix: u32| !text.is_empty() && text.chars().all(|char| char.is_digit(radix));
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8), ("0O", 8)] {
        if unsigned.strip_prefix(prefix).is_some_and(|rest| digits(rest, radix)) {
            return true;
        }
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let exponent =
        exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent), 10));
    let mantissa = match mantissa.split_once('.') {
        Some((whole, part)) => {
            whole.chars().all(|char| char.is_ascii_digit())
                && part.chars().all(|char| char.is_ascii_digit())
                && !(whole.is_empty() && part.is_empty())
        }
        None => digits(mantissa, 10),
    };
    mantissa && exponent
}

/// A number such as `190:20:30`, which old versions of YAML have.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = unsigned.split(':');
    let digits = |part: &str| !part.is_empty() && part.chars().all(|char| char.is_ascii_digit());
    unsigned.contains(':')
        && parts.next().is_some_and(|first| digits(&first.replace('_', "")))
        && parts.all(|part| {
            let whole = part.split_once('.').map_or(part, |(whole, _)| whole);
            digits(whole) && whole.len() <= 2
        })
}

/// Whether a text is a date, or a date and a time.
fn is_time(text: &str) -> bool {
    let date = |text: &str| {
        let parts: Vec<_> = text.split('-').collect();
        let lengths =
            parts.len() == 3 && parts[0].len() == 4 && parts[1..].iter().all(|part| part.len() <= 2);
        lengths && parts.iter().all(|part| part.parse::<u16>().is_ok())
    };
    let (day, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(text[at + 1..].trim_start())),
        None => (text, None),
    };
    date(day)
        && time
            .is_none_or(|time| time.len() >= 5 && time.as_bytes()[0].is_ascii_digit() && time.contains(':'))
}

fn number_text(number: &Number) -> String {
    match number.as_f64().filter(|_| !number.is_i64() && !number.is_u64()) {
        None => number.to_string(),
        Some(float) => {
            let scientific = format!("{float:e}");
            let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
            let exponent: i32 = exponent.parse().unwrap_or_default();
            match exponent {
                -4..21 => float.to_string(),
                _ => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
            }
        }
    }
}

/// Compares keys as people do: numbers in them by their value, and letters after all else.
fn natural(left: &str, right: &str) -> Ordering {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let Some(at) = left.iter().zip(&right).position(|(left, right)| left != right) else {
        return left.len().cmp(&right.len());
    };
    let (first, second) = (left[at], right[at]);
    match (first.is_alphabetic(), second.is_alphabetic()) {
        (true, true) => return first.cmp(&second),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let number = |chars: &[char]| {
        let digits: String = chars[at..].iter().take_while(|char| char.is_ascii_digit()).collect();
        (digits.parse::<u128>().unwrap_or_default(), digits.len())
    };
    number(&left).cmp(&number(&right)).then(first.cmp(&second))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_stand_below_their_keys() {
        let value = json!({"b": [{"x": 1, "y": []}, [1, 2]], "a": {"c": {}}, "a10": null, "a2": true});
        assert_eq!(
            write(&value),
            "a:\n  c: {}\na2: true\na10: null\nb:\n- x: 1\n  \"y\": []\n- - 1\n  - 2\n"
        );
    }

    #[test]
    fn texts_are_quoted_where_they_have_to_be() {
        let cases = [
            ("plain", "plain"),
            ("", "\"\""),
            ("5", "\"5\""),
            ("true", "\"true\""),
            ("2026-01-01T00:00:00Z", "\"2026-01-01T00:00:00Z\""),
            ("a: b", "'a: b'"),
            ("\"x\" not found", "'\"x\" not found'"),
            ("a\tb", "\"a\\tb\""),
            ("- a", "'- a'"),
            ("x\ny\n", "|\n  x\n  y"),
            ("x\ny", "|-\n  x\n  y"),
        ];
        for (text, written) in cases {
            assert_eq!(write(&json!(text)), format!("{written}\n"), "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let words = "word ".repeat(40);
        let value = json!({
            "texts": ["a", "0x1f", "it's", "# no", "a #b", "x ", " x", "{}", "1e3", "-", "a\u{1}b", "1:30", words.trim(), "ä: ö"],
            "lines": {"a": "x\n  y\n", "b": "\nx\n\n", "c": "  x\ny"},
            "numbers": [1, -5, 1.5, 1e30],
        });
        let read: Value = serde_saphyr::from_str(&write(&value)).unwrap();
        assert_eq!(read, value, "{}", write(&value));
    }
}
