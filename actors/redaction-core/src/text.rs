//! Readings of output: what of it a person or a program sees, and where each byte of that stands in
//! the output.

use std::borrow::Cow;

use config_core::is_hidden;

/// Longer sequences of a terminal are taken for text.
const MAX_SEQUENCE: usize = 4 << 10;

/// Bytes that were read from output, and from where.
pub(crate) struct OutputText<'h> {
    pub(crate) bytes: Cow<'h, [u8]>,
    /// Of each byte, the place in the output: from, to. None where both are the same.
    places: Option<Vec<(usize, usize)>>,
}

impl<'h> OutputText<'h> {
    pub(crate) fn raw(bytes: &'h [u8]) -> Self {
        Self {
            bytes: Cow::Borrowed(bytes),
            places: None,
        }
    }

    /// The place in the output of one byte.
    pub(crate) fn byte_place(&self, index: usize) -> (usize, usize) {
        self.places
            .as_ref()
            .map_or((index, index + 1), |places| places[index])
    }

    /// Without what is not seen: escape sequences of terminals, control characters, zero-width
    /// characters. None when all of it is seen.
    pub(crate) fn visible(&self) -> Option<Self> {
        let may_hide = |byte: &u8| matches!(byte, 0..=0x08 | 0x0b..=0x1f | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3);
        let first = self.bytes.iter().position(may_hide)?;
        let mut seen = TextBuilder::starting_with(self, first);
        let mut at = first;
        while at < self.bytes.len() {
            let hidden = if may_hide(&self.bytes[at]) {
                hidden_length(&self.bytes[at..])
            } else {
                0
            };
            if hidden == 0 {
                seen.push(self.bytes[at], self.byte_place(at));
            }
            at += hidden.max(1);
        }
        Some(seen.text())
    }

    /// With the escapes of JSON, shells and programming languages read; and where the output ends
    /// within one. None when there are none.
    pub(crate) fn unescaped(&self) -> Option<(Self, Option<usize>)> {
        let first = self.bytes.iter().position(|byte| *byte == b'\\')?;
        let mut read = TextBuilder::starting_with(self, first);
        let mut at = first;
        while at < self.bytes.len() {
            let from = self.byte_place(at).0;
            match escape(&self.bytes[at..]) {
                Escape::None => {
                    read.push(self.bytes[at], self.byte_place(at));
                    at += 1;
                }
                Escape::Cut => return Some((read.text(), Some(from))),
                Escape::Decoded(bytes, length) => {
                    let to = self.byte_place(at + length - 1).1;
                    for byte in bytes.as_bytes() {
                        read.push(*byte, (from, to));
                    }
                    at += length;
                }
            }
        }
        Some((read.text(), None))
    }
}

/// Builds a reading.
struct TextBuilder {
    bytes: Vec<u8>,
    places: Vec<(usize, usize)>,
}

impl TextBuilder {
    /// Begins with what stands before `end`, as it is.
    fn starting_with(text: &OutputText<'_>, end: usize) -> Self {
        let mut places = Vec::with_capacity(text.bytes.len());
        places.extend((0..end).map(|index| text.byte_place(index)));
        let mut bytes = Vec::with_capacity(text.bytes.len());
        bytes.extend_from_slice(&text.bytes[..end]);
        Self { bytes, places }
    }

    fn push(&mut self, byte: u8, place: (usize, usize)) {
        self.bytes.push(byte);
        self.places.push(place);
    }

    fn text<'h>(self) -> OutputText<'h> {
        OutputText {
            bytes: Cow::Owned(self.bytes),
            places: Some(self.places),
        }
    }
}

/// How many bytes at the beginning are not seen; what is cut off is not, either.
fn hidden_length(bytes: &[u8]) -> usize {
    match bytes[0] {
        0x1b => sequence_length(bytes, 1),
        0..=0x1f | 0x7f => 1,
        // The one-character form of ESC [.
        0xc2 if bytes.get(1) == Some(&0x9b) => control_length(bytes, 2),
        lead => {
            let length = match lead {
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                _ => 4,
            };
            let Some(whole) = bytes.get(..length) else {
                // A cut character is more often a letter than nothing; the letter cannot be a part
                // of what was hidden.
                return bytes.len();
            };
            let character = std::str::from_utf8(whole).ok();
            let character = character.and_then(|text| text.chars().next());
            if character.is_some_and(is_hidden) {
                length
            } else {
                0
            }
        }
    }
}

/// ECMA-48: what follows ESC, whose length `lead` is.
fn sequence_length(bytes: &[u8], lead: usize) -> usize {
    match bytes.get(lead) {
        None => lead,
        Some(b'[') => control_length(bytes, lead + 1),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let within = &bytes[lead + 1..bytes.len().min(MAX_SEQUENCE)];
            let end = within
                .iter()
                .position(|byte| matches!(byte, 0x07 | 0x1b | b'\n'));
            match end.map(|end| (end, within[end])) {
                Some((end, 0x07)) => lead + 2 + end,
                // ESC \, or the beginning of the next sequence.
                Some((end, 0x1b)) if within.get(end + 1).is_none_or(|next| *next == b'\\') => {
                    bytes.len().min(lead + 3 + end)
                }
                Some((end, 0x1b)) => lead + 1 + end,
                None if bytes.len() < MAX_SEQUENCE => bytes.len(),
                _ => lead + 1,
            }
        }
        Some(0x20..=0x2f) => {
            let rest = &bytes[lead..];
            let between = rest
                .iter()
                .take_while(|byte| matches!(byte, 0x20..=0x2f))
                .count();
            bytes.len().min(lead + between + 1)
        }
        Some(0x30..=0x7e) => lead + 1,
        Some(_) => lead,
    }
}

