//! XML as it is found inside documents: events with local names, entities resolved, nothing
//! fetched.

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::text::DocumentRefusal;

/// Elements that may be open at once.
const MAX_DEPTH: usize = 256;

/// What a reader of a format is told.
pub(crate) enum MarkupEvent<'a> {
    /// An element begins; its local name.
    Open(&'a str, &'a BytesStart<'a>),
    /// An element ends.
    Close(&'a str),
    /// Text between.
    Text(&'a str),
}

/// Calls `take` for each part of `xml`, until it says to stop (`false`).
pub(crate) fn for_each_part(
    xml: &[u8],
    mut take: impl FnMut(MarkupEvent<'_>) -> bool,
) -> Result<(), DocumentRefusal> {
    let text = String::from_utf8_lossy(xml);
    let mut reader = Reader::from_str(&text);
    // Books are often HTML that calls itself XML.
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    let mut depth = 0_usize;
    loop {
        let event = reader.read_event();
        let event = event.map_err(|error| {
            DocumentRefusal::Malformed(format!("XML at byte {}: {error}", reader.error_position()))
        })?;
        let goes_on = match &event {
            Event::Start(start) => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(DocumentRefusal::Bomb(format!(
                        "more than {MAX_DEPTH} elements inside each other"
                    )));
                }
                take(MarkupEvent::Open(start.local_name().as_ref(), start))
            }
            Event::Empty(start) => {
                let name = start.local_name();
                let name = name.as_ref();
                take(MarkupEvent::Open(name, start)) && take(MarkupEvent::Close(name))
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                take(MarkupEvent::Close(end.local_name().as_ref()))
            }
            Event::Text(text) => take(MarkupEvent::Text(text)),
            Event::CData(text) => take(MarkupEvent::Text(text)),
            Event::GeneralRef(name) => take(MarkupEvent::Text(&resolve(name))),
            Event::Eof => return Ok(()),
            // A document type could define entities; they stay undefined.
            Event::Decl(_) | Event::DocType(_) | Event::PI(_) | Event::Comment(_) => true,
        };
        if !goes_on {
            return Ok(());
        }
    }
}

/// The value of an attribute, by local name.
pub(crate) fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = start.attributes();
    let mut found = attributes.with_checks(false).flatten();
    let found = found.find(|attribute| attribute.key.local_name().as_ref() == name)?;
    Some(html_escape::decode_html_entities(&found.value).into_owned())
}

/// The texts of the elements with this local name, at most so many.
pub(crate) fn texts_of(xml: &[u8], wanted: &str, most: usize) -> Vec<String> {
    let mut inside = false;
    let mut found: Vec<String> = Vec::new();
    let read = for_each_part(xml, |part| {
        match part {
            MarkupEvent::Open(name, _) if name == wanted => {
                inside = true;
                found.push(String::new());
            }
            MarkupEvent::Close(name) if name == wanted => inside = false,
            MarkupEvent::Text(text) if inside => found
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|last| last.push_str(text)),
            _ => {}
        }
        found.len() < most || inside
    });
    // What stands before a fault is as good.
    let _ = read;
    found
}

/// The text of the first element with this local name.
pub(crate) fn text_of(xml: &[u8], wanted: &str) -> Option<String> {
    let mut inside = false;
    let mut found = String::new();
    let read = for_each_part(xml, |part| {
        match part {
            MarkupEvent::Open(name, _) if name == wanted => inside = true,
            MarkupEvent::Text(text) if inside => found.push_str(text),
            MarkupEvent::Close(name) if name == wanted => return false,
            _ => {}
        }
        true
    });
    read.ok()?;
    inside.then_some(found)
}

fn resolve(name: &BytesRef<'_>) -> String {
    let reference = format!("&{};", &**name);
    html_escape::decode_html_entities(&reference).into_owned()
}

/// Gathers flowing text into headings and paragraphs.
#[derive(Default)]
pub(crate) struct TextFlow {
    line: String,
    /// The open block is a heading.
    pub(crate) heading: bool,
}

impl TextFlow {
    pub(crate) fn push(&mut self, text: &str) {
        self.line.push_str(text);
    }

    /// One blank, where none stands.
    pub(crate) fn push_blank(&mut self) {
        if !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
    }

    /// Text in which line ends are blanks.
    pub(crate) fn push_folded(&mut self, text: &str) {
        self.line.extend(
            text.chars()
                .map(|c| if c.is_whitespace() { ' ' } else { c }),
        );
    }

    /// Ends the open block.
    pub(crate) fn end_block(&mut self, into: &mut crate::text::TextCollector) {
        if self.heading {
            into.heading(&self.line);
        } else {
            into.paragraph(&self.line);
        }
        self.line.clear();
        self.heading = false;
    }
}
