//! ODT: paragraphs and headings of the text, title and keywords.

use crate::archive::Archive;
use crate::markup::{Flow, Part, for_each_part, text_of};
use crate::text::{Collector, Limits, Refusal, Text};

pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Text, Refusal> {
    let mut archive = Archive::open(bytes, limits)?;
    if let Some(manifest) = archive.part("META-INF/manifest.xml")?
        && text_of(&manifest, "encryption-data").is_some()
    {
        return Err(Refusal::Encrypted);
    }
    let mut into = Collector::new(limits);
    if let Some(meta) = archive.part("meta.xml")? {
        into.title(&text_of(&meta, "title").unwrap_or_default());
        keywords(&meta, &mut into);
    }
    let content = archive.demand("content.xml")?;
    let mut flow = Flow::default();
    let mut open = 0_usize;
    for_each_part(&content, |part| {
        match part {
            Part::Open("p", _) => open += 1,
            Part::Open("h", _) => {
                open += 1;
                flow.heading = true;
            }
            Part::Text(text) if open > 0 => flow.push_folded(text),
            Part::Open("tab" | "s" | "line-break", _) if open > 0 => flow.push(" "),
            Part::Close("p" | "h") => {
                open = open.saturating_sub(1);
                flow.end_block(&mut into);
            }
            _ => {}
        }
        !into.is_full()
    })?;
    into.finish()
}

fn keywords(meta: &[u8], into: &mut Collector) {
    let mut inside = false;
    // What could be read before a fault stays.
    let _ = for_each_part(meta, |part| {
        match part {
            Part::Open("keyword", _) => inside = true,
            Part::Close("keyword") => inside = false,
            Part::Text(text) if inside => into.tags(text),
            _ => {}
        }
        true
    });
}
