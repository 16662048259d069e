//! How much a text is to a language model.

/// About how many tokens a text is: four bytes of a word are one, so is a sign. White space between
/// is none, and each line break is one.
#[must_use]
pub fn tokens(text: &str) -> usize {
    count_prefix(text, usize::MAX).0
}

/// The beginning of a text that is at most so many tokens.
#[must_use]
pub fn beginning(text: &str, most: usize) -> &str {
    &text[..count_prefix(text, most).1]
}

/// The tokens of the longest beginning of at most `most`, and its bytes.
fn count_prefix(text: &str, most: usize) -> (usize, usize) {
    let (mut count, mut run) = (0, 0);
    for (at, c) in text.char_indices() {
        if c.is_alphanumeric() {
            run += c.len_utf8();
            if count + usize::div_ceil(run, 4) > most {
                return (count + usize::div_ceil(run - c.len_utf8(), 4), at);
            }
            continue;
        }
        let sign = usize::from(c == '\n' || !c.is_whitespace());
        let word = usize::div_ceil(run, 4);
        if count + word + sign > most {
            return (count + word, at);
        }
        count += word + sign;
        run = 0;
    }
    (count + usize::div_ceil(run, 4), text.len())
}

#[cfg(test)]
mod tests {
    use super::{beginning, tokens};

    #[test]
    fn i16_a_beginning_has_as_many_tokens_as_fit() {
        let text = "fn näme_of(x) {\n    漢字 go }";
        for most in 0..=tokens(text) {
            let fitting = beginning(text, most);
            assert!(tokens(fitting) <= most, "{most}");
            let longer = text[fitting.len()..].chars().next();
            let longer = longer.map(|c| format!("{fitting}{c}"));
            assert!(longer.is_none_or(|longer| tokens(&longer) > most), "{most}");
        }
        assert_eq!(beginning(text, tokens(text)), text);
        assert_eq!(tokens("abcde f"), 3);
    }
}
