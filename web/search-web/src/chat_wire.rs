//! Request bodies of chats and summaries, from what was sent to what can be answered.

use edge_web::{FieldError, Problem};
use search_actors::chat::{ChatParams, SummaryParams, SummarySource};
use search_core::conversation::Speaker;
use search_core::passages::{ChatTurn, DEFAULT_SUMMARY_CHARS, MAX_SUMMARY_CHARS, TurnRole};
use serde::Deserialize;
use serde_json::Number;
use utoipa::ToSchema;

use crate::wire::{role_name, unprocessable};

/// The longest message, in bytes.
pub(crate) const MAX_MESSAGE_BYTES: usize = 32 * 1024;
/// The most messages of one request.
const MAX_BROUGHT: usize = 100;

/// The body of `POST /api/chat`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatBody {
    /// What the person says.
    pub message: Option<String>,
    /// In its place: what was said so far, the person's message last. Of a kept conversation only
    /// the last one is taken.
    pub messages: Option<Vec<ChatMessage>>,
    /// The role that answers; the conversation's or the default role when absent or empty.
    pub role: Option<String>,
    /// The conversation that goes on; a new one begins when absent.
    pub conversation_id: Option<String>,
    /// Whether the answer is given as it comes, as server-sent events.
    #[serde(default)]
    pub stream: bool,
}

/// One message of a conversation that is brought along.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatMessage {
    /// `user` or `assistant`.
    #[schema(value_type = Speaker)]
    pub role: String,
    /// What was said.
    pub content: String,
}

impl ChatBody {
    /// The request for the chat service.
    ///
    /// # Errors
    /// 422 that names every field that makes no sense.
    pub fn check(self) -> Result<ChatParams, Problem> {
        let mut errors = Vec::new();
        let turns = match (self.message, self.messages) {
            (Some(message), None) => {
                text("message", &message, MAX_MESSAGE_BYTES, &mut errors);
                vec![ChatTurn {
                    role: TurnRole::User,
                    text: message,
                }]
            }
            (None, Some(messages)) => turns(messages, &mut errors),
            (Some(_), Some(_)) => {
                errors.push(FieldError::new(
                    "messages",
                    "give `message` or `messages`, not both",
                ));
                Vec::new()
            }
            (None, None) => {
                errors.push(FieldError::new("message", "is missing"));
                Vec::new()
            }
        };
        if errors.is_empty() {
            return Ok(ChatParams {
                role: role_name(self.role),
                turns,
                conversation: self.conversation_id,
                stream: self.stream,
            });
        }
        Err(unprocessable(errors))
    }
}

fn turns(messages: Vec<ChatMessage>, errors: &mut Vec<FieldError>) -> Vec<ChatTurn> {
    if messages.len() > MAX_BROUGHT {
        let detail = format!(
            "{} messages are too many; at most {MAX_BROUGHT} are taken",
            messages.len()
        );
        errors.push(FieldError::new("messages", detail));
        return Vec::new();
    }
    let mut turns = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        let place = format!("messages[{index}]");
        text(
            &format!("{place}.content"),
            &message.content,
            MAX_MESSAGE_BYTES,
            errors,
        );
        let role = match message.role.as_str() {
            "user" => TurnRole::User,
            "assistant" => TurnRole::Assistant,
            _ => {
                let detail = "expected `user` or `assistant`; instructions are the server's own";
                errors.push(FieldError::new(format!("{place}.role"), detail));
                continue;
            }
        };
        turns.push(ChatTurn {
            role,
            text: message.content,
        });
    }
    if errors.is_empty() && turns.last().is_none_or(|turn| turn.role != TurnRole::User) {
        errors.push(FieldError::new(
            "messages",
            "the last one has to be the person's",
        ));
    }
    turns
}

/// The body of `POST /api/documents/summarize`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryBody {
    /// The text.
    pub content: Option<String>,
    /// In its place: the id of an indexed document.
    pub document_id: Option<String>,
    /// The role whose language model writes; the default role when absent or empty.
    pub role: Option<String>,
    /// The longest summary in characters, 20 to 10000; 500 when absent.
    #[schema(value_type = Option<u64>, minimum = 20, maximum = 10000)]
    pub max_length: Option<Number>,
}

/// No sentence fits into less.
const LEAST_CHARS: usize = 20;

