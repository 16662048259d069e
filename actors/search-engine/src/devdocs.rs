//! A DevDocs folder: `index.json` and `db.json`, read once and again when they change. Blocking.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use search_core::analysis::folded_line;
use search_sources_core::docs::devdocs_pages;
use search_sources_core::{ParsedItems, SourceItem};

use crate::tasks::{TasksError, read_text};

/// Largest `db.json` that is read, in bytes: the largest of DevDocs has some 50 MB.
const MAX_PAGES: u64 = 96 << 20;

/// Size and time of both files: what is read again when it differs.
type FileStamps = [(u64, Option<SystemTime>); 2];

/// The pages, and what is looked through for words.
#[derive(Debug)]
struct Pages {
    stamp: FileStamps,
    parsed: ParsedItems,
    /// Title and text of each item in small letters.
    texts: Vec<(String, String)>,
}

/// A folder. Clones share what was read.
#[derive(Debug, Clone)]
pub struct DevDocs {
    folder: PathBuf,
    pages: Arc<Mutex<Option<Arc<Pages>>>>,
}

impl DevDocs {
    /// The documentation in `folder`; nothing is read yet.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            pages: Arc::default(),
        }
    }

    /// The pages that hold most of the words, at most `limit`; those with words in the title first.
    ///
    /// # Errors
    /// When a file cannot be read, or is of another shape.
    pub fn find(&self, words: &str, limit: usize) -> Result<ParsedItems, TasksError> {
        let pages = self.pages()?;
        let words: Vec<String> = words.split_whitespace().map(folded_line).collect();
        let mut found: Vec<(usize, usize)> = pages
            .texts
            .iter()
            .enumerate()
            .filter_map(|(at, (title, text))| {
                let score = words.iter().filter(|word| !word.is_empty()).map(|word| {
                    2 * usize::from(title.contains(word.as_str()))
                        + usize::from(text.contains(word.as_str()))
                });
                Some((score.sum(), at)).filter(|(score, _)| *score > 0)
            })
            .collect();
        found.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        let items: Vec<SourceItem> = found
            .into_iter()
            .take(limit)
            .map(|(_, at)| pages.parsed.items[at].clone())
            .collect();
        Ok(ParsedItems {
            items,
            skipped: pages.parsed.skipped.clone(),
        })
    }

    fn pages(&self) -> Result<Arc<Pages>, TasksError> {
        let files = ["index.json", "db.json"].map(|name| self.folder.join(name));
        let stamp = files.each_ref().map(|file| {
            let data = std::fs::metadata(file);
            data.map_or((0, None), |data| (data.len(), data.modified().ok()))
        });
        // Whoever comes second waits for the first, and reads nothing.
        let mut kept = self.pages.lock();
        if let Some(pages) = kept.as_ref().filter(|pages| pages.stamp == stamp) {
            return Ok(Arc::clone(pages));
        }
        let [index, pages] = files.each_ref().map(|file| read_text(file, MAX_PAGES));
        let parsed = devdocs_pages(&index?, &pages?)?;
        let texts = parsed.items.iter().map(|item| {
            let aliases = item.aliases.join("\n");
            let text = format!("{}\n{aliases}\n{}", item.title, item.body);
            (folded_line(&item.title), text.to_lowercase())
        });
        let pages = Arc::new(Pages {
            stamp,
            texts: texts.collect(),
            parsed,
        });
        *kept = Some(Arc::clone(&pages));
        Ok(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        put(
            "index.json",
            r#"{"entries":[{"name":"Array#push","path":"array#push","type":"Array"},{"name":"Array","path":"array","type":"Array"}]}"#,
        );
        put(
            "db.json",
            r#"{"array":"<h1>Array</h1><p>Appends a <b>Valve</b>.","hash":"<p>Holds pairs"}"#,
        );
        let docs = DevDocs::new(folder.path().to_owned());
        let titles = |words: &str| {
            let found = docs.find(words, 5).unwrap().items;
            found.into_iter().map(|item| item.title).collect::<Vec<_>>()
        };
        assert_eq!(titles("valve"), ["Array"]);
        assert_eq!(titles("push"), ["Array"], "by another name of the page");
        assert_eq!(titles("nothing"), [""; 0]);
        put(
            "db.json",
            r#"{"hash":"<p>Holds valves and pairs, and more of them"}"#,
        );
        assert_eq!(titles("valve"), ["hash"]);
        std::fs::remove_file(folder.path().join("db.json")).unwrap();
        assert!(
            docs.find("x", 5)
                .unwrap_err()
                .to_string()
                .contains("db.json")
        );
    }
}
