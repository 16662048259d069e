//! How much a text is to a language model.

/// About how many tokens a text is: four bytes of a word are one, so is a sign. White space between
/// is none, and each line break is one.
#[must_use]
pub fn tokens(text: &str) -> usize {
    let (mut count, mut run) = (0, 0);
    for c in text.chars() {
        if c.is_alphanumeric() {
            run += c.len_utf8();
            continue;
        }
        count += usize::div_ceil(run, 4);
        run = 0;
        count += usize::from(c == '\n' || !c.is_whitespace());
    }
    count + usize::div_ceil(run, 4)
}
