//! The ordinary body, read fast.
//!
//! ```text
//! text ──marks──▶ where texts may end ──read──▶ Some(tree): the strict reader makes the same of it
//!                                          └───▶ None: anything unusual, every error among it; the strict reader decides
//! ```
//!
//! So nothing is accepted here that the strict reader refuses, and this reader needs no error of its own. Of what nobody asks for
//! it keeps nothing but the hashes of keys.

mod escapes;
mod keys;
mod marks;

use std::borrow::Cow;

use super::Json;
use super::field::asked_for;
use super::value::KEY_MAX;
use escapes::{escape, unescaped};
use keys::Rows;
use marks::Marks;

/// Deepest nesting that is read here. Real bodies have less than ten levels.
const DEPTH: u8 = 32;
/// Most digits of a number: every one of so many fits into an `i64`.
const DIGITS: usize = 18;

/// Reads a whole body; `None` says nothing about it.
pub(super) fn read(text: &str) -> Option<Json<'_>> {
    let mut reader = Reader {
        text,
        marks: Marks::of(text.as_bytes()),
        keys: Vec::with_capacity(128),
        rows: Rows::default(),
        fields: Vec::new(),
        list: Vec::new(),
    };
    let (tree, at) = reader.kept(0, DEPTH)?;
    (reader.after_space(at) == text.len()).then_some(tree)
}

/// Every function gets the place where it reads, and tells the one behind what it read: a place in a register is known sooner
/// than one in memory.
struct Reader<'a> {
    text: &'a str,
    marks: Marks,
    /// Hashes of the keys of the objects that are being read, those of the innermost last.
    keys: Vec<u64>,
    /// Keys of the objects that were read.
    rows: Rows,
    /// What is kept of the objects that are being read.
    fields: Vec<(&'static str, Json<'a>)>,
    /// The items of the arrays that are being read.
    list: Vec<Json<'a>>,
}

/// A key, and what is seen behind it at once.
struct Key {
    /// Where its quote should stand.
    end: usize,
    hash: u64,
    /// The marks from its first byte on; none where they do not reach its end.
    window: u64,
    /// Whether its quote, a colon and another quote follow.
    is_of_text: bool,
}

impl<'a> Reader<'a> {
    /// Reads a value that is kept.
    fn kept(&mut self, at: usize, depth: u8) -> Option<(Json<'a>, usize)> {
        let (token, at) = self.token(at)?;
        match token {
            b'{' => self.kept_object(at, depth.checked_sub(1)?),
            b'[' => self.kept_array(at, depth.checked_sub(1)?),
            b'"' => self.kept_text(at),
            b't' => Some((Json::Bool(true), self.word(at, b"true")?)),
            b'f' => Some((Json::Bool(false), self.word(at, b"false")?)),
            b'n' => Some((Json::Null, self.word(at, b"null")?)),
            _ => self.number(at),
        }
    }

    fn kept_object(&mut self, at: usize, depth: u8) -> Option<(Json<'a>, usize)> {
        let outer = self.fields.len();
        let at = self.members::<true>(at, depth)?;
        let members = self.fields.drain(outer..).collect();
        Some((Json::Object(members), at))
    }

    fn kept_array(&mut self, at: usize, depth: u8) -> Option<(Json<'a>, usize)> {
        let outer = self.list.len();
        let at = self.items(at, |reader, at| {
            let (item, at) = reader.kept(at, depth)?;
            reader.list.push(item);
            Some(at)
        })?;
        Some((Json::Array(self.list.drain(outer..).collect()), at))
    }

    /// Borrowed where it has no escapes.
    fn kept_text(&self, at: usize) -> Option<(Json<'a>, usize)> {
        let start = at + 1;
        let first = self.marks.next(start)?;
        let behind = self.end_of_text(first)?;
        let text = self.text.get(start..behind - 1)?;
        let text = if first == behind - 1 {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(unescaped(text)?)
        };
        Some((Json::Text(text), behind))
    }

