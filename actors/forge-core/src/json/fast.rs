//! The ordinary body, read fast.
//!
//! ```text
//! text ──read──▶ Some(tree): the strict reader makes the same of it
//!          └───▶ None: anything unusual, every error among it; the strict reader decides
//! ```
//!
//! So nothing is accepted here that the strict reader refuses, and this reader needs no error of its own. It takes eight
//! bytes at a time, and of what nobody asks for it allocates nothing.

use std::borrow::Cow;

use super::Json;
use super::field::asked_for;
use super::value::KEY_MAX;

/// Deepest nesting that is read here. Real bodies have less than ten levels.
const DEPTH: u8 = 32;
/// Most digits of a number: every one of so many fits into an `i64`.
const DIGITS: usize = 18;
/// Objects of up to so many keys are compared key by key; larger ones are sorted.
const FEW: usize = 16;

/// Reads a whole body; `None` says nothing about it.
pub(super) fn read(text: &str) -> Option<Json<'_>> {
    let mut reader = Reader {
        text,
        at: 0,
        keys: Vec::new(),
        fields: Vec::new(),
        list: Vec::new(),
    };
    let tree = reader.kept(DEPTH)?;
    reader.skip_space();
    (reader.at == text.len()).then_some(tree)
}

struct Reader<'a> {
    text: &'a str,
    /// What is read next.
    at: usize,
    /// Hashes of the keys of the objects that are being read, those of the innermost last.
    keys: Vec<u64>,
    /// What is kept of the objects that are being read.
    fields: Vec<(&'static str, Json<'a>)>,
    /// The items of the arrays that are being read.
    list: Vec<Json<'a>>,
}

