//! Markdown whose paragraphs and list items are put on lines of one width. Tables, headings, code,
//! HTML, link definitions, drawings and hard line breaks are left as they are, and so is every
//! paragraph that is narrow enough.

use super::fill::{columns, fill, starts_a_block};

/// A text after wrapping.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrapped {
    /// Its lines.
    pub(super) lines: Vec<String>,
    /// The first lines of the paragraphs that were too wide, from 0.
    pub(super) wide: Vec<usize>,
}

/// A paragraph or list item being read.
struct Paragraph<'a> {
    /// Its first line's number, from 0.
    at: usize,
    /// What stands before its text on the first line.
    first: &'a str,
    /// What stands before its text on all others.
    rest: String,
    /// Its lines as they are.
    lines: Vec<&'a str>,
}

/// The state of one pass over the lines.
struct Pass<'a> {
    width: usize,
    wrapped: Wrapped,
    open: Option<Paragraph<'a>>,
    /// Where the text of the list item begins that following indented lines belong to.
    item: Option<usize>,
    /// The fence that ends a code block.
    fence: Option<&'a str>,
    /// Inside HTML, which ends at a blank line; or a comment, which ends with its mark.
    html: Option<&'a str>,
}

/// Wraps the lines of one Markdown text.
pub(super) fn wrap(lines: &[&str], width: usize) -> Wrapped {
    let wrapped = Wrapped {
        lines: Vec::new(),
        wide: Vec::new(),
    };
    let mut pass = Pass {
        width,
        wrapped,
        open: None,
        item: None,
        fence: None,
        html: None,
    };
    for (at, line) in lines.iter().enumerate() {
        pass.line(at, line);
    }
    pass.close();
    pass.wrapped
}

impl<'a> Pass<'a> {
    fn line(&mut self, at: usize, line: &'a str) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if self.in_block(text) {
            return self.keep(line);
        }
        if text.is_empty() {
            self.close();
            return self.keep(line);
        }
        if self.open.is_none() && self.is_indented_code(indent) {
            return self.keep(line);
        }
        let first_word = text.split([' ', '\t']).next().unwrap_or_default();
        if let Some(marker) = list_marker(text) {
            self.close();
            let content = indent + marker;
            self.item = Some(content);
            if starts_a_block(text[marker..].split(' ').next().unwrap_or_default()) {
                return self.keep(line);
            }
            return self.begin(at, line, &line[..content], " ".repeat(content));
        }
        if starts_a_block(first_word) || text.starts_with("[^") || is_definition(text) {
            return self.block(line, text);
        }
        match &mut self.open {
            Some(paragraph) => paragraph.lines.push(line),
            None => {
                if indent == 0 {
                    self.item = None;
                }
                self.begin(at, line, &line[..indent], line[..indent].to_owned());
            }
        }
    }

    /// Whether the line belongs to code or HTML that an earlier line began.
    fn in_block(&mut self, text: &str) -> bool {
        if let Some(fence) = self.fence {
            let mark = &fence[..1];
            if text.starts_with(fence) && text.trim_end().trim_start_matches(mark).is_empty() {
                self.fence = None;
            }
            return true;
        }
        if let Some(end) = self.html {
            if end.is_empty() && text.is_empty() || !end.is_empty() && text.contains(end) {
                self.html = None;
            }
            return true;
        }
        false
    }

    /// Four columns further in than the text around it.
    fn is_indented_code(&self, indent: usize) -> bool {
        indent >= self.item.filter(|content| indent >= *content).unwrap_or(0) + 4
    }

    /// A line that is no paragraph's: it ends the one before.
    fn block(&mut self, line: &'a str, text: &'a str) {
        let underlines =
            text.trim_end().chars().all(|c| c == '=') || text.trim_end().chars().all(|c| c == '-');
        match &mut self.open {
            // The paragraph is a heading: it has to stay one line.
            Some(paragraph) if underlines => {
                let lines: Vec<&str> = std::mem::take(&mut paragraph.lines);
                self.open = None;
                lines.into_iter().for_each(|line| self.keep(line));
            }
            _ => self.close(),
        }
        for mark in ["`", "~"] {
            if text.starts_with(&mark.repeat(3)) {
                let length = text.len() - text.trim_start_matches(mark).len();
                self.fence = Some(&text[..length]);
            }
        }
        if text.starts_with("<!--") {
            self.html = (!text.contains("-->")).then_some("-->");
        } else if text.starts_with('<') {
            self.html = Some("");
        }
        self.keep(line);
    }

    fn begin(&mut self, at: usize, line: &'a str, first: &'a str, rest: String) {
        self.open = Some(Paragraph {
            at,
            first,
            rest,
            lines: vec![line],
        });
    }

    fn keep(&mut self, line: &str) {
        self.wrapped.lines.push(line.to_owned());
    }

    /// Ends the open paragraph.
    fn close(&mut self) {
        let Some(paragraph) = self.open.take() else {
            return;
        };
        let wrapped = paragraph.wrapped(self.width);
        match wrapped {
            Some(lines) => {
                self.wrapped.wide.push(paragraph.at);
                self.wrapped.lines.extend(lines);
            }
            None => paragraph.lines.iter().for_each(|line| self.keep(line)),
        }
    }
}

impl Paragraph<'_> {
    /// Its lines anew; `None` when they are to be left.
    fn wrapped(&self, width: usize) -> Option<Vec<String>> {
        let is_wide = self.lines.iter().any(|line| columns(line) > width);
        if !is_wide || self.lines.iter().any(|line| is_drawn(line)) {
            return None;
        }
        let mut text = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            let inner = if at == 0 {
                &line[self.first.len()..]
            } else {
                line.trim_start()
            };
            text.push_str(inner.trim_end());
            text.push(' ');
        }
        let lines = fill(&text, self.first, &self.rest, width);
        (lines
            .iter()
            .map(String::as_str)
            .ne(self.lines.iter().copied()))
        .then_some(lines)
    }
}

/// How long a list item's marker is with the spaces after it.
fn list_marker(text: &str) -> Option<usize> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mark = match digits {
        0 => text.starts_with(['-', '*', '+']).then_some(1)?,
        1..=9 => text[digits..]
            .starts_with(['.', ')'])
            .then_some(digits + 1)?,
        _ => return None,
    };
    let after = &text[mark..];
    let spaces = after.len() - after.trim_start_matches(' ').len();
    let ruler = text.chars().all(|c| "-* ".contains(c)) && text.trim_end().len() > 2;
    (spaces > 0 && spaces <= 4 && after.len() > spaces && !ruler).then_some(mark + spaces)
}

/// `[name]: where it leads`.
fn is_definition(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('[') else {
        return false;
    };
    inner
        .split_once("]:")
        .is_some_and(|(name, _)| !name.contains(']'))
}

/// Lines whose breaks or columns mean something: a hard break, a table, a drawing.
fn is_drawn(line: &str) -> bool {
    let text = line.trim_start();
    let hard_break = line.ends_with("  ") || line.ends_with('\\');
    let aligned = text.trim_end().contains("   ");
    let boxes = text.chars().any(|c| ('\u{2500}'..='\u{257f}').contains(&c));
    hard_break || aligned || boxes || text.starts_with('|') || text.contains('\t')
}
