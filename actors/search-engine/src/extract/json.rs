//! Letters that JSON writes as their numbers (`\u00fc`), as many programs do with all beyond ASCII.

/// The text of JSON with such letters as they are read; `None` for any other text, and for JSON
/// without them. Lines stay lines: signs, quotes and what controls stay as they are written.
pub(crate) fn unescaped(bytes: &[u8]) -> Option<String> {
    if !has_escapes(bytes) {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_changed = false;
    while let Some(at) = rest.find('\\') {
        read.push_str(&rest[..at]);
        let escape = &rest[at..];
        match letter(escape) {
            Some((letter, length)) => {
                read.push(letter);
                rest = &escape[length..];
                is_changed = true;
            }
            // A backslash that is written as two begins no number.
            None => {
                let length = escape
                    .char_indices()
                    .nth(2)
                    .map_or(escape.len(), |(end, _)| end);
                read.push_str(&escape[..length]);
                rest = &escape[length..];
            }
        }
    }
    read.push_str(rest);
    is_changed.then_some(read)
}

/// Whether bytes begin as JSON does and hold numbers of letters.
pub(crate) fn has_escapes(bytes: &[u8]) -> bool {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, Some(b'{' | b'['))
        && memchr::memmem::find(bytes, b"\":").is_some()
        && memchr::memmem::find(bytes, b"\\u").is_some()
}

/// The letter beyond ASCII whose number `escape` begins with, and the bytes of it: one number, or
/// two for what lies beyond the first plane.
fn letter(escape: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 6)?.strip_prefix("\\u")?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then_some(())?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(0)?;
    let (found, length) = match char::from_u32(u32::from(first)) {
        Some(letter) => (letter, 6),
        None => {
            let pair = [first, unit(6)?];
            (char::decode_utf16(pair).next()?.ok()?, 12)
        }
    };
    (found >= '\u{a1}' && !found.is_control() && !found.is_whitespace()).then_some((found, length))
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn i16_letters_of_json_are_read() {
        let read = |text: &str| unescaped(text.as_bytes());
        assert_eq!(
            read(r#"{"a": "Au\u00dfenf\u00fchler \ud83d\ude00 \u000a\u0022 \\u00fc"}"#).as_deref(),
            Some(r#"{"a": "Außenfühler 😀 \u000a\u0022 \\u00fc"}"#)
        );
        for text in [
            r#"{"a": "\u0041 \ud83d \u12"}"#,
            r#"{"a": "ü"}"#,
            r"[a link](\u00fc)",
            r"let a = '\u00fc';",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
