//! Queries as the models of servers see them, asked before the search and kept for the next one.

use std::cell::RefCell;
use std::rc::Rc;

use futures_util::future::join_all;
use rustc_hash::FxHashMap;
use search_core::role::RelevanceFunction;
use search_engine::answering::SearchOrder;
use search_graph_engine::embedding::{Embedding, ServedQuery};
use supervision::ChildRef;

use super::{EmbedDesk, EmbedQuery, EmbeddingPlace};
use crate::board::RoleEntry;

/// Queries that are kept, some 500 bytes each; all are forgotten when there are more.
const KEPT: usize = 2_000;
/// Bytes of a query that are embedded; models read some hundred words.
const MAX_QUERY: usize = 1_500;

/// Directions by model and text.
type Known = FxHashMap<([u8; 32], String), Embedding>;

/// Embeds queries; belongs to the search desk's thread.
#[derive(Clone)]
pub(crate) struct QueryEmbedder {
    desk: ChildRef<EmbedDesk>,
    known: Rc<RefCell<Known>>,
}

/// What has to be asked before a search.
pub(crate) struct Wanted {
    text: String,
    known: Vec<ServedQuery>,
    asked: Vec<EmbeddingPlace>,
}

impl Wanted {
    /// Whether a server has to be asked.
    pub(crate) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// What is known without asking.
    pub(crate) fn known(self) -> Vec<ServedQuery> {
        self.known
    }
}

impl QueryEmbedder {
    pub(crate) fn new(desk: ChildRef<EmbedDesk>) -> Self {
        Self {
            desk,
            known: Rc::default(),
        }
    }

    /// What the models of the chosen sources need of a query. Nothing before a document is embedded.
    pub(crate) fn wanted(&self, entry: &RoleEntry, order: &SearchOrder) -> Wanted {
        let text = order.request.text.trim();
        let text = text[..text.floor_char_boundary(MAX_QUERY)].to_owned();
        let mut wanted = Wanted {
            text,
            known: Vec::new(),
            asked: Vec::new(),
        };
        let ranks = entry.role.relevance_function == RelevanceFunction::ServiceGraph;
        let names = &order.sources;
        let chosen = entry
            .sources
            .iter()
            .filter(|source| ranks && (names.is_empty() || names.contains(&source.haystack.name)));
        for source in chosen {
            let Some(place) = source.slot.embedding_place() else {
                continue;
            };
            let made = source.slot.graph.embeddings();
            let Some(made) = made.filter(|made| !made.index.is_empty()) else {
                continue;
            };
            let known = self.known.borrow();
            let known = known.get(&(place.id(), wanted.text.clone()));
            match known.filter(|known| known.dimensions() == made.width) {
                Some(known) => wanted.known.push(ServedQuery {
                    model: place.id(),
                    direction: Ok(known.clone()),
                }),
                None if wanted.asked.contains(&place) => {}
                None => wanted.asked.push(place),
            }
        }
        wanted
    }

    /// Asks what is wanted. Each server answers within its deadline, or is left out with the reason.
    pub(crate) async fn ask(self, wanted: Wanted) -> Vec<ServedQuery> {
        let text = wanted.text.as_str();
        let asked = wanted.asked.into_iter().map(|place| {
            let (desk, model) = (&self.desk, place.id());
            async move {
                let question = EmbedQuery {
                    place,
                    text: text.to_owned(),
                };
                let answer = desk.ask(question).await;
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
                if known.len() >= KEPT {
                    known.clear();
                }
                known.insert((one.model, text.to_owned()), direction.clone());
            }
        }
        served
    }
}
