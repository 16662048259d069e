//! A model of a language-model server that embeds texts or reranks them.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use http_clients::http::{HttpClient, HttpOptions};
use http_clients::llm::{LlmClient, LlmError, LlmProtocol};
use url::Url;

use crate::remote::pause::HostBackoff;

/// The longest it may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Who is to blame for an answer that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The server refuses these texts.
    Texts,
    /// It failed over them, or took too long: fewer or shorter ones may do.
    Unclear,
    /// The server is away, wants to be left alone, or has no such model.
    Server,
}

/// Why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct EmbeddingFailure {
    /// What went wrong.
    pub reason: String,
    /// Who is to blame.
    pub blame: Blame,
}

impl EmbeddingFailure {
    /// The server cannot be asked.
    #[must_use]
    pub fn from_server(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            blame: Blame::Server,
        }
    }
}

impl From<LlmError> for EmbeddingFailure {
    fn from(error: LlmError) -> Self {
        let blame = match &error {
            LlmError::Refused(_) | LlmError::TooLarge(_) => Blame::Texts,
            LlmError::Failed(_) | LlmError::TimedOut(_) | LlmError::BadReply(_) => Blame::Unclear,
            LlmError::Unreachable(_)
            | LlmError::Unauthorised(_)
            | LlmError::Payment(_)
            | LlmError::Moderation(_)
            | LlmError::ModelNotFound(_)
            | LlmError::RateLimited { .. } => Blame::Server,
        };
        Self {
            reason: error.to_string(),
            blame,
        }
    }
}

/// The server; belongs to one thread.
pub struct EmbeddingServer {
    base: Url,
    model: String,
    protocol: Cell<Option<LlmProtocol>>,
    /// Questions of people are not asked of a server that does not answer them.
    pause: RefCell<HostBackoff>,
}

impl EmbeddingServer {
    /// The model called `model` of the server at `base`.
    #[must_use]
    pub fn new(base: Url, model: String) -> Self {
        Self {
            base,
            model,
            protocol: Cell::new(None),
            pause: RefCell::default(),
        }
    }

    /// The vectors of some texts, in their order, all of one length; there is one within
    /// `deadline`, or a reason.
    ///
    /// # Errors
    /// See [`EmbeddingFailure`].
    pub async fn embed(
        &self,
        texts: &[String],
        deadline: Duration,
    ) -> Result<Vec<Vec<f32>>, EmbeddingFailure> {
        let vectors =
            tokio::time::timeout(deadline, self.request_vectors(client(deadline), texts)).await;
        let late = || LlmError::TimedOut(format!("no vectors within {deadline:?}"));
        let vectors = vectors
            .unwrap_or_else(|_| Err(late()))
            .and_then(check_vectors);
        // Another server may answer at this address next time.
        vectors
            .inspect_err(|_| self.protocol.set(None))
            .map_err(EmbeddingFailure::from)
    }

    /// The vector of a query. A server that failed is left alone for a while, longer each time.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn embed_query(&self, text: &str, deadline: Duration) -> Result<Vec<f32>, String> {
        let vectors = self
            .unless_paused(async {
                let vectors = self.embed(&[text.to_owned()], deadline).await;
                vectors.map_err(|failure| failure.reason)
            })
            .await?;
        let first = vectors.into_iter().next();
        first.ok_or_else(|| "it gave no vector".to_owned())
    }

    /// How well each text answers a query, in their order. A server that failed is left alone for a
    /// while, longer each time.
    ///
    /// # Errors
    /// Why it does not say.
    pub async fn rerank(
        &self,
        query: &str,
        texts: &[String],
        deadline: Duration,
    ) -> Result<Vec<f32>, String> {
        let client = LlmClient::new(
            client(deadline),
            LlmProtocol::OpenAi,
            self.base.clone(),
            None,
        );
        self.unless_paused(async {
            let asked = client.rerank(&self.model, query, texts);
            match tokio::time::timeout(deadline, asked).await {
                Ok(scores) => scores.map_err(|error| error.to_string()),
                Err(_) => Err(format!("no answer within {deadline:?}")),
            }
        })
        .await
    }

    async fn unless_paused<T>(
        &self,
        asked: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        if let Some((left, reason)) = self.pause.borrow().time_left(Instant::now()) {
            let left = left.as_secs() + 1;
            return Err(format!("{reason}; it is asked again in {left} s"));
        }
        let answer = asked.await;
        let mut pause = self.pause.borrow_mut();
        match &answer {
            Ok(_) => pause.record_answer(Instant::now(), None),
            Err(reason) => pause.failed(Instant::now(), None, reason.clone()),
        }
        answer
    }

    async fn request_vectors(
        &self,
        http: HttpClient,
        texts: &[String],
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let protocol = match self.protocol.get() {
            Some(protocol) => protocol,
            None => LlmProtocol::detect(&http, &self.base).await?,
        };
        self.protocol.set(Some(protocol));
        let client = LlmClient::new(http, protocol, self.base.clone(), None);
        client.embed(&self.model, texts).await
    }
}

fn client(deadline: Duration) -> HttpClient {
    HttpClient::new(HttpOptions {
        connect: CONNECT_TIMEOUT.min(deadline),
        deadline,
        connections: 1,
        ..HttpOptions::default()
    })
}

/// Vectors that have a direction.
fn check_vectors(vectors: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>, LlmError> {
    let wrong = |vector: &Vec<f32>| {
        let square: f32 = vector.iter().map(|number| number * number).sum();
        !square.is_finite() || square == 0.0
    };
    if vectors.iter().any(wrong) {
        let reason = "a vector holds no numbers that can be used".to_owned();
        return Err(LlmError::BadReply(reason));
    }
    Ok(vectors)
}
