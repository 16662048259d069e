//! The search part of an actor tree, on a folder of its own.

#[path = "../../../../integration-tests/tests/all/home.rs"]
mod home;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use config_core::Environment;
use search_actors::messages::{ReadDocument, Search};
use search_actors::{
    LearningRests, RoleRegistry, SearchLimits, SearchService, SearchSettings, SearchTree,
};
use search_core::answer::SearchAnswer;
use search_core::query::SearchRequest;
use search_engine::answering::{DocumentRequest, SearchParams};
use serde_json::Value;
use supervision::{ChildRef, Root, SupervisorSpec, TreeExit};
use tokio::sync::oneshot;

pub(crate) use self::home::Home;

/// A deadline no healthy run comes near.
const DEADLINE: Duration = Duration::from_secs(60);

impl Home {
    /// The folder of the indexes and of what was learnt.
    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Starts the actors with these roles and waits until everything is indexed.
    pub(crate) fn start(&self, roles: &Value) -> Running {
        self.start_resting(roles, LearningRests::default())
    }

    /// The same; what learns rests so long.
    pub(crate) fn start_resting(&self, roles: &Value, learning_rests: LearningRests) -> Running {
        self.start_within(roles, learning_rests, SearchLimits::default())
    }

    /// The same; of each source so much is taken up.
    pub(crate) fn start_within(
        &self,
        roles: &Value,
        learning_rests: LearningRests,
        limits: SearchLimits,
    ) -> Running {
        let roles =
            search_core::role::parse("roles.json", &roles.to_string(), &Environment::default());
        let running = Running::start(SearchSettings {
            roles: roles.expect("valid roles"),
            data: self.data().join("index"),
            max_concurrent_searches: 64,
            search_timeout: DEADLINE,
            search_threads: 2,
            learning_rests,
            limits,
        });
        running.eventually("everything is indexed", || {
            running.registry.now().is_settled()
        });
        running
    }
}

/// Running actors; stopped, and their clean end asserted, when dropped.
pub(crate) struct Running {
    registry: RoleRegistry,
    search: ChildRef<SearchService>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<TreeExit>>,
}

impl Running {
    fn start(settings: SearchSettings) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (sender, started) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async move {
                let tree = SearchTree::new(&settings);
                let root = Root::start(SupervisorSpec::root("test").supervisor(tree.supervisor));
                sender
                    .send((tree.registry, tree.search))
                    .expect("the test waits");
                drop(stopped.await);
                root.handle().stop();
                let verdict = root.verdict().await;
                tree.threads.join_all();
                verdict
            })
        });
        let (registry, search) = started.recv_timeout(DEADLINE).expect("they start");
        Self {
            registry,
            search,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Waits for a condition that a change in the background brings about.
    pub(crate) fn eventually(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < DEADLINE, "not in time: {what}");
            let (_keep, never) = std::sync::mpsc::channel::<()>();
            let _ = never.recv_timeout(Duration::from_millis(5));
        }
    }

    /// A search that must succeed: `search_term`, `role`, `skip`, `limit` and `explain` as over
    /// HTTP.
    pub(crate) fn search(&self, body: &Value) -> Value {
        serde_json::to_value(self.answer(body)).expect("JSON")
    }

    /// The same as those who read on in the process have it; `include_body` as well.
    pub(crate) fn answer(&self, body: &Value) -> SearchAnswer {
        let text = body["search_term"].as_str().expect("words");
        let number = |key: &str, default: u64| {
            let number = body[key].as_u64().unwrap_or(default);
            usize::try_from(number).expect("a small number")
        };
        let params = SearchParams {
            role: body["role"].as_str().map(str::to_owned),
            request: SearchRequest::for_text(text),
            skip: number("skip", 0),
            limit: number("limit", 10),
            explain: body["explain"] == true,
            include_body: body["include_body"] == true,
            matches: number("matches", 0),
            budget_tokens: body["budget_tokens"].as_u64().unwrap_or(0) as usize,
            sort: serde_json::from_value(body["sort"].clone()).unwrap_or_default(),
            ..SearchParams::default()
        };
        let runtime = actix_rt::Runtime::new().expect("a runtime");
        let reply = runtime.block_on(async { self.search.ask(Search(params)).await });
        reply.expect("the service runs").expect("an answer")
    }

    /// A document of an answer, read again.
    pub(crate) fn document(&self, id: &str) -> Value {
        self.document_at(id, None)
    }

    /// The same, with this line of it.
    pub(crate) fn document_at(&self, id: &str, line: Option<usize>) -> Value {
        let request = DocumentRequest {
            id: id.to_owned(),
            line,
            ..DocumentRequest::default()
        };
        let runtime = actix_rt::Runtime::new().expect("a runtime");
        let reply = runtime.block_on(async { self.search.ask(ReadDocument(request)).await });
        let document = reply.expect("the service runs").expect("a document");
        serde_json::to_value(document).expect("JSON")
    }

    /// The state of every source, as in `GET /health`.
    pub(crate) fn health(&self) -> Value {
        serde_json::to_value(self.registry.now().health()).expect("JSON")
    }

    /// Counts what has changed for searches of the default role.
    pub(crate) fn version(&self) -> u64 {
        let roles = self.registry.now();
        roles.role(None).expect("the default role").version()
    }

    /// How often searches of the default role compared a query with every word that was learnt.
    pub(crate) fn word_searches(&self) -> u64 {
        let roles = self.registry.now();
        let role = roles.role(None).expect("the default role").searchable();
        let graphs = role
            .sources
            .iter()
            .filter_map(|source| source.graph.as_ref());
        let spaces = graphs.filter_map(|graph| graph.space());
        spaces.map(|space| space.words().searches()).sum()
    }

    /// The texts that are suggested for the beginning of a query.
    pub(crate) fn suggestions(&self, input: &str) -> Vec<String> {
        let roles = self.registry.now();
        let entry = roles.role(None).expect("the default role");
        let found = entry.suggestions(input, 20).suggestions.into_iter();
        found.map(|one| one.text).collect()
    }

    /// A concept and its neighbours in the graph of the default role.
    pub(crate) fn graph(&self, concept: &str) -> Option<Value> {
        let roles = self.registry.now();
        let entry = roles.role(None).expect("the default role");
        let answer = entry.graph_answer(Some(concept), 100)?;
        Some(serde_json::to_value(answer).expect("JSON"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        let end = self.thread.take().expect("dropped once").join();
        if !std::thread::panicking() {
            assert_eq!(end.expect("no panic"), TreeExit::Stopped);
        }
    }
}

/// File names of the results, best first.
pub(crate) fn keys(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().expect("results");
    let key = |result: &Value| {
        let id = result["id"].as_str().expect("an id");
        id.split_once('/').expect("source and key").1.to_owned()
    };
    results.iter().map(key).collect()
}
