//! The documentation of an API type, made fit for another crate.
//!
//! What refers to the type's own crate would be wrong there: code blocks would be compiled as tests,
//! and links to items would lead nowhere.

/// The lines with their Rust code blocks marked as text and their links to items as plain words.
pub(super) fn for_another_crate(docs: &[String]) -> Vec<String> {
    // Words that lead to an address stay a link.
    let definitions = docs.iter().filter_map(|line| definition(line.trim_start()));
    let addresses: Vec<&str> =
        definitions.filter(|(_, target)| !is_item(target)).map(|(words, _)| words).collect();
    let mut fence: Option<Fence> = None;
    let mut lines = Vec::with_capacity(docs.len());
    for line in docs {
        let trimmed = line.trim_start();
        let mark: String = trimmed.chars().take_while(|c| *c == '`' || *c == '~').collect();
        match &fence {
            Some(open) if mark.starts_with(&open.mark) && trimmed.trim_end() == mark => {
                fence = None;
                lines.push(line.clone());
            }
            // A line that Rust's documentation hides has no place in a text.
            Some(open) if open.rust && (trimmed == "#" || trimmed.starts_with("# ")) => {}
            Some(_) => lines.push(line.clone()),
            None if mark.len() >= 3 => {
                let rust = is_rust(trimmed[mark.len()..].trim());
                let indent = &line[..line.len() - trimmed.len()];
                lines.push(if rust { format!("{indent}{mark}text") } else { line.clone() });
                fence = Some(Fence { mark, rust });
            }
            None => match definition(trimmed) {
                Some((_, target)) if is_item(target) => {}
                Some(_) => lines.push(line.clone()),
                None => lines.push(without_item_links(line, &addresses)),
            },
        }
    }
    lines
}

/// The code block that a line is in.
struct Fence {
    mark: String,
    rust: bool,
}

/// Whether rustdoc takes a code block with these words for Rust.
fn is_rust(words: &str) -> bool {
    const WORDS: &[&str] = &["rust", "ignore", "should_panic", "no_run", "compile_fail", "test_harness"];
    words
        .split([',', ' ', '\t'])
        .filter(|word| !word.is_empty())
        .all(|word| WORDS.contains(&word) || word.starts_with("edition") || word.starts_with("ignore-"))
}

/// The words and the target of `[words]: target`, the target of a link on a line of its own.
fn definition(line: &str) -> Option<(&str, &str)> {
    let (words, target) = line.strip_prefix('[')?.split_once("]:")?;
    (!words.contains('[')).then_some((words, target.trim()))
}

/// Whether the target of a link is an item and not an address.
fn is_item(target: &str) -> bool {
    !target.is_empty() && !target.contains(['/', '.', '?']) && !target.starts_with(['#', '<'])
}

/// `[words](item)`, `[words][item]` and `[item]` as their words; other links as they are.
fn without_item_links(line: &str, addresses: &[&str]) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(['[', '`', '\\']) {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let length = match from.as_bytes()[0] {
            // What a backslash or backquotes protect is no link.
            b'\\' => 1 + from[1..].chars().next().map_or(0, char::len_utf8),
            b'`' => code_span(from),
            _ => match link(from, addresses) {
                Some((words, length)) => {
                    out.push_str(words);
                    rest = &from[length..];
                    continue;
                }
                None => 1,
            },
        };
        out.push_str(&from[..length]);
        rest = &from[length..];
    }
    out.push_str(rest);
    out
}

/// How many bytes the code at the start of a text takes, from backquotes to backquotes.
fn code_span(text: &str) -> usize {
    let ticks = text.len() - text.trim_start_matches('`').len();
    match text[ticks..].find(&text[..ticks]) {
        Some(end) => ticks + end + ticks,
        None => ticks,
    }
}

/// The words of a link to an item at the start of a text, and how many bytes the link takes.
fn link<'t>(text: &'t str, addresses: &[&str]) -> Option<(&'t str, usize)> {
    let end = text.find(']')?;
    let words = &text[1..end];
    let after = &text[end + 1..];
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some(target) = after.strip_prefix(open) {
            let length = target.find(close)?;
            let target = &target[..length];
            let item = is_item(target.trim_matches('`')) && !addresses.contains(&target);
            return item.then_some((words, end + 1 + 1 + length + 1));
        }
    }
    if addresses.contains(&words) {
        return None;
    }
    // Brackets around anything but a path are brackets.
    let name = words.trim_matches('`');
    let path = name.strip_suffix("()").or(name.strip_suffix('!')).unwrap_or(name);
    let path = path.split_once('@').map_or(path, |(_, path)| path);
    syn::parse_str::<syn::Path>(path).is_ok().then_some((words, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(text: &str) -> String {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for_another_crate(&lines).join("\n")
    }

    #[test]
    fn links_to_items_become_words_and_other_links_stay() {
        for (written, expected) in [
            ("a [`Spec`], b", "a `Spec`, b"),
            ("[its spec](Spec)", "its spec"),
            ("[its spec](crate::v1::Spec)", "its spec"),
            ("[`a::B`][a::B]", "`a::B`"),
            ("[struct@Spec] [f()] [m!]", "struct@Spec f() m!"),
            ("[docs](https://kubernetes.io)", "[docs](https://kubernetes.io)"),
            ("[docs](#example)", "[docs](#example)"),
            ("from [0, 1] to [2]", "from [0, 1] to [2]"),
            ("`[Spec]` and \\[Spec\\]", "`[Spec]` and \\[Spec\\]"),
            ("`` a`[b] `` [", "`` a`[b] `` ["),
            ("[unfinished", "[unfinished"),
            ("日本 [`語`] 🦀\\", "日本 `語` 🦀\\"),
        ] {
            assert_eq!(converted(written), expected, "{written}");
        }
    }

    #[test]
    fn targets_of_links_go_where_they_are_items() {
        assert_eq!(
            converted("[b] [c] [d][c]\n[b]: crate::B\n[c]: https://example.com"),
            "b [c] [d][c]\n[c]: https://example.com"
        );
    }

    #[test]
    fn code_that_would_be_a_test_becomes_text_and_other_code_stays() {
        assert_eq!(converted("```\n# hidden\n[a]\n```\n[`a`]"), "```text\n[a]\n```\n`a`");
        assert_eq!(converted("~~~rust,no_run\nx\n~~~"), "~~~text\nx\n~~~");
        assert_eq!(converted("```yaml\n# kept\n```"), "```yaml\n# kept\n```");
        assert_eq!(converted("````\n```\n````"), "````text\n```\n````");
    }
}
