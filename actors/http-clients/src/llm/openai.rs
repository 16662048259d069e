//! The OpenAI-style JSON, as llama.cpp, vLLM, OpenRouter and many others speak it.
//! Source: <https://platform.openai.com/docs/api-reference/chat>, and llama.cpp's server as seen.

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::error::{LlmError, in_stream};
use super::shapes::{AnswerFormat, ChatEvent, ChatReply, ChatRequest, StopReason, TokenUsage};

pub(super) fn chat_body(request: &ChatRequest, stream: bool) -> Value {
    let mut body = json!({
        "model": request.model,
        "messages": request.messages,
        "stream": stream,
    });
    if stream {
        body["stream_options"] = json!({"include_usage": true});
    }
    match &request.format {
        AnswerFormat::Text => {}
        AnswerFormat::Json => body["response_format"] = json!({"type": "json_object"}),
        AnswerFormat::Schema { name, schema } => {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": {"name": name, "strict": true, "schema": schema},
            });
        }
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    if let Some(tokens) = request.max_tokens {
        body["max_tokens"] = json!(tokens);
    }
    if let Some(seed) = request.seed {
        body["seed"] = json!(seed);
    }
    body
}

#[derive(Debug, Deserialize)]
struct Completion {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default, deserialize_with = "usage")]
    usage: Option<TokenUsage>,
}

/// What an answer cost is of interest only: hosted models leave out a count, or send null, a
/// fraction or something of their own, and their answer is as good.
fn usage<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TokenUsage>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let count = |key: &str| value[key].as_u64().unwrap_or_default();
    Ok(value.is_object().then(|| TokenUsage {
        prompt_tokens: count("prompt_tokens"),
        completion_tokens: count("completion_tokens"),
    }))
}

#[derive(Debug, Deserialize)]
struct Choice {
    /// In a whole answer.
    message: Option<ChunkMessage>,
    /// In a stream.
    delta: Option<ChunkMessage>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ChunkMessage {
    content: Option<String>,
}

fn completion(value: Value) -> Result<Completion, LlmError> {
    if let Some(error) = in_stream(&value) {
        return Err(error);
    }
    serde_json::from_value(value).map_err(|error| LlmError::BadReply(error.to_string()))
}

/// A whole answer.
pub(super) fn reply(value: Value) -> Result<ChatReply, LlmError> {
    let completion = completion(value)?;
    let choice = completion.choices.into_iter().next();
    let empty = || LlmError::BadReply("it holds no message".to_owned());
    let choice = choice.ok_or_else(empty)?;
    let message = choice.message.ok_or_else(empty)?;
    Ok(ChatReply {
        content: message.content.unwrap_or_default(),
        stop: StopReason::parse(choice.finish_reason.as_deref()),
        usage: completion.usage.unwrap_or_default(),
    })
}

/// What a stream has said so far about its end.
#[derive(Debug, Default)]
pub(super) struct StreamEnd {
    stop: Option<StopReason>,
    usage: TokenUsage,
}

impl StreamEnd {
    /// What a line of server-sent events says. Only `data` matters; comments and other fields do
    /// not.
    pub(super) fn events(
        &mut self,
        line: &[u8],
        events: &mut impl Extend<ChatEvent>,
    ) -> Result<(), LlmError> {
        let Some(data) = line.strip_prefix(b"data:") else {
            return self.not_data(line);
        };
        let data = data.trim_ascii();
        if data.is_empty() {
            return Ok(());
        }
        if data == b"[DONE]" {
            events.extend([ChatEvent::Done {
                stop: self.stop.take().unwrap_or(StopReason::Other(String::new())),
                usage: self.usage,
            }]);
            return Ok(());
        }
        let value = serde_json::from_slice(data);
        let value: Value = value.map_err(|error| LlmError::BadReply(error.to_string()))?;
        let completion = completion(value)?;
        if let Some(usage) = completion.usage {
            self.usage = usage;
        }
        if let Some(choice) = completion.choices.into_iter().next() {
            if let Some(word) = choice.finish_reason {
                self.stop = Some(StopReason::parse(Some(&word)));
            }
            let text = choice.delta.and_then(|delta| delta.content);
            events.extend(text.filter(|text| !text.is_empty()).map(ChatEvent::Delta));
        }
        Ok(())
    }

    /// Lines that are not data: comments, other fields; or an error as bare JSON.
    fn not_data(&self, line: &[u8]) -> Result<(), LlmError> {
        let line = line.strip_prefix(b"error:").unwrap_or(line).trim_ascii();
        if !line.starts_with(b"{") {
            return Ok(());
        }
        let value: Value = serde_json::from_slice(line).unwrap_or_default();
        let value = match value.get("error") {
            Some(_) => value,
            None => json!({"error": value}),
        };
        in_stream(&value).map_or(Ok(()), Err)
    }
}

/// The answer of `POST /v1/embeddings`.
#[derive(Debug, Deserialize)]
pub(super) struct OpenAiEmbedReply {
    pub(super) data: Vec<OpenAiEmbedding>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OpenAiEmbedding {
    #[serde(default)]
    pub(super) index: usize,
    pub(super) embedding: Vec<f32>,
}

/// The answer of `POST /v1/rerank`.
#[derive(Debug, Deserialize)]
pub(super) struct RerankReply {
    results: Vec<RerankedText>,
}

#[derive(Debug, Deserialize)]
struct RerankedText {
    index: usize,
    relevance_score: f32,
}

impl RerankReply {
    /// The numbers in the order of the texts.
    pub(super) fn scores(self, texts: usize) -> Result<Vec<f32>, LlmError> {
        let mut scores = vec![None; texts];
        for one in self.results {
            if let Some(score) = scores.get_mut(one.index)
                && one.relevance_score.is_finite()
            {
                *score = Some(one.relevance_score);
            }
        }
        let whole: Option<Vec<f32>> = scores.into_iter().collect();
        whole.ok_or_else(|| LlmError::BadReply("it does not hold one number for each text".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_a_rerank_reply_has_a_number_for_each_text_in_any_order() {
        let scores = |value: Value| {
            let reply: RerankReply = serde_json::from_value(value).expect("its shape");
            reply.scores(2)
        };
        let found = scores(json!({"id": "x", "results": [
            {"index": 1, "relevance_score": 0.9, "document": {"text": "b"}},
            {"index": 0, "relevance_score": -3.5}]}));
        assert_eq!(found.expect("whole"), [-3.5, 0.9]);
        for lacking in [
            json!({"results": [{"index": 0, "relevance_score": 1}]}),
            json!({"results": [{"index": 0, "relevance_score": 1}, {"index": 2, "relevance_score": 1}]}),
        ] {
            assert!(matches!(scores(lacking), Err(LlmError::BadReply(_))));
        }
    }
}
