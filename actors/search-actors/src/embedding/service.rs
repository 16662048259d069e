//! The actor that asks: connections and pauses live with it, on its own thread.

use std::rc::Rc;
use std::time::Duration;

use actix::{Actor, Context, Handler, Message, ResponseFuture};

use super::EmbeddingEndpoint;
use crate::remote::{EmbeddingFailure, EmbeddingServer};

/// How long a batch of texts may take.
pub(crate) const TEXTS_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a query may take: a search waits for it.
const QUERY_TIMEOUT: Duration = Duration::from_millis(1_500);

/// How long the best results may take to be read once more: a search waits for it.
pub(crate) const RERANK_TIMEOUT: Duration = Duration::from_secs(5);

/// Servers that are remembered; configurations hold a handful.
const MAX_SERVERS: usize = 64;

/// The vectors of some texts.
///
/// Sent by: concepts threads. Handled by: `EmbeddingService`. Reply: the vectors in the order of
/// the texts, all of one length.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<Vec<f32>>, EmbeddingFailure>")]
pub(crate) struct EmbedTexts {
    pub(crate) endpoint: EmbeddingEndpoint,
    pub(crate) texts: Vec<String>,
}

/// The vector of a query.
///
/// Sent by: `SearchTree`. Handled by: `EmbeddingService`. Reply: the vector, or why there is none.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<f32>, String>")]
pub(crate) struct EmbedQuery {
    pub(crate) endpoint: EmbeddingEndpoint,
    pub(crate) text: String,
}

/// How well some texts answer a query.
///
/// Sent by: `SearchService`. Handled by: `EmbeddingService`. Reply: a number for each text, or why
/// there are none.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<f32>, String>")]
pub(crate) struct RerankTexts {
    pub(crate) endpoint: EmbeddingEndpoint,
    pub(crate) query: String,
    pub(crate) texts: Vec<String>,
}

/// The actor. An incarnation that fails loses what it knows of servers, nothing else.
#[derive(Default)]
pub struct EmbeddingService {
    servers: Vec<(EmbeddingEndpoint, Rc<EmbeddingServer>)>,
}

impl EmbeddingService {
    fn server(&mut self, endpoint: &EmbeddingEndpoint) -> Rc<EmbeddingServer> {
        if let Some((_, server)) = self.servers.iter().find(|(known, _)| known == endpoint) {
            return Rc::clone(server);
        }
        if self.servers.len() >= MAX_SERVERS {
            self.servers.clear();
        }
        let server = EmbeddingServer::new(endpoint.base_url.clone(), endpoint.model.clone());
        let server = Rc::new(server);
        self.servers.push((endpoint.clone(), Rc::clone(&server)));
        server
    }
}

impl Actor for EmbeddingService {
    type Context = Context<Self>;
}

impl Handler<EmbedTexts> for EmbeddingService {
    type Result = ResponseFuture<Result<Vec<Vec<f32>>, EmbeddingFailure>>;

    fn handle(&mut self, asked: EmbedTexts, _: &mut Self::Context) -> Self::Result {
        let server = self.server(&asked.endpoint);
        Box::pin(async move { server.embed(&asked.texts, TEXTS_TIMEOUT).await })
    }
}

impl Handler<EmbedQuery> for EmbeddingService {
    type Result = ResponseFuture<Result<Vec<f32>, String>>;

    fn handle(&mut self, asked: EmbedQuery, _: &mut Self::Context) -> Self::Result {
        let server = self.server(&asked.endpoint);
        Box::pin(async move { server.embed_query(&asked.text, QUERY_TIMEOUT).await })
    }
}

impl Handler<RerankTexts> for EmbeddingService {
    type Result = ResponseFuture<Result<Vec<f32>, String>>;

    fn handle(&mut self, asked: RerankTexts, _: &mut Self::Context) -> Self::Result {
        let server = self.server(&asked.endpoint);
        Box::pin(async move {
            let RerankTexts { query, texts, .. } = asked;
            server.rerank(&query, &texts, RERANK_TIMEOUT).await
        })
    }
}
