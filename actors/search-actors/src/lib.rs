//! The search server's actors: index keepers, the search desk, and the board between them.
//!
//! ```text
//! files --watch--> IndexKeeper --publish--> Board <--read-- SearchDesk's workers <--Search-- edge
//! role file --ApplyRoles--> RoleDesk --another Board--> Boards
//! ```

mod asking;
mod board;
mod board_concepts;
mod board_views;
mod boards;
mod concepts;
mod configuration;
mod desk;
mod embedding;
mod keeper;
mod keeping;
mod merging;
pub mod messages;
mod mounts;
mod pauses;
mod roles;
mod service;
mod sink;
mod skips;
mod slot;
mod thesauri;

pub use asking::{AskDesk, SourceOutcome};
pub use board::{Board, RoleEntry, RoleSource};
pub use boards::Boards;
pub use configuration::{
    Configuration, ConfigurationDesk, InForce, RoleFilePlace, configuration_desk, write_in_one_step,
};
pub use desk::SearchDesk;
pub use embedding::EmbedDesk;
pub use keeper::{IndexKeeper, KeeperSettings};
pub use roles::RoleDesk;
pub use search_formats_engine::Program as ReaderProgram;
pub use service::{SearchService, SearchSettings};
pub use slot::{Published, SourceSlot};
