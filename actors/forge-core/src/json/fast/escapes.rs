//! What escapes mean.

/// A text whose escapes are known to be right.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (meant, length) = escape(&rest.as_bytes()[at..])?;
        plain.push_str(&rest[..at]);
        plain.push(meant);
        rest = &rest[at + length..];
    }
    plain.push_str(rest);
    Some(plain)
}

/// What an escape means, and its length. Surrogates and NUL are left to the strict reader.
pub(super) fn escape(text: &[u8]) -> Option<(char, usize)> {
    let meant = match *text.get(1)? {
        same @ (b'"' | b'\\' | b'/') => char::from(same),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return Some((code(text.get(2..6)?)?, 6)),
        _ => return None,
    };
    Some((meant, 2))
}

fn code(digits: &[u8]) -> Option<char> {
    let code = digits.iter().try_fold(0, |code, digit| {
        Some(code * 16 + char::from(*digit).to_digit(16)?)
    })?;
    char::from_u32(code).filter(|meant| *meant != '\0')
}