    /// Reads a value that nobody asks for.
    #[inline(always)]
    fn checked(&mut self, at: usize, depth: u8) -> Option<usize> {
        let (token, at) = self.token(at)?;
        match token {
            b'"' => self.end_of_text(self.marks.next(at + 1)?),
            b'{' => self.members::<false>(at, depth.checked_sub(1)?),
            b'[' => self.checked_array(at, depth.checked_sub(1)?),
            b't' => self.word(at, b"true"),
            b'f' => self.word(at, b"false"),
            b'n' => self.word(at, b"null"),
            _ => self.number(at).map(|(_, at)| at),
        }
    }

    #[inline(never)]
    fn checked_array(&mut self, at: usize, depth: u8) -> Option<usize> {
        self.items(at, |reader, at| reader.checked(at, depth))
    }

    /// Reads the object that begins here, whose keys must differ. What is asked for of one that is kept goes to the fields.
    #[inline(never)]
    fn members<const KEPT: bool>(&mut self, at: usize, depth: u8) -> Option<usize> {
        let (token, mut at) = self.token(at + 1)?;
        if token != b'"' {
            return (token == b'}').then_some(at + 1);
        }
        let outer = self.keys.len();
        let mut is_last = false;
        while !is_last {
            let key = self.key(at + 1)?;
            self.keys.push(key.hash);
            let field = if KEPT {
                asked_for(self.text.get(at + 1..key.end)?)
            } else {
                None
            };
            at = match field {
                Some(field) => self.kept_member(field, key.end, depth)?,
                None if key.is_of_text => {
                    // Most members are texts with another member behind them.
                    let end = self.text_of(at + 1, &key)?;
                    if self.begins(end, *b"\",\"") {
                        at = end + 2;
                        continue;
                    }
                    self.end_of_text(end)?
                }
                None => self.checked(self.after_key(key.end)?, depth)?,
            };
            (is_last, at) = self.after_member(at)?;
        }
        let differ = self.rows.all_differ(&mut self.keys[outer..]);
        self.keys.truncate(outer);
        differ.then_some(at)
    }

    #[inline]
    fn kept_member(&mut self, field: &'static str, end: usize, depth: u8) -> Option<usize> {
        let (value, at) = self.kept(self.after_key(end)?, depth)?;
        self.fields.push((field, value));
        Some(at)
    }

    /// Reads the key that starts here, behind its quote. Whether it ends with one is seen later.
    #[inline(always)]
    fn key(&self, start: usize) -> Option<Key> {
        let window = self.marks.window(start)?;
        let rest = self.text.as_bytes().get(start..)?;
        let Some(block) = rest.first_chunk().filter(|_| window != 0) else {
            return self.other_key(start);
        };
        let length = window.trailing_zeros() as usize;
        Some(Key {
            end: start + length,
            hash: keys::hash(block, length),
            window,
            is_of_text: *b"\":\"" == [block[length], block[length + 1], block[length + 2]],
        })
    }

    /// A long one, or one near the end of the body.
    #[inline(never)]
    fn other_key(&self, start: usize) -> Option<Key> {
        let end = self.marks.next(start)?;
        let quoted = self.text.as_bytes().get(start..=end)?;
        (quoted.len() <= KEY_MAX + 1).then(|| Key {
            end,
            hash: keys::hash_of(quoted),
            window: 0,
            is_of_text: false,
        })
    }

    /// What stands behind a key's quote and the colon.
    #[inline(always)]
    fn after_key(&self, end: usize) -> Option<usize> {
        if self.begins(end, *b"\":") {
            return Some(end + 2);
        }
        if self.byte(end)? != b'"' {
            return None;
        }
        let (colon, at) = self.token(end + 1)?;
        (colon == b':').then_some(at + 1)
    }

    /// The first mark in the text behind a key that starts here.
    #[inline(always)]
    fn text_of(&self, start: usize, key: &Key) -> Option<usize> {
        // Of the marks, the first two are the key's quote and the text's.
        let window = without_lowest(without_lowest(key.window));
        match window {
            0 => self.marks.next(key.end + 3),
            _ => Some(start + window.trailing_zeros() as usize),
        }
    }

