//! Byte ranges of static files (RFC 9110, section 14).

use std::ops::Range;

/// What a `Range` header asks of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ByteRange {
    /// Everything: no range, several ranges, or a header that is not understood (which the RFC lets
    /// a server ignore).
    Whole,
    /// These bytes.
    Part(Range<usize>),
    /// A range outside of the file: 416.
    Unsatisfiable,
}

/// Reads a `Range` header for a file of `length` bytes.
pub fn byte_range(header: &[u8], length: usize) -> ByteRange {
    parse(header, length).unwrap_or(ByteRange::Whole)
}

fn parse(header: &[u8], length: usize) -> Option<ByteRange> {
    let text = std::str::from_utf8(header).ok()?.trim();
    let (unit, set) = text.split_once('=')?;
    // Several ranges would need a multipart answer; nobody asks that of a page's assets.
    if !unit.trim().eq_ignore_ascii_case("bytes") || set.contains(',') {
        return None;
    }
    let (first, last) = set.trim().split_once('-')?;
    match (first.is_empty(), last.is_empty()) {
        (true, true) => None,
        (true, false) => Some(suffix(number(last)?, length)),
        (false, true) => Some(part(number(first)?, u64::MAX, length)),
        (false, false) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then(|| part(first, last, length))
        }
    }
}

/// Decimal digits only (`parse` alone would take a sign); a number too large for 64 bits is as good
/// as the largest.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

fn suffix(count: u64, length: usize) -> ByteRange {
    if count == 0 || length == 0 {
        return ByteRange::Unsatisfiable;
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(length);
    ByteRange::Part(length - count..length)
}

fn part(first: u64, last: u64, length: usize) -> ByteRange {
    match usize::try_from(first) {
        Ok(first) if first < length => {
            let end = usize::try_from(last)
                .unwrap_or(usize::MAX)
                .saturating_add(1)
                .min(length);
            ByteRange::Part(first..end)
        }
        _ => ByteRange::Unsatisfiable,
    }
}
