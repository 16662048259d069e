//! The client.

use config_core::Secret;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::error::{LlmError, checked};
use super::protocol::{LlmProtocol, ends_in_version};
use super::shapes::{ChatReply, ChatRequest};
use super::stream::{ChatStream, Parser};
use super::{ollama, openai};
use crate::http::{HttpClient, Method, Request, Response};

/// Where a hosted provider is when none is configured.
pub const OPENROUTER: &str = "https://openrouter.ai/api/v1";

/// The largest answer that is read, in bytes.
const ANSWER: usize = 16 << 20;

/// A language-model server. Clones share the connections.
#[derive(Clone)]
pub struct LlmClient {
    http: HttpClient,
    protocol: LlmProtocol,
    base: Url,
    key: Option<Secret<String>>,
}

impl LlmClient {
    /// A client of the server at `base`: `http://127.0.0.1:11434` for Ollama; for the OpenAI-style
    /// protocol with or without the `/v1` (or another version) at its end.
    ///
    /// Answers take as long as a model takes: give `http` a deadline to match, and an idle time for
    /// streams.
    #[must_use]
    pub fn new(
        http: HttpClient,
        protocol: LlmProtocol,
        base: Url,
        key: Option<Secret<String>>,
    ) -> Self {
        Self {
            http,
            protocol,
            base,
            key,
        }
    }

    /// Which protocol is spoken.
    #[must_use]
    pub fn protocol(&self) -> LlmProtocol {
        self.protocol
    }

    /// Asks a model and reads the whole answer.
    ///
    /// # Errors
    /// See [`LlmError`].
    pub async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, LlmError> {
        let sent = self.chat_request(request, false).with_max_body(ANSWER);
        let response = checked(self.http.call(sent).await?)?;
        let value: Value = json(&response)?;
        match self.protocol {
            LlmProtocol::Ollama => ollama::reply(value),
            LlmProtocol::OpenAi => openai::reply(value),
        }
    }

    /// Asks a model and gives the answer as it comes.
    ///
    /// # Errors
    /// See [`LlmError`]; further ones come from the stream.
    pub async fn chat_stream(&self, request: &ChatRequest) -> Result<ChatStream, LlmError> {
        let sent = self.chat_request(request, true);
        let sent = match self.protocol {
            LlmProtocol::Ollama => sent,
            LlmProtocol::OpenAi => sent.header("accept", "text/event-stream"),
        };
        let streaming = match self.http.open_or_read(sent).await? {
            Ok(streaming) => streaming,
            Err(refused) => return Err(checked(refused).expect_err("its status is not 2xx")),
        };
        let parser = match self.protocol {
            LlmProtocol::Ollama => Parser::json_lines(),
            LlmProtocol::OpenAi => Parser::server_sent(),
        };
        Ok(ChatStream::new(streaming, parser, ANSWER))
    }

    /// The vectors of some texts, in their order, all of one length.
    ///
    /// # Errors
    /// See [`LlmError`]; too few vectors, or ones of different lengths, are `BadReply`.
    pub async fn embed(&self, model: &str, input: &[String]) -> Result<Vec<Vec<f32>>, LlmError> {
        if input.is_empty() {
            return Ok(Vec::new());
        }
        let request = self.request(Method::Post, self.path("api/embed", "embeddings"));
        // `POST /api/embed` and `POST /v1/embeddings` are asked alike.
        let request = request.json(&serde_json::json!({"model": model, "input": input}));
        // Vectors take some ten bytes a number in JSON.
        let response = self.http.call(request.with_max_body(ANSWER * 4)).await?;
        let response = checked(response)?;
        let vectors = match self.protocol {
            LlmProtocol::Ollama => json::<ollama::OllamaEmbedReply>(&response)?.embeddings,
            LlmProtocol::OpenAi => {
                let mut found = json::<openai::OpenAiEmbedReply>(&response)?.data;
                found.sort_by_key(|embedding| embedding.index);
                found.into_iter().map(|found| found.embedding).collect()
            }
        };
        let width = vectors.first().map_or(0, Vec::len);
        let even = vectors.iter().all(|vector| vector.len() == width);
        if vectors.len() != input.len() || width == 0 || !even {
            return Err(LlmError::BadReply(
                "it does not hold one vector for each text".to_owned(),
            ));
        }
        Ok(vectors)
    }

    /// How well each of some texts answers a query, in their order, by `POST /v1/rerank` as Jina,
    /// llama.cpp, vLLM and Infinity have it; whatever the protocol for chats is.
    /// Source: <https://docs.vllm.ai/en/stable/serving/openai_compatible_server.html>.
    ///
    /// # Errors
    /// See [`LlmError`]; an answer without a number for each text is `BadReply`.
    pub async fn rerank(
        &self,
        model: &str,
        query: &str,
        texts: &[String],
    ) -> Result<Vec<f32>, LlmError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let request = self.request(Method::Post, self.versioned_path("rerank"));
        let request = request.json(&serde_json::json!({
            "model": model, "query": query, "documents": texts, "top_n": texts.len(),
            "return_documents": false,
        }));
        let response = checked(self.http.call(request.with_max_body(ANSWER)).await?)?;
        json::<openai::RerankReply>(&response)?.scores(texts.len())
    }

    fn chat_request(&self, request: &ChatRequest, stream: bool) -> Request {
        let body = match self.protocol {
            LlmProtocol::Ollama => ollama::chat_body(request, stream),
            LlmProtocol::OpenAi => openai::chat_body(request, stream),
        };
        self.request(Method::Post, self.path("api/chat", "chat/completions"))
            .json(&body)
    }

    fn request(&self, method: Method, url: Url) -> Request {
        let request = Request::new(method, url);
        match &self.key {
            Some(key) => request.authorization("Bearer", key),
            None => request,
        }
    }

    /// An address of the API.
    fn path(&self, ollama: &str, openai: &str) -> Url {
        match self.protocol {
            LlmProtocol::Ollama => self.address(ollama),
            LlmProtocol::OpenAi => self.versioned_path(openai),
        }
    }

    /// An address below the version that the base names, or below `/v1`.
    fn versioned_path(&self, path: &str) -> Url {
        if ends_in_version(self.base.path().trim_end_matches('/')) {
            self.address(path)
        } else {
            self.address(&format!("v1/{path}"))
        }
    }

    fn address(&self, path: &str) -> Url {
        let base = self.base.path().trim_end_matches('/');
        let mut url = self.base.clone();
        url.set_path(&format!("{base}/{path}"));
        url.set_query(None);
        url
    }
}

fn json<T: DeserializeOwned>(response: &Response) -> Result<T, LlmError> {
    Ok(response.json()?)
}
