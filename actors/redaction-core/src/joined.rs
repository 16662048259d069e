//! Digits of an encoding that stand apart: base64 over line ends, hexadecimal over separators.

use crate::index::FormIndex;
use crate::text::OutputText;

/// What stands between digits is no longer than this.
const MAX_GAP: usize = 64;
/// A line of base64 that goes on in the next one has at least so many characters, or so many of the
/// secret's.
const MIN_WRAPPED_LINE: usize = 12;
const MIN_OPEN_DIGITS: usize = 4;

/// What a byte is to a run of digits.
enum DigitClass {
    Digit(u8),
    /// Between digits.
    Gap,
    /// Between digits, and the digit before it belongs to it: `0x`.
    Prefix,
    End,
}

/// What stands before the text on its line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinePrefix {
    /// So many characters of base64, without a gap.
    pub(crate) run: usize,
    /// Nothing but hex digits and what stands between them.
    pub(crate) only_hex: bool,
}

impl Default for LinePrefix {
    fn default() -> Self {
        Self {
            run: 0,
            only_hex: true,
        }
    }
}

impl LinePrefix {
    /// Goes on over `bytes`.
    pub(crate) fn advance(&mut self, bytes: &[u8]) {
        let line = bytes.iter().rposition(|byte| *byte == b'\n');
        if line.is_some() {
            *self = Self::default();
        }
        let rest = &bytes[line.map_or(0, |end| end + 1)..];
        self.run = self.run_through(rest);
        self.only_hex &= rest.iter().all(|byte| is_hex_or_gap(*byte));
    }

    /// How many characters of base64 stand at the end of `line`, those before it counted too.
    fn run_through(&self, line: &[u8]) -> usize {
        let digits = line.iter().rev();
        let run = digits
            .take_while(|byte| base64_digit(**byte).is_some())
            .count();
        let before = if run == line.len() { self.run } else { 0 };
        before + run
    }
}

/// A run of digits.
#[derive(Default)]
struct DigitRun {
    digits: Vec<u8>,
    /// The place of each in the text.
    at: Vec<usize>,
    gap: usize,
    /// Whether a line ended since the last digit.
    ended_line: bool,
}

impl DigitRun {
    fn clear(&mut self) {
        self.digits.clear();
        self.at.clear();
        self.gap = 0;
        self.ended_line = false;
    }
}

