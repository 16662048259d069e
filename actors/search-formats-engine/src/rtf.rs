//! Rich Text Format: control words say what is text, what is a table of fonts, what a picture.

use encoding_rs::{Encoding, WINDOWS_1252};

use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText, TextCollector};

/// Groups that may be open at once.
const MAX_DEPTH: usize = 256;

/// Groups whose text is none of the document's, beside those that say so (`\*`).
const NO_TEXT: [&str; 27] = [
    "annotation",
    "atnauthor",
    "atnid",
    "author",
    "blipuid",
    "colortbl",
    "company",
    "datafield",
    "datastore",
    "filetbl",
    "fonttbl",
    "generator",
    "listoverridetable",
    "listtable",
    "listtext",
    "objdata",
    "operator",
    "panose",
    "pict",
    "pntext",
    "revtbl",
    "rsidtbl",
    "stylesheet",
    "themedata",
    "fldinst",
    "xe",
    "xmlnstbl",
];

/// What of the information about a document is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Body,
    Title,
    Keywords,
    Nothing,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    target: Target,
    /// Characters that stand for one of Unicode, for programs that know none.
    fallback: usize,
    /// Whether the group is the information about the document.
    is_info: bool,
}

struct Reader<'a> {
    rest: &'a [u8],
    groups: Vec<Group>,
    group: Group,
    encoding: &'static Encoding,
    /// Bytes in `encoding` that have not become text.
    bytes: Vec<u8>,
    /// The first half of a character that UTF-16 writes as two.
    half: Option<u16>,
    line: String,
    title: String,
    keywords: String,
    /// Characters of a fallback to pass over.
    passes: usize,
}

pub(crate) fn read(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    if !bytes.trim_ascii_start().starts_with(b"{\\rtf") {
        return Err(DocumentRefusal::Malformed(
            "it does not begin as RTF".to_owned(),
        ));
    }
    let group = Group {
        target: Target::Body,
        fallback: 1,
        is_info: false,
    };
    let mut into = TextCollector::new(limits);
    let mut reader = Reader {
        rest: bytes,
        groups: Vec::new(),
        group,
        encoding: WINDOWS_1252,
        bytes: Vec::new(),
        half: None,
        line: String::new(),
        title: String::new(),
        keywords: String::new(),
        passes: 0,
    };
    while !into.is_full() && reader.step(&mut into)? {}
    reader.end_line(&mut into);
    into.title(&reader.title);
    into.tags(&reader.keywords);
    into.finish()
}

