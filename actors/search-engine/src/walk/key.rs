//! File keys: a path below the root as text that can be turned back into the same path.
//!
//! A name may hold any byte but `/` and NUL. Bytes that are not UTF-8, and control characters
//! (which would act on a terminal or break a log line), are written `%XX`; a `%` that two
//! hexadecimal digits follow is written `%25`. Every other name is its own key.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// The key of a path relative to its root. [`decode_key`] is its inverse.
#[must_use]
pub fn encode_key(relative: &Path) -> String {
    let bytes = relative.as_os_str().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !needs_escape(text) => text.to_owned(),
        _ => escape(bytes),
    }
}

/// The path of a key relative to the root; `None` for text that is not a key: empty, absolute,
/// with `.`, `..` or empty components, or naming a NUL.
#[must_use]
pub fn decode_key(key: &str) -> Option<PathBuf> {
    let bytes = unescape(key.as_bytes());
    let plain = !bytes.is_empty()
        && !bytes.contains(&0)
        && bytes
            .split(|&byte| byte == b'/')
            .all(|name| !name.is_empty() && name != b".");
    let path = PathBuf::from(OsString::from_vec(bytes));
    let below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    (plain && below).then_some(path)
}

fn needs_escape(text: &str) -> bool {
    let quiet = text
        .bytes()
        .all(|byte| (b' '..=b'~').contains(&byte) && byte != b'%');
    !quiet
        && (text.chars().any(char::is_control)
            || text
                .as_bytes()
                .windows(3)
                .any(|three| escaped_byte(three).is_some()))
}

fn escape(bytes: &[u8]) -> String {
    let mut key = String::with_capacity(bytes.len() + 8);
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let rest = &bytes[at..];
            if character.is_control() || escaped_byte(rest).is_some() {
                push_escaped(&mut key, &rest[..character.len_utf8()]);
            } else {
                key.push(character);
            }
            at += character.len_utf8();
        }
        push_escaped(&mut key, chunk.invalid());
        at += chunk.invalid().len();
    }
    key
}

fn push_escaped(key: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(key, "%{byte:02X}");
    }
}

fn unescape(key: &[u8]) -> Vec<u8> {
    if !key.contains(&b'%') {
        return key.to_vec();
    }
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key;
    while let Some((&first, tail)) = rest.split_first() {
        if let Some(byte) = escaped_byte(rest) {
            bytes.push(byte);
            rest = &rest[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    bytes
}

/// The byte that `%XX` at the start of `text` stands for.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else {
        return None;
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsStr;

    fn key(bytes: &[u8]) -> String {
        encode_key(Path::new(OsStr::from_bytes(bytes)))
    }

    #[test]
    fn ordinary_names_are_their_own_keys() {
        for name in ["a/b.rs", "100% sure.md", "ünï/文書.txt", "50%.md", "%zz"] {
            assert_eq!(key(name.as_bytes()), name);
        }
    }

    #[test]
    fn other_bytes_are_escaped() {
        assert_eq!(key(b"caf\xe9.txt"), "caf%E9.txt");
        assert_eq!(key(b"a\nb\x1b[31m"), "a%0Ab%1B[31m");
        assert_eq!(key("c1\u{9b}m".as_bytes()), "c1%C2%9Bm");
        assert_eq!(key(b"a%20b"), "a%2520b");
        assert_eq!(key(b"%%41"), "%%2541");
    }

    #[test]
    fn s07_a_key_cannot_leave_the_root() {
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a/..",
            "%2e%2e/x",
            "%2Fetc",
            "a//b",
            "./a",
            "a/",
            "x%00y",
        ] {
            assert_eq!(decode_key(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_name_comes_back(names in proptest::collection::vec(
            proptest::collection::vec(prop_oneof![
                3 => proptest::sample::select(b"%09aF./ \xc3\xa9\n".to_vec()), 1 => 1u8..=255], 1..12), 1..4)) {
            let path: PathBuf = names.iter()
                .map(|name| name.iter().map(|&b| if b == b'/' { b'_' } else { b }).collect::<Vec<_>>())
                .filter(|name| name != b"." && name != b"..")
                .map(OsString::from_vec).collect();
            prop_assume!(!path.as_os_str().is_empty());
            let key = encode_key(&path);
            prop_assert!(!key.chars().any(char::is_control));
            prop_assert_eq!(decode_key(&key), Some(path));
        }
    }
}
