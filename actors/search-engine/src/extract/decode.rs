//! From bytes to text: byte order marks, UTF-8, declared and guessed encodings; and what is no
//! text.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::format::TextFormat;
use super::json;
use crate::walk::PROBE_BYTES;

/// A text and how it was encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedText {
    /// The text, without a byte order mark.
    pub text: String,
    /// Name of the encoding as in the WHATWG encoding standard.
    pub encoding: &'static str,
    /// Whether the offsets in `text` are the offsets in the file.
    pub same_offsets: bool,
}

/// First bytes of formats that may hold no NUL early on.
const MAGIC: [&[u8]; 22] = [
    b"%PDF-",
    b"\x7fELF",
    b"\x89PNG",
    b"GIF8",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"7z\xbc\xaf",
    b"\x28\xb5\x2f\xfd",
    b"Rar!",
    b"RIFF",
    b"OggS",
    b"fLaC",
    b"ID3",
    b"SQLite format 3",
    b"\0asm",
    b"\xca\xfe\xba\xbe",
    b"!<arch>\n",
    b"wOF",
];

/// Whether the beginning of a file (8 KiB are looked at) shows that it is no text.
#[must_use]
pub fn is_binary(start: &[u8]) -> bool {
    let start = &start[..start.len().min(PROBE_BYTES)];
    if MAGIC.iter().any(|magic| start.starts_with(magic)) {
        return true;
    }
    if memchr::memchr(0, start).is_some() {
        return utf16(start).is_none();
    }
    !start.is_ascii() && std::str::from_utf8(start).is_err() && is_mostly_control(start)
}

/// Decodes a text; `None` if it is binary.
///
/// Order: byte order mark, UTF-8, UTF-16 without a mark, the encoding an HTML page declares, UTF-8
/// with a few damaged places, and last a guess from the content.
#[must_use]
pub fn decode(bytes: Vec<u8>, format: TextFormat) -> Option<DecodedText> {
    if let Some((encoding, mark)) = Encoding::for_bom(&bytes) {
        return Some(convert(&bytes[mark..], encoding));
    }
    if is_binary(&bytes) {
        return None;
    }
    if let Some(encoding) = utf16(&bytes[..bytes.len().min(PROBE_BYTES)]) {
        return Some(convert(&bytes, encoding));
    }
    match String::from_utf8(bytes) {
        Ok(text) => {
            let unescaped = json::unescaped(text.as_bytes());
            Some(DecodedText {
                same_offsets: unescaped.is_none(),
                text: unescaped.unwrap_or(text),
                encoding: UTF_8.name(),
            })
        }
        Err(error) => {
            let bytes = error.into_bytes();
            let encoding = foreign(&bytes, format);
            Some(convert(&bytes, encoding))
        }
    }
}

fn convert(bytes: &[u8], encoding: &'static Encoding) -> DecodedText {
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    DecodedText {
        text: text.into_owned(),
        encoding: encoding.name(),
        same_offsets: false,
    }
}

/// The encoding of a text that is neither valid UTF-8 nor UTF-16.
fn foreign(bytes: &[u8], format: TextFormat) -> &'static Encoding {
    if is_damaged_utf8(bytes) {
        return UTF_8;
    }
    if format == TextFormat::Html
        && let Some(encoding) = declared(bytes)
    {
        return encoding;
    }
    // The guess gets surer with more text, but not beyond some hundred kilobytes.
    let sample = &bytes[..bytes.len().min(256 * 1024)];
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    detector.guess(None, chardetng::Utf8Detection::Allow)
}

/// UTF-8 with some broken places (a log cut in the middle of a character): far more well-formed
/// sequences of several bytes than ill-formed ones.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        if !chunk.valid().is_ascii() {
            good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        }
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good >= 4 * bad
}

/// The encoding named in the first kilobyte of an HTML page.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = &bytes[..bytes.len().min(1024)];
    let at = start
        .windows(8)
        .position(|eight| eight.eq_ignore_ascii_case(b"charset="))?
        + 8;
    let label = start[at..].trim_ascii_start();
    let label = label
        .strip_prefix(b"\"")
        .or_else(|| label.strip_prefix(b"'"))
        .unwrap_or(label);
    let end = label
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || b"-_:.".contains(byte)));
    // A page that is not UTF-8 but says so is told from its content instead.
    Encoding::for_label(&label[..end.unwrap_or(label.len())]).filter(|encoding| *encoding != UTF_8)
}

