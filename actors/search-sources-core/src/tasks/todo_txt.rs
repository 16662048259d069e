//! todo.txt: a line a task.

use super::labelled;
use crate::date;
use crate::item::{ParsedItems, SourceItem, line};

/// Reads a todo.txt file. The key of a task is its text without state, priority and dates, so that
/// finishing it keeps its key; equal texts are numbered.
pub fn todo_txt(text: &str) -> ParsedItems {
    let mut parsed = ParsedItems::default();
    let mut seen = std::collections::HashMap::<String, usize>::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut item = task(line);
        if item.title.is_empty() {
            parsed.skipped.add("a task without a text");
            continue;
        }
        let count = seen.entry(item.key.clone()).or_default();
        *count += 1;
        if *count > 1 {
            item.key = format!("{} ({count})", item.key);
        }
        parsed.items.push(item);
    }
    parsed
}

fn task(text: &str) -> SourceItem {
    let (done, rest) = match text.strip_prefix("x ") {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    let (priority, rest) = priority(rest);
    let (first, rest) = leading_date(rest);
    // A finished task may have two: finished, begun.
    let (second, rest) = leading_date(rest);
    let mut tags = vec![format!(
        "status:{}",
        if done { "completed" } else { "pending" }
    )];
    tags.extend(priority.and_then(|priority| labelled("priority", priority)));
    let mut body = Vec::new();
    for word in rest.split_whitespace() {
        if let Some(project) = word.strip_prefix('+') {
            tags.extend(labelled("project", project));
        } else if let Some(context) = word.strip_prefix('@').filter(|context| !context.is_empty()) {
            tags.push(format!("@{context}"));
        } else if let Some((key, value)) = pair(word) {
            match key {
                "due" => body.push(format!("Due: {value}")),
                "pri" => tags.extend(labelled("priority", value)),
                _ => tags.push(word.to_owned()),
            }
        }
    }
    SourceItem {
        key: line(rest, 200),
        title: line(rest, 300),
        body: body.join("\n"),
        tags,
        modified: first.or(second),
        ..SourceItem::default()
    }
}

fn priority(text: &str) -> (Option<&str>, &str) {
    match text.as_bytes() {
        [b'(', letter, b')', b' ', ..] if letter.is_ascii_uppercase() => {
            (Some(&text[1..2]), text[4..].trim_start())
        }
        _ => (None, text),
    }
}

fn leading_date(text: &str) -> (Option<i64>, &str) {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match date::day(word) {
        Some(day) if word.len() == 10 => (Some(day), rest.trim_start()),
        _ => (None, text),
    }
}

/// `key:value`, which is no URL.
fn pair(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once(':')?;
    let plain = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (plain && !value.is_empty() && !value.starts_with("//")).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_kind() {
        let parsed = todo_txt(
            "(A) 2026-11-01 Call Ada +rocket @phone due:2026-12-01 http://x.org:80/a\nx 2026-11-21 2026-11-01 Call Ada +rocket @phone due:2026-12-01 http://x.org:80/a\n\nx \n(b) not a priority\n",
        );
        let first = &parsed.items[0];
        assert_eq!(
            first.title,
            "Call Ada +rocket @phone due:2026-12-01 http://x.org:80/a"
        );
        assert_eq!(
            first.tags,
            ["status:pending", "priority:A", "project:rocket", "@phone"]
        );
        assert_eq!(
            (first.body.as_str(), first.modified),
            ("Due: 2026-12-01", date::day("2026-11-01"))
        );
        let second = &parsed.items[1];
        assert_eq!(
            (second.key.clone(), second.modified),
            (format!("{} (2)", first.key), date::day("2026-11-21"))
        );
        assert_eq!(second.tags[0], "status:completed");
        assert_eq!(parsed.items.last().unwrap().title, "(b) not a priority");
    }

    #[test]
    fn a_finished_task_keeps_its_key() {
        let open = todo_txt("(B) water plants");
        let done = todo_txt("x 2026-11-21 water plants");
        assert_eq!(open.items[0].key, done.items[0].key);
    }
}
