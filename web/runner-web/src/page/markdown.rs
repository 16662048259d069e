//! Markdown of strangers as markup: CommonMark with GitHub's tables, task lists and crossed out
//! text.
//!
//! Only the tags named here are written, all text is escaped, raw HTML is shown as the text it is,
//! and nothing is loaded: images are links. Links lead to http, https and mailto addresses and
//! nowhere else.

use std::borrow::Cow;
use std::fmt::Write as _;

use maud::{Markup, PreEscaped, Render, html};
use pulldown_cmark::{Alignment, Event, LinkType, Options, Parser, Tag};

use super::text::VisibleMarkup;

const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

/// What stands deeper is shown without the tags around it: `>>>>…` is a tag a byte.
const MAX_DEPTH: usize = 64;
/// A text whose markup is larger is shown as it is: it is made to be large.
const MAX_BYTES: usize = 8 << 20;
/// The page has headings of its own above.
const LEVELS_ABOVE: usize = 2;

/// A text of a stranger as markup.
pub(super) fn markup(markdown: &str) -> Markup {
    let mut page = MarkdownPage::default();
    for event in Parser::new_ext(markdown, OPTIONS) {
        page.event(event);
        if page.out.len() > MAX_BYTES {
            return html! { pre { (VisibleMarkup(markdown)) } };
        }
    }
    PreEscaped(page.out)
}

#[derive(Default)]
struct MarkdownPage {
    out: String,
    /// What closes each open tag; empty for those that were not written.
    open: Vec<Cow<'static, str>>,
    /// Links that are open: they do not nest.
    links: usize,
    /// Of the table's columns.
    alignments: Vec<Alignment>,
    /// Of the table's row.
    column: usize,
    in_head: bool,
}

impl MarkdownPage {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            Event::Code(text) => {
                html! { code { (VisibleMarkup(&text)) } }.render_to(&mut self.out);
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(done) => self.out.push_str(if done { "☑ " } else { "☐ " }),
            // Not asked for in the options.
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text);
            }
        }
    }

    fn text(&mut self, text: &str) {
        VisibleMarkup(text).render_to(&mut self.out);
    }

    fn start(&mut self, tag: Tag<'_>) {
        let of_table = matches!(tag, Tag::TableHead | Tag::TableRow | Tag::TableCell);
        if self.open.len() >= MAX_DEPTH && !of_table {
            self.open.push(Cow::Borrowed(""));
            return;
        }
        let close = match tag {
            Tag::Paragraph => self.plain("<p>", "</p>\n"),
            Tag::Heading { level, .. } => {
                let level = (level as usize + LEVELS_ABOVE).min(6);
                let _ = write!(self.out, "<h{level}>");
                Cow::Owned(format!("</h{level}>\n"))
            }
            Tag::BlockQuote(_) => self.plain("<blockquote>", "</blockquote>\n"),
            Tag::CodeBlock(_) => self.plain("<pre><code>", "</code></pre>\n"),
            Tag::HtmlBlock => self.plain("<pre>", "</pre>\n"),
            Tag::List(None) => self.plain("<ul>", "</ul>\n"),
            Tag::List(Some(first)) => {
                let _ = write!(self.out, "<ol start=\"{first}\">");
                Cow::Borrowed("</ol>\n")
            }
            Tag::Item => self.plain("<li>", "</li>\n"),
            Tag::Emphasis => self.plain("<em>", "</em>"),
            Tag::Strong => self.plain("<strong>", "</strong>"),
            Tag::Strikethrough => self.plain("<del>", "</del>"),
            Tag::Link {
                link_type,
                dest_url,
                ..
            } => self.link(link_type, &dest_url),
            Tag::Image { dest_url, .. } => self.image(&dest_url),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.plain("<table>", "</tbody></table>\n")
            }
            Tag::TableHead => {
                (self.in_head, self.column) = (true, 0);
                self.plain("<thead><tr>", "</tr></thead><tbody>")
            }
            Tag::TableRow => {
                (self.in_head, self.column) = (false, 0);
                self.plain("<tr>", "</tr>")
            }
            Tag::TableCell => self.cell(),
            // Not asked for in the options.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => Cow::Borrowed(""),
        };
        self.open.push(close);
    }

    fn end(&mut self) {
        let close = self.open.pop().unwrap_or_default();
        if close == END_OF_LINK {
            self.links -= 1;
        }
        self.out.push_str(&close);
    }

    fn plain(&mut self, open: &str, close: &'static str) -> Cow<'static, str> {
        self.out.push_str(open);
        Cow::Borrowed(close)
    }

    fn link(&mut self, kind: LinkType, target: &str) -> Cow<'static, str> {
        let target = match kind {
            LinkType::Email => Cow::Owned(format!("mailto:{target}")),
            _ => Cow::Borrowed(target),
        };
        match address(&target).filter(|_| self.links == 0) {
            Some(address) => {
                self.links += 1;
                let href = VisibleMarkup(address.as_str()).render().0;
                let _ = write!(
                    self.out,
                    "<a href=\"{href}\" rel=\"noopener noreferrer nofollow\">"
                );
                Cow::Borrowed(END_OF_LINK)
            }
            None => Cow::Borrowed(""),
        }
    }

    /// A link in its place, which says that it is one: what strangers name is not loaded.
    fn image(&mut self, target: &str) -> Cow<'static, str> {
        let close = self.link(LinkType::Inline, target);
        self.out.push_str("[image] ");
        close
    }

    fn cell(&mut self) -> Cow<'static, str> {
        let (tag, close) = if self.in_head {
            ("th", "</th>")
        } else {
            ("td", "</td>")
        };
        let class = match self.alignments.get(self.column) {
            Some(Alignment::Right) => " class=\"right\"",
            Some(Alignment::Center) => " class=\"center\"",
            _ => "",
        };
        self.column += 1;
        let _ = write!(self.out, "<{tag}{class}>");
        Cow::Borrowed(close)
    }
}

const END_OF_LINK: &str = "</a>";

/// An address a browser may be sent to, read as browsers read it (`java\nscript:` is a scheme to
/// them).
fn address(text: &str) -> Option<url::Url> {
    let address = url::Url::parse(text).ok()?;
    matches!(address.scheme(), "http" | "https" | "mailto").then_some(address)
}

#[cfg(test)]
mod tests;
