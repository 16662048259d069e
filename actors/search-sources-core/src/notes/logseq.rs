//! Logseq: an outline of blocks, properties with `::`, references by id, journals by file name.

use super::inline::plain;
use super::obsidian::name;
use super::page::{NotePage, PageBlock};

/// Properties that say how a block looks, not what it says.
const TECHNICAL: [&str; 8] = [
    "id",
    "collapsed",
    "heading",
    "background-color",
    "logseq.order-list-type",
    "created-at",
    "updated-at",
    "public",
];

/// Reads one page in Markdown; `path` is its path inside the graph.
pub(super) fn page(path: &str, text: &str) -> NotePage {
    let mut page = titled(path);
    let mut outline = Outline::default();
    for line in text.lines() {
        outline.line(line, &mut page);
    }
    outline.end_block(&mut page);
    page
}

/// Title and journal day from the file's name.
pub(super) fn titled(path: &str) -> NotePage {
    let file = name(path);
    let journal = path
        .starts_with("journals/")
        .then(|| file.replace('_', "-"));
    let title = journal
        .clone()
        .unwrap_or_else(|| percent(&file.replace("___", "/")));
    NotePage {
        path: path.to_owned(),
        title,
        journal,
        ..NotePage::default()
    }
}

/// What the outline reader knows between lines.
#[derive(Default)]
struct Outline {
    /// Blocks begun so far; before the first one, properties are the page's.
    blocks: usize,
    /// The open block has text of its own (properties are not counted).
    has_text: bool,
    id: Option<String>,
    text: String,
    fence: bool,
    /// Inside `:LOGBOOK:` … `:END:`.
    drawer: bool,
}

impl Outline {
    fn line(&mut self, line: &str, page: &mut NotePage) {
        let trimmed = line.trim_start();
        let bullet = trimmed
            .strip_prefix("- ")
            .or_else(|| (trimmed == "-").then_some(""));
        if let Some(first) = bullet.filter(|_| !self.fence) {
            self.end_block(page);
            self.blocks += 1;
            let depth = line.len() - trimmed.len();
            page.body.push_str(&line[..depth]);
            page.body.push_str("- ");
            self.content(first, page);
            return;
        }
        self.content(trimmed, page);
    }

    fn content(&mut self, content: &str, page: &mut NotePage) {
        if content.starts_with("```") {
            self.fence = !self.fence;
        } else if !self.fence {
            if self.drawer(content) {
                return;
            }
            if let Some((key, value)) = property(content) {
                self.property(&key, value, page);
                return;
            }
        }
        let shown = if self.fence || content.starts_with("```") {
            content.to_owned()
        } else {
            plain(content, page)
        };
        self.has_text |= !shown.trim().is_empty();
        self.text.push_str(&shown);
        self.text.push('\n');
        page.body.push_str(&shown);
        page.body.push('\n');
    }

    fn drawer(&mut self, content: &str) -> bool {
        if content.trim() == ":LOGBOOK:" {
            self.drawer = true;
            return true;
        }
        let inside = self.drawer;
        if content.trim() == ":END:" {
            self.drawer = false;
        }
        inside
    }

    fn property(&mut self, key: &str, value: &str, page: &mut NotePage) {
        if key == "id" {
            self.id = Some(value.to_ascii_lowercase());
        }
        if TECHNICAL.contains(&key) {
            return;
        }
        // The first block, when it holds nothing else, is the page's.
        let of_page = self.blocks <= 1 && !self.has_text;
        match (of_page, key) {
            (true, "title") => value.trim().clone_into(&mut page.title),
            (true, "alias" | "aliases") => page.aliases.extend(names(value)),
            (_, "tags") => {
                for tag in names(value) {
                    page.tag(&tag);
                    page.link(super::page::NoteLink::Page(tag));
                }
            }
            (_, key) => {
                let shown = plain(value, page);
                if of_page {
                    page.properties.push((key.to_owned(), shown.clone()));
                }
                let line = format!("{key}: {shown}\n");
                self.text.push_str(&line);
                page.body.push_str(&line);
            }
        }
    }

    fn end_block(&mut self, page: &mut NotePage) {
        if let Some(id) = self.id.take() {
            let text = self.text.trim().to_owned();
            page.blocks.push(PageBlock { id, text });
        }
        if self.blocks > 0 && !page.body.ends_with('\n') {
            page.body.push('\n');
        }
        self.text.clear();
        self.has_text = false;
        self.drawer = false;
    }
}

/// `key:: value`; keys are one word.
fn property(line: &str) -> Option<(String, &str)> {
    let (key, value) = line.split_once("::")?;
    let is_key = !key.is_empty()
        && key.len() <= 60
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'));
    (is_key && (value.is_empty() || value.starts_with(' ')))
        .then(|| (key.to_lowercase(), value.trim()))
}

/// `a, [[b, c]], #d`: names between commas that are not inside brackets.
fn names(value: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut depth = 0_i32;
    for c in value.chars() {
        depth += i32::from(c == '[') - i32::from(c == ']');
        match (c, found.last_mut()) {
            (',', _) if depth == 0 => found.push(String::new()),
            (c, Some(last)) => last.push(c),
            (_, None) => {}
        }
    }
    let clean = found.iter().map(|name| {
        name.trim()
            .trim_start_matches('#')
            .replace("[[", "")
            .replace("]]", "")
    });
    clean.filter(|name| !name.is_empty()).collect()
}

fn percent(text: &str) -> String {
    let pairs = [
        ("%2F", "/"),
        ("%3A", ":"),
        ("%3F", "?"),
        ("%22", "\""),
        ("%7C", "|"),
        ("%2A", "*"),
        ("%23", "#"),
        ("%3C", "<"),
        ("%3E", ">"),
        ("%25", "%"),
    ];
    pairs.iter().fold(text.to_owned(), |text, (code, plain)| {
        text.replace(code, plain)
            .replace(&code.to_lowercase(), plain)
    })
}

/// Paths that `logseq/config.edn` hides (`:hidden ["/archive" "/x.md"]`), without their first
/// slash.
pub fn hidden(config: &str) -> Vec<String> {
    let lines = config
        .lines()
        .map(|line| line.split(';').next().unwrap_or_default());
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let Some((_, rest)) = text.split_once(":hidden") else {
        return Vec::new();
    };
    let Some(list) = rest
        .trim_start()
        .strip_prefix('[')
        .and_then(|list| list.split(']').next())
    else {
        return Vec::new();
    };
    let quoted = list.split('"').skip(1).step_by(2);
    quoted
        .map(|path| path.trim_start_matches('/').to_owned())
        .filter(|path| !path.is_empty())
        .collect()
}
