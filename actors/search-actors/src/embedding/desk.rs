//! The actor that asks: connections and pauses live with it, on its own thread.

use std::rc::Rc;
use std::time::Duration;

use actix::{Actor, Context, Handler, Message, ResponseFuture};
use search_remote_actors::{EmbeddingFailure, EmbeddingServer};

use super::EmbeddingPlace;

/// How long a batch of texts may take.
pub(crate) const TEXTS_DEADLINE: Duration = Duration::from_secs(30);

/// How long a query may take: a search waits for it.
const QUERY_DEADLINE: Duration = Duration::from_millis(1_500);

/// Servers that are remembered; configurations hold a handful.
const REMEMBERED: usize = 64;

/// The vectors of some texts.
///
/// Sent by: concepts threads. Handled by: `EmbedDesk`. Reply: the vectors in the order of the texts, all of one length.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<Vec<f32>>, EmbeddingFailure>")]
pub(crate) struct EmbedTexts {
    pub(crate) place: EmbeddingPlace,
    pub(crate) texts: Vec<String>,
}

/// The vector of a query.
///
/// Sent by: `SearchDesk`. Handled by: `EmbedDesk`. Reply: the vector, or why there is none.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<f32>, String>")]
pub(crate) struct EmbedQuery {
    pub(crate) place: EmbeddingPlace,
    pub(crate) text: String,
}

/// The actor. A life that fails loses what it knows of servers, nothing else.
#[derive(Default)]
pub struct EmbedDesk {
    servers: Vec<(EmbeddingPlace, Rc<EmbeddingServer>)>,
}

impl EmbedDesk {
    fn server(&mut self, place: &EmbeddingPlace) -> Rc<EmbeddingServer> {
        if let Some((_, server)) = self.servers.iter().find(|(known, _)| known == place) {
            return Rc::clone(server);
        }
        if self.servers.len() >= REMEMBERED {
            self.servers.clear();
        }
        let server = EmbeddingServer::new(place.base_url.clone(), place.model.clone());
        let server = Rc::new(server);
        self.servers.push((place.clone(), Rc::clone(&server)));
        server
    }
}

impl Actor for EmbedDesk {
    type Context = Context<Self>;
}

impl Handler<EmbedTexts> for EmbedDesk {
    type Result = ResponseFuture<Result<Vec<Vec<f32>>, EmbeddingFailure>>;

    fn handle(&mut self, asked: EmbedTexts, _: &mut Self::Context) -> Self::Result {
        let server = self.server(&asked.place);
        Box::pin(async move { server.embed(&asked.texts, TEXTS_DEADLINE).await })
    }
}

impl Handler<EmbedQuery> for EmbedDesk {
    type Result = ResponseFuture<Result<Vec<f32>, String>>;

    fn handle(&mut self, asked: EmbedQuery, _: &mut Self::Context) -> Self::Result {
        let server = self.server(&asked.place);
        Box::pin(async move { server.embed_query(&asked.text, QUERY_DEADLINE).await })
    }
}
