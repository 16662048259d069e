//! Texts about documents: extractive summaries, answers composed of cited passages, passages within
//! a number of tokens, and prompts for a language model.
//!
//! Nothing here asks anybody: a summary without a model is arithmetic over the text itself, and a
//! prompt is text that puts documents where a model must take them for data.

mod budget;
mod compose;
mod cuts;
mod definition_piece;
mod embedded;
mod extents;
mod prompt;
mod remaining;
mod sentences;
mod summary;
mod tokens;
mod training_parts;
mod window;

pub use budget::{ChosenPassage, MAX_BUDGET_TOKENS, PassageDocument, choose, choose_beside_rest};
pub use compose::{Passage, compose};
pub use cuts::{is_scaled, passage_starts};
pub use embedded::{embedded_range, embedded_texts};
pub use prompt::{ChatTurn, TurnRole, chat_prompt, cited, summary_prompt};
pub use remaining::{REST_TOKENS, places_without_passage, rest_budget};
pub use summary::{DEFAULT_SUMMARY_CHARS, MAX_SUMMARY_CHARS, summarize};
pub use tokens::{beginning, tokens};
pub use training_parts::{estimate_parts, learning_parts};
pub use window::relevant;
