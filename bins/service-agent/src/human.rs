//! Answers for people: plain text where the output is no terminal.

use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
pub(crate) use command_line::print_note;
use search_core::answer::{
    AnswerStatus, Explanation, IndexProgress, PassageView, RoleList, SearchAnswer, SearchResult,
};
use search_core::passages::places_without_passage;

const TITLE: Style = Style::new().bold();
const MATCH: Style = AnsiColor::Yellow.on_default().bold();
const FAINT: Style = Style::new().dimmed();

/// Whether colours are used: a terminal, and nobody said no (<https://no-color.org>).
pub(crate) fn colours(no_color: Option<&str>) -> bool {
    std::io::stdout().is_terminal() && no_color.is_none_or(str::is_empty)
}

/// A piece of an answer, at once and without a line end; line ends inside stay. A reader that has
/// left is noticed at the end.
pub(crate) fn print_chunk(text: &str) {
    let lines: Vec<String> = text.split('\n').map(clean).collect();
    let mut out = std::io::stdout().lock();
    let _ = write!(out, "{}", lines.join("\n")).and_then(|()| out.flush());
}

/// The answer of a search; `budget` is that of its passages.
pub(crate) fn answer(answer: &SearchAnswer, budget: usize, colours: bool) -> String {
    let mut text = String::new();
    if let Some(passages) = &answer.passages {
        passages
            .iter()
            .for_each(|passage| text += &passage_lines(passage, colours));
        return text + &remaining_lines(answer, passages, budget) + &summary(answer, colours);
    }
    for result in &answer.results {
        text += &result_lines(result, colours);
    }
    text += &summary(answer, colours);
    text
}

/// The places of the results that no passage is shown of.
fn remaining_lines(answer: &SearchAnswer, passages: &[PassageView], budget: usize) -> String {
    let has_passage =
        |result: &&SearchResult| passages.iter().any(|passage| passage.id == result.id);
    let place = |result: &&SearchResult| {
        let place = result.path.as_deref().unwrap_or(&result.url);
        match result.line {
            Some(line) => format!("{}:{line}", clean(place)),
            None => clean(place),
        }
    };
    let places = places_without_passage(answer.results.iter(), has_passage, place, budget);
    if places.is_empty() {
        return String::new();
    }
    format!("also found:\n{}\n\n", places.join("\n"))
}

/// A passage below its place.
fn passage_lines(passage: &PassageView, colours: bool) -> String {
    let place = passage.path.as_deref().unwrap_or(&passage.url);
    let lines = match (passage.line, passage.end_line) {
        (Some(line), Some(end)) if line < end => format!(":{line}-{end}"),
        (Some(line), _) => format!(":{line}"),
        _ => String::new(),
    };
    let place = paint(TITLE, &format!("{}{lines}", clean(place)), colours);
    format!("{place}\n{}\n\n", clean_lines(&passage.text))
}

fn result_lines(result: &SearchResult, colours: bool) -> String {
    let place = result.path.as_deref().unwrap_or(&result.url);
    let line = result
        .line
        .map(|line| format!(":{line}"))
        .unwrap_or_default();
    let title = paint(TITLE, &clean(&result.title), colours);
    let place = paint(FAINT, &format!("{}{line}", clean(place)), colours);
    let defines = result.definition.as_ref().map(|found| {
        let text = format!(" · defines {} {}", found.kind.as_str(), clean(&found.name));
        paint(FAINT, &text, colours)
    });
    let snippet = marked(&result.snippet, &result.highlights, colours);
    let explanation = result.explanation.as_ref().map(explained);
    format!(
        "{:>2}. {title}\n    {place}{}\n    {snippet}\n{}\n",
        result.rank,
        defines.unwrap_or_default(),
        explanation.unwrap_or_default()
    )
}

/// A line for each part of a score.
fn explained(explanation: &Explanation) -> String {
    let mut text = format!("    score {:.3}\n", explanation.score);
    for part in &explanation.parts {
        let mut line = format!("      {:>7.3}  {} {}", part.score, part.kind, part.term);
        if let (Some(frequency), Some(documents)) = (part.frequency, part.documents) {
            line += &format!(" · {frequency} times · in {documents} documents");
        }
        if !part.fields.is_empty() {
            line += &format!(" · {}", part.fields.join(", "));
        }
        if let Some(note) = &part.note {
            line += &format!(" · {note}");
        }
        text += &clean(&line);
        text.push('\n');
    }
    text
}