/// Marks base64 that is broken into lines; gives back from where on more must come before it can be
/// told.
pub(crate) fn base64(
    text: &OutputText<'_>,
    forms: &FormIndex,
    prefix: LinePrefix,
    mark: &mut dyn FnMut(usize, usize),
) -> Option<usize> {
    let step = |byte: u8, run: &DigitRun| match byte {
        b'\n' => DigitClass::Gap,
        b'\r' => DigitClass::Gap,
        b' ' | b'\t' if run.ended_line => DigitClass::Gap,
        other => base64_digit(other).map_or(DigitClass::End, DigitClass::Digit),
    };
    let run = runs(text, forms, step, mark);
    let may_go_on = |start: usize| {
        let from = run.at[start];
        let Some(end) = text.bytes[from..].iter().position(|byte| *byte == b'\n') else {
            return true;
        };
        let line = &text.bytes[..from + end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        prefix.run_through(line) >= MIN_WRAPPED_LINE || run.digits.len() - start >= MIN_OPEN_DIGITS
    };
    let mut starts = forms.unfinished(&run.digits);
    let start = starts.find(|start| may_go_on(*start))?;
    Some(text.byte_place(run.at[start]).0)
}

/// Marks hexadecimal whose digits stand apart; gives back from where on more must come before it
/// can be told.
pub(crate) fn hex(
    text: &OutputText<'_>,
    forms: &FormIndex,
    prefix: LinePrefix,
    mark: &mut dyn FnMut(usize, usize),
) -> Option<usize> {
    let step = |byte: u8, run: &DigitRun| match byte {
        b'0'..=b'9' | b'a'..=b'f' => DigitClass::Digit(byte),
        b'A'..=b'F' => DigitClass::Digit(byte.to_ascii_lowercase()),
        b'x' | b'X' if run.gap == 0 && run.digits.last() == Some(&b'0') => DigitClass::Prefix,
        b' ' | b'\t' | b'\r' | b'\n' | b':' | b',' | b'-' => DigitClass::Gap,
        _ => DigitClass::End,
    };
    let run = runs(text, forms, step, mark);
    let may_go_on = |digits: usize, start: usize| {
        let from = run.at[start];
        let rest = &text.bytes[from..];
        if rest.len() == digits - start || !rest.contains(&b'\n') {
            return rest.len() == digits - start || digits - start >= 2;
        }
        let line = text.bytes[..from].iter().rposition(|byte| *byte == b'\n');
        let only_hex = text.bytes[line.map_or(0, |end| end + 1)..from]
            .iter()
            .all(|byte| is_hex_or_gap(*byte));
        digits - start >= MIN_OPEN_DIGITS
            || (digits - start >= 2 && only_hex && (line.is_some() || prefix.only_hex))
    };
    let whole = run.digits.len();
    let mut starts = forms.unfinished(&run.digits);
    let start = starts.find(|start| may_go_on(whole, *start));
    // A zero at the end may be that of `0x`.
    let cut = run.digits.strip_suffix(b"0").unwrap_or_default();
    let mut starts = forms.unfinished(cut);
    let cut = starts.find(|start| may_go_on(cut.len(), *start));
    let start = start.into_iter().chain(cut).min()?;
    Some(text.byte_place(run.at[start]).0)
}

/// Marks what is found in each run of digits, and gives back the one that reaches the end.
fn runs(
    text: &OutputText<'_>,
    forms: &FormIndex,
    step: impl Fn(u8, &DigitRun) -> DigitClass,
    mark: &mut dyn FnMut(usize, usize),
) -> DigitRun {
    let mut run = DigitRun::default();
    for (index, byte) in text.bytes.iter().enumerate() {
        match step(*byte, &run) {
            DigitClass::Digit(digit) => {
                run.digits.push(digit);
                run.at.push(index);
                run.gap = 0;
                run.ended_line = false;
            }
            DigitClass::Gap if !run.digits.is_empty() && run.gap < MAX_GAP => {
                run.gap += 1;
                run.ended_line |= *byte == b'\n';
            }
            DigitClass::Prefix => {
                run.digits.pop();
                run.at.pop();
                run.gap = 2;
            }
            DigitClass::Gap | DigitClass::End if run.digits.is_empty() => {}
            DigitClass::Gap | DigitClass::End => {
                find(text, forms, &run, mark);
                run.clear();
            }
        }
    }
    find(text, forms, &run, mark);
    run
}

fn find(
    text: &OutputText<'_>,
    forms: &FormIndex,
    run: &DigitRun,
    mark: &mut dyn FnMut(usize, usize),
) {
    if run.digits.len() < 6 {
        return;
    }
    forms.find(&run.digits, |range| {
        let (from, to) = (run.at[range.start], run.at[range.end - 1]);
        // Line ends stay.
        let mut start = from;
        for index in from..=to {
            if text.bytes[index] == b'\n' {
                if start < index {
                    mark(text.byte_place(start).0, text.byte_place(index - 1).1);
                }
                start = index + 1;
            }
        }
        mark(text.byte_place(start).0, text.byte_place(to).1);
    });
}

const fn base64_digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => Some(byte),
        b'-' => Some(b'+'),
        b'_' => Some(b'/'),
        _ => None,
    }
}

const fn is_hex_or_gap(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
        || matches!(
            byte,
            b' ' | b'\t' | b'\r' | b':' | b',' | b'-' | b'x' | b'X'
        )
}
