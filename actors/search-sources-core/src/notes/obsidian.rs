//! Obsidian: Markdown with YAML properties, wiki links, block ids at line ends, comments and
//! callouts.

use super::front;
use super::inline::plain;
use super::page::{NoteLink, NotePage, PageBlock};

/// Reads one note; `path` is its path inside the vault.
pub(super) fn page(path: &str, text: &str) -> NotePage {
    let mut page = NotePage {
        path: path.to_owned(),
        title: name(path).to_owned(),
        ..NotePage::default()
    };
    let (entries, markdown) = front::split(text);
    for (key, values) in entries {
        property(&key, &values, &mut page);
    }
    if is_day(&page.title) {
        page.journal = Some(page.title.clone());
    }
    body(markdown, &mut page);
    page
}

fn property(key: &str, values: &[String], page: &mut NotePage) {
    match key {
        "aliases" | "alias" => page.aliases.extend(values.iter().cloned()),
        "tags" | "tag" => {
            // One string may hold several.
            for tag in values.iter().flat_map(|value| value.split([',', ' '])) {
                page.tag(tag);
            }
        }
        _ => {
            for value in values {
                let shown = plain(value, page);
                page.properties.push((key.to_owned(), shown));
            }
        }
    }
}

fn body(markdown: &str, page: &mut NotePage) {
    let mut fence: Option<&str> = None;
    let mut in_comment = false;
    for line in markdown.lines() {
        let trimmed = line.trim_start();
        if let Some(open) = fence {
            if trimmed.starts_with(open) {
                fence = None;
            }
            push(line, page);
            continue;
        }
        if !in_comment && (trimmed.starts_with("```") || trimmed.starts_with("~~~")) {
            fence = Some(&trimmed[..3]);
            push(line, page);
            continue;
        }
        let visible = without_comments(line, &mut in_comment);
        let visible = callout(&visible);
        let (visible, id) = block_id(visible);
        let shown = plain(visible, page);
        if let Some(id) = id {
            let text = shown.trim().to_owned();
            page.blocks.push(PageBlock {
                id: id.to_ascii_lowercase(),
                text,
            });
        }
        push(&shown, page);
    }
}

fn push(line: &str, page: &mut NotePage) {
    page.body.push_str(line);
    page.body.push('\n');
}

/// `%% … %%`, over several lines too.
fn without_comments(line: &str, in_comment: &mut bool) -> String {
    let mut out = String::new();
    for (number, part) in line.split("%%").enumerate() {
        if number > 0 {
            *in_comment = !*in_comment;
        }
        if !*in_comment {
            out.push_str(part);
        }
    }
    out
}

/// `> [!warning]- Title` is read as `> Title`.
fn callout(line: &str) -> &str {
    let Some((quote, rest)) = line.split_once("[!") else {
        return line;
    };
    if quote.trim_matches([' ', '>', '\t']).is_empty() && quote.contains('>') {
        let title = rest.split_once(']').map_or(rest, |(_, title)| title);
        return title.trim_start_matches(['-', '+']).trim_start();
    }
    line
}

/// `text ^id` at a line's end.
fn block_id(line: &str) -> (&str, Option<&str>) {
    let line = line.trim_end();
    let Some((text, id)) = line.rsplit_once('^') else {
        return (line, None);
    };
    let is_id = !id.is_empty()
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_id && (text.is_empty() || text.ends_with(' ')) {
        return (text.trim_end(), Some(id));
    }
    (line, None)
}

/// File name without folder and ending.
pub(super) fn name(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.rsplit_once('.').map_or(file, |(name, _)| name)
}

/// `2026-11-21`, what the daily notes are called by default.
fn is_day(name: &str) -> bool {
    let digits =
        |part: &str, count: usize| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = name.split('-').collect();
    matches!(parts.as_slice(), [y, m, d] if digits(y, 4) && digits(m, 2) && digits(d, 2))
}

/// Whether a link names this kind of file, which is no note.
pub(super) fn is_attachment(link: &NoteLink) -> bool {
    let NoteLink::Page(name) = link else {
        return false;
    };
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| {
        [
            "png", "jpg", "jpeg", "gif", "svg", "webp", "pdf", "mp3", "mp4", "canvas", "base",
        ]
        .contains(&ending.as_str())
    })
}
