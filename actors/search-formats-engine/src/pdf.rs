//! PDF: the text of the pages, title and keywords of the information dictionary.

use pdf_extract::{Document, Object};

use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText, TextCollector};

pub(crate) fn read(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    let document =
        Document::load_mem(bytes).map_err(|error| DocumentRefusal::Malformed(error.to_string()))?;
    if document.is_encrypted() {
        return Err(DocumentRefusal::Encrypted);
    }
    let pages = document.get_pages().len();
    if pages > limits.parts {
        return Err(DocumentRefusal::Bomb(format!("it has {pages} pages")));
    }
    let mut into = TextCollector::new(limits);
    into.title(&information(&document, b"Title"));
    into.tags(&information(&document, b"Keywords"));
    drop(document);
    let pages = pdf_extract::extract_text_from_mem_by_pages(bytes);
    let pages = pages.map_err(|error| DocumentRefusal::Malformed(error.to_string()))?;
    for page in pages {
        for paragraph in page.split("\n\n") {
            into.paragraph(&joined(paragraph));
        }
        if into.is_full() {
            break;
        }
    }
    into.finish()
}

/// Lines of one paragraph in one; a word divided at a line's end is put together.
fn joined(paragraph: &str) -> String {
    let mut text = String::with_capacity(paragraph.len());
    for line in paragraph
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let divided = text.ends_with('-') && line.starts_with(char::is_lowercase);
        if divided {
            text.pop();
        } else if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(line);
    }
    text
}

/// An entry of the information dictionary (ISO 32000-1, 14.3.3): UTF-16 with a mark, else read as
/// Latin-1.
fn information(document: &Document, name: &[u8]) -> String {
    let info = document
        .trailer
        .get(b"Info")
        .and_then(|info| document.dereference(info));
    let Ok((_, Object::Dictionary(info))) = info else {
        return String::new();
    };
    let value = info.get(name).and_then(|value| document.dereference(value));
    let Ok((_, Object::String(bytes, _))) = value else {
        return String::new();
    };
    match bytes.as_slice() {
        [0xfe, 0xff, rest @ ..] => {
            let units: Vec<u16> = rest
                .chunks_exact(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect();
            String::from_utf16_lossy(&units)
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        bytes => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divided_words_are_put_together() {
        assert_eq!(
            joined("a super-\nvisor of  \n\n well-\nKnown things"),
            "a supervisor of well- Known things"
        );
    }
}
