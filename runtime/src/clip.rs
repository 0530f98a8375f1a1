//! Texts of limited length.

/// Cuts a text to this many bytes, between characters, and marks the cut.
pub(crate) fn clip(mut text: String, max: usize) -> String {
    const MARK: &str = "…";
    if text.len() > max {
        let mut end = max - MARK.len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(MARK);
    }
    text
}
