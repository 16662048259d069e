//! Notes as Logseq and Obsidian keep them: pages, blocks, links, properties, aliases, tags,
//! journals.
//!
//! One file at a time becomes a [`NotePage`]; a [`Vault`] of all pages resolves names, aliases and
//! block references, and makes [`crate::SourceItem`]s of them.

mod front;
mod inline;
mod logseq;
mod obsidian;
mod org;
mod page;
mod vault;

pub use logseq::hidden as logseq_hidden;
pub use page::{NoteLink, NotePage, PageBlock};
pub use vault::{NotesApp, Vault};
