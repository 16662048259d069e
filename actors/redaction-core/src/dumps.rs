//! Dumps of bytes, as `od`, `hexdump` and `xxd` print them: an offset, units in hexadecimal, octal
//! or decimal or as characters, and perhaps the text beside them. A secret may begin in one line
//! and end in a later one.

use std::ops::Range;

use crate::index::FormIndex;
use crate::text::OutputText;

/// Longer lines are no dumps.
const MAX_LINE: usize = 1 << 10;

/// How the units of a line are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Radix {
    /// Hexadecimal, the first byte first: `xxd`, `od -tx1`, `hexdump -C`.
    Hex,
    /// Hexadecimal words of a little-endian machine: `od -x`, `hexdump`.
    HexWords,
    /// `od`, `od -b`, `hexdump -b`.
    Octal,
    /// `od -tu1`.
    Decimal,
    /// `od -c`, `hexdump -c`.
    Characters,
}

const RADIXES: [Radix; 5] = [
    Radix::Hex,
    Radix::HexWords,
    Radix::Octal,
    Radix::Decimal,
    Radix::Characters,
];

/// Lines that follow each other, read in one way.
#[derive(Default)]
struct DumpBytes {
    bytes: Vec<u8>,
    /// Of each byte: its line, and its unit in the text.
    units: Vec<(usize, Range<usize>)>,
}

/// A line of a dump; places are in the text.
struct Line {
    begin: usize,
    units: Vec<Range<usize>>,
    cells: Vec<Range<usize>>,
    beside: Range<usize>,
}

/// Marks secrets in dumps; gives back from where on more must come before it can be told.
/// `at_line_start`: nothing of the first line was given out before. `is_end`: nothing follows.
pub(crate) fn dumps(
    text: &OutputText<'_>,
    forms: &FormIndex,
    (at_line_start, is_end): (bool, bool),
    mark: &mut dyn FnMut(usize, usize),
) -> Option<usize> {
    let mut lines: Vec<Line> = Vec::new();
    let mut reads: [DumpBytes; 5] = Default::default();
    let mut waits = None;
    let mut begin = 0;
    for whole in text.bytes.split_inclusive(|byte| *byte == b'\n') {
        let (from, is_first) = (begin, begin == 0);
        begin += whole.len();
        if is_first && !at_line_start {
            continue;
        }
        let line = whole.strip_suffix(b"\n").unwrap_or(whole);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !whole.ends_with(b"\n") && !is_end {
            waits = may_be_dump(whole).then_some(from);
            if waits.is_none() {
                drop_read_bytes(text, forms, &lines, &mut reads, mark);
                lines.clear();
            }
            break;
        }
        match Line::parse(line, from) {
            Some(parsed) => {
                let number = lines.len();
                lines.push(parsed);
                for (radix, read) in RADIXES.iter().zip(&mut reads) {
                    if !read.take(text, &lines[number], number, *radix) {
                        read.find(text, forms, &lines, mark);
                        *read = DumpBytes::default();
                    }
                }
            }
            None => {
                drop_read_bytes(text, forms, &lines, &mut reads, mark);
                lines.clear();
            }
        }
    }
    for read in &reads {
        read.find(text, forms, &lines, mark);
        if let Some(start) = forms.unfinished(&read.bytes).next() {
            // Lines can be read only from their beginning.
            let line = lines[read.units[start].0].begin;
            waits = Some(waits.map_or(line, |other| line.min(other)));
        }
    }
    waits.map(|index| text.byte_place(index).0)
}

fn drop_read_bytes(
    text: &OutputText<'_>,
    forms: &FormIndex,
    lines: &[Line],
    reads: &mut [DumpBytes; 5],
    mark: &mut dyn FnMut(usize, usize),
) {
    for read in reads {
        read.find(text, forms, lines, mark);
        *read = DumpBytes::default();
    }
}

impl DumpBytes {
    /// Takes the units of a line; false when they cannot be read in this way.
    fn take(&mut self, text: &OutputText<'_>, line: &Line, number: usize, radix: Radix) -> bool {
        let units = if radix == Radix::Characters {
            &line.cells
        } else {
            &line.units
        };
        if units.is_empty() && !(line.units.is_empty() && line.cells.is_empty()) {
            return false;
        }
        let before = self.bytes.len();
        for unit in units {
            if !read_unit(&text.bytes[unit.clone()], radix, &mut self.bytes) {
                self.bytes.truncate(before);
                self.units.truncate(before);
                return false;
            }
            let read = self.bytes.len();
            self.units.resize(read, (number, unit.clone()));
        }
        true
    }

