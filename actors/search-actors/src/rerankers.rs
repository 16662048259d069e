//! The models that read best results once more: folders in memory, or servers asked from a search's
//! thread; what they gave is kept for the next page.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use search_core::role::{Extra, ModelSource};
use search_engine::answering::{PairScorer, Reranking};
use search_graph_engine::embedding::CrossEncoder;
use supervision::ChildRef;

use crate::embedding::{EmbeddingEndpoint, EmbeddingService, RERANK_TIMEOUT, RerankTexts};

/// Answers that are kept, some 500 bytes each; all are forgotten when there are more.
const MAX_CACHED: usize = 1_000;

/// By query and texts.
type ScoreCache = HashMap<[u8; 32], Vec<f32>>;

/// What all searches share; clones are the same.
#[derive(Clone)]
pub(crate) struct Rerankers(Arc<ModelPool>);

struct ModelPool {
    service: ChildRef<EmbeddingService>,
    folders: Mutex<HashMap<PathBuf, Arc<CrossEncoder>>>,
    known: Mutex<ScoreCache>,
}

impl Rerankers {
    pub(crate) fn new(service: ChildRef<EmbeddingService>) -> Self {
        Self(Arc::new(ModelPool {
            service,
            folders: Mutex::default(),
            known: Mutex::default(),
        }))
    }

    /// How a role with these settings has its results read once more; `None` where it has not.
    pub(crate) fn of(&self, extra: &Extra) -> Option<Reranking> {
        let scorer = RoleScorer {
            source: extra.reranking()?,
            pool: Arc::clone(&self.0),
        };
        Some(Reranking {
            scorer: Arc::new(scorer),
            top: extra.rerank_top(),
        })
    }
}

/// The model of one role.
struct RoleScorer {
    source: ModelSource,
    pool: Arc<ModelPool>,
}

impl std::fmt::Debug for RoleScorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RoleScorer({:?})", self.source)
    }
}

impl PairScorer for RoleScorer {
    fn scores(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, String> {
        let key = self.key(query, texts);
        if let Some(known) = self.pool.known.lock().get(&key) {
            return Ok(known.clone());
        }
        let scores = match &self.source {
            ModelSource::Folder(folder) => {
                let model = self.pool.model(folder)?;
                texts.iter().map(|text| model.score(query, text)).collect()
            }
            ModelSource::Server { base_url, model } => self.pool.ask(RerankTexts {
                endpoint: EmbeddingEndpoint {
                    base_url: base_url.clone(),
                    model: model.clone(),
                },
                query: query.to_owned(),
                texts: texts.to_vec(),
            })?,
        };
        let mut known = self.pool.known.lock();
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        known.insert(key, scores.clone());
        Ok(scores)
    }
}

impl RoleScorer {
    fn key(&self, query: &str, texts: &[String]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        let source = format!("{:?}", self.source);
        let parts = [source.as_str(), query].into_iter();
        for part in parts.chain(texts.iter().map(String::as_str)) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

impl ModelPool {
    /// The model of a folder, read once.
    fn model(&self, folder: &PathBuf) -> Result<Arc<CrossEncoder>, String> {
        let mut folders = self.folders.lock();
        if let Some(model) = folders.get(folder) {
            return Ok(Arc::clone(model));
        }
        let opened = CrossEncoder::open(folder).map_err(|error| error.to_string())?;
        let model = Arc::new(opened);
        folders.insert(folder.clone(), Arc::clone(&model));
        Ok(model)
    }

    /// Asks a server; waits for its answer, or for the deadline.
    fn ask(&self, question: RerankTexts) -> Result<Vec<f32>, String> {
        let runtime = actix_rt::Runtime::new().map_err(|error| error.to_string())?;
        let answer = runtime.block_on(self.service.ask_within(question, RERANK_TIMEOUT * 2));
        answer.unwrap_or_else(|error| Err(error.to_string()))
    }
}
