//! A role over folders, indexed and learnt by the actors of the search server, and searches in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use config_core::Environment;
use search_actors::{LearningRests, RoleRegistry, SearchSettings, SearchTree};
use search_core::query::SearchRequest;
use search_core::role::RelevanceFunction;
use search_engine::answering::{SearchParams, SearchableRole, search};
use search_graph_engine::space::MIN_DOCUMENTS;
use serde_json::json;
use supervision::{Root, SupervisorSpec};
use tokio::sync::oneshot;

/// How often the state of the sources is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What is measured beside one another.
#[allow(dead_code, reason = "not every benchmark ranks by all of them")]
pub(crate) const FUNCTIONS: [RelevanceFunction; 3] = [
    RelevanceFunction::TitleScorer,
    RelevanceFunction::BM25F,
    RelevanceFunction::ServiceGraph,
];

/// Runs `measure` while the folders are sources of a role.
#[allow(dead_code, reason = "not every benchmark begins with nothing")]
pub(crate) fn with_role(folders: &[PathBuf], measure: impl FnOnce(&RoleRegistry)) {
    let data = tempfile::tempdir().unwrap();
    with_role_at(data.path(), LearningRests::default(), folders, measure);
}

/// The same with a data folder that may hold something already.
#[allow(dead_code, reason = "not every benchmark keeps a folder")]
pub(crate) fn with_role_at(
    data: &Path,
    learning_rests: LearningRests,
    folders: &[PathBuf],
    measure: impl FnOnce(&RoleRegistry),
) {
    let role = BenchRole {
        learning_rests,
        ..BenchRole::over(folders)
    };
    role.run(data, measure);
}

/// The folder of MiniLM.
#[allow(dead_code, reason = "not every benchmark has a model")]
pub(crate) fn minilm() -> PathBuf {
    let folder = std::env::var_os("ORRERY_MINILM");
    folder
        .expect("ORRERY_MINILM names the folder of the model")
        .into()
}

/// What a role is made of.
pub(crate) struct BenchRole<'f> {
    pub(crate) folders: &'f [PathBuf],
    pub(crate) learning_rests: LearningRests,
    /// The folder of an embedding model.
    pub(crate) model: Option<&'f Path>,
}

impl<'f> BenchRole<'f> {
    /// Over folders.
    pub(crate) fn over(folders: &'f [PathBuf]) -> Self {
        Self {
            folders,
            learning_rests: LearningRests::default(),
            model: None,
        }
    }

    /// Runs `measure` with its data below a folder.
    pub(crate) fn run(self, data: &Path, measure: impl FnOnce(&RoleRegistry)) {
        let role = self.json();
        run(&role, data, self.learning_rests, measure);
    }

    fn json(&self) -> serde_json::Value {
        let haystacks = self.folders.iter().map(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            json!({"name": name, "service": "LocalFiles", "location": folder})
        });
        let mut role = json!({"name": "Bench", "relevance_function": "service-graph",
                              "theme": "spacelab", "haystacks": haystacks.collect::<Vec<_>>()});
        if let Some(model) = self.model {
            role["extra"] = json!({"embedding_model": model});
        }
        role
    }
}

fn run(
    role: &serde_json::Value,
    data: &Path,
    learning_rests: LearningRests,
    measure: impl FnOnce(&RoleRegistry),
) {
    let roles = search_core::role::parse("role.json", &role.to_string(), &Environment::default());
    let settings = SearchSettings {
        roles: roles.unwrap(),
        data: data.join("indexes"),
        max_concurrent_searches: 4,
        search_timeout: Duration::from_secs(60),
        search_threads: 1,
        learning_rests,
        limits: search_actors::SearchLimits::default(),
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let (sender, started) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move {
            let tree = SearchTree::new(&settings);
            let root = Root::start(SupervisorSpec::root("bench").supervisor(tree.supervisor));
            sender.send(tree.registry).unwrap();
            drop(stopped.await);
            root.handle().stop();
            root.verdict().await;
            tree.threads.join_all();
        });
    });
    measure(&started.recv().unwrap());
    drop(stop);
    thread.join().unwrap();
}

/// Waits until everything is indexed and learnt.
pub(crate) fn wait(registry: &RoleRegistry) {
    loop {
        let now = registry.now();
        let is_learnt = now.health().iter().all(|source| {
            let state = serde_json::to_value(&source.concepts).unwrap()["state"].clone();
            state == "ready" || state == "too_few" && source.documents < MIN_DOCUMENTS as u64
        });
        if now.is_settled() && is_learnt {
            return;
        }
        std::thread::park_timeout(POLL_INTERVAL);
    }
}

/// The same, and everything is embedded.
#[allow(dead_code, reason = "not every benchmark has a model")]
pub(crate) fn wait_embedded(registry: &RoleRegistry) {
    wait(registry);
    loop {
        let health = registry.now().health();
        let concepts = health
            .iter()
            .map(|source| serde_json::to_value(&source.concepts).unwrap());
        if concepts
            .into_iter()
            .all(|concepts| concepts["embedded"] == true)
        {
            return;
        }
        std::thread::park_timeout(POLL_INTERVAL);
    }
}

/// The ids of the first `limit` results.
#[allow(dead_code, reason = "not every benchmark looks at them")]
pub(crate) fn found(role: &SearchableRole, text: &str, limit: usize) -> Vec<String> {
    let params = SearchParams {
        request: SearchRequest::for_text(text),
        limit,
        ..SearchParams::default()
    };
    let answer = search(role, &params);
    let results = answer.map_or_else(|_| Vec::new(), |answer| answer.results);
    results.into_iter().map(|result| result.id).collect()
}

/// The documents of the passages that a program gets within a budget of tokens, and their tokens.
#[allow(dead_code, reason = "not every benchmark looks at them")]
pub(crate) fn passages(role: &SearchableRole, text: &str, budget: usize) -> (Vec<String>, usize) {
    let params = SearchParams {
        request: SearchRequest::for_text(text),
        limit: 10,
        budget_tokens: budget,
        ..SearchParams::default()
    };
    let answer = search(role, &params);
    let passages = answer.ok().and_then(|answer| answer.passages);
    let passages = passages.unwrap_or_default();
    let tokens = passages.iter().map(|passage| passage.tokens).sum();
    (
        passages.into_iter().map(|passage| passage.id).collect(),
        tokens,
    )
}