/// Parameters, intermediate bytes, and one that ends it.
fn control_length(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from..bytes.len().min(MAX_SEQUENCE).max(from)];
    let parameters = rest
        .iter()
        .take_while(|byte| matches!(byte, 0x20..=0x3f))
        .count();
    match rest.get(parameters) {
        Some(0x40..=0x7e) => from + parameters + 1,
        Some(_) => from + parameters,
        None => bytes.len().min(from + parameters),
    }
}

enum Escape {
    None,
    /// The output ends within it.
    Cut,
    /// These bytes, written in so many.
    Decoded(Bytes, usize),
}

/// At most the four bytes of a character.
struct Bytes([u8; 4], usize);

impl Bytes {
    fn from_byte(byte: u8) -> Self {
        Self([byte, 0, 0, 0], 1)
    }

    fn from_char(character: char) -> Self {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len();
        Self(bytes, length)
    }

    fn as_bytes(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

fn escape(bytes: &[u8]) -> Escape {
    let [b'\\', rest @ ..] = bytes else {
        return Escape::None;
    };
    let Some(kind) = rest.first() else {
        return Escape::Cut;
    };
    let byte = match kind {
        b'u' if rest.get(1) == Some(&b'{') => return braced(rest),
        b'u' => return unit(rest),
        b'U' => return character(rest, 1, 8, 9),
        b'x' => return character(rest, 1, 2, 3),
        b'0'..=b'7' => {
            let digits = rest
                .iter()
                .take(3)
                .take_while(|byte| matches!(byte, b'0'..=b'7'));
            let digits = digits.count();
            if digits == rest.len() && digits < 3 {
                return Escape::Cut;
            }
            let value = rest[..digits]
                .iter()
                .fold(0, |value, digit| value * 8 + u32::from(digit - b'0'));
            return u8::try_from(value).map_or(Escape::None, |byte| {
                Escape::Decoded(Bytes::from_byte(byte), digits + 1)
            });
        }
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'f' => 0x0c,
        b'v' => 0x0b,
        b'a' => 0x07,
        b'e' | b'E' => 0x1b,
        other if other.is_ascii_punctuation() || *other == b' ' => *other,
        _ => return Escape::None,
    };
    Escape::Decoded(Bytes::from_byte(byte), 2)
}

/// So many hex digits from `from` on; `length` is that of the escape without the backslash.
fn character(rest: &[u8], from: usize, digits: usize, length: usize) -> Escape {
    match number(rest, from, digits) {
        Err(cut) => cut,
        // `\xXX` is a byte, of a character perhaps.
        Ok(value) if digits == 2 => u8::try_from(value).map_or(Escape::None, |byte| {
            Escape::Decoded(Bytes::from_byte(byte), length + 1)
        }),
        Ok(value) => char::from_u32(value).map_or(Escape::None, |it| {
            Escape::Decoded(Bytes::from_char(it), length + 1)
        }),
    }
}

fn number(rest: &[u8], from: usize, digits: usize) -> Result<u32, Escape> {
    let given = &rest[from.min(rest.len())..rest.len().min(from + digits)];
    if !given.iter().all(u8::is_ascii_hexdigit) {
        return Err(Escape::None);
    }
    if given.len() < digits {
        return Err(Escape::Cut);
    }
    let text = std::str::from_utf8(given).unwrap_or_default();
    u32::from_str_radix(text, 16).map_err(|_| Escape::None)
}

/// `\uXXXX`; two of them may be one character.
fn unit(rest: &[u8]) -> Escape {
    let value = match number(rest, 1, 4) {
        Ok(value) => value,
        Err(cut) => return cut,
    };
    if let Some(character) = char::from_u32(value) {
        return Escape::Decoded(Bytes::from_char(character), 6);
    }
    let next = &rest[5..];
    match next {
        [] | [b'\\'] => return Escape::Cut,
        [b'\\', b'u', ..] => {}
        _ => return Escape::None,
    }
    match number(next, 2, 4) {
        Err(cut) => cut,
        Ok(low @ 0xdc00..=0xdfff) if value < 0xdc00 => {
            let joined = 0x1_0000 + ((value - 0xd800) << 10) + (low - 0xdc00);
            char::from_u32(joined)
                .map_or(Escape::None, |it| Escape::Decoded(Bytes::from_char(it), 12))
        }
        Ok(_) => Escape::None,
    }
}

/// `\u{X…}`
fn braced(rest: &[u8]) -> Escape {
    let digits = rest[2..]
        .iter()
        .take(7)
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    match rest.get(2 + digits) {
        None if digits <= 6 => Escape::Cut,
        Some(b'}') if (1..=6).contains(&digits) => {
            let value = number(rest, 2, digits).ok();
            let character = value.and_then(char::from_u32);
            character.map_or(Escape::None, |it| {
                Escape::Decoded(Bytes::from_char(it), digits + 4)
            })
        }
        _ => Escape::None,
    }
}
