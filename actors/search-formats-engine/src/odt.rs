//! ODT: paragraphs and headings of the text, title and keywords.

use crate::archive::Archive;
use crate::markup::{MarkupEvent, TextFlow, for_each_part, text_of};
use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText, TextCollector};

pub(crate) fn read(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    let mut archive = Archive::open(bytes, limits)?;
    if let Some(manifest) = archive.part("META-INF/manifest.xml")?
        && text_of(&manifest, "encryption-data").is_some()
    {
        return Err(DocumentRefusal::Encrypted);
    }
    let mut into = TextCollector::new(limits);
    if let Some(meta) = archive.part("meta.xml")? {
        into.title(&text_of(&meta, "title").unwrap_or_default());
        keywords(&meta, &mut into);
    }
    let content = archive.demand("content.xml")?;
    let mut flow = TextFlow::default();
    let mut open = 0_usize;
    for_each_part(&content, |part| {
        match part {
            MarkupEvent::Open("p", _) => open += 1,
            MarkupEvent::Open("h", _) => {
                open += 1;
                flow.heading = true;
            }
            MarkupEvent::Text(text) if open > 0 => flow.push_folded(text),
            MarkupEvent::Open("tab" | "s" | "line-break", _) if open > 0 => flow.push(" "),
            MarkupEvent::Close("p" | "h") => {
                open = open.saturating_sub(1);
                flow.end_block(&mut into);
            }
            _ => {}
        }
        !into.is_full()
    })?;
    into.finish()
}

fn keywords(meta: &[u8], into: &mut TextCollector) {
    let mut inside = false;
    // What could be read before a fault stays.
    let _ = for_each_part(meta, |part| {
        match part {
            MarkupEvent::Open("keyword", _) => inside = true,
            MarkupEvent::Close("keyword") => inside = false,
            MarkupEvent::Text(text) if inside => into.tags(text),
            _ => {}
        }
        true
    });
}
