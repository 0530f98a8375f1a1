//! The documentation of Kubernetes' fields, shortened to its first sentence.

/// The maximum length of a line, without indentation and slashes.
const WIDTH: usize = 100;

/// A sentence with fewer words, such as `Required.`, is followed by the next one.
const FEW_WORDS: usize = 3;

/// Returns the first sentence of a documentation comment in lines of moderate length, or no lines if it has none.
pub(super) fn first_sentence(docs: &[String]) -> Vec<String> {
    let words: Vec<&str> = docs
        .iter()
        .skip_while(|line| line.trim().is_empty())
        .take_while(|line| !line.trim().is_empty() && !starts_block(line))
        .flat_map(|line| line.split_whitespace())
        .collect();
    let reference = words.windows(2).position(|pair| is_reference(pair[0], pair[1]));
    let words = &words[..reference.unwrap_or(words.len())];
    let end = (FEW_WORDS..words.len()).find(|end| ends_sentence(words[*end - 1], words[*end]));
    let words = &words[..end.unwrap_or(words.len())];
    let sentence = words.join(" ");
    let introduces_list = words.windows(2).any(|pair| pair[0].ends_with(':') && is_marker(pair[1]));
    let splits_code = !sentence.matches('`').count().is_multiple_of(2);
    if sentence.is_empty() || sentence.ends_with(':') || introduces_list || splits_code {
        return Vec::new();
    }
    let end = if sentence.trim_end_matches(')').ends_with(['.', '!', '?']) { "" } else { "." };
    wrap(&format!("{sentence}{end}"))
}

/// Returns whether a line starts a list, a heading, a quote or a table.
fn starts_block(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(is_marker)
}

/// Returns whether a word at the start of a line has a meaning in Markdown.
fn is_marker(word: &str) -> bool {
    let number = word.trim_end_matches(['.', ')']);
    let is_number =
        number.len() < word.len() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_number || word.starts_with(['#', '>', '|', '=']) || word.bytes().all(|b| b"-+*_".contains(&b))
}

/// Returns whether a sentence ends between two words.
fn ends_sentence(word: &str, next: &str) -> bool {
    let bare = word.trim_start_matches(['(', '"', '\'']).to_ascii_lowercase();
    let is_lowercase = next.starts_with(|c: char| c.is_lowercase());
    let is_abbreviation = match bare.as_str() {
        "e.g." | "i.e." | "vs." | "cf." => true,
        "etc." => is_lowercase,
        _ => false,
    };
    !is_abbreviation && word.trim_end_matches([')', '"', '\'']).ends_with(['.', '!', '?'])
}

/// Returns whether two words start a reference to another document.
fn is_reference(word: &str, next: &str) -> bool {
    matches!((word, next), ("More", "info:")) || word.eq_ignore_ascii_case("ref:")
}

/// Breaks a text into lines. A word that has a meaning at the start of a line is kept on the previous line.
fn wrap(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= WIDTH || is_marker(word) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(docs: &str) -> String {
        let lines: Vec<_> = docs.split('\n').map(str::to_owned).collect();
        first_sentence(&lines).join("\n")
    }

    #[test]
    fn only_the_first_sentence_remains() {
        for (docs, sentence) in [
            ("The number of pods. Defaults to 1.", "The number of pods."),
            ("Names, e.g. \"a\". More.", "Names, e.g. \"a\"."),
            ("A form, x.y or i.e. Foo. kind is next.", "A form, x.y or i.e. Foo."),
            ("Pods, jobs etc. of a node. More.", "Pods, jobs etc. of a node."),
            ("The name of it. More info: https://a.b", "The name of it."),
            ("The name of it More info: https://a.b", "The name of it."),
            ("An expression. ref: https://a.b", "An expression."),
            ("No end", "No end."),
            ("One\nsentence on\ntwo lines. More.", "One sentence on two lines."),
            ("Required. The name of it. More.", "Required. The name of it."),
            ("This is a list. Values:\n - a\n - b", "This is a list."),
            ("One paragraph\n\nAnother one.", "One paragraph."),
            ("Ends early (in brackets.) More.", "Ends early (in brackets.)"),
            ("Ends early (in brackets)", "Ends early (in brackets)."),
        ] {
            assert_eq!(first(docs), sentence, "{docs:?}");
        }
    }

    #[test]
    fn what_is_no_sentence_is_left_out() {
        for docs in
            ["", "\n", "Possible values:\n - a", "Is one of: * a * b", "- a\n- b", "This is `a. B` so"]
        {
            assert_eq!(first(docs), "", "{docs:?}");
        }
    }

    #[test]
    fn long_sentences_are_wrapped_and_no_line_starts_with_a_marker() {
        let text = format!("{} - {}", "word ".repeat(20).trim_end(), "word ".repeat(30).trim_end());
        let lines = first_sentence(&[text]);
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() <= WIDTH + 2 && line.starts_with("word")), "{lines:#?}");
    }
}
