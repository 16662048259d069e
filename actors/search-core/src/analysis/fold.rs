//! Folding of case and accents.

use unicode_normalization::UnicodeNormalization;

use super::words::{is_joiner, words};

/// Longest line [`folded_line`] gives, in bytes.
const MAX_LINE_BYTES: usize = 256;

/// The folded words of `text` with single spaces between them, cut to a sane length: two titles
/// that differ in case, accents or punctuation alone give the same line.
#[must_use]
pub fn folded_line(text: &str) -> String {
    let mut line = String::new();
    for word in words(text) {
        if !line.is_empty() {
            line.push(' ');
        }
        fold(word.text, &mut line);
        if line.len() > MAX_LINE_BYTES {
            line.truncate(line.floor_char_boundary(MAX_LINE_BYTES));
            break;
        }
    }
    line
}

/// The folded form of `word`, appended to `out`: lower case, without Latin, Greek and Cyrillic
/// diacritics, compatibility forms replaced (NFKC), ligatures and barred letters spelt out. One
/// word stays one: the white space that some compatibility forms hold (U+037A, U+FDFA) is left out.
pub fn fold(word: &str, out: &mut String) {
    if word.is_ascii() {
        out.extend(
            word.bytes()
                .map(|byte| char::from(byte.to_ascii_lowercase())),
        );
    } else {
        fold_wide(word, out);
    }
}

#[cold]
fn fold_wide(word: &str, out: &mut String) {
    // Lower case comes first (İ becomes i and a mark), and again after the compatibility forms,
    // some of which hold capitals (™).
    let bare = word
        .chars()
        .flat_map(char::to_lowercase)
        .nfkd()
        .filter(|&c| !is_dropped(c) && !c.is_whitespace())
        .flat_map(char::to_lowercase);
    for c in bare.nfc() {
        match spelling(c) {
            Some(letters) => out.push_str(letters),
            None => out.push(c),
        }
    }
}

/// Diacritics, the soft hyphen and what has no width; vowel signs of other scripts stay, they tell
/// words apart.
const fn is_dropped(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{ad}') || is_joiner(c)
}

/// Letters that Unicode does not decompose but people type without their stroke.
const fn spelling(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ı' => "i",
        'ł' => "l",
        'þ' => "th",
        'ŧ' => "t",
        'ς' => "σ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{fold, folded_line};

    fn folded(word: &str) -> String {
        let mut out = String::new();
        fold(word, &mut out);
        out
    }

    #[test]
    fn case_accents_and_ligatures_fold() {
        for (word, expected) in [
            ("Memory", "memory"),
            ("CAFÉ", "cafe"),
            ("cafe\u{301}", "cafe"),
            ("Straße", "strasse"),
            ("Ærøskøbing", "aeroskobing"),
            ("Łódź", "lodz"),
            ("İstanbul", "istanbul"),
            ("ﬁne", "fine"),
            ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
            ("ещё", "еще"),
            ("한글", "한글"),
            ("हिन्दी", "हिन्दी"),
            ("が", "が"),
            ("Netz\u{ad}werk\u{200b}kabel", "netzwerkkabel"),
        ] {
            assert_eq!(folded(word), expected, "{word}");
        }
    }

    #[test]
    fn lines_differ_by_words_alone() {
        assert_eq!(folded_line("The  Café: Résumé!"), "the cafe resume");
        assert_eq!(folded_line("é".repeat(300).as_str()).len(), 256);
    }

    #[test]
    fn i16_the_fold_of_a_letter_holds_no_white_space() {
        for c in '\0'..=char::MAX {
            let bare = folded(c.encode_utf8(&mut [0; 4]));
            let spaces = bare.chars().filter(|c| c.is_whitespace()).count();
            assert_eq!(
                spaces,
                usize::from(c.is_ascii() && c.is_whitespace()),
                "{c:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn folding_twice_changes_nothing(word in "\\PC{0,12}") {
            let once = folded(&word);
            prop_assert_eq!(folded(&once), once);
        }

        #[test]
        fn both_spellings_of_an_accent_fold_alike(word in "[a-zà-ÿ]{0,12}") {
            let apart: String = unicode_normalization::UnicodeNormalization::nfd(word.as_str()).collect();
            prop_assert_eq!(folded(&word), folded(&apart));
        }
    }
}
