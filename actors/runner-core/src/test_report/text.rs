//! Texts of reports, cut to their bounds.

/// Longest name of a test or a suite, in bytes.
pub(super) const MAX_NAME: usize = 500;
/// Longest message.
pub(super) const MAX_MESSAGE: usize = 2 << 10;
/// Longest trace.
pub(super) const MAX_DETAIL: usize = 16 << 10;
/// Most of what a test printed that is kept: its end.
pub(super) const MAX_OUTPUT: usize = 8 << 10;

/// The beginning of a text, without control characters but line ends and tabs; escapes of colours
/// are taken out.
pub(super) fn head(text: &str, most: usize) -> String {
    let mut clean = String::new();
    let mut characters = text.trim().chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_escape(&mut characters),
            '\n' | '\t' => clean.push(character),
            _ if character.is_control() => {}
            _ => clean.push(character),
        }
        if clean.len() > most {
            break;
        }
    }
    if clean.len() > most {
        clean.truncate(clean.floor_char_boundary(most));
        clean.push('…');
    }
    clean
}

fn skip_escape(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if characters.peek() != Some(&'[') {
        return;
    }
    characters.next();
    for character in characters.by_ref() {
        if character.is_ascii_alphabetic() {
            break;
        }
    }
}

/// The end of a text.
pub(super) fn tail(text: &str, most: usize) -> String {
    let text = text.trim_end();
    if text.len() <= most {
        return head(text, most);
    }
    let from = text.ceil_char_boundary(text.len() - most);
    format!("…{}", head(&text[from..], most))
}

/// A name on one line.
pub(super) fn name(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    head(&line.join(" "), MAX_NAME)
}

/// The first line that says something.
pub(super) fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// Milliseconds of a number of seconds, as reports write it: `0.25`, `1,234.5`.
pub(super) fn milliseconds(seconds: &str) -> Option<u64> {
    let seconds: f64 = seconds.trim().replace(',', "").parse().ok()?;
    of_seconds(seconds)
}

/// Milliseconds of a number of seconds.
pub(super) fn of_seconds(seconds: f64) -> Option<u64> {
    // A year: more is a mistake of whoever wrote it.
    let sane = (0.0..31_536_000.0).contains(&seconds);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is in range"
    )]
    sane.then(|| (seconds * 1000.0).round() as u64)
}

/// Adds to a text of which only so much is kept: its beginning.
pub(super) fn push_head(kept: &mut String, more: &str, most: usize) {
    let room = most.saturating_sub(kept.len());
    kept.push_str(&more[..more.floor_char_boundary(room)]);
}

/// Adds to a text of which only so much is kept: its end.
pub(super) fn push_tail(kept: &mut String, more: &str, most: usize) {
    kept.push_str(more);
    // Not at each piece: moving costs.
    if kept.len() > 2 * most {
        let from = kept.ceil_char_boundary(kept.len() - most);
        kept.drain(..from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters_and_cleaned() {
        assert_eq!(head("  a\u{1b}[31mred\u{1b}[0m\0b  ", 99), "aredb");
        assert_eq!(head("ééé", 3), "é…");
        assert_eq!(tail("ééé", 3), "…é");
        assert_eq!(name(" a\n  b\t c "), "a b c");
        assert_eq!(first_line("\n \n x\ny"), "x");
        let mut kept = String::new();
        (0..1000).for_each(|n| push_tail(&mut kept, &format!("{n} "), 10));
        assert!(kept.len() <= 24 && kept.ends_with("998 999 "), "{kept}");
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        for (text, expected) in [
            ("0.25", Some(250)),
            ("1,234.5", Some(1_234_500)),
            (" 0 ", Some(0)),
            ("1e-3", Some(1)),
            ("-1", None),
            ("NaN", None),
            ("inf", None),
            ("1e300", None),
            ("", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
