//! The search server's actors: index keepers, the search desk, and the board between them.
//!
//! ```text
//! files --watch--> IndexKeeper --publish--> Board <--read-- SearchDesk's workers <--Search-- edge
//! ```

mod board;
mod board_views;
mod desk;
mod keeper;
mod keeping;
pub mod messages;
mod service;
mod sink;

pub use board::{Board, Published, RoleEntry, RoleSource, SourceSlot};
pub use desk::SearchDesk;
pub use keeper::{IndexKeeper, KeeperSettings};
pub use service::{SearchService, SearchSettings};
