//! Text of strangers: which characters nobody sees, and what is for terminals only.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';

/// Whether a character steers what shows it, takes no room, or sets the direction of others: a way
/// to hide text from people, or to show them another one.
///
/// These are the control characters, what Unicode calls `Default_Ignorable_Code_Point` (fillers,
/// joiners, marks of direction, variation selectors, tags), separators of lines and paragraphs, and
/// marks of annotations. Callers keep what they need: line ends, tabs, the joiner between two
/// pictures, the selector behind a picture.
#[must_use]
#[inline]
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(u32::from(character),
            0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
            | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0
            | 0xfff0..=0xfffb | 0x1_bca0..=0x1_bca3 | 0x1_d173..=0x1_d17a | 0xe_0000..=0xe_0fff)
}

/// A text without the colours of terminals: all control sequences (ECMA-48), and commands to the
/// terminal (titles, links) that end on their line. What is none of these stays.
#[must_use]
pub fn without_colours(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(ESCAPE) else {
        return Cow::Borrowed(text);
    };
    let mut plain = String::with_capacity(text.len());
    let mut rest = &text[first..];
    plain.push_str(&text[..first]);
    loop {
        let sequence = sequence_length(rest);
        // At least the escape itself: what follows is looked at anew.
        let (from, kept) = sequence.map_or((1, ESCAPE.len_utf8()), |length| (length, 0));
        plain.push_str(&rest[..kept]);
        rest = &rest[from..];
        let Some(next) = rest.find(ESCAPE) else {
            plain.push_str(rest);
            return Cow::Owned(plain);
        };
        plain.push_str(&rest[..next]);
        rest = &rest[next..];
    }
}

/// How long the sequence at the beginning is, if it is one, and whole.
fn sequence_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    match bytes.get(1)? {
        b'[' => {
            let parameters = bytes[2..].iter();
            let parameters = parameters.take_while(|byte| matches!(byte, 0x20..=0x3f));
            let last = 2 + parameters.count();
            matches!(bytes.get(last)?, 0x40..=0x7e).then_some(last + 1)
        }
        b']' => {
            let mut command = bytes[2..].iter();
            let last = 2 + command.position(|byte| matches!(byte, 0x07 | 0x1b | b'\n'))?;
            match &bytes[last..] {
                [0x07, ..] => Some(last + 1),
                [0x1b, b'\\', ..] => Some(last + 2),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_what_nobody_sees_is_hidden_and_what_people_write_is_not() {
        let hidden = [
            0x00..=0x1f,
            0x7f..=0x9f,
            0xad..=0xad,
            0x34f..=0x34f,
            0x61c..=0x61c,
            0x115f..=0x1160,
            0x17b4..=0x17b5,
            0x180b..=0x180f,
            0x200b..=0x200f,
            0x2028..=0x202e,
            0x2060..=0x206f,
            0x3164..=0x3164,
            0xfe00..=0xfe0f,
            0xfeff..=0xfeff,
            0xffa0..=0xffa0,
            0xfff0..=0xfffb,
            0x1_bca0..=0x1_bca3,
            0x1_d173..=0x1_d17a,
            0xe_0000..=0xe_0fff,
        ];
        let is_listed = |code: u32| hidden.iter().any(|range| range.contains(&code));
        for code in 0..=u32::from(char::MAX) {
            let Some(character) = char::from_u32(code) else {
                continue;
            };
            assert_eq!(is_hidden(character), is_listed(code), "U+{code:04X}");
        }
        let written = "aé ß 日本 \u{a0}\u{2192}\u{1f469} \u{301} \u{fffd} ٣ ไ";
        assert!(!written.chars().any(is_hidden));
    }

    #[test]
    fn i14_colours_of_all_programs_are_taken_off() {
        for (text, plain) in [
            ("plain", "plain"),
            ("\u{1b}[32;1mok\u{1b}[0m, 2 é", "ok, 2 é"),
            // Of gcc and grep, where colours are forced.
            (
                "a.c:1:5: \u{1b}[01;31m\u{1b}[Kerror: \u{1b}[m\u{1b}[Kx undeclared",
                "a.c:1:5: error: x undeclared",
            ),
            (
                "[\u{1b}]8;;https://gcc.gnu.org/x\u{7}-Wall\u{1b}]8;;\u{7}]",
                "[-Wall]",
            ),
            ("\u{1b}]0;title\u{1b}\\text\u{1b}[?25l\u{1b}[2J", "text"),
            ("\u{1b}[38:2::1:2:3mx", "x"),
            // What does not end is text: it hides nothing behind it.
            ("a\u{1b}]0;title\nnext", "a\u{1b}]0;title\nnext"),
            ("a\u{1b}[31", "a\u{1b}[31"),
            ("a\u{1b}[31é", "a\u{1b}[31é"),
            ("a\u{1b}\u{1b}[1mb\u{1b}", "a\u{1b}b\u{1b}"),
            ("\u{1b}]0;a\u{1b}[1mb", "\u{1b}]0;ab"),
        ] {
            assert_eq!(without_colours(text), plain, "{text:?}");
        }
    }
}
