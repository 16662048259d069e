//! Documents and comments are at most 100 columns wide: text that an editor could put on more
//! lines, not tables, headings, code, links and drawings.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Options, Parser, TagEnd};

use super::finding::Finding;
use super::rust_text::line_comments;

/// The widest line.
const WIDTH: usize = 100;

/// Pages that are written by `cargo xtask docs`: their generators say how wide they are.
const GENERATED: [&str; 2] = ["docs/CLI.md", "docs/CONFIG.md"];

/// Where Markdown is data, not documentation.
const DATA: [&str; 2] = ["config-samples/", "integration-tests/fuzz/seeds/"];

/// Checks one file: one finding for all its wide lines.
pub(super) fn check(path: &str, text: &str) -> Option<Finding> {
    if GENERATED.contains(&path) || DATA.iter().any(|folder| path.starts_with(folder)) {
        return None;
    }
    let wide = if path.ends_with(".rs") {
        wide_comments(text)
    } else if path.ends_with(".md") {
        wide_lines(text, WIDTH)
    } else {
        return None;
    };
    let first = wide.first()?;
    let count = wide.len();
    let text = format!("{count} lines of text are wider than {WIDTH} columns: break them");
    Some(Finding::error(format!("{path}:{}", first + 1), text))
}

/// The lines of Markdown, from 0, that are wider and could be broken at a space.
fn wide_lines(text: &str, width: usize) -> BTreeSet<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let is_wide = |line: &&str| columns(line) > width && !is_drawn(line);
    // Most texts have none, and need not be read closer.
    if !lines.iter().any(is_wide) {
        return BTreeSet::new();
    }
    let mut found = BTreeSet::new();
    let (mut line, mut counted, mut inside_other) = (0, 0, 0_usize);
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(tag) => inside_other += usize::from(stays(&tag.to_end())),
            Event::End(tag) => inside_other -= usize::from(stays(&tag)),
            Event::Text(words) if inside_other == 0 && words.contains(' ') => {
                line += text[counted..range.start].matches('\n').count();
                counted = range.start;
                found.extend(lines.get(line).filter(|text| is_wide(text)).map(|_| line));
            }
            _ => {}
        }
    }
    found
}

/// Whether text in there has to stay on the lines it is on.
fn stays(tag: &TagEnd) -> bool {
    let is_text = matches!(
        tag,
        TagEnd::Paragraph
            | TagEnd::Item
            | TagEnd::List(_)
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image
    );
    !is_text
}

/// The lines of Rust, from 0, whose comment is too wide: each run of `//`, `///` or `//!` lines is
/// Markdown behind its marker.
fn wide_comments(source: &str) -> BTreeSet<usize> {
    let lines: Vec<&str> = source.lines().collect();
    let is_wide = |line: &&str| columns(line) > WIDTH && marker(line).is_some();
    if !lines.iter().any(is_wide) {
        return BTreeSet::new();
    }
    let comments = line_comments(source);
    let marked = |at: usize| lines.get(at).filter(|_| comments.contains(&at));
    let (mut found, mut at) = (BTreeSet::new(), 0);
    while at < lines.len() {
        let Some(marker) = marked(at).and_then(|line| self::marker(line)) else {
            at += 1;
            continue;
        };
        let same = |at: &usize| marked(*at).and_then(|line| self::marker(line)) == Some(marker);
        let run: Vec<&str> = (at..).take_while(same).map(|at| lines[at]).collect();
        let inner: Vec<&str> = run.iter().map(|line| &line[marker.len()..]).collect();
        // Text that begins without the one space is no prose: a ruler, or code that is off.
        if inner
            .iter()
            .all(|text| text.is_empty() || text.starts_with(' '))
        {
            let inner: Vec<&str> = inner
                .iter()
                .map(|text| text.strip_prefix(' ').unwrap_or(text))
                .collect();
            let room = WIDTH.saturating_sub(columns(marker) + 1);
            found.extend(
                wide_lines(&inner.join("\n"), room)
                    .iter()
                    .map(|line| at + line),
            );
        }
        at += run.len();
    }
    found
}

