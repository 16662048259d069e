//! EPUB: the chapters in reading order.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;

use crate::archive::Archive;
use crate::markup::{MarkupEvent, TextFlow, attribute, for_each_part, text_of, texts_of};
use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText, TextCollector, one_line};

/// Authors and editors of a book that are searched.
const MAX_AUTHORS: usize = 100;

pub(crate) fn read(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    let mut archive = Archive::open(bytes, limits)?;
    let container = archive.demand("META-INF/container.xml")?;
    if archive
        .part("META-INF/encryption.xml")?
        .is_some_and(|xml| text_of(&xml, "EncryptedKey").is_some())
    {
        return Err(DocumentRefusal::Encrypted);
    }
    let package = package_path(&container)?;
    let opf = archive.demand(&package)?;
    let mut into = TextCollector::new(limits);
    into.title(&text_of(&opf, "title").unwrap_or_default());
    for author in texts_of(&opf, "creator", MAX_AUTHORS) {
        into.paragraph(&one_line(&author));
    }
    let base = package.rsplit_once('/').map_or("", |(folder, _)| folder);
    for chapter in spine(&opf)?.into_iter().take(limits.parts) {
        let Some(path) = resolved(base, &chapter) else {
            continue;
        };
        // A chapter that is missing or broken costs itself only.
        let Some(xhtml) = archive.part(&path)? else {
            continue;
        };
        match page(&xhtml, &mut into) {
            Ok(()) | Err(DocumentRefusal::Malformed(_)) => {}
            Err(refusal) => return Err(refusal),
        }
        if into.is_full() {
            break;
        }
    }
    into.finish()
}

fn package_path(container: &[u8]) -> Result<String, DocumentRefusal> {
    let mut path = None;
    for_each_part(container, |part| {
        if let MarkupEvent::Open("rootfile", start) = part {
            path = attribute(start, "full-path");
        }
        path.is_none()
    })?;
    path.ok_or_else(|| DocumentRefusal::Malformed("container.xml names no package".to_owned()))
}

/// Hrefs of the chapters, in reading order.
fn spine(opf: &[u8]) -> Result<Vec<String>, DocumentRefusal> {
    let mut hrefs = HashMap::new();
    let mut order = Vec::new();
    for_each_part(opf, |part| {
        match part {
            MarkupEvent::Open("item", start) => {
                if let (Some(id), Some(href)) = (attribute(start, "id"), attribute(start, "href")) {
                    hrefs.insert(id, href);
                }
            }
            MarkupEvent::Open("itemref", start) => order.extend(attribute(start, "idref")),
            _ => {}
        }
        true
    })?;
    Ok(order
        .iter()
        .filter_map(|id| hrefs.get(id).cloned())
        .collect())
}

/// A path inside the archive: percent-encoding undone, `..` followed, none that leaves it.
fn resolved(base: &str, href: &str) -> Option<String> {
    let href = href.split(['#', '?']).next()?;
    if href.contains(':') {
        return None;
    }
    let href = percent_decode_str(href).decode_utf8_lossy();
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in href.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// One chapter: blocks become paragraphs, scripts and styles nothing.
fn page(xhtml: &[u8], into: &mut TextCollector) -> Result<(), DocumentRefusal> {
    let mut flow = TextFlow::default();
    let mut hidden = 0_usize;
    let read = for_each_part(xhtml, |part| {
        match part {
            MarkupEvent::Open("script" | "style" | "head" | "svg", _) => hidden += 1,
            MarkupEvent::Close("script" | "style" | "head" | "svg") => {
                hidden = hidden.saturating_sub(1);
            }
            MarkupEvent::Text(text) if hidden == 0 => flow.push_folded(text),
            MarkupEvent::Open("br", _) => flow.push(" "),
            MarkupEvent::Open(name, _) if is_block(name) => {
                flow.end_block(into);
                flow.heading = is_heading(name);
            }
            MarkupEvent::Close(name) if is_block(name) => flow.end_block(into),
            _ => {}
        }
        !into.is_full()
    });
    flow.end_block(into);
    read
}

fn is_heading(name: &str) -> bool {
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

fn is_block(name: &str) -> bool {
    is_heading(name)
        || matches!(
            name,
            "p" | "div"
                | "li"
                | "td"
                | "th"
                | "tr"
                | "pre"
                | "blockquote"
                | "section"
                | "dt"
                | "dd"
                | "figcaption"
                | "title"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_are_found_inside_the_book_only() {
        assert_eq!(
            resolved("OEBPS", "text/c%201.xhtml#a").as_deref(),
            Some("OEBPS/text/c 1.xhtml")
        );
        assert_eq!(
            resolved("OEBPS/x", "../c.xhtml").as_deref(),
            Some("OEBPS/c.xhtml")
        );
        assert_eq!(resolved("", "../../etc/passwd"), None);
        assert_eq!(resolved("", "https://example.org/x"), None);
    }
}
