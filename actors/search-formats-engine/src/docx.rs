//! DOCX: paragraphs, headings by style, footnotes, title and keywords.

use crate::archive::Archive;
use crate::markup::{MarkupEvent, TextFlow, attribute, for_each_part, text_of};
use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText, TextCollector};

pub(crate) fn read(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    let mut archive = Archive::open(bytes, limits)?;
    let mut into = TextCollector::new(limits);
    if let Some(core) = archive.part("docProps/core.xml")? {
        into.title(&text_of(&core, "title").unwrap_or_default());
        into.tags(&text_of(&core, "keywords").unwrap_or_default());
    }
    let document = archive.demand("word/document.xml")?;
    story(&document, &mut into)?;
    for part in [
        "word/footnotes.xml",
        "word/endnotes.xml",
        "word/comments.xml",
    ] {
        if let Some(notes) = archive.part(part)? {
            story(&notes, &mut into)?;
        }
    }
    into.finish()
}

/// Paragraphs of one part: ECMA-376 part 1, 17.3 (`w:p`, `w:pStyle`, `w:t`, `w:tab`, `w:br`).
fn story(xml: &[u8], into: &mut TextCollector) -> Result<(), DocumentRefusal> {
    let mut flow = TextFlow::default();
    let mut in_text = false;
    let mut is_title = false;
    for_each_part(xml, |part| {
        match part {
            MarkupEvent::Open("t", _) => in_text = true,
            MarkupEvent::Close("t") => in_text = false,
            MarkupEvent::Text(text) if in_text => flow.push(text),
            MarkupEvent::Open("tab" | "br" | "cr", _) => flow.push(" "),
            MarkupEvent::Open("pStyle", start) => {
                let style = attribute(start, "val").unwrap_or_default().to_lowercase();
                is_title = style == "title";
                flow.heading = is_title
                    || style.starts_with("heading")
                    || style.starts_with("berschrift")
                    || style.starts_with("überschrift");
            }
            MarkupEvent::Open("outlineLvl", start) => {
                // 9 is body text.
                flow.heading |= attribute(start, "val").is_some_and(|level| level != "9");
            }
            MarkupEvent::Close("p") => {
                flow.end_block(into);
                is_title = false;
            }
            _ => {}
        }
        !into.is_full()
    })?;
    flow.end_block(into);
    Ok(())
}