impl<'a> Reader<'a> {
    /// Reads a value that is kept.
    fn kept(&mut self, depth: u8) -> Option<Json<'a>> {
        match self.next_token()? {
            b'{' => self.kept_object(depth.checked_sub(1)?),
            b'[' => self.kept_array(depth.checked_sub(1)?),
            b'"' => self.kept_text().map(Json::Text),
            b't' => self.word("true").map(|()| Json::Bool(true)),
            b'f' => self.word("false").map(|()| Json::Bool(false)),
            b'n' => self.word("null").map(|()| Json::Null),
            _ => self.number(),
        }
    }

    fn kept_object(&mut self, depth: u8) -> Option<Json<'a>> {
        let outer = self.fields.len();
        self.members(|reader, key| match asked_for(key) {
            Some(field) => {
                let value = reader.kept(depth)?;
                reader.fields.push((field, value));
                Some(())
            }
            None => reader.checked(depth),
        })?;
        Some(Json::Object(self.fields.drain(outer..).collect()))
    }

    fn kept_array(&mut self, depth: u8) -> Option<Json<'a>> {
        let outer = self.list.len();
        self.items(|reader| {
            let item = reader.kept(depth)?;
            reader.list.push(item);
            Some(())
        })?;
        Some(Json::Array(self.list.drain(outer..).collect()))
    }

    /// Borrowed where it has no escapes.
    fn kept_text(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at + 1;
        let escapes = self.checked_text()?;
        let text = &self.text[start..self.at - 1];
        if escapes == 0 {
            return Some(Cow::Borrowed(text));
        }
        unescaped(text).map(Cow::Owned)
    }

    /// Reads a value that nobody asks for.
    fn checked(&mut self, depth: u8) -> Option<()> {
        match self.next_token()? {
            b'"' => self.checked_text().map(|_| ()),
            b'{' => {
                let depth = depth.checked_sub(1)?;
                self.members(|reader, _| reader.checked(depth))
            }
            b'[' => {
                let depth = depth.checked_sub(1)?;
                self.items(|reader| reader.checked(depth))
            }
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number().map(|_| ()),
        }
    }

    /// Tells the number of escapes.
    fn checked_text(&mut self) -> Option<usize> {
        let mut end = self.stop(self.at + 1);
        let mut escapes = 0;
        while self.byte(end)? == b'\\' {
            let (_, length) = escape(self.text.as_bytes().get(end..)?)?;
            end = self.stop(end + length);
            escapes += 1;
        }
        self.end_of_text(end)?;
        Some(escapes)
    }

    /// Reads the object that begins here, whose keys must differ.
    #[inline]
    fn members(&mut self, mut value: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.at += 1;
        let outer = self.keys.len();
        if self.next_token()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let (key, hash) = self.key()?;
            self.keys.push(hash);
            if self.next_token()? != b':' {
                return None;
            }
            self.at += 1;
            value(self, key)?;
            if self.is_last(b'}')? {
                break;
            }
        }
        all_differ(&mut self.keys[outer..]).then(|| self.keys.truncate(outer))
    }

    /// Reads the array that begins here.
    #[inline]
    fn items(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.next_token()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            if self.is_last(b']')? {
                return Some(());
            }
        }
    }

    /// What follows a member or an item: the end, or a comma.
    #[inline]
    fn is_last(&mut self, end: u8) -> Option<bool> {
        let found = self.next_token()?;
        self.at += 1;
        (found == end || found == b',').then_some(found == end)
    }

    /// Reads a key without escapes. Equal keys have equal hashes.
    #[inline]
    fn key(&mut self) -> Option<(&'a str, u64)> {
        if self.next_token()? != b'"' {
            return None;
        }
        let start = self.at + 1;
        let (mut at, mut hash) = (start, 0);
        let end = loop {
            let eight = self.eight(at);
            let stops = stops(eight);
            if stops != 0 {
                let before = stops.trailing_zeros() / 8;
                hash = mixed(hash, eight & !(u64::MAX << (8 * before)));
                break at + before as usize;
            }
            hash = mixed(hash, eight);
            at += 8;
        };
        self.end_of_text(end)?;
        let key = &self.text[start..end];
        (key.len() <= KEY_MAX).then_some((key, hash))
    }

    /// Passes the quote that should stand here.
    #[inline]
    fn end_of_text(&mut self, end: usize) -> Option<()> {
        self.at = end + 1;
        (self.byte(end)? == b'"').then_some(())
    }

    /// Reads a short whole number.
    fn number(&mut self) -> Option<Json<'a>> {
        let is_negative = self.byte(self.at)? == b'-';
        let start = self.at + usize::from(is_negative);
        let (mut at, mut number) = (start, 0_u64);
        while let Some(digit @ b'0'..=b'9') = self.byte(at) {
            number = number
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit - b'0'));
            at += 1;
        }
        self.at = at;
        let has_more = matches!(self.byte(at), Some(b'.' | b'e' | b'E'));
        // A zero in front of other digits is an error, and one with a sign is no integer.
        let is_zero = self.byte(start)? == b'0';
        let is_plain = !is_zero || (at == start + 1 && !is_negative);
        if has_more || !is_plain || !(1..=DIGITS).contains(&(at - start)) {
            return None;
        }
        Some(if is_negative {
            Json::Negative(-i64::try_from(number).ok()?)
        } else {
            Json::Unsigned(number)
        })
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let end = self.at + word.len();
        let found = self.text.as_bytes().get(self.at..end)?;
        self.at = end;
        (found == word.as_bytes()).then_some(())
    }

    /// The byte that the next token begins with.
    #[inline]
    fn next_token(&mut self) -> Option<u8> {
        match self.byte(self.at)? {
            b' ' | b'\n' | b'\r' | b'\t' => {
                self.skip_space();
                self.byte(self.at)
            }
            token => Some(token),
        }
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte(self.at) {
            self.at += 1;
        }
    }

    /// The first place from `at` on where a plain text does not go on; it may be behind the end.
    #[inline]
    fn stop(&self, mut at: usize) -> usize {
        loop {
            let stops = stops(self.eight(at));
            if stops != 0 {
                return at + (stops.trailing_zeros() / 8) as usize;
            }
            at += 8;
        }
    }

    #[inline]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Eight bytes, the first one lowest; zeros behind the end.
    #[inline]
    fn eight(&self, at: usize) -> u64 {
        let rest = self.text.as_bytes().get(at..);
        match rest.and_then(<[u8]>::first_chunk) {
            Some(eight) => u64::from_le_bytes(*eight),
            None => last_of(rest.unwrap_or_default()),
        }
    }
}

/// Less than eight bytes.
#[cold]
fn last_of(rest: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(eight)
}

/// A text whose escapes are known to be right.
fn unescaped(text: &str) -> Option<String> {
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
fn escape(text: &[u8]) -> Option<(char, usize)> {
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

/// Marks quotes, backslashes and control characters among eight bytes by their highest bit. Of the marks only the lowest
/// is sure: the borrow of a subtraction can put a wrong one above a right one, never below.
#[inline]
fn stops(eight: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let zeros = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
    let controls = eight.wrapping_sub(ONES * 0x20) & !eight;
    let found =
        zeros(eight ^ (ONES * b'"' as u64)) | zeros(eight ^ (ONES * b'\\' as u64)) | controls;
    found & (ONES * 0x80)
}

/// One more part of a key.
#[inline]
fn mixed(hash: u64, part: u64) -> u64 {
    (hash.rotate_left(23) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Whether the keys of an object differ, by their hashes. Different ones of one hash are so rare that they may count as
/// equal: the strict reader compares the keys themselves.
fn all_differ(hashes: &mut [u64]) -> bool {
    if hashes.len() <= FEW {
        return (1..hashes.len()).all(|at| !hashes[..at].contains(&hashes[at]));
    }
    hashes.sort_unstable();
    hashes.windows(2).all(|pair| pair[0] != pair[1])
}
