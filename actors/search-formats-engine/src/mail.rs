//! E-mail: subject, people, date and the text; names of attachments, and those that are texts or
//! mails themselves.

use mail_parser::{Address, Message, MessageParser, MimeHeaders, PartType};

use crate::soup;
use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText, TextCollector};

/// Mails in mails that are read.
const MAX_DEPTH: usize = 4;

/// Endings of attachments that are texts.
const TEXTS: [&str; 14] = [
    "csv", "diff", "ics", "json", "log", "md", "org", "patch", "rst", "toml", "tsv", "txt", "yaml",
    "yml",
];

pub(crate) fn read(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    let mut into = TextCollector::new(limits);
    let message = MessageParser::default().parse(bytes);
    let message =
        message.ok_or_else(|| DocumentRefusal::Malformed("it has no header fields".to_owned()))?;
    into.title(message.subject().unwrap_or_default());
    if let Some(date) = message.date() {
        into.written(date.to_timestamp());
    }
    add(&message, MAX_DEPTH, &mut into);
    into.finish()
}

/// The messages of a mailbox, each begun by a line `From …` (RFC 4155) after an empty one.
pub(crate) fn read_many(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    let mut into = TextCollector::new(limits);
    for part in messages(bytes).take(limits.parts) {
        let Some(message) = MessageParser::default().parse(part) else {
            continue;
        };
        into.heading(message.subject().unwrap_or_default());
        add(&message, MAX_DEPTH, &mut into);
        if into.is_full() {
            break;
        }
    }
    into.finish()
}

/// Adds a message, and those that are attached to it `depth` deep.
fn add(message: &Message<'_>, depth: usize, into: &mut TextCollector) {
    for (name, people) in [
        ("From", message.from()),
        ("To", message.to()),
        ("Cc", message.cc()),
    ] {
        let people = people.map(format_addresses).unwrap_or_default();
        if !people.is_empty() {
            into.paragraph(&format!("{name}: {people}"));
        }
    }
    if let Some(date) = message.date() {
        into.paragraph(&format!("Date: {}", date.to_rfc3339()));
    }
    for part in message.text_bodies() {
        match &part.body {
            PartType::Text(text) => into.paragraph(&text.replace("\r\n", "\n")),
            // HTML without a plain part.
            PartType::Html(page) => soup::read(page, into),
            _ => {}
        }
    }
    for attachment in message.attachments() {
        if let Some(name) = attachment.attachment_name() {
            into.paragraph(&format!("Attachment: {name}"));
        }
        match &attachment.body {
            PartType::Text(text) => into.paragraph(&text.replace("\r\n", "\n")),
            PartType::Html(page) => soup::read(page, into),
            PartType::Message(inner) if depth > 0 => {
                into.heading(inner.subject().unwrap_or_default());
                add(inner, depth - 1, into);
            }
            PartType::Binary(bytes) if is_called_text(attachment.attachment_name()) => {
                if let Ok(text) = std::str::from_utf8(bytes) {
                    into.paragraph(&text.replace("\r\n", "\n"));
                }
            }
            _ => {}
        }
    }
}

/// Whether an attachment is called like a text, whatever the mail says that it is.
fn is_called_text(name: Option<&str>) -> bool {
    let ending = name.and_then(|name| name.rsplit_once('.'));
    let is = |(_, ending): (&str, &str)| TEXTS.iter().any(|one| ending.eq_ignore_ascii_case(one));
    ending.is_some_and(is)
}

fn format_addresses(people: &Address<'_>) -> String {
    let each = people
        .iter()
        .map(|person| match (person.name(), person.address()) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (Some(one), None) | (None, Some(one)) => one.to_owned(),
            (None, None) => String::new(),
        });
    let shown: Vec<String> = each.filter(|person| !person.is_empty()).take(100).collect();
    shown.join(", ")
}

fn messages(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // Behind the separator line itself.
        let start = if rest.starts_with(b"From ") {
            rest.iter()
                .position(|byte| *byte == b'\n')
                .map_or(rest.len(), |end| end + 1)
        } else {
            0
        };
        let body = &rest[start..];
        let end = separator(body).unwrap_or(body.len());
        rest = &body[end..];
        Some(&body[..end])
    })
}

/// Where the next `From ` line begins.
fn separator(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(line_end) = bytes[from..].iter().position(|byte| *byte == b'\n') {
        let next = from + line_end + 1;
        if bytes[next..].starts_with(b"From ") {
            return Some(next);
        }
        from = next;
    }
    None
}