    /// What follows a member: the end of the object, or the quote of the next key. Tells which.
    #[inline(always)]
    fn after_member(&self, at: usize) -> Option<(bool, usize)> {
        if self.begins(at, *b",\"") {
            return Some((false, at + 1));
        }
        let (token, at) = self.token(at)?;
        if token == b'}' {
            return Some((true, at + 1));
        }
        let (quote, next) = self.token(at + 1)?;
        (token == b',' && quote == b'"').then_some((false, next))
    }

    /// Reads the array that begins here.
    #[inline]
    fn items(
        &mut self,
        at: usize,
        mut item: impl FnMut(&mut Self, usize) -> Option<usize>,
    ) -> Option<usize> {
        let (mut token, mut at) = self.token(at + 1)?;
        if token == b']' {
            return Some(at + 1);
        }
        loop {
            at = item(self, at)?;
            (token, at) = self.token(at)?;
            at += 1;
            match token {
                b',' => {}
                b']' => return Some(at),
                _ => return None,
            }
        }
    }

    /// Passes the rest of a text, whose first mark stands here, and its quote.
    #[inline(always)]
    fn end_of_text(&self, at: usize) -> Option<usize> {
        match self.byte(at)? {
            b'"' => Some(at + 1),
            b'\\' => self.after_escapes(at),
            _ => None,
        }
    }

    #[inline(never)]
    fn after_escapes(&self, mut at: usize) -> Option<usize> {
        while self.byte(at)? == b'\\' {
            let (_, length) = escape(self.text.as_bytes().get(at..)?)?;
            at = self.marks.next(at + length)?;
        }
        (self.byte(at)? == b'"').then_some(at + 1)
    }

    /// Reads a short whole number.
    #[inline(never)]
    fn number(&self, from: usize) -> Option<(Json<'a>, usize)> {
        let is_negative = self.byte(from)? == b'-';
        let start = from + usize::from(is_negative);
        let (mut at, mut number) = (start, 0_u64);
        while let Some(digit @ b'0'..=b'9') = self.byte(at) {
            number = number
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit - b'0'));
            at += 1;
        }
        let has_more = matches!(self.byte(at), Some(b'.' | b'e' | b'E'));
        // A zero in front of other digits is an error, and one with a sign is no integer.
        let is_zero = self.byte(start)? == b'0';
        let is_plain = !is_zero || (at == start + 1 && !is_negative);
        if has_more || !is_plain || !(1..=DIGITS).contains(&(at - start)) {
            return None;
        }
        let number = if is_negative {
            Json::Negative(-i64::try_from(number).ok()?)
        } else {
            Json::Unsigned(number)
        };
        Some((number, at))
    }

    #[inline]
    fn word<const N: usize>(&self, at: usize, word: &[u8; N]) -> Option<usize> {
        self.begins(at, *word).then_some(at + N)
    }

    /// The byte that the next token begins with, and its place.
    #[inline(always)]
    fn token(&self, at: usize) -> Option<(u8, usize)> {
        let token = self.byte(at)?;
        if token > b' ' {
            return Some((token, at));
        }
        let at = self.after_space(at);
        Some((self.byte(at)?, at))
    }

    /// Line by line: a break, then its spaces, up to eight of them at a time.
    #[inline(never)]
    fn after_space(&self, mut at: usize) -> usize {
        const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte(at) {
            at += 1;
            if let Some(eight) = self.text.as_bytes()[at..].first_chunk() {
                let others = u64::from_le_bytes(*eight) ^ SPACES;
                at += others.trailing_zeros() as usize / 8;
            }
        }
        at
    }

    #[inline(always)]
    fn begins<const N: usize>(&self, at: usize, with: [u8; N]) -> bool {
        let rest = self.text.as_bytes().get(at..);
        rest.and_then(<[u8]>::first_chunk) == Some(&with)
    }

    #[inline(always)]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }
}

fn without_lowest(bits: u64) -> u64 {
    bits & bits.wrapping_sub(1)
}
