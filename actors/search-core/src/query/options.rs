//! Options of commands in a query (`rm -rf`): written like exclusions, and meant as they stand.

/// Letters of an option of one dash that are no word of a language: of more of them (`-train`) the
/// documents decide whether they are to be left out.
const MAX_LETTERS: usize = 4;

/// The words of a query with one dash before them, that may be options: in the order of the text.
#[must_use]
pub fn dashed_words(text: &str) -> Vec<&str> {
    let words = text.split_whitespace();
    let is_dashed = |word: &&str| {
        let name = word.strip_prefix('-').unwrap_or_default();
        name.len() > 1
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    words.filter(is_dashed).collect()
}

/// Whether a dashed word that documents hold just so is meant as an option, without being asked:
/// a short one (`-rf`), one with a capital (`-Wall`), a digit (`-print0`) or a dash inside
/// (`-fno-strict-aliasing`).
#[must_use]
pub fn reads_as_option(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    name.len() <= MAX_LETTERS
        || name.starts_with(|c: char| c.is_ascii_uppercase())
        || name.contains(|c: char| c.is_ascii_digit() || c == '-')
}

/// A query in which these words are text, whatever the dash before them says elsewhere.
#[must_use]
pub fn with_options(text: &str, options: &[&str]) -> String {
    let mut written = String::with_capacity(text.len() + options.len());
    for part in text.split_inclusive(char::is_whitespace) {
        if options.contains(&part.trim_end()) {
            // A sign in front makes text of what follows; it is no part of any word.
            written.push('`');
        }
        written.push_str(part);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{SearchRequest, parse};

    #[test]
    fn i16_words_with_a_dash_may_be_options() {
        let text = "gcc -Wall -o x --all -1 -train \"a -b\" -é e-mail";
        assert_eq!(dashed_words(text), ["-Wall", "-train"]);
        assert!(reads_as_option("-Wall") && reads_as_option("-rf") && !reads_as_option("-train"));
        assert!(reads_as_option("-print0") && reads_as_option("-fno-strict-aliasing"));
        let taken = with_options("gcc -Wall  -Wall2", &["-Wall"]);
        assert_eq!(taken, "gcc `-Wall  -Wall2");
        let query = parse(&SearchRequest::for_text("gcc `-Wall")).expect("it parses");
        assert_eq!(query.literals(), ["-Wall"]);
        assert!(query.condition().is_none());
    }
}