impl SummaryBody {
    /// The request for the chat service.
    ///
    /// # Errors
    /// 422 that names every field that makes no sense.
    pub fn check(self) -> Result<SummaryParams, Problem> {
        let mut errors = Vec::new();
        let source = match (self.content, self.document_id) {
            (Some(content), None) => {
                // Its length is bounded by the body's.
                text("content", &content, usize::MAX, &mut errors);
                SummarySource::Content(content)
            }
            (None, Some(id)) => {
                text("document_id", &id, MAX_MESSAGE_BYTES, &mut errors);
                SummarySource::Document(id)
            }
            (Some(_), Some(_)) => {
                errors.push(FieldError::new(
                    "content",
                    "give `content` or `document_id`, not both",
                ));
                SummarySource::Content(String::new())
            }
            (None, None) => {
                errors.push(FieldError::new("content", "is missing"));
                SummarySource::Content(String::new())
            }
        };
        let max_chars = max_chars(self.max_length.as_ref(), &mut errors);
        if errors.is_empty() {
            return Ok(SummaryParams {
                source,
                role: role_name(self.role),
                max_chars,
            });
        }
        Err(unprocessable(errors))
    }
}

fn max_chars(value: Option<&Number>, errors: &mut Vec<FieldError>) -> usize {
    let Some(value) = value else {
        return DEFAULT_SUMMARY_CHARS;
    };
    let number = value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok());
    match number {
        Some(number) if (LEAST_CHARS..=MAX_SUMMARY_CHARS).contains(&number) => number,
        _ => {
            let detail = format!(
                "expected a whole number from {LEAST_CHARS} to {MAX_SUMMARY_CHARS}, found {value}"
            );
            errors.push(FieldError::new("max_length", detail));
            DEFAULT_SUMMARY_CHARS
        }
    }
}

fn text(field: &str, value: &str, most: usize, errors: &mut Vec<FieldError>) {
    if value.trim().is_empty() {
        errors.push(FieldError::new(field, "is empty"));
    }
    if value.len() > most {
        let detail = format!(
            "{} bytes are too long; at most {most} are taken",
            value.len()
        );
        errors.push(FieldError::new(field, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(json: &str) -> Result<ChatParams, Problem> {
        serde_json::from_str::<ChatBody>(json)
            .expect("well-formed")
            .check()
    }

    fn summary(json: &str) -> Result<SummaryParams, Problem> {
        serde_json::from_str::<SummaryBody>(json)
            .expect("well-formed")
            .check()
    }

    #[test]
    fn contract_an_empty_role_is_the_default_one() {
        assert_eq!(chat(r#"{"message":"hello","role":""}"#).unwrap().role, None);
        let params = summary(r#"{"content":"text","role":""}"#).unwrap();
        assert_eq!(params.role, None);
    }

    #[test]
    fn the_contract_s_bodies_are_enough() {
        let params = chat(r#"{"message":"hello","role":"R"}"#).unwrap();
        assert_eq!((params.turns.len(), params.stream), (1, false));
        let params = summary(r#"{"content":"text","role":"R"}"#).unwrap();
        assert_eq!(params.max_chars, DEFAULT_SUMMARY_CHARS);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (json, field) in [
            (r"{}", "message:"),
            (r#"{"message":" "}"#, "message:"),
            (r#"{"message":"a","messages":[]}"#, "messages:"),
            (r#"{"messages":[]}"#, "messages:"),
            (
                r#"{"messages":[{"role":"system","content":"x"}]}"#,
                "messages[0].role:",
            ),
            (
                r#"{"messages":[{"role":"assistant","content":"x"}]}"#,
                "messages:",
            ),
        ] {
            let problem = chat(json).unwrap_err();
            assert!(problem.detail().starts_with(field), "{json}: {problem}");
        }
        for (json, field) in [
            (r"{}", "content:"),
            (r#"{"content":""}"#, "content:"),
            (r#"{"content":"a","document_id":"b"}"#, "content:"),
            (r#"{"content":"a","max_length":5}"#, "max_length:"),
            (r#"{"content":"a","max_length":-1}"#, "max_length:"),
        ] {
            let problem = summary(json).unwrap_err();
            assert!(problem.detail().starts_with(field), "{json}: {problem}");
        }
        let long = ChatBody {
            message: Some("x".repeat(MAX_MESSAGE_BYTES + 1)),
            ..ChatBody::default()
        };
        assert!(long.check().unwrap_err().detail().contains("too long"));
    }
}
