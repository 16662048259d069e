//! From the tree to checked values.
//!
//! A decoder is a function from an [`Item`] to `Option<T>`: `None` means that the reason has been
//! reported. It never stops the others, so one pass finds every mistake.

mod fields;
mod item;
mod numbers;
mod session;
mod texts;

pub use fields::Fields;
pub use item::Item;
pub(crate) use session::Session;
pub use texts::{Choices, LOG_LEVELS, choose};
