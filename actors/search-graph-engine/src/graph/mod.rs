//! The concept graph: what the documents of a source are about, and what goes together.
//!
//! ```text
//! DocumentFacts ─ Extractor ─► Contribution ─ put / remove ─► ConceptGraph ─► GraphView
//! (title, tags, links, body)   (≤ 24 concepts)                 (this alone)    (concepts, edges, documents)
//! ```
//!
//! The graph holds, for each document, its contribution; everything else follows from that.
//! Indexing a document again replaces its contribution, so the graph never depends on what happened
//! before, on the order of events, or on queries. Edges are not kept: what occurs with a concept is
//! counted when somebody asks, over the documents that hold it. A kept graph is read where it lies
//! in its file; only what has changed since is on the heap.

mod contribution;
mod extract;
mod file;
mod index;
mod keyphrases;
mod mapped;
mod neighbourhood;
mod store;
mod view;

pub use contribution::{ConceptKind, Contribution, MAX_CONCEPTS};
pub use extract::{DocumentFacts, Extractor};
pub use index::{GraphIndex, SuggestionChanges};
pub use store::ConceptGraph;
pub use view::{ConceptView, EdgeKind, EdgeView, GraphView, MAX_VIEW};