/// The indentation and the marker of a comment line.
fn marker(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let markers = ["///", "//!", "//"];
    let marker = markers
        .into_iter()
        .find(|marker| text.starts_with(marker))?;
    Some(&line[..line.len() - text.len() + marker.len()])
}

/// How wide the text is shown, near enough: one column a character.
fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Lines whose breaks or columns mean something: a hard break, a drawing.
fn is_drawn(line: &str) -> bool {
    let hard_break = line.ends_with("  ") || line.ends_with('\\');
    let aligned = line.trim().contains("   ") || line.contains('\t');
    hard_break || aligned || line.chars().any(|c| ('\u{2500}'..='\u{257f}').contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(found: &BTreeSet<usize>) -> Vec<usize> {
        found.iter().copied().collect()
    }

    #[test]
    fn text_that_could_be_broken_is_found() {
        for (text, expected) in [
            ("one two three four five six", vec![0]),
            ("short\nlines\nstay", vec![]),
            ("a\nparagraph with one line too wide\nis found", vec![1]),
            (
                "- one two three four five\n- six\n\n  seven eight nine ten eleven",
                vec![0, 3],
            ),
            (
                "10. one two three four\nlazy\n    11) inner one two three",
                vec![0, 2],
            ),
            ("größe größe größe größe x", vec![0]),
            ("call it by `cargo xtask tidy` now", vec![0]),
            ("```\ncode\n```\none two three four five", vec![3]),
            ("| a |\n|---|\n\n- one two three four five", vec![3]),
        ] {
            assert_eq!(lines(&wide_lines(text, 20)), expected, "{text}");
        }
    }

    #[test]
    fn everything_that_is_no_paragraph_may_be_wide() {
        for text in [
            "averyveryverylongwordthatfits\nnowhere",
            "so\n`a code span of many words`",
            "# a heading that is wider than it should be",
            "a heading of the other kind, too wide\n=====",
            "| a table | with cells | that are wide |\n|---|---|---|",
            "```text\na line of code that is wider than that\n\n```",
            "    a line of code that is wider than that",
            "- item\n\n      code in an item is wider than that",
            "<p>a paragraph of HTML that is wide</p>\nand more of it, which is wide too",
            "<!-- a comment\nwhich is as wide as that and more\n\n-->",
            "[name]: https://example.org/a/far/away/page",
            "a line with a hard break at its end  \nand another",
            "a line with a hard break at its end\\\nand another",
            "┌─────────────┐ a drawing │ with boxes",
            "key          aligned in columns, wide",
            "> a quotation that is wider than it should be",
        ] {
            assert_eq!(lines(&wide_lines(text, 20)), [0; 0], "{text}");
        }
    }

    #[test]
    fn comments_are_read_behind_their_marker() {
        let words = "word ".repeat(30);
        for (text, expected) in [
            (format!("//! a\n//!\n//! {words}"), vec![2]),
            (format!("f();\n    // {words}\n    f();"), vec![1]),
            (format!("/// - a\n///   {words}\n/// - b"), vec![1]),
            (format!("f(); // {words}"), vec![]),
            (format!("let text = \"\n// {words}\n\";"), vec![]),
            (format!("//{words}"), vec![]),
            (format!("/// ```\n/// {words}\n/// ```"), vec![]),
            (format!("/// | {words} | b |\n/// |---|---|"), vec![]),
            (
                format!("{}// {}", " ".repeat(20), "word ".repeat(16)),
                vec![0],
            ),
        ] {
            assert_eq!(lines(&wide_comments(&text)), expected, "{text}");
        }
    }

    #[test]
    fn a_file_has_one_finding_at_its_first_wide_line() {
        let wide = "word ".repeat(30);
        let text = format!("# A\n\nshort\n\n{wide}\n\n{wide}\n");
        let finding = check("docs/A.md", &text).expect("it is wide");
        assert_eq!(finding.place, "docs/A.md:5");
        assert!(
            finding
                .text
                .starts_with("2 lines of text are wider than 100 columns")
        );
        assert_eq!(check("docs/A.md", "short\n"), None);
        assert_eq!(check("docs/CLI.md", &text), None);
        assert_eq!(check("config-samples/a.md", &text), None);
        assert_eq!(check("a.toml", &text), None);
    }
}
