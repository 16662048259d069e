//! Org and AsciiDoc: plain text with titles, tags and headings of its own.

use super::parts::{TextParts, fold_line};
use crate::times::written_date;

/// Words at the beginning of a heading that say how far it is, not what it is about.
const STATES: [&str; 10] = [
    "TODO",
    "DONE",
    "NEXT",
    "WAITING",
    "WAIT",
    "HOLD",
    "CANCELLED",
    "CANCELED",
    "STARTED",
    "SOMEDAY",
];

/// How headings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outline {
    /// `* Heading :tag:`, `#+TITLE: …`.
    Org,
    /// `= Title`, `== Heading`.
    AsciiDoc,
}

/// The outline that a file has by its name.
pub(super) fn outline_for_key(key: &str) -> Option<Outline> {
    let (_, extension) = key.rsplit_once('.')?;
    let is = |known: &str| extension.eq_ignore_ascii_case(known);
    if is("org") {
        Some(Outline::Org)
    } else if is("adoc") || is("asciidoc") {
        Some(Outline::AsciiDoc)
    } else {
        None
    }
}

impl Outline {
    pub(super) fn parse_parts(self, text: String) -> TextParts {
        let mut parts = TextParts::default();
        for line in text.lines() {
            match self {
                Self::Org => org_line(line, &mut parts),
                Self::AsciiDoc => asciidoc_line(line, &mut parts),
            }
        }
        if parts.title.is_empty() && !parts.headings.is_empty() {
            parts.title = parts.headings.remove(0);
            parts.title_is_heading = true;
        }
        parts.tags.dedup();
        TextParts {
            body: text,
            ..parts
        }
    }
}

fn org_line(line: &str, parts: &mut TextParts) {
    if let Some(setting) = line.strip_prefix("#+") {
        let Some((name, value)) = setting.split_once(':') else {
            return;
        };
        match name.to_ascii_lowercase().as_str() {
            "title" if parts.title.is_empty() => parts.title = fold_line(value, 300),
            "filetags" | "keywords" => add_tags(value, &[':', ',', ' '], parts),
            "date" => parts.written = org_date(value),
            _ => {}
        }
        return;
    }
    let heading = line.trim_start_matches('*');
    if heading.len() == line.len() || !heading.starts_with([' ', '\t']) {
        return;
    }
    let mut heading = heading.trim();
    // `:books:logic:` at its end are tags.
    if let Some((before, tags)) = heading.rsplit_once(char::is_whitespace)
        && tags.len() > 2
        && tags.starts_with(':')
        && tags.ends_with(':')
    {
        add_tags(tags, &[':'], parts);
        heading = before.trim_end();
    }
    if let Some((state, rest)) = heading.split_once(' ')
        && STATES.contains(&state)
    {
        heading = rest.trim_start();
    }
    // `[#A]` is its priority.
    if let Some((_, rest)) = heading
        .strip_prefix("[#")
        .and_then(|rest| rest.split_once("] "))
    {
        heading = rest;
    }
    push_heading(heading, parts);
}

/// `<2026-11-28 Sat>` and `[2026-11-28 Sat 09:30]` begin with the date.
fn org_date(value: &str) -> Option<i64> {
    let value = value.trim().trim_start_matches(['<', '[']);
    written_date(value.get(..10).unwrap_or(value))
}

fn asciidoc_line(line: &str, parts: &mut TextParts) {
    if let Some(tags) = line.strip_prefix(":keywords:") {
        add_tags(tags, &[','], parts);
        return;
    }
    let heading = line.trim_start_matches('=');
    let level = line.len() - heading.len();
    if !(1..=6).contains(&level) || !heading.starts_with(' ') {
        return;
    }
    if level == 1 && parts.title.is_empty() && parts.headings.is_empty() {
        parts.title = fold_line(heading, 300);
        parts.title_is_heading = true;
    } else {
        push_heading(heading, parts);
    }
}

fn push_heading(heading: &str, parts: &mut TextParts) {
    let heading = fold_line(heading, 200);
    if !heading.is_empty() {
        parts.headings.push(heading);
    }
}

fn add_tags(list: &str, seams: &[char], parts: &mut TextParts) {
    let tags = list
        .split(seams)
        .map(str::trim)
        .filter(|tag| !tag.is_empty());
    parts.tags.extend(tags.map(str::to_owned));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_org_has_title_tags_and_headings() {
        let text = "#+TITLE: Reading list\n#+FILETAGS: :home:\n#+DATE: <2026-11-21 Sat>\n\n\
                    * TODO [#A] Gödel, Escher, Bach  :books:logic:\n:PROPERTIES:\n:ISBN: 1\n:END:\n\
                    ** Second\n*bold* is no heading\n";
        let parts = outline_for_key("a/n32.ORG")
            .expect("org")
            .parse_parts(text.to_owned());
        assert_eq!(parts.title, "Reading list");
        assert_eq!(parts.tags, ["home", "books", "logic"]);
        assert_eq!(parts.headings, ["Gödel, Escher, Bach", "Second"]);
        assert_eq!(parts.written, Some(1_795_219_200));
        assert_eq!(parts.body, text);
        let untitled = Outline::Org.parse_parts("* First\n* Next\n".to_owned());
        assert_eq!(
            (untitled.title.as_str(), untitled.title_is_heading),
            ("First", true)
        );
        assert_eq!(untitled.headings, ["Next"]);
    }

    #[test]
    fn i16_asciidoc_has_title_and_headings() {
        let text = "= The manual\n:keywords: a, b c\n\n== First\n====\nx == y\n";
        let parts = outline_for_key("n57.adoc")
            .expect("AsciiDoc")
            .parse_parts(text.to_owned());
        assert_eq!(parts.title, "The manual");
        assert_eq!(
            (parts.headings, parts.tags),
            (
                vec!["First".to_owned()],
                vec!["a".to_owned(), "b c".to_owned()]
            )
        );
    }
}