fn summary(answer: &SearchAnswer, colours: bool) -> String {
    let mut text = match answer.total {
        0 if answer.indexing => "nothing found yet".to_owned(),
        0 => "nothing found".to_owned(),
        total => format!("{} of {total} shown", answer.results.len()),
    };
    text += &format!(
        " · {} · {} · {:.1} ms",
        clean(&answer.role),
        answer.relevance_function,
        answer.took_ms
    );
    let mut text = paint(FAINT, &text, colours);
    if answer.status == AnswerStatus::PartialSuccess {
        for source in answer
            .sources
            .iter()
            .filter(|source| source.error.is_some())
        {
            text += &format!(
                "\n! {}: {}",
                clean(&source.name),
                clean(source.error.as_deref().unwrap_or_default())
            );
        }
    }
    for source in &answer.sources {
        if let Some(progress) = source.indexing {
            text += &format!("\n! {}", still_indexed(&source.name, progress));
        }
    }
    for note in &answer.notes {
        text += &format!("\n! {}", clean(note));
    }
    text + "\n"
}

/// What is said of a source whose documents are not all found yet.
fn still_indexed(name: &str, progress: IndexProgress) -> String {
    let name = clean(name);
    match progress.total {
        0 => format!("{name} is still being indexed: ask again for all of it"),
        total => format!(
            "{name} is still being indexed ({} of {total} files): ask again for all of it",
            progress.done
        ),
    }
}

/// The roles and their sources.
pub(crate) fn roles(list: &RoleList, colours: bool) -> String {
    let mut text = String::new();
    for role in &list.roles {
        let default = if role.name == list.default_role {
            " (default)"
        } else {
            ""
        };
        let name = paint(TITLE, &clean(&role.name), colours);
        text += &format!("{name}{default} · {}\n", role.relevance_function);
        for haystack in &role.haystacks {
            let line = format!(
                "{} · {} · {}",
                haystack.name, haystack.service, haystack.location
            );
            text += &format!("    {}\n", clean(&line));
        }
    }
    text
}

fn paint(style: Style, text: &str, colours: bool) -> String {
    if colours {
        format!("{style}{text}{style:#}")
    } else {
        text.to_owned()
    }
}

/// The snippet with its matches marked. `ranges` are in characters.
fn marked(snippet: &str, ranges: &[[usize; 2]], colours: bool) -> String {
    let characters: Vec<char> = snippet.chars().collect();
    let mut text = String::new();
    let mut at = 0;
    for &[start, end] in ranges {
        if start < at || end <= start || end > characters.len() {
            continue;
        }
        text += &clean(&characters[at..start].iter().collect::<String>());
        text += &paint(
            MATCH,
            &clean(&characters[start..end].iter().collect::<String>()),
            colours,
        );
        at = end;
    }
    text + &clean(&characters[at..].iter().collect::<String>())
}

/// Text of documents is data: control characters could steer the terminal, and directional
/// overrides could turn a path around. They are written out: `<U+202E>`.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\n' | '\t') {
            out.push(' ');
        } else {
            command_line::terminal::text::push_visible(&mut out, c);
        }
    }
    out
}

/// The same for a text of several lines.
pub(crate) fn clean_lines(text: &str) -> String {
    command_line::terminal::text::visible(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> SearchResult {
        SearchResult {
            title: "Or\u{1b}[31mbit".into(),
            path: Some("/notes/orbit.md".into()),
            line: Some(3),
            rank: 1,
            snippet: "naïve orbit of é".into(),
            highlights: vec![[6, 11], [99, 100]],
            ..SearchResult::default()
        }
    }

    #[test]
    fn i16_a_result_says_what_it_defines() {
        let definition = r#"{"name": "retry\u001b[1m_for", "kind": "function", "line": 3}"#;
        let result = SearchResult {
            definition: serde_json::from_str(definition).unwrap(),
            ..result()
        };
        let text = result_lines(&result, false);
        let place = "/notes/orbit.md:3 · defines function retry<U+001B>[1m_for\n";
        assert!(text.contains(place), "{text:?}");
    }

    #[test]
    fn s16_documents_cannot_steer_the_terminal() {
        let text = result_lines(&result(), false);
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert_eq!(clean("a\u{202e}b\rc"), "a<U+202E>b<U+000D>c");
    }

    #[test]
    fn y4_nothing_found_while_indexing_says_how_far_it_is() {
        let text = r#"{"status": "success", "results": [], "total": 0, "took_ms": 1.0, "role": "R", "relevance_function": "BM25",
            "indexing": true, "sources": [{"name": "Files", "service": "LocalFiles", "took_ms": 1.0, "hits": 0,
            "indexing": {"done": 120, "total": 3000, "bytes": 1}}]}"#;
        let found: SearchAnswer = serde_json::from_str(text).unwrap();
        let shown = answer(&found, 1_000, false);
        assert!(shown.starts_with("nothing found yet · R"), "{shown}");
        assert!(
            shown.contains("! Files is still being indexed (120 of 3000 files): ask again"),
            "{shown}"
        );
    }

    #[test]
    fn matches_are_marked_by_characters() {
        let text = result_lines(&result(), true);
        assert!(
            text.contains(&format!("naïve {MATCH}orbit{MATCH:#} of é")),
            "{text:?}"
        );
        let plain = result_lines(&result(), false);
        assert!(
            plain.contains("    /notes/orbit.md:3\n    naïve orbit of é\n"),
            "{plain:?}"
        );
    }
}
