//! The chat service's messages.

use actix::Message;
use search_core::conversation::{ChatAnswer, SummaryAnswer};
use search_core::passages::ChatTurn;
use tokio::sync::mpsc;

use super::failure::ChatFailure;

/// A checked message to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatParams {
    /// The role that answers; the default role when absent.
    pub role: Option<String>,
    /// What was said so far, the person's message last; never empty. Of a kept conversation only
    /// the last one is taken.
    pub turns: Vec<ChatTurn>,
    /// The kept conversation that goes on; a new one begins when absent.
    pub conversation: Option<String>,
    /// Whether the answer is given as it comes.
    pub stream: bool,
}

/// A piece of an answer as it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatChunk {
    /// The answer begins.
    Start {
        /// The conversation.
        conversation: String,
        /// Who writes.
        provider: &'static str,
        /// The model, if one writes.
        model: Option<String>,
    },
    /// More of the answer.
    Delta(String),
}

/// Answer a message from found documents.
///
/// Sent by: the HTTP edge. Handled by: `ChatService`. Reply: the whole answer, after all its
/// pieces; with `stream` off no pieces are sent. When the receiver of the pieces is dropped, the
/// work ends, the model's too, and nothing is kept.
#[derive(Debug, Message)]
#[rtype(result = "Result<ChatAnswer, ChatFailure>")]
pub struct AnswerChat {
    /// What to answer.
    pub params: ChatParams,
    /// Where pieces go.
    pub pieces: mpsc::Sender<ChatChunk>,
}

/// What is summarised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SummarySource {
    /// A text.
    Content(String),
    /// An indexed document, by its id.
    Document(String),
}

/// A checked request for a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryParams {
    /// The text.
    pub source: SummarySource,
    /// The role whose model writes; the default role when absent.
    pub role: Option<String>,
    /// The longest summary, in characters.
    pub max_chars: usize,
}

/// Summarise a text.
///
/// Sent by: the HTTP edge. Handled by: `ChatService`. Reply: the summary. When the receiver of
/// `here` is dropped, the work ends.
#[derive(Debug, Message)]
#[rtype(result = "Result<SummaryAnswer, ChatFailure>")]
pub struct Summarise {
    /// What to summarise.
    pub params: SummaryParams,
    /// Open as long as whoever asked is there.
    pub here: mpsc::Sender<ChatChunk>,
}
