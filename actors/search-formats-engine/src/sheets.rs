//! Tables and presentations of Office Open XML (ECMA-376): a row is a line, and so is a paragraph
//! of a slide; sheets are headings.

use crate::archive::Archive;
use crate::markup::{MarkupEvent, TextFlow, attribute, for_each_part, text_of};
use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText, TextCollector};

/// Numbers of parts that may be missing in a row: what was deleted leaves a gap.
const MAX_GAP: usize = 16;

/// Shared texts of a workbook that are kept.
const MAX_SHARED: usize = 1 << 20;

pub(crate) fn xlsx(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    let mut archive = Archive::open(bytes, limits)?;
    let mut into = with_properties(&mut archive, limits)?;
    // Without it sheets have no names.
    let workbook = archive.part("xl/workbook.xml")?.unwrap_or_default();
    let mut names = Vec::new();
    for_each_part(&workbook, |part| {
        if let MarkupEvent::Open("sheet", start) = part {
            names.extend(attribute(start, "name"));
        }
        names.len() < limits.parts
    })?;
    let shared = match archive.part("xl/sharedStrings.xml")? {
        Some(xml) => shared_texts(&xml)?,
        None => Vec::new(),
    };
    let mut names = names.into_iter();
    for_each_numbered(&mut archive, "xl/worksheets/sheet", limits, |xml| {
        into.heading(&names.next().unwrap_or_default());
        rows(xml, &shared, &mut into)?;
        Ok(!into.is_full())
    })?;
    into.finish()
}

pub(crate) fn pptx(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    let mut archive = Archive::open(bytes, limits)?;
    let mut into = with_properties(&mut archive, limits)?;
    for_each_numbered(&mut archive, "ppt/slides/slide", limits, |xml| {
        slide(xml, &mut into)?;
        Ok(!into.is_full())
    })?;
    into.finish()
}

/// What the archive says of itself.
fn with_properties(
    archive: &mut Archive<'_>,
    limits: &DocumentLimits,
) -> Result<TextCollector, DocumentRefusal> {
    let mut into = TextCollector::new(limits);
    if let Some(core) = archive.part("docProps/core.xml")? {
        into.title(&text_of(&core, "title").unwrap_or_default());
        into.tags(&text_of(&core, "keywords").unwrap_or_default());
    }
    Ok(into)
}

/// Calls `take` for the parts `{path}1.xml`, `{path}2.xml` …, until it says to stop.
fn for_each_numbered(
    archive: &mut Archive<'_>,
    path: &str,
    limits: &DocumentLimits,
    mut take: impl FnMut(&[u8]) -> Result<bool, DocumentRefusal>,
) -> Result<(), DocumentRefusal> {
    let mut missing = 0;
    for number in 1..=limits.parts {
        match archive.part(&format!("{path}{number}.xml"))? {
            Some(xml) => {
                missing = 0;
                if !take(&xml)? {
                    break;
                }
            }
            None => missing += 1,
        }
        if missing > MAX_GAP {
            break;
        }
    }
    Ok(())
}

/// The texts that cells refer to by number.
fn shared_texts(xml: &[u8]) -> Result<Vec<String>, DocumentRefusal> {
    let mut texts = Vec::new();
    let mut text = String::new();
    let (mut in_text, mut in_reading) = (false, false);
    for_each_part(xml, |part| {
        match part {
            // How Japanese is read is no part of it.
            MarkupEvent::Open("rPh", _) => in_reading = true,
            MarkupEvent::Close("rPh") => in_reading = false,
            MarkupEvent::Open("t", _) => in_text = true,
            MarkupEvent::Close("t") => in_text = false,
            MarkupEvent::Text(more) if in_text && !in_reading => text.push_str(more),
            MarkupEvent::Close("si") => texts.push(std::mem::take(&mut text)),
            _ => {}
        }
        texts.len() < MAX_SHARED
    })?;
    Ok(texts)
}

fn rows(xml: &[u8], shared: &[String], into: &mut TextCollector) -> Result<(), DocumentRefusal> {
    let mut row = String::new();
    let (mut value, mut in_value, mut is_shared) = (String::new(), false, false);
    for_each_part(xml, |part| {
        match part {
            MarkupEvent::Open("c", start) => {
                is_shared = attribute(start, "t").is_some_and(|kind| kind == "s");
                value.clear();
            }
            MarkupEvent::Open("v" | "t", _) => in_value = true,
            MarkupEvent::Close("v" | "t") => in_value = false,
            MarkupEvent::Text(text) if in_value => value.push_str(text),
            MarkupEvent::Close("c") => {
                let number = value.trim().parse().ok().filter(|_| is_shared);
                let text = match number {
                    Some(number) => shared.get::<usize>(number).map_or("", String::as_str),
                    None => &value,
                };
                if !text.trim().is_empty() {
                    if !row.is_empty() {
                        row.push('\t');
                    }
                    row.push_str(text.trim());
                }
            }
            MarkupEvent::Close("row") => {
                into.paragraph(&row);
                row.clear();
            }
            _ => {}
        }
        !into.is_full()
    })
}

fn slide(xml: &[u8], into: &mut TextCollector) -> Result<(), DocumentRefusal> {
    let mut flow = TextFlow::default();
    let (mut in_text, mut is_title) = (false, false);
    for_each_part(xml, |part| {
        match part {
            MarkupEvent::Open("t", _) => in_text = true,
            MarkupEvent::Close("t") => in_text = false,
            MarkupEvent::Text(text) if in_text => flow.push(text),
            MarkupEvent::Open("br" | "tab", _) => flow.push(" "),
            MarkupEvent::Open("ph", start) => {
                let kind = attribute(start, "type").unwrap_or_default();
                is_title = kind == "title" || kind == "ctrTitle";
            }
            MarkupEvent::Close("sp") => is_title = false,
            MarkupEvent::Close("p") => {
                flow.heading = is_title;
                flow.end_block(into);
            }
            _ => {}
        }
        !into.is_full()
    })?;
    flow.end_block(into);
    Ok(())
}
