//! All pages of a vault together: names and references resolved.

use std::collections::{BTreeMap, HashMap};

use super::page::{NoteLink, NotePage};
use super::{logseq, obsidian, org};
use crate::item::{ItemLink, SourceItem, line};

/// Whose notes they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotesApp {
    /// Logseq: `pages/`, `journals/`, `logseq/config.edn`.
    Logseq,
    /// Obsidian: `.obsidian/`; also any folder of Markdown notes with wiki links.
    Obsidian,
}

impl NotesApp {
    /// From the names at the top of the folder.
    pub fn detect<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = names.into_iter();
        if names.any(|name| matches!(name, "logseq" | "journals")) {
            Self::Logseq
        } else {
            Self::Obsidian
        }
    }

    /// Reads one file of notes.
    pub fn page(self, path: &str, text: &str) -> NotePage {
        match self {
            Self::Logseq if path.ends_with(".org") => org::page(path, text),
            Self::Logseq => logseq::page(path, text),
            Self::Obsidian => obsidian::page(path, text),
        }
    }

    /// Whether a file of the vault holds notes: its settings, trash and backups do not.
    pub fn is_note(self, path: &str) -> bool {
        let in_directory = |folder: &str| path.split('/').any(|part| part == folder);
        match self {
            Self::Logseq => {
                let ours = path.ends_with(".md") || path.ends_with(".org");
                ours && !["logseq", ".recycle", "bak"].iter().any(|folder| {
                    path.starts_with(&format!("{folder}/")) || in_directory(".recycle")
                })
            }
            Self::Obsidian => {
                path.ends_with(".md") && !in_directory(".obsidian") && !in_directory(".trash")
            }
        }
    }
}

/// Pages by path; add and remove as files change, ask for items.
#[derive(Debug, Default)]
pub struct Vault {
    pages: BTreeMap<String, NotePage>,
    /// Lower-case names (titles, aliases, paths) to the paths that bear them.
    names: HashMap<String, Vec<String>>,
    /// Block ids to their page.
    blocks: HashMap<String, String>,
}

impl Vault {
    /// Puts a page in, in place of the former one of its path.
    pub fn insert(&mut self, page: NotePage) {
        self.remove(&page.path);
        for name in names(&page) {
            self.names.entry(name).or_default().push(page.path.clone());
        }
        for block in &page.blocks {
            self.blocks.insert(block.id.clone(), page.path.clone());
        }
        self.pages.insert(page.path.clone(), page);
    }

    /// Takes a page out.
    pub fn remove(&mut self, path: &str) {
        let Some(page) = self.pages.remove(path) else {
            return;
        };
        for name in names(&page) {
            if let Some(paths) = self.names.get_mut(&name) {
                paths.retain(|other| other != path);
                if paths.is_empty() {
                    self.names.remove(&name);
                }
            }
        }
        for block in &page.blocks {
            if self
                .blocks
                .get(&block.id)
                .is_some_and(|owner| owner == path)
            {
                self.blocks.remove(&block.id);
            }
        }
    }

    /// Paths of all pages, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.pages.keys().map(String::as_str)
    }

    /// The path a name leads to: an exact path, else a title or alias, else the shortest path that
    /// ends with it.
    pub fn resolve(&self, name: &str) -> Option<&str> {
        let wanted = name.trim().trim_end_matches(".md").to_lowercase();
        if let Some(paths) = self.names.get(&wanted) {
            // Of several the shortest path, then the first: stable whatever the order of insertion.
            let best = paths
                .iter()
                .min_by_key(|path| (path.len(), (*path).clone()));
            return best.map(String::as_str);
        }
        None
    }

    /// One page as an item: references to blocks are replaced by their text, links lead to keys
    /// where there is a page.
    pub fn item(&self, path: &str) -> Option<SourceItem> {
        let page = self.pages.get(path)?;
        let mut links: Vec<ItemLink> = Vec::new();
        for link in &page.links {
            if obsidian::is_attachment(link) {
                continue;
            }
            let link = self.item_link(link);
            if link.target != path && !links.contains(&link) {
                links.push(link);
            }
        }
        let mut tags = page.tags.clone();
        if page.journal.is_some() {
            tags.push("journal".to_owned());
        }
        Some(SourceItem {
            key: path.to_owned(),
            title: line(&page.title, 300),
            body: self.with_blocks(page),
            tags,
            aliases: page.aliases.clone(),
            url: None,
            modified: None,
            links,
        })
    }

    fn item_link(&self, link: &NoteLink) -> ItemLink {
        let (found, written) = match link {
            NoteLink::Page(name) => (self.resolve(name), name),
            NoteLink::Block(id) => (self.blocks.get(id).map(String::as_str), id),
        };
        ItemLink {
            target: found.unwrap_or(written).to_owned(),
            resolved: found.is_some(),
        }
    }

    /// The body with the text of blocks in place of `((id))`, one level deep.
    fn with_blocks(&self, page: &NotePage) -> String {
        let mut body = page.body.clone();
        for link in &page.links {
            let NoteLink::Block(id) = link else {
                continue;
            };
            let text = self.blocks.get(id).and_then(|owner| self.pages.get(owner));
            let text = text.and_then(|owner| owner.blocks.iter().find(|block| block.id == *id));
            let text = text.map_or("", |block| block.text.as_str());
            body = body.replace(&format!("(({id}))"), text);
        }
        body
    }
}

/// What a page can be called in a link: title, aliases, and the ends of its path.
fn names(page: &NotePage) -> Vec<String> {
    let path = page
        .path
        .trim_end_matches(".md")
        .trim_end_matches(".org")
        .to_lowercase();
    let mut names = vec![page.title.to_lowercase(), path.clone()];
    names.extend(page.aliases.iter().map(|alias| alias.to_lowercase()));
    let mut rest = path.as_str();
    while let Some((_, tail)) = rest.split_once('/') {
        names.push(tail.to_owned());
        rest = tail;
    }
    names.sort_unstable();
    names.dedup();
    names
}
