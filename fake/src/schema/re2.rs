//! Regular expressions with the meaning that Go's `regexp` gives them.
//!
//! The crate `regex` has the same syntax and the same guarantee of linear time, with a few differences that are
//! translated here: in Go `\d`, `\w`, `\s` and `\b` are about ASCII, `[` is an ordinary character within brackets,
//! `{` that begins no repetition is one everywhere, and `\Q…\E` quotes.

use std::iter::Peekable;

use regex::{Regex, RegexBuilder};

/// Repetitions above this are an error in Go.
const MAX_REPEAT: u32 = 1000;
/// What one compiled expression may need, in bytes.
const SIZE_LIMIT: usize = 10 << 20;

/// Compiles an expression.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern)?;
    RegexBuilder::new(&translated)
        .size_limit(SIZE_LIMIT)
        .nest_limit(200)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "expression too large".to_owned(),
            error => {
                let text = error.to_string();
                in_go(text.lines().last().unwrap_or_default().trim_start_matches("error: "))
            }
        })
        .map_err(|error| format!("error parsing regexp: {error}: `{pattern}`"))
}

/// Says in Go's words what is wrong with an expression.
fn in_go(error: &str) -> String {
    let known = [
        ("unclosed group", "missing closing )"),
        ("unopened group", "unexpected )"),
        ("unclosed character class", "missing closing ]"),
        ("repetition operator missing expression", "missing argument to repetition operator"),
        (
            "incomplete escape sequence, reached end of pattern prematurely",
            "trailing backslash at end of expression",
        ),
        ("unrecognized escape sequence", "invalid escape sequence"),
        ("invalid character class range, the start must be <= the end", "invalid character class range"),
    ];
    let found = known.iter().find(|(rust, _)| *rust == error);
    found.map_or(error, |(_, go)| go).to_owned()
}

fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => escape(&mut rest, &mut out, false),
            '[' => class(&mut rest, &mut out),
            '{' => match repetition(&rest) {
                None => out.push_str("\\{"),
                Some((low, high)) if low > MAX_REPEAT || high > MAX_REPEAT => {
                    return Err(format!("error parsing regexp: invalid repeat count: `{pattern}`"));
                }
                Some(_) => out.push('{'),
            },
            '}' => match out.rfind('{') {
                Some(at) if !out[..at].ends_with('\\') && repeats(&out[at + 1..]) => out.push('}'),
                _ => out.push_str("\\}"),
            },
            c => out.push(c),
        }
    }
    Ok(out)
}

fn repeats(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == ',') && text.matches(',').count() < 2
}

/// The bounds of the repetition that follows an opening brace, if one does.
fn repetition(rest: &Peekable<std::str::Chars<'_>>) -> Option<(u32, u32)> {
    let text: String = rest.clone().take_while(|c| *c != '}').take(16).collect();
    let (low, high) = text.split_once(',').unwrap_or((&text, &text));
    if !rest.clone().any(|c| c == '}') || low.is_empty() {
        return None;
    }
    let low: u32 = low.parse().ok()?;
    let high: u32 = if high.is_empty() { low } else { high.parse().ok()? };
    Some((low, high))
}

fn escape(rest: &mut Peekable<std::str::Chars<'_>>, out: &mut String, in_class: bool) {
    let Some(c) = rest.next() else {
        out.push('\\');
        return;
    };
    let (ascii, open, close) = match c {
        'd' => ("0-9", "[", "]"),
        'w' => ("0-9A-Za-z_", "[", "]"),
        's' => ("\\t\\n\\x0C\\r ", "[", "]"),
        'D' => ("[^0-9]", "", ""),
        'W' => ("[^0-9A-Za-z_]", "", ""),
        'S' => ("[^\\t\\n\\x0C\\r ]", "", ""),
        'b' if !in_class => ("(?-u:\\b)", "", ""),
        'B' if !in_class => ("(?-u:\\B)", "", ""),
        '<' | '>' => {
            out.push(c);
            return;
        }
        'Q' if !in_class => {
            let quoted: String = rest.by_ref().collect();
            let (quoted, after) = quoted.split_once("\\E").unwrap_or((&quoted, ""));
            out.push_str(&regex::escape(quoted));
            // What follows the quotation is translated on its own: it cannot refer back to what is before it.
            out.push_str(&translate(after).unwrap_or_else(|_| after.to_owned()));
            return;
        }
        c => {
            out.push('\\');
            out.push(c);
            return;
        }
    };
    if in_class {
        out.push_str(ascii);
    } else {
        out.push_str(open);
        out.push_str(ascii);
        out.push_str(close);
    }
}

fn class(rest: &mut Peekable<std::str::Chars<'_>>, out: &mut String) {
    out.push('[');
    if rest.peek() == Some(&'^') {
        out.push('^');
        rest.next();
    }
    if rest.peek() == Some(&']') {
        out.push_str("\\]");
        rest.next();
    }
    while let Some(c) = rest.next() {
        match c {
            ']' => {
                out.push(']');
                return;
            }
            '[' if rest.peek() == Some(&':') => {
                // A named class such as [:alpha:].
                out.push('[');
                for c in rest.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' => out.push_str("\\["),
            '\\' => escape(rest, out, true),
            // Two of these in a row are operators of the crate `regex`.
            '&' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '-' if rest.peek() == Some(&'-') => out.push_str("\\-"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[test]
    fn digits_words_and_spaces_are_ascii_as_in_go() {
        let digits = compile(r"^\d+$").unwrap();
        assert!(digits.is_match("123"));
        assert!(!digits.is_match("١٢٣"));
        assert!(!compile(r"^[\w-]+$").unwrap().is_match("é"));
        assert!(compile(r"^[^\s]+$").unwrap().is_match("\u{a0}"));
    }

    #[test]
    fn brackets_and_braces_are_ordinary_where_go_says_so() {
        assert!(compile(r"^[[]$").unwrap().is_match("["));
        assert!(compile(r"^a{,2}$").unwrap().is_match("a{,2}"));
        assert!(compile(r"^{a}$").unwrap().is_match("{a}"));
        assert!(compile(r"^a{2}$").unwrap().is_match("aa"));
        assert!(compile(r"^[a&&b]+$").unwrap().is_match("a&b"));
        assert!(compile(r"^\Qa.b\E+$").unwrap().is_match("a.bb"));
        assert!(compile(r"^[\]a]+$").unwrap().is_match("]a"));
    }

    #[test]
    fn an_expression_that_go_refuses_is_refused() {
        for pattern in ["(", "a{1001}", "[b-a]", "(?=a)", r"\1"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
