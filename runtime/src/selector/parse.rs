//! The parser of selectors.
//!
//! ```text
//! selector    = [ requirement { "," requirement } ]
//! requirement = "!" key
//!             | key [ ( "=" | "==" | "!=" | "<" | ">" ) [ value ] | ( "in" | "notin" ) values ]
//! values      = "(" [ value ] { "," [ value ] } ")"
//! ```
//! There is no quoting. `in` and `notin` are operators after a key and plain words elsewhere. An omitted
//! value is the empty value. Whitespace separates words.

use std::collections::BTreeSet;

use super::{Bound, Condition, Requirement, validate};

/// Why a selector does not parse, and the position of the error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid selector `{text}` at byte {position}: {message}")]
pub struct ParseSelectorError {
    text: String,
    position: usize,
    message: String,
}

impl ParseSelectorError {
    /// The byte offset of the error in the text.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The description of the error, without its position.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// A token of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    Symbol(&'static str),
    End,
}

/// The symbols of the grammar. A symbol comes before its own prefixes.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

struct Parser<'t> {
    text: &'t str,
    /// The byte offset of the next token.
    position: usize,
}

type Result<T> = std::result::Result<T, ParseSelectorError>;

/// Parses the requirements of a selector, in the order of the text.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>> {
    let mut parser = Parser { text, position: 0 };
    let mut requirements = Vec::new();
    if parser.peek().0 == Token::End {
        return Ok(requirements);
    }
    loop {
        requirements.push(parser.requirement()?);
        let (token, at) = parser.next();
        match token {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => {}
            other => return Err(parser.unexpected(other, at, "`,` or the end")),
        }
    }
}

impl<'t> Parser<'t> {
    /// Returns the next token and its position without consuming it.
    fn peek(&mut self) -> (Token<'t>, usize) {
        let rest = &self.text[self.position..];
        let rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.position = self.text.len() - rest.len();
        let token = if rest.is_empty() {
            Token::End
        } else if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            Token::Symbol(symbol)
        } else {
            let end =
                rest.find([' ', '\t', '\r', '\n', '=', '!', '(', ')', ',', '>', '<']).unwrap_or(rest.len());
            Token::Word(&rest[..end])
        };
        (token, self.position)
    }

    /// Consumes the next token and returns it with its position.
    fn next(&mut self) -> (Token<'t>, usize) {
        let (token, at) = self.peek();
        self.position += match token {
            Token::Word(word) => word.len(),
            Token::Symbol(symbol) => symbol.len(),
            Token::End => 0,
        };
        (token, at)
    }

    fn requirement(&mut self) -> Result<Requirement> {
        let (token, at) = self.next();
        if token == Token::Symbol("!") {
            let (token, at) = self.next();
            let key = self.key(token, at)?;
            return Ok(Requirement { key, condition: Condition::DoesNotExist });
        }
        let key = self.key(token, at)?;
        if matches!(self.peek().0, Token::End | Token::Symbol(",")) {
            return Ok(Requirement { key, condition: Condition::Exists });
        }
        let (operator, at) = self.next();
        let condition = match operator {
            Token::Symbol("=") => Condition::Equals(self.value()?),
            Token::Symbol("==") => Condition::DoubleEquals(self.value()?),
            Token::Symbol("!=") => Condition::NotEquals(self.value()?),
            Token::Symbol(">") => Condition::GreaterThan(self.bound()?),
            Token::Symbol("<") => Condition::LessThan(self.bound()?),
            Token::Word("in") => Condition::In(self.values()?),
            Token::Word("notin") => Condition::NotIn(self.values()?),
            other => return Err(self.unexpected(other, at, "`in`, `notin`, `=`, `==`, `!=`, `>` or `<`")),
        };
        Ok(Requirement { key, condition })
    }

    fn key(&self, token: Token<'t>, at: usize) -> Result<String> {
        let Token::Word(key) = token else {
            return Err(self.unexpected(token, at, "a label key"));
        };
        match validate::label_key(key) {
            Ok(()) => Ok(key.to_owned()),
            Err(reason) => Err(self.error(at, format!("`{key}` is not a label key: {reason}"))),
        }
    }

    /// Parses the value after an operator. At the end of the requirement it is the empty value.
    fn value(&mut self) -> Result<String> {
        match self.peek() {
            (Token::End | Token::Symbol(","), _) => Ok(String::new()),
            (Token::Word(value), at) => {
                self.next();
                self.checked(value, at)
            }
            (other, at) => Err(self.unexpected(other, at, "a label value")),
        }
    }

    fn bound(&mut self) -> Result<Bound> {
        let (_, at) = self.peek();
        let text = self.value()?;
        match text.parse() {
            Ok(number) => Ok(Bound { number, text }),
            Err(_) => Err(self.error(at, format!("`{text}` is not a 64-bit integer"))),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>> {
        let (token, at) = self.next();
        if token != Token::Symbol("(") {
            return Err(self.unexpected(token, at, "`(`"));
        }
        let mut values = BTreeSet::new();
        if self.peek().0 == Token::Symbol(")") {
            self.next();
            values.insert(String::new());
            return Ok(values);
        }
        loop {
            let (token, at) = self.next();
            match token {
                Token::Word(value) => {
                    values.insert(self.checked(value, at)?);
                    match self.peek() {
                        (Token::Symbol(","), _) => {}
                        (Token::Symbol(")"), _) => break,
                        (other, at) => return Err(self.unexpected(other, at, "`,` or `)`")),
                    }
                }
                // A leading, trailing or repeated comma stands for the empty value.
                // The server consumes two adjacent commas as one step and then requires more
                // than the closing parenthesis: it accepts `(a,)` and `(a,,,)`, but not `(a,,)`.
                Token::Symbol(",") => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek().0 {
                        Token::Symbol(")") => {
                            values.insert(String::new());
                            break;
                        }
                        Token::Symbol(",") => {
                            self.next();
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                other => return Err(self.unexpected(other, at, "a label value or `,`")),
            }
        }
        self.next();
        Ok(values)
    }

    fn checked(&self, value: &str, at: usize) -> Result<String> {
        match validate::label_value(value) {
            Ok(()) => Ok(value.to_owned()),
            Err(reason) => Err(self.error(at, format!("`{value}` is not a label value: {reason}"))),
        }
    }

    fn unexpected(&self, found: Token<'_>, at: usize, wanted: &str) -> ParseSelectorError {
        let found = match found {
            Token::Word(text) | Token::Symbol(text) => format!("`{text}`"),
            Token::End => "the end".to_owned(),
        };
        self.error(at, format!("expected {wanted}, found {found}"))
    }

    fn error(&self, position: usize, message: String) -> ParseSelectorError {
        ParseSelectorError { text: self.text.to_owned(), position, message }
    }
}
