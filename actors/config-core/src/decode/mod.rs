//! From the tree to checked values.
//!
//! A decoder is a function from an [`ConfigItem`] to `Option<T>`: `None` means that the reason has
//! been reported. It never stops the others, so one pass finds every mistake.

mod fields;
mod item;
mod numbers;
mod session;
mod texts;

pub use fields::ObjectFields;
pub use item::ConfigItem;
pub(crate) use session::DecodeSession;
pub use texts::{Choices, LOG_LEVELS, choose};
