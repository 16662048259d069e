//! What one file of notes says.

/// One page, with names as they are written; the vault resolves them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotePage {
    /// Path inside the vault.
    pub path: String,
    /// Its name.
    pub title: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Tags, without `#`.
    pub tags: Vec<String>,
    /// Properties of the page, in order (`type:: [[Feature]]`, YAML keys).
    pub properties: Vec<(String, String)>,
    /// Markdown without the markup of notes; references to blocks stand as `((id))` until resolved.
    pub body: String,
    /// Links in order of appearance.
    pub links: Vec<NoteLink>,
    /// Blocks that have an id and may be referred to.
    pub blocks: Vec<PageBlock>,
    /// The day, for journals: `2026-11-21`.
    pub journal: Option<String>,
}

/// A link as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteLink {
    /// To a page by name or path; heading and block are left off.
    Page(String),
    /// To a block by id (Logseq).
    Block(String),
}

/// A piece of a page that can be referred to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageBlock {
    /// Its id, in lower case.
    pub id: String,
    /// Its text.
    pub text: String,
}

impl NotePage {
    pub(super) fn link(&mut self, link: NoteLink) {
        if !self.links.contains(&link) && self.links.len() < 10_000 {
            self.links.push(link);
        }
    }

    pub(super) fn tag(&mut self, tag: &str) {
        let tag = tag.trim().trim_start_matches('#');
        if !tag.is_empty()
            && !self
                .tags
                .iter()
                .any(|known| known.eq_ignore_ascii_case(tag))
        {
            self.tags.push(tag.to_owned());
        }
    }
}
