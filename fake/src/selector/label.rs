//! Label selectors, with the API server's messages.

use std::borrow::Cow;

use genclient_runtime::Selector;

use crate::{names, status::Failure};

/// Reads a label selector.
pub(super) fn parse(text: &str) -> Result<Selector, Failure> {
    let text = &*until_zero(text);
    Selector::parse(text).map_err(|error| {
        Failure::bad_request(Explainer::new(text).explain().unwrap_or_else(|| error.to_string()))
    })
}

/// Returns the part of a selector that the server reads. For it a zero byte is the end of a word or, where no word
/// is, the end of the selector.
fn until_zero(text: &str) -> Cow<'_, str> {
    if !text.contains('\0') {
        return text.into();
    }
    let mut read = String::new();
    let mut in_word = false;
    for character in text.chars() {
        match character {
            '\0' if !in_word => break,
            '\0' => read.push(' '),
            other => read.push(other),
        }
        in_word = !matches!(character, '\0' | ' ' | '\t' | '\r' | '\n');
    }
    read.into()
}

/// Finds in a selector what the server complains about, in its words.
struct Explainer<'t> {
    tokens: Vec<&'t str>,
    next: usize,
}

const OPERATORS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

impl<'t> Explainer<'t> {
    fn new(text: &'t str) -> Self {
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let symbol = OPERATORS.into_iter().find(|symbol| rest.starts_with(symbol)).map_or(0, str::len);
            let end = if symbol > 0 {
                symbol
            } else {
                rest.find(|c: char| c.is_whitespace() || "=!(),><".contains(c)).unwrap_or(rest.len())
            };
            tokens.push(&rest[..end]);
            rest = rest[end..].trim_start();
        }
        Self { tokens, next: 0 }
    }

    /// Returns the next token, or an empty one at the end.
    fn peek(&self) -> &'t str {
        self.tokens.get(self.next).copied().unwrap_or_default()
    }

    fn take(&mut self) -> &'t str {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn is_word(token: &str) -> bool {
        !token.is_empty() && !OPERATORS.contains(&token)
    }

    /// Returns what is wrong, if anything is.
    fn explain(&mut self) -> Option<String> {
        loop {
            let token = self.peek();
            if token.is_empty() {
                return None;
            }
            if !Self::is_word(token) && token != "!" {
                return Some(format!("found '{token}', expected: !, identifier, or 'end of string'"));
            }
            if let Some(problem) = self.requirement() {
                return Some(format!("unable to parse requirement: {problem}"));
            }
            match self.take() {
                "" => return None,
                "," => {
                    let after = self.peek();
                    if !Self::is_word(after) && after != "!" {
                        return Some(format!("found '{after}', expected: identifier after ','"));
                    }
                }
                other => return Some(format!("found '{other}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Option<String> {
        let negated = self.peek() == "!";
        if negated {
            self.take();
        }
        let key = self.take();
        if !Self::is_word(key) {
            return Some(format!("found '{key}', expected: identifier"));
        }
        if let Some(why) = names::qualified_name(key).first() {
            return Some(format!("<nil>: Invalid value: {key:?}: {why}"));
        }
        if negated || matches!(self.peek(), "" | ",") {
            return None;
        }
        let operator = self.take();
        match operator {
            "=" | "==" | "!=" | ">" | "<" => {
                let value = match self.peek() {
                    "" | "," => "",
                    _ => self.take(),
                };
                if !value.is_empty() && !Self::is_word(value) {
                    return Some(format!("found '{value}', expected: identifier"));
                }
                if matches!(operator, ">" | "<") && value.parse::<i64>().is_err() {
                    return Some(format!(
                        "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
                    ));
                }
                invalid_value(key, 0, value)
            }
            "in" | "notin" => self.values(key),
            other => Some(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        }
    }

    fn values(&mut self, key: &str) -> Option<String> {
        let open = self.take();
        if open != "(" {
            return Some(format!("found '{open}' expected: '('"));
        }
        let mut values = Vec::new();
        loop {
            match self.take() {
                ")" => break,
                "," => {}
                word if Self::is_word(word) => {
                    values.push(word);
                    let after = self.peek();
                    if !matches!(after, "," | ")") {
                        return Some(format!("found '{after}', expected: ',' or ')'"));
                    }
                }
                other => return Some(format!("found '{other}', expected: ',', ')' or identifier")),
            }
        }
        values.sort_unstable();
        values.iter().enumerate().find_map(|(index, value)| invalid_value(key, index, value))
    }
}

fn invalid_value(key: &str, index: usize, value: &str) -> Option<String> {
    let why = names::label_value(value).into_iter().next()?;
    Some(format!("values[{index}][{key}]: Invalid value: {value:?}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_that_does_not_parse_is_explained_in_the_words_of_the_server() {
        let explain = |text| Explainer::new(text).explain();
        for (text, problem) in [
            ("==", "found '==', expected: !, identifier, or 'end of string'"),
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("a,", "found '', expected: identifier after ','"),
        ] {
            assert_eq!(explain(text).as_deref(), Some(problem), "{text}");
            assert!(Selector::parse(text).is_err(), "{text}");
        }
        assert_eq!(explain("a in (x, y),!b,c!=d,e>5"), None);
    }
}
