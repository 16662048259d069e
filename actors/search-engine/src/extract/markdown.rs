//! Markdown to plain text (CommonMark and the GitHub extensions, wiki links of note programs).

use pulldown_cmark::{Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use super::links::Links;
use super::parts::{TextParts, fold_line};
use super::{front_matter, html};

const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_HEADING_ATTRIBUTES)
    .union(Options::ENABLE_WIKILINKS);

pub(super) fn parse_parts(text: &str) -> TextParts {
    let (front, markdown) = front_matter::split(text);
    let mut reader = Reader {
        body: String::with_capacity(markdown.len()),
        ..Reader::default()
    };
    for event in Parser::new_ext(markdown, OPTIONS) {
        reader.event(event);
    }
    let mut headings = reader.headings;
    let mut title = front.title;
    let title_is_heading = title.is_empty() && !headings.is_empty();
    if title_is_heading {
        // The first heading of the first level, else the first one of all.
        let first = headings
            .iter()
            .position(|(level, _)| *level == HeadingLevel::H1)
            .unwrap_or(0);
        title = headings.remove(first).1;
    }
    let headings = headings.into_iter().map(|(_, heading)| heading).collect();
    TextParts {
        title,
        title_is_heading,
        headings,
        tags: front.tags,
        written: front.written,
        links: reader.links.into_names(),
        body: reader.body,
    }
}

/// The text of a piece cut out of a Markdown file.
pub(crate) fn fragment_text(markdown: &str) -> String {
    let mut reader = Reader::default();
    for event in Parser::new_ext(markdown, OPTIONS) {
        reader.event(event);
    }
    reader.body
}

/// Collects text and headings from the events of the parser.
#[derive(Default)]
struct Reader {
    body: String,
    headings: Vec<(HeadingLevel, String)>,
    /// Level of the open heading and where its text starts in `body`.
    open_heading: Option<(HeadingLevel, usize)>,
    links: Links,
}

impl Reader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) | Event::Code(text) => self.body.push_str(&text),
            Event::Html(html) => self.body.push_str(&html::fragment_text(&html)),
            Event::SoftBreak | Event::HardBreak => self.body.push('\n'),
            Event::Rule => self.end_block(),
            Event::Start(Tag::Heading { level, .. }) => {
                self.end_block();
                self.open_heading = Some((level, self.body.len()));
            }
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) => match link_type {
                LinkType::WikiLink { .. } => self.links.page(&dest_url),
                _ => self.links.address(&dest_url),
            },
            // A nested list starts inside its item's line.
            Event::Start(Tag::List(_) | Tag::CodeBlock(_)) => self.end_block(),
            Event::End(end) => self.end(end),
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Heading(_) => {
                if let Some((level, start)) = self.open_heading.take() {
                    let heading = fold_line(&self.body[start..], 200);
                    if !heading.is_empty() {
                        self.headings.push((level, heading));
                    }
                }
                self.end_block();
            }
            TagEnd::TableCell => self.body.push(' '),
            TagEnd::Paragraph
            | TagEnd::Item
            | TagEnd::CodeBlock
            | TagEnd::TableRow
            | TagEnd::TableHead
            | TagEnd::HtmlBlock
            | TagEnd::FootnoteDefinition => self.end_block(),
            _ => {}
        }
    }

    fn end_block(&mut self) {
        if !self.body.is_empty() && !self.body.ends_with('\n') {
            self.body.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_dropped_and_text_kept() {
        let found = parse_parts(
            "# The *Title*\n\nA [link](http://example.org/hidden) to `code`, **bold**\nand [[Page|a page]] [[Other]].\n\n\
             ## Part `two`\n\n- item\n  - nested\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| c | d |\n\n<div class=\"x\">inner &amp; text</div>\n",
        );
        assert_eq!(found.title, "The Title");
        assert_eq!(found.links, ["Page", "Other"]);
        assert_eq!(found.headings, ["Part two"]);
        assert_eq!(
            found.body,
            "The Title\nA link to code, bold\nand a page Other.\nPart two\nitem\nnested\nfn main() {}\na b \nc d \ninner & text\n"
        );
    }

    #[test]
    fn front_matter_wins_over_headings() {
        let found = parse_parts("---\ntitle: Front\ntags: [x]\n---\n# Heading\ntext");
        assert_eq!(
            (found.title.as_str(), found.headings.as_slice()),
            ("Front", &["Heading".to_owned()][..])
        );
        assert_eq!(found.tags, ["x"]);
        assert!(!found.body.contains("tags"));
    }

    #[test]
    fn a_first_level_heading_is_the_title_wherever_it_stands() {
        assert_eq!(parse_parts("## Note\n\n# Title\n").title, "Title");
        assert_eq!(parse_parts("## Only\n").title, "Only");
    }
}