    fn find(
        &self,
        text: &OutputText<'_>,
        forms: &FormIndex,
        lines: &[Line],
        mark: &mut dyn FnMut(usize, usize),
    ) {
        forms.find(&self.bytes, |range| {
            let mut at = range.start;
            while at < range.end {
                let number = self.units[at].0;
                let same = self.units[at..range.end]
                    .iter()
                    .take_while(|unit| unit.0 == number);
                let last = at + same.count() - 1;
                let (from, to) = (self.units[at].1.start, self.units[last].1.end);
                mark(text.byte_place(from).0, text.byte_place(to - 1).1);
                let beside = &lines[number].beside;
                if !beside.is_empty() {
                    mark(
                        text.byte_place(beside.start).0,
                        text.byte_place(beside.end - 1).1,
                    );
                }
                at = last + 1;
            }
        });
    }
}

/// Appends the bytes of a unit; false when it is none of this kind.
fn read_unit(unit: &[u8], radix: Radix, bytes: &mut Vec<u8>) -> bool {
    if radix == Radix::Characters {
        return character(unit).map(|byte| bytes.push(byte)).is_some();
    }
    let unit = unit.strip_prefix(b"0x").unwrap_or(unit);
    let text = std::str::from_utf8(unit).unwrap_or_default();
    let number = |base| u64::from_str_radix(text, base).ok();
    match (radix, unit.len()) {
        (Radix::Hex, 2 | 4 | 6 | 8 | 16 | 32) | (Radix::HexWords, 4 | 8 | 16) => {
            let before = bytes.len();
            let pairs = unit.chunks_exact(2).map(|pair| {
                let pair = std::str::from_utf8(pair).unwrap_or_default();
                u8::from_str_radix(pair, 16).ok()
            });
            for byte in pairs {
                let Some(byte) = byte else {
                    bytes.truncate(before);
                    return false;
                };
                bytes.push(byte);
            }
            if radix == Radix::HexWords {
                bytes[before..].reverse();
            }
            true
        }
        // A word at the end of `xxd` and `od` may be half of one.
        (Radix::HexWords, 2) => number(16)
            .and_then(|it| u8::try_from(it).ok())
            .map(|it| bytes.push(it))
            .is_some(),
        (Radix::Octal, 3) => number(8)
            .and_then(|it| u8::try_from(it).ok())
            .map(|it| bytes.push(it))
            .is_some(),
        (Radix::Octal, 6) => {
            let word = number(8).and_then(|it| u16::try_from(it).ok());
            word.map(|it| bytes.extend(it.to_le_bytes())).is_some()
        }
        (Radix::Decimal, 1..=3) => number(10)
            .and_then(|it| u8::try_from(it).ok())
            .map(|it| bytes.push(it))
            .is_some(),
        _ => false,
    }
}

/// A cell of `od -c`: three characters wide.
fn character(cell: &[u8]) -> Option<u8> {
    match cell.trim_ascii() {
        [] => Some(b' '),
        [byte] => Some(*byte),
        b"\\0" => Some(0),
        b"\\a" => Some(0x07),
        b"\\b" => Some(0x08),
        b"\\t" => Some(b'\t'),
        b"\\n" => Some(b'\n'),
        b"\\v" => Some(0x0b),
        b"\\f" => Some(0x0c),
        b"\\r" => Some(b'\r'),
        octal @ [_, _, _] => {
            let text = std::str::from_utf8(octal).ok()?;
            u8::from_str_radix(text, 8).ok()
        }
        _ => None,
    }
}