/// UTF-16 of mostly Latin text: one byte of each pair is NUL often, the other one never.
fn utf16(start: &[u8]) -> Option<&'static Encoding> {
    match Encoding::for_bom(start) {
        Some((encoding, _)) => return (encoding != UTF_8).then_some(encoding),
        None if start.len() < 4 || memchr::memchr(0, start).is_none() => return None,
        None => {}
    }
    let (mut first, mut second) = (0_usize, 0_usize);
    for pair in start.chunks_exact(2) {
        first += usize::from(pair[0] == 0);
        second += usize::from(pair[1] == 0);
    }
    let often = start.len() / 2 * 2 / 5;
    match (first, second) {
        (0, zeros) if zeros > often => Some(UTF_16LE),
        (zeros, 0) if zeros > often => Some(UTF_16BE),
        _ => None,
    }
}

fn is_mostly_control(start: &[u8]) -> bool {
    let control = |byte: &u8| *byte < 0x20 && !b"\t\n\r\x0c\x1b\x08".contains(byte);
    start.iter().filter(|byte| control(byte)).count() * 20 > start.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Option<(String, &'static str)> {
        decode(bytes.to_vec(), TextFormat::Text).map(|decoded| (decoded.text, decoded.encoding))
    }

    fn utf16_bytes(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn valid_utf8_is_moved_not_copied() {
        let bytes = "grüße".as_bytes().to_vec();
        let before = bytes.as_ptr();
        let decoded = decode(bytes, TextFormat::Code).unwrap();
        assert_eq!(
            (decoded.text.as_ptr(), decoded.same_offsets),
            (before, true)
        );
    }

    #[test]
    fn utf16_is_read_with_and_without_a_mark() {
        let words = "Ein Satz über Speicher.";
        assert_eq!(
            text(&utf16_bytes(&format!("\u{feff}{words}"), u16::to_le_bytes))
                .unwrap()
                .0,
            words
        );
        assert_eq!(
            text(&utf16_bytes(&format!("\u{feff}{words}"), u16::to_be_bytes))
                .unwrap()
                .0,
            words
        );
        assert_eq!(
            text(&utf16_bytes(words, u16::to_le_bytes)).unwrap().1,
            "UTF-16LE"
        );
        assert_eq!(
            text(&utf16_bytes(words, u16::to_be_bytes)).unwrap().0,
            words
        );
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_text() {
        assert_eq!(text(b"\xef\xbb\xbfabc").unwrap().0, "abc");
    }

    #[test]
    fn latin_1_is_guessed() {
        let (found, encoding) =
            text(b"Die Gr\xf6\xdfe des Speichers f\xfcr \xe4ltere Ger\xe4te\n").unwrap();
        assert_eq!(
            (found.as_str(), encoding),
            (
                "Die Größe des Speichers für ältere Geräte\n",
                "windows-1252"
            )
        );
    }

    #[test]
    fn shift_jis_is_guessed() {
        let (bytes, _, _) =
            encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。検索できるはずです。");
        assert!(text(&bytes).unwrap().0.contains("日本語の文章"));
    }

    #[test]
    fn an_html_page_may_declare_its_encoding() {
        let page = b"<html><meta charset='koi8-r'>\xcd\xc9\xd2".to_vec();
        assert!(
            decode(page, TextFormat::Html)
                .unwrap()
                .text
                .ends_with("мир")
        );
    }

    #[test]
    fn utf8_with_a_broken_place_stays_utf8() {
        let (found, encoding) =
            text("äöü äöü äöü \u{20ac}".as_bytes().split_last().unwrap().1).unwrap();
        assert_eq!(encoding, "UTF-8");
        assert!(found.starts_with("äöü") && found.ends_with('\u{fffd}'));
    }

    #[test]
    fn other_content_is_binary() {
        for bytes in [
            &b"\x7fELF\x02\x01"[..],
            b"%PDF-1.7 text follows",
            b"plain start \0\0\0\x01 then not",
            b"\x89PNG\r\n",
            b"\xff\x01\x02\x03\x04\x05\x06\x07\x0e\x0f\x80\x81",
        ] {
            assert!(text(bytes).is_none(), "{bytes:?}");
        }
        assert!(!is_binary(b"") && !is_binary("日本".as_bytes()));
    }
}
