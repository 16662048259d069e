//! Words with signs that are part of them: options (`--json`, `-Wall`), names that begin with a dot
//! (`.env`), numbers with dots (`1.95.0`, `127.0.0.1`). As words they are `json`, `env` and `95`;
//! whoever types the signs means them.

/// Longest literal, in bytes.
const MAX_BYTES: usize = 64;

/// The literals of a text, in order, as they are written.
#[must_use]
pub fn literals(text: &str) -> Literals<'_> {
    Literals { text, at: 0 }
}

/// Iterator over the literals of a text; made by [`literals`].
#[derive(Debug, Clone)]
pub struct Literals<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for Literals<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let bytes = self.text.as_bytes();
        loop {
            let sign = self.at + memchr::memchr2(b'-', b'.', bytes.get(self.at..)?)?;
            let (start, end) = if bytes[sign] == b'-' {
                option(bytes, sign)
            } else {
                dotted(bytes, sign)
            };
            self.at = end.max(sign + 1);
            if start < end && end - start <= MAX_BYTES {
                return Some(&self.text[start..end]);
            }
        }
    }
}

/// Whether a literal may begin behind this byte.
fn may_begin_behind(before: Option<&u8>) -> bool {
    before.is_none_or(|&before| before.is_ascii_whitespace() || b"\"'`([{<,|/=:".contains(&before))
}

fn run(bytes: &[u8], at: usize, is_part: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take_while(|&&byte| is_part(byte)).count()
}

/// The option whose first dash is at `at`; what is empty is none, and ends where to look on.
fn option(bytes: &[u8], at: usize) -> (usize, usize) {
    let dashes = run(bytes, at, |byte| byte == b'-');
    let name = at + dashes;
    let none = (name, name);
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    let begins = dashes <= 2
        && may_begin_behind(before)
        && bytes.get(name).is_some_and(u8::is_ascii_alphabetic);
    if !begins {
        return none;
    }
    let length = run(bytes, name, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
    });
    let written = &bytes[name..name + length];
    let kept = written.iter().rposition(u8::is_ascii_alphanumeric);
    match kept {
        Some(last) if last > 0 => (at, name + last + 1),
        _ => (name + length, name + length),
    }
}

/// The number with two dots or more, or the name with a dot in front, whose dot is at `at`.
fn dotted(bytes: &[u8], at: usize) -> (usize, usize) {
    let none = (at + 1, at + 1);
    let digits_before = bytes[..at]
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_digit())
        .count();
    if digits_before > 0 {
        let end = at + run(bytes, at, |byte| byte.is_ascii_digit() || byte == b'.');
        let kept = bytes[at..end].iter().rposition(u8::is_ascii_digit);
        let end = kept.map_or(end, |last| at + last + 1);
        let dots = bytes[at..end].iter().filter(|&&byte| byte == b'.').count();
        let is_number = dots >= 2 && !bytes[at..end].windows(2).any(|two| two == b"..");
        return if is_number {
            (at - digits_before, end)
        } else {
            (end, end)
        };
    }
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    let length = run(bytes, at + 1, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
    });
    let end = at + 1 + length;
    let is_name = may_begin_behind(before)
        && length > 1
        && bytes[at + 1].is_ascii_alphabetic()
        // Methods in a chain begin so too, at the beginning of a line.
        && bytes.get(end) != Some(&b'(')
        && !starts_code_line(bytes, at);
    if !is_name {
        return none;
    }
    match bytes[at..end].iter().rposition(u8::is_ascii_alphanumeric) {
        Some(last) if last > 1 => (at, at + last + 1),
        _ => none,
    }
}

/// Whether nothing but blanks stands before `at` in its line, and something before them.
fn starts_code_line(bytes: &[u8], at: usize) -> bool {
    let blanks = bytes[..at].iter().rev();
    let blanks = blanks
        .take_while(|&&byte| matches!(byte, b' ' | b'\t'))
        .count();
    blanks > 0 && bytes[..at - blanks].ends_with(b"\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::literals;

    fn found(text: &str) -> Vec<&str> {
        literals(text).collect()
    }

    #[test]
    fn signs_are_part_of_options_names_and_versions() {
        for (text, expected) in [
            ("--json", vec!["--json"]),
            (
                "run `tool --for-agent --limit=3`, -Wall",
                vec!["--for-agent", "--limit", "-Wall"],
            ),
            ("[--no-default-features]", vec!["--no-default-features"]),
            ("a -- b --- c ---- --x i-- --i", vec![]),
            ("e-mail a-b x--y - item", vec![]),
            (
                "put it into .env, or `.env.local`.",
                vec![".env", ".env.local"],
            ),
            (".gitignore", vec![".gitignore"]),
            ("list\n    .map(x)\n    .len\n  a.b ... .x", vec![]),
            ("see ./.cargo/config.toml", vec![".cargo"]),
            (
                "rust 1.95.0 on 127.0.0.1:80, v2.0.1. 1.5 0..3 1..2.3",
                vec!["1.95.0", "127.0.0.1", "2.0.1"],
            ),
            ("--", vec![]),
            (".", vec![]),
            ("naïve–--flag é.env", vec![]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_literal_by_itself_is_the_same_literal(text in "[-. a-z0-9\"(é]{0,40}") {
            for literal in found(&text) {
                prop_assert!(literal.len() > 2);
                prop_assert_eq!(found(literal), vec![literal]);
            }
        }
    }
}
