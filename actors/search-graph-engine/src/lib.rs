//! ServiceGraph: concept vectors learnt from the corpus, a local embedding model, the concept
//! graph.

mod columns;
pub mod embedding;
pub mod fuse;
pub mod graph;
pub mod journal;
pub mod learning;
pub mod manifest;
mod math;
pub mod space;
pub mod suggest;
pub mod thesaurus;

pub use columns::{ColumnError, content_hash, key_hash};