impl Reader<'_> {
    /// Reads the next sign; false at the end.
    fn step(&mut self, into: &mut TextCollector) -> Result<bool, DocumentRefusal> {
        let Some((&byte, rest)) = self.rest.split_first() else {
            return Ok(false);
        };
        self.rest = rest;
        match byte {
            b'{' => {
                if self.groups.len() >= MAX_DEPTH {
                    return Err(DocumentRefusal::Bomb(format!(
                        "more than {MAX_DEPTH} groups inside each other"
                    )));
                }
                self.flush();
                self.groups.push(self.group);
                self.passes = 0;
            }
            b'}' => {
                self.flush();
                self.passes = 0;
                let Some(group) = self.groups.pop() else {
                    return Ok(false);
                };
                self.group = group;
                // Behind the last group nothing counts.
                return Ok(!self.groups.is_empty());
            }
            b'\\' => self.control(into),
            b'\r' | b'\n' => {}
            byte => self.byte(byte),
        }
        Ok(true)
    }

    fn control(&mut self, into: &mut TextCollector) {
        let Some((&first, rest)) = self.rest.split_first() else {
            return;
        };
        if !first.is_ascii_alphabetic() {
            self.rest = rest;
            self.symbol(first, into);
            return;
        }
        let letters = self.rest.iter().take(32);
        let length = letters
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let (word, rest) = self.rest.split_at(length);
        let digits = rest
            .iter()
            .enumerate()
            .take(11)
            .take_while(|(at, byte)| byte.is_ascii_digit() || *at == 0 && **byte == b'-')
            .count();
        let (number, rest) = rest.split_at(digits);
        self.rest = rest.strip_prefix(b" ").unwrap_or(rest);
        let word = std::str::from_utf8(word).unwrap_or_default();
        let number = std::str::from_utf8(number).unwrap_or_default().parse().ok();
        self.word(word, number, into);
    }

    fn symbol(&mut self, symbol: u8, into: &mut TextCollector) {
        match symbol {
            b'\'' => {
                let Some((hex, rest)) = self.rest.split_at_checked(2) else {
                    return;
                };
                self.rest = rest;
                let hex = std::str::from_utf8(hex).unwrap_or_default();
                if let Ok(byte) = u8::from_str_radix(hex, 16) {
                    self.byte(byte);
                }
            }
            b'*' => self.group.target = Target::Nothing,
            b'~' => self.char('\u{a0}'),
            b'_' => self.char('-'),
            b'\\' | b'{' | b'}' => self.byte(symbol),
            b'\r' | b'\n' => self.end_line(into),
            // An optional hyphen, and what nobody writes.
            _ => {}
        }
    }

    fn word(&mut self, word: &str, number: Option<i64>, into: &mut TextCollector) {
        match word {
            "par" | "line" | "row" | "sect" | "page" => self.end_line(into),
            "tab" | "cell" => self.char('\t'),
            "emdash" => self.char('—'),
            "endash" => self.char('–'),
            "lquote" => self.char('‘'),
            "rquote" => self.char('’'),
            "ldblquote" => self.char('“'),
            "rdblquote" => self.char('”'),
            "bullet" => self.char('•'),
            "ansicpg" => {
                let label = match number.unwrap_or(1252) {
                    932 => "shift_jis".to_owned(),
                    936 => "gbk".to_owned(),
                    949 => "euc-kr".to_owned(),
                    950 => "big5".to_owned(),
                    65001 => "utf-8".to_owned(),
                    page => format!("windows-{page}"),
                };
                if let Some(encoding) = Encoding::for_label(label.as_bytes()) {
                    self.encoding = encoding;
                }
            }
            "mac" => self.encoding = encoding_rs::MACINTOSH,
            "uc" => self.group.fallback = usize::try_from(number.unwrap_or(1)).unwrap_or(1).min(8),
            "u" => self.unit(number.unwrap_or_default()),
            "bin" => {
                let bytes = usize::try_from(number.unwrap_or_default()).unwrap_or(0);
                self.rest = self.rest.get(bytes..).unwrap_or_default();
            }
            "info" => {
                self.group.target = Target::Nothing;
                self.group.is_info = true;
            }
            "title" if self.group.is_info => self.group.target = Target::Title,
            "keywords" if self.group.is_info => self.group.target = Target::Keywords,
            word if NO_TEXT.contains(&word) => self.group.target = Target::Nothing,
            _ => {}
        }
    }

    /// A character of Unicode, or half of one, as a signed number of 16 bits.
    fn unit(&mut self, number: i64) {
        self.flush();
        // Writers mean the same with a sign and without.
        let unit = (number & 0xffff) as u16;
        let units = self.half.take().into_iter().chain([unit]);
        for decoded in char::decode_utf16(units) {
            match decoded {
                Ok(character) => self.push(character),
                Err(error) if (0xd800..0xdc00).contains(&error.unpaired_surrogate()) => {
                    self.half = Some(error.unpaired_surrogate());
                }
                Err(_) => {}
            }
        }
        self.passes = self.group.fallback;
    }

    /// A byte of text in the document's encoding.
    fn byte(&mut self, byte: u8) {
        if self.passes > 0 {
            self.passes -= 1;
        } else if self.group.target != Target::Nothing {
            self.bytes.push(byte);
        }
    }

    fn char(&mut self, character: char) {
        self.flush();
        self.passes = 0;
        self.push(character);
    }

    fn push(&mut self, character: char) {
        if let Some(text) = self.text() {
            text.push(character);
        }
    }

    fn text(&mut self) -> Option<&mut String> {
        match self.group.target {
            Target::Body => Some(&mut self.line),
            Target::Title => Some(&mut self.title),
            Target::Keywords => Some(&mut self.keywords),
            Target::Nothing => None,
        }
    }

    fn flush(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let (decoded, _) = self.encoding.decode_without_bom_handling(&bytes);
        if let Some(text) = self.text() {
            text.push_str(&decoded);
        }
    }

    fn end_line(&mut self, into: &mut TextCollector) {
        self.flush();
        if self.group.target == Target::Body {
            into.paragraph(&std::mem::take(&mut self.line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rtf: &str) -> ExtractedText {
        read(rtf.as_bytes(), &DocumentLimits::default()).expect("RTF")
    }

    #[test]
    fn i16_letters_of_all_spellings_are_read_and_tables_of_fonts_are_not() {
        let found = text(
            r"{\rtf1\ansi\ansicpg1252\uc1{\fonttbl{\f0 Arial;}}{\*\generator Riched20 10.0;}
{\info{\title Gr\'fcnwald}{\author Nobody}{\keywords garden, house}}
\pard\f0 Gew\'e4chs{\b haus}bau in Gr\u252?nwald\par
\uc2 \u8364??uro \{x\}\tab a\_b \u-10179??\u-8704??\par}trailing",
        );
        assert_eq!(found.title, "Grünwald");
        assert_eq!(found.tags, ["garden", "house"]);
        assert_eq!(found.body, "Gewächshausbau in Grünwald\n€uro {x}\ta-b 😀\n");
    }

    #[test]
    fn i16_rtf_that_is_none_or_nests_too_deep_is_refused() {
        let limits = DocumentLimits::default();
        assert!(read(b"plain", &limits).is_err());
        let deep = format!("{{\\rtf1 {}", "{".repeat(1_000));
        assert!(matches!(
            read(deep.as_bytes(), &limits),
            Err(DocumentRefusal::Bomb(_))
        ));
        assert_eq!(
            read(b"{\\rtf1\\bin99999 x}", &limits),
            Err(DocumentRefusal::NoText)
        );
        for cut in ["{\\rtf1 a\\", "{\\rtf1 a\\'", "{\\rtf1 a\\u", "{\\rtf1 a{"] {
            assert_eq!(text(cut).body, "a\n");
        }
    }
}
