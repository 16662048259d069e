//! From what a source says to items that can be indexed or shown; pure, so that each format is a
//! table of tests.
//!
//! ```text
//! files of a vault ──notes──▶ Page, Link ──Vault──▶ Item      (Logseq, Obsidian)
//! output, lines    ──tasks──▶ Item                            (Taskwarrior, todo.txt, Beads)
//! lists of names   ──docs───▶ Vec<Item>                       (Sphinx, rustdoc, DevDocs)
//! JSON answers     ──remote─▶ Vec<Item>, what to ask next      (forges, communities, knowledge bases, engines)
//! ```
//!
//! [`mcp`] is the Model Context Protocol, by which some of those servers are asked and this one can
//! be.
//!
//! Everything here comes from outside and is data: sizes are bounded by the caller before parsing,
//! unknown fields are ignored, a missing or wrong one costs that item and is counted
//! ([`SkippedItems`]).

mod date;
pub mod docs;
mod item;
pub mod mcp;
pub mod notes;
pub mod remote;
pub mod tasks;

pub use item::{ItemLink, ParsedItems, SkippedItems, SourceDataError, SourceItem};