impl Line {
    /// The units of a line that looks like one of a dump, which begins at `begin` in the text.
    fn parse(line: &[u8], begin: usize) -> Option<Self> {
        if line.len() > MAX_LINE || line.is_empty() {
            return None;
        }
        let tokens = tokens(line);
        let (offset, ends_in_colon) = offset(line, &tokens);
        let (mut units, mut beside) = (Vec::new(), line.len()..line.len());
        for token in &tokens[usize::from(offset)..] {
            let gap = units
                .last()
                .map_or(0, |last: &Range<usize>| token.start - last.end);
            let bare = trim_list(line, token);
            let is_unit = !bare.is_empty() && is_number(&line[bare.clone()]);
            // The text beside the units of `xxd` may look like units; two spaces stand before it.
            if !is_unit || (ends_in_colon && gap >= 2) {
                beside = token.start..line.len();
                break;
            }
            units.push(bare);
        }
        if !offset && !beside.is_empty() {
            units.clear();
        }
        let after = tokens.first().filter(|_| offset).map_or(0, |it| it.end);
        let cells = cells(line, after, if offset { 1 } else { 2 });
        if units.is_empty() && cells.is_empty() && !(offset && tokens.len() == 1) {
            return None;
        }
        let shift = |it: Range<usize>| it.start + begin..it.end + begin;
        Some(Self {
            begin,
            units: units.into_iter().map(shift).collect(),
            cells: cells.into_iter().map(shift).collect(),
            beside: shift(if offset {
                beside
            } else {
                line.len()..line.len()
            }),
        })
    }
}

fn tokens(line: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let from = at
            + line[at..]
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
        at = from
            + line[from..]
                .iter()
                .take_while(|byte| !byte.is_ascii_whitespace())
                .count();
        if from < at {
            found.push(from..at);
        }
    }
    found
}

/// Whether the first token is an offset, and whether it ends in a colon, as those of `xxd` do.
fn offset(line: &[u8], tokens: &[Range<usize>]) -> (bool, bool) {
    let Some(first) = tokens.first().filter(|first| first.start == 0) else {
        return (false, false);
    };
    let token = &line[first.clone()];
    let bare = token.strip_suffix(b":").unwrap_or(token);
    let is_number = bare.len() >= 6 && bare.iter().all(u8::is_ascii_hexdigit);
    let colon = bare.len() < token.len();
    let differs = tokens.get(1).is_none_or(|next| next.len() != token.len());
    (is_number && (colon || differs), is_number && colon)
}

/// A unit without what stands around it in a list: `[115,`.
fn trim_list(line: &[u8], token: &Range<usize>) -> Range<usize> {
    let mut bare = token.clone();
    while bare.start < bare.end && matches!(line[bare.start], b'[' | b'{' | b'(') {
        bare.start += 1;
    }
    while bare.start < bare.end && matches!(line[bare.end - 1], b',' | b';' | b']' | b'}' | b')') {
        bare.end -= 1;
    }
    bare
}

fn is_number(token: &[u8]) -> bool {
    let digits = token.strip_prefix(b"0x").unwrap_or(token);
    (1..=32).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit)
}

/// The cells of `od -c`, four characters wide, the last three of them the byte's; none when there
/// are not enough.
fn cells(line: &[u8], from: usize, enough: usize) -> Vec<Range<usize>> {
    let rest = line.len() - from;
    let whole = rest / 4 * 4;
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in (from..from + whole).step_by(4) {
        let cell = &line[at..at + 4];
        if cell[0] != b' '
            || (cell[3] == b' ' && cell != b"    ")
            || character(&cell[1..]).is_none()
        {
            return Vec::new();
        }
        found.push(at + 1..at + 4);
    }
    if whole == rest && found.len() >= enough {
        found
    } else {
        Vec::new()
    }
}

/// Whether more may make a line of a dump of an open line.
fn may_be_dump(line: &[u8]) -> bool {
    if line.len() > MAX_LINE {
        return false;
    }
    let tokens = tokens(line);
    let (offset, _) = offset(line, &tokens);
    if offset && tokens.len() > 1 {
        return true;
    }
    let digits = |token: &Range<usize>| {
        let bare = trim_list(line, token);
        let bare = &line[bare];
        let bare = bare.strip_suffix(b":").unwrap_or(bare);
        bare.is_empty() || bare == b"0" || is_number(bare) || bare == b"0x"
    };
    let in_cells = line.starts_with(b"   ")
        && cells(&line[..line.len() / 4 * 4], 0, 0).len() * 4 + 4 > line.len();
    tokens.iter().all(digits) || in_cells
}
