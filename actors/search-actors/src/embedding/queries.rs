//! Queries as the models of servers see them, asked before the search and kept for the next one.

use std::cell::RefCell;
use std::rc::Rc;

use futures_util::future::join_all;
use rustc_hash::FxHashMap;
use search_core::role::RelevanceFunction;
use search_engine::answering::SearchParams;
use search_graph_engine::embedding::{Embedding, ServedQuery};
use supervision::ChildRef;

use super::{EmbedQuery, EmbeddingEndpoint, EmbeddingService};
use crate::registry::RoleEntry;

/// Queries that are kept, some 500 bytes each; all are forgotten when there are more.
const MAX_CACHED_QUERIES: usize = 2_000;
/// Bytes of a query that are embedded; models read some hundred words.
const MAX_QUERY: usize = 1_500;

/// Directions by model and text.
type QueryCache = FxHashMap<([u8; 32], String), Embedding>;

/// Embeds queries; belongs to the search service's thread.
#[derive(Clone)]
pub(crate) struct QueryEmbedder {
    service: ChildRef<EmbeddingService>,
    known: Rc<RefCell<QueryCache>>,
}

/// What has to be asked before a search.
pub(crate) struct PendingQuery {
    text: String,
    known: Vec<ServedQuery>,
    asked: Vec<EmbeddingEndpoint>,
}

impl PendingQuery {
    /// Whether a server has to be asked.
    pub(crate) fn needs_server(&self) -> bool {
        !self.asked.is_empty()
    }

    /// What is known without asking.
    pub(crate) fn cached(self) -> Vec<ServedQuery> {
        self.known
    }
}

impl QueryEmbedder {
    pub(crate) fn new(service: ChildRef<EmbeddingService>) -> Self {
        Self {
            service,
            known: Rc::default(),
        }
    }

    /// What the models of the chosen sources need of a query. Nothing before a document is
    /// embedded.
    pub(crate) fn prepare(&self, entry: &RoleEntry, params: &SearchParams) -> PendingQuery {
        let text = params.request.text.trim();
        let text = text[..text.floor_char_boundary(MAX_QUERY)].to_owned();
        let mut wanted = PendingQuery {
            text,
            known: Vec::new(),
            asked: Vec::new(),
        };
        let ranks = entry.role.relevance_function == RelevanceFunction::ServiceGraph;
        let names = &params.sources;
        let chosen = entry
            .sources
            .iter()
            .filter(|source| ranks && (names.is_empty() || names.contains(&source.haystack.name)));
        for source in chosen {
            let Some(endpoint) = source.handle.embedding_endpoint() else {
                continue;
            };
            let made = source.handle.graph.embeddings();
            let Some(made) = made.filter(|made| !made.index.is_empty()) else {
                continue;
            };
            let known = self.known.borrow();
            let known = known.get(&(endpoint.id(), wanted.text.clone()));
            match known.filter(|known| known.dimensions() == made.width) {
                Some(known) => wanted.known.push(ServedQuery {
                    model: endpoint.id(),
                    direction: Ok(known.clone()),
                }),
                None if wanted.asked.contains(&endpoint) => {}
                None => wanted.asked.push(endpoint),
            }
        }
        wanted
    }

    /// Asks what is wanted. Each server answers within its deadline, or is left out with the
    /// reason.
    pub(crate) async fn embed(self, wanted: PendingQuery) -> Vec<ServedQuery> {
        let text = wanted.text.as_str();
        let asked = wanted.asked.into_iter().map(|endpoint| {
            let (service, model) = (&self.service, endpoint.id());
            async move {
                let question = EmbedQuery {
                    endpoint,
                    text: text.to_owned(),
                };
                let answer = service.ask(question).await;
                let vector = answer.unwrap_or_else(|error| Err(error.to_string()));
                ServedQuery {
                    model,
                    direction: vector.map(|vector| Embedding::new(&vector)),
                }
            }
        });
        let mut served = wanted.known;
        served.extend(join_all(asked).await);
        let mut known = self.known.borrow_mut();
        for one in &served {
            if let Ok(direction) = &one.direction {
                if known.len() >= MAX_CACHED_QUERIES {
                    known.clear();
                }
                known.insert((one.model, text.to_owned()), direction.clone());
            }
        }
        served
    }
}
