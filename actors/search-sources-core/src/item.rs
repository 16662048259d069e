//! One thing a source holds, whatever the source.

use serde::{Deserialize, Serialize};

/// A page, task, post, message or resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceItem {
    /// Stable within its source, whatever is edited: a path, an id, a URL.
    pub key: String,
    /// One line; never empty.
    pub title: String,
    /// Plain text or Markdown.
    pub body: String,
    /// Tags, projects, states, as users search for them.
    pub tags: Vec<String>,
    /// Other names of it (aliases), searched like the title.
    pub aliases: Vec<String>,
    /// Where a person can open it.
    pub url: Option<String>,
    /// Seconds since the Unix epoch.
    pub modified: Option<i64>,
    /// What it refers to inside its source.
    pub links: Vec<ItemLink>,
}

/// A reference from one item to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemLink {
    /// Key of the item it leads to, or the name as written when there is none (yet).
    pub target: String,
    /// Whether `target` is a key.
    pub resolved: bool,
}

/// Items, and what was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedItems {
    /// In the source's order.
    pub items: Vec<SourceItem>,
    /// Those that could not be read.
    pub skipped: SkippedItems,
}

/// How many items were left out, and why the first one was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedItems {
    /// Number of items.
    pub count: usize,
    /// The first one's reason.
    pub first: Option<String>,
}

/// Longest key, in characters.
const MAX_KEY: usize = 1000;

impl ParsedItems {
    /// With each item as it promises to be: a key of one line that is not empty, and a title. Items
    /// without a key are counted.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        for item in &mut self.items {
            item.key = line(&item.key, MAX_KEY);
            item.title = line(&item.title, MAX_KEY);
            if item.title.is_empty() {
                item.title.clone_from(&item.key);
            }
        }
        let before = self.items.len();
        self.items.retain(|item| !item.key.is_empty());
        for _ in self.items.len()..before {
            self.skipped.add("an entry without a key");
        }
        self
    }
}

impl SkippedItems {
    /// Counts one more.
    pub fn add(&mut self, reason: impl Into<String>) {
        self.count += 1;
        self.first.get_or_insert_with(|| reason.into());
    }
}

/// A source said something that is not of its format at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceDataError {
    /// Not JSON, or JSON of another shape.
    #[error("{what} answered something else than expected: {reason}")]
    Shape {
        /// Who answered.
        what: &'static str,
        /// What is wrong, with its place where there is one.
        reason: String,
    },
    /// It answered with an error of its own.
    #[error("{what} says: {message}")]
    Refused {
        /// Who answered.
        what: &'static str,
        /// Its message, one line.
        message: String,
    },
}

/// One line of at most `most` characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_made_sound() {
        let item = |key: &str, title: &str| SourceItem {
            key: key.to_owned(),
            title: title.to_owned(),
            ..SourceItem::default()
        };
        let parsed = ParsedItems {
            items: vec![item("a\nb", ""), item(" ", "no key"), item("c", "C")],
            ..ParsedItems::default()
        };
        let sound = parsed.normalized();
        let titles: Vec<&str> = sound.items.iter().map(|item| item.title.as_str()).collect();
        assert_eq!((titles, sound.skipped.count), (vec!["a b", "C"], 1));
    }
}
