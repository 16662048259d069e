//! Org-mode pages, which Logseq also writes: headlines, `#+TITLE:`, property drawers,
//! `[[target][label]]`.

use super::logseq::titled;
use super::page::{NoteLink, NotePage, PageBlock};

pub(super) fn page(path: &str, text: &str) -> NotePage {
    let mut page = titled(path);
    let mut in_drawer = false;
    let mut id: Option<String> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        let upper = trimmed.to_uppercase();
        match upper.as_str() {
            ":PROPERTIES:" | ":LOGBOOK:" => in_drawer = true,
            ":END:" => in_drawer = false,
            _ if in_drawer => {
                if upper.starts_with(":ID:") {
                    id = Some(trimmed[4..].trim().to_ascii_lowercase());
                }
            }
            _ if upper.starts_with("#+") => keyword(&trimmed[2..], &mut page),
            _ => {
                let shown = links(line, &mut page);
                if let Some(id) = id.take() {
                    let text = shown.trim_start_matches('*').trim().to_owned();
                    page.blocks.push(PageBlock { id, text });
                }
                let stars = shown.bytes().take_while(|byte| *byte == b'*').count();
                match shown.get(stars..) {
                    // Headlines become an outline, as in the Markdown pages.
                    Some(headline) if stars > 0 && headline.starts_with(' ') => {
                        page.body.push_str(&"\t".repeat(stars - 1));
                        page.body.push('-');
                        page.body.push_str(headline);
                    }
                    _ => page.body.push_str(&shown),
                }
                page.body.push('\n');
            }
        }
    }
    page
}

fn keyword(text: &str, page: &mut NotePage) {
    let Some((key, value)) = text.split_once(':') else {
        return;
    };
    let value = value.trim();
    match key.to_lowercase().as_str() {
        "title" if !value.is_empty() => value.clone_into(&mut page.title),
        "alias" => page
            .aliases
            .extend(value.split(',').map(|name| name.trim().to_owned())),
        "tags" | "filetags" => value.split([',', ':', ' ']).for_each(|tag| page.tag(tag)),
        _ => {}
    }
}

fn links(line: &str, page: &mut NotePage) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once("[[") {
        out.push_str(before);
        let Some((inner, after)) = link.split_once("]]") else {
            out.push_str("[[");
            rest = link;
            continue;
        };
        let (target, label) = inner.split_once("][").unwrap_or((inner, inner));
        if !target.contains("://") && !target.starts_with("file:") {
            page.link(NoteLink::Page(target.to_owned()));
        }
        out.push_str(label);
        rest = after;
    }
    out.push_str(rest);
    out
}
