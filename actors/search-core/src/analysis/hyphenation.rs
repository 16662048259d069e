//! Words that were divided by hand at the end of a line: `Unternehmens-` and `steuerreform`.

/// Letters of either half that are looked at.
const MAX_LETTERS: usize = 48;

/// Fewer letters are no half of a word.
const MIN_LETTERS: usize = 2;

/// Words that are put together; a text with more is no text.
const MAX_WORDS: usize = 10_000;

/// The words of a text that end a line with a hyphen and go on in the next with a small letter, put
/// together.
#[must_use]
pub fn divided_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('-') {
        let behind = &text[at + 1..];
        let behind = behind.strip_prefix('\r').unwrap_or(behind);
        let Some(next) = behind.strip_prefix('\n') else {
            continue;
        };
        let next = next.trim_start_matches([' ', '\t']);
        let before = text[..at].chars().rev().take_while(|c| c.is_alphabetic());
        let first: Vec<char> = before.take(MAX_LETTERS).collect();
        let rest: String = next
            .chars()
            .take_while(|c| c.is_alphabetic())
            .take(MAX_LETTERS)
            .collect();
        let goes_on = rest.starts_with(char::is_lowercase)
            && first.first().is_some_and(|last| last.is_lowercase());
        if goes_on && first.len() >= MIN_LETTERS && rest.chars().count() >= MIN_LETTERS {
            found.push(first.iter().rev().collect::<String>() + &rest);
        }
        if found.len() == MAX_WORDS {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::divided_words;

    #[test]
    fn i16_words_divided_by_hand_are_put_together() {
        assert_eq!(
            divided_words("die Unternehmens-\nsteuerreform und über-\r\n  höht"),
            ["Unternehmenssteuerreform", "überhöht"]
        );
        for text in [
            "Ein-\nAus",
            "a -\nb",
            "well-known",
            "x-\nray",
            "- eins\n- zwei",
            "GPL-\nlike",
        ] {
            assert!(divided_words(text).is_empty(), "{text}");
        }
    }
}
