//! Ollama's JSON. Source: its API page, <https://docs.ollama.com/api>.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{LlmError, in_stream};
use super::shapes::{AnswerFormat, ChatEvent, ChatReply, ChatRequest, StopReason, TokenUsage};

pub(super) fn chat_body(request: &ChatRequest, stream: bool) -> Value {
    let mut body = json!({
        "model": request.model,
        "messages": request.messages,
        "stream": stream,
    });
    match &request.format {
        AnswerFormat::Text => {}
        AnswerFormat::Json => body["format"] = json!("json"),
        AnswerFormat::Schema { schema, .. } => body["format"] = schema.clone(),
    }
    let mut options = serde_json::Map::new();
    if let Some(temperature) = request.temperature {
        options.insert("temperature".into(), json!(temperature));
    }
    if let Some(tokens) = request.max_tokens {
        options.insert("num_predict".into(), json!(tokens));
    }
    if let Some(seed) = request.seed {
        options.insert("seed".into(), json!(seed));
    }
    if !options.is_empty() {
        body["options"] = options.into();
    }
    body
}

#[derive(Debug, Deserialize)]
struct Chunk {
    message: Option<ChunkMessage>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: u64,
    #[serde(default)]
    eval_count: u64,
}

#[derive(Debug, Deserialize)]
struct ChunkMessage {
    #[serde(default)]
    content: Option<String>,
}

fn chunk(value: Value) -> Result<Chunk, LlmError> {
    if let Some(error) = in_stream(&value) {
        return Err(error);
    }
    serde_json::from_value(value).map_err(|error| LlmError::BadReply(error.to_string()))
}

/// A whole answer.
pub(super) fn reply(value: Value) -> Result<ChatReply, LlmError> {
    let chunk = chunk(value)?;
    if !chunk.done {
        return Err(LlmError::BadReply(
            "it does not say that it is done".to_owned(),
        ));
    }
    let content = chunk.message.and_then(|message| message.content);
    Ok(ChatReply {
        content: content.ok_or_else(|| LlmError::BadReply("it holds no message".to_owned()))?,
        stop: StopReason::parse(chunk.done_reason.as_deref()),
        usage: TokenUsage {
            prompt_tokens: chunk.prompt_eval_count,
            completion_tokens: chunk.eval_count,
        },
    })
}

/// What a line of a stream says.
pub(super) fn events(line: &[u8], events: &mut impl Extend<ChatEvent>) -> Result<(), LlmError> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let value = serde_json::from_slice(line);
    let value: Value = value.map_err(|error| LlmError::BadReply(error.to_string()))?;
    let chunk = chunk(value)?;
    let text = chunk.message.and_then(|message| message.content);
    events.extend(text.filter(|text| !text.is_empty()).map(ChatEvent::Delta));
    if chunk.done {
        events.extend([ChatEvent::Done {
            stop: StopReason::parse(chunk.done_reason.as_deref().or(Some("stop"))),
            usage: TokenUsage {
                prompt_tokens: chunk.prompt_eval_count,
                completion_tokens: chunk.eval_count,
            },
        }]);
    }
    Ok(())
}

/// The answer of `POST /api/embed`.
#[derive(Debug, Deserialize)]
pub(super) struct OllamaEmbedReply {
    pub(super) embeddings: Vec<Vec<f32>>,
}
