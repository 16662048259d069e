//! The search server's actors: an indexer for each source, searches, roles, the role file, chats.
//!
//! ```text
//! files --watch--> SourceIndexer --publish--> SourceHandle <--read-- SearchService's workers <--Search-- edge
//! role file --ApplyRoles--> RoleManager --publish RoleSet--> RoleRegistry (read by searches and webs)
//! ```

mod backoff;
mod changed_documents;
pub mod chat;
mod concepts;
mod config;
mod embedding;
mod indexer;
mod limits;
pub mod messages;
mod registry;
pub mod remote;
mod remote_sources;
mod rerankers;
mod role_manager;
mod search_service;
mod skips;
pub mod snapshots;
mod source_handle;
mod tree;

pub use concepts::LearningRests;
pub use config::{
    ActiveConfig, ConfigManager, ConfigPublisher, ConfigView, RoleFileLocation, config_manager,
    write_in_one_step,
};
pub use embedding::EmbeddingService;
pub use indexer::{IndexThreads, IndexerSettings, SourceIndexer, in_step_mark, source_git};
pub use limits::SearchLimits;
pub use registry::{RoleEntry, RoleRegistry, RoleSet, RoleSource};
pub use remote_sources::{RemoteSources, SourceOutcome};
pub use role_manager::RoleManager;
pub use search_formats_engine::ReaderProgram;
pub use search_service::SearchService;
pub use skips::{ListedPath, SkippedPage};
pub use source_handle::{ReindexHandle, SourceHandle, SourceStatus};
pub use tree::{SearchSettings, SearchTree};
