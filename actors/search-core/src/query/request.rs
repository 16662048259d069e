//! What is asked for, before it is understood.

use serde::{Deserialize, Serialize};

/// How several words or `terms` of a request are joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operator {
    /// Every word has to occur.
    And,
    /// Any word may occur; more of them rank higher.
    #[default]
    Or,
}

/// What is asked for, before it is understood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct SearchRequest {
    /// The text as typed.
    pub text: String,
    /// Further words or phrases, each looked up beside the text. They are text, not the language:
    /// only double quotes mean something in them.
    pub terms: Vec<String>,
    /// How words are joined; [`Operator::Or`] when absent.
    pub operator: Option<Operator>,
    /// Whether the text is words and nothing else, whatever signs it holds.
    pub is_words_alone: bool,
}

impl SearchRequest {
    /// A request for a text alone.
    #[must_use]
    pub fn for_text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// The same words, where no sign means anything.
    #[must_use]
    pub fn as_words(&self) -> Self {
        Self {
            is_words_alone: true,
            ..self.clone()
        }
    }
}
