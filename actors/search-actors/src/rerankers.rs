//! The models that read best results once more: folders in memory, or servers asked from a search's
//! thread; what they gave is kept for the next page.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use search_core::role::{ModelSource, RoleOptions};
use search_engine::answering::{NoScores, PairScorer, RerankOptions};
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
    pub(crate) fn for_role(&self, extra: &RoleOptions) -> Option<RoleReranker> {
        let scorer = RoleScorer {
            source: extra.reranking()?,
            pool: Arc::clone(&self.0),
            question: Mutex::default(),
        };
        Some(RoleReranker {
            scorer: Arc::new(scorer),
            top: extra.rerank_top(),
        })
    }
}

/// What reads the results of one search once more; clones are the same.
#[derive(Clone)]
pub(crate) struct RoleReranker {
    scorer: Arc<RoleScorer>,
    top: usize,
}

impl RoleReranker {
    /// As a search needs it.
    pub(crate) fn reranking(&self) -> RerankOptions {
        RerankOptions {
            scorer: Arc::clone(&self.scorer) as Arc<dyn PairScorer>,
            top: self.top,
        }
    }

    /// Whether a server may have to be asked.
    pub(crate) fn is_served(&self) -> bool {
        matches!(self.scorer.source, ModelSource::Server { .. })
    }

    /// Asks the server what the search wanted to know of it.
    pub(crate) async fn fetch_scores(&self) {
        self.scorer.fetch_scores().await;
    }
}

/// The model of one role, in one search.
struct RoleScorer {
    source: ModelSource,
    pool: Arc<ModelPool>,
    question: Mutex<ServerQuestion>,
}

/// What a search wants to know of a server.
#[derive(Default)]
enum ServerQuestion {
    #[default]
    None,
    Open(RerankTexts),
    Answered(ServerScores),
}

/// What a server gave, and for which query and texts.
struct ServerScores {
    key: [u8; 32],
    scores: Result<Vec<f32>, String>,
}

impl std::fmt::Debug for RoleScorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RoleScorer({:?})", self.source)
    }
}

impl PairScorer for RoleScorer {
    fn scores(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, NoScores> {
        let key = self.key(query, texts);
        if let Some(known) = self.pool.known.lock().get(&key) {
            return Ok(known.clone());
        }
        match &self.source {
            ModelSource::Folder(folder) => {
                let model = self.pool.model(folder)?;
                let scores: Vec<f32> = texts.iter().map(|text| model.score(query, text)).collect();
                self.pool.insert(key, scores.clone());
                Ok(scores)
            }
            ModelSource::Server { base_url, model } => {
                let mut question = self.question.lock();
                if let ServerQuestion::Answered(answer) = &*question {
                    return answer.get(key);
                }
                *question = ServerQuestion::Open(RerankTexts {
                    endpoint: EmbeddingEndpoint {
                        base_url: base_url.clone(),
                        model: model.clone(),
                    },
                    query: query.to_owned(),
                    texts: texts.to_vec(),
                });
                Err(NoScores::Pending)
            }
        }
    }
}

impl ServerScores {
    /// What it gave for a query and texts.
    fn get(&self, key: [u8; 32]) -> Result<Vec<f32>, NoScores> {
        if self.key == key {
            return self.scores.clone().map_err(NoScores::Failed);
        }
        let reason = "the results have changed while its server was asked; search again";
        Err(reason.to_owned().into())
    }
}

impl RoleScorer {
    /// Asks the server, for its answer or until the deadline.
    async fn fetch_scores(&self) {
        let ServerQuestion::Open(question) = std::mem::take(&mut *self.question.lock()) else {
            return;
        };
        let key = self.key(&question.query, &question.texts);
        let service = &self.pool.service;
        let answer = service.ask_within(question, RERANK_TIMEOUT * 2).await;
        let scores = answer.unwrap_or_else(|error| Err(error.to_string()));
        if let Ok(scores) = &scores {
            self.pool.insert(key, scores.clone());
        }
        *self.question.lock() = ServerQuestion::Answered(ServerScores { key, scores });
    }

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

    fn insert(&self, key: [u8; 32], scores: Vec<f32>) {
        let mut known = self.known.lock();
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        known.insert(key, scores);
    }
}
