//! Servers of the kinds there are, as processes, and how they are asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use scripted_peers::Program;
use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};
use serde_json::{Value, json};

pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
pub(crate) const FUNCTIONS: [&str; 4] = ["TitleScorer", "BM25", "BM25F", "ServiceGraph"];

/// Documents that others are about, and the processes' folders.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    /// What every process is told of the snapshots.
    pub(crate) storage: BTreeMap<&'static str, String>,
}

/// A bucket, and who may use it.
#[derive(Clone)]
pub(crate) struct BucketPlace {
    pub(crate) url: String,
    pub(crate) endpoint: Option<String>,
    pub(crate) access: String,
    pub(crate) secret: String,
}

impl Home {
    /// A folder of documents, and a folder for snapshots.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("docs")).expect("a folder");
        let snapshots = folder.path().join("snapshots");
        let url = format!("file://{}", snapshots.display());
        Self {
            folder,
            storage: BTreeMap::from([("SERVICE_SNAPSHOTS", url)]),
        }
    }

    /// Snapshots are in a bucket of this server instead.
    pub(crate) fn in_bucket(&mut self, server: &S3Server) {
        self.in_bucket_at(&BucketPlace {
            url: format!("s3://{BUCKET}/search"),
            endpoint: Some(server.endpoint()),
            access: ACCESS_KEY.to_owned(),
            secret: SECRET_KEY.to_owned(),
        });
    }

    /// Snapshots are there.
    pub(crate) fn in_bucket_at(&mut self, place: &BucketPlace) {
        self.storage = [
            ("SERVICE_SNAPSHOTS", place.url.clone()),
            ("CLOUDSTORE_ACCESS_KEY_ID", place.access.clone()),
            ("CLOUDSTORE_SECRET_ACCESS_KEY", place.secret.clone()),
        ]
        .into();
        let endpoint = place.endpoint.clone();
        let endpoint = endpoint.map(|url| ("SERVICE_PROFILE_OBJSTORE_ENDPOINT", url));
        self.storage.extend(endpoint);
    }

    pub(crate) fn docs(&self) -> PathBuf {
        self.folder.path().join("docs")
    }

    pub(crate) fn snapshots(&self) -> PathBuf {
        self.folder.path().join("snapshots")
    }

    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// One role a function, over the documents.
    pub(crate) fn write_roles(&self, functions: &[&str]) {
        self.write_roles_as("roles.json", functions, &json!({}));
    }

    /// The same in a file of this name, where every role has more settings.
    pub(crate) fn write_roles_as(&self, file: &str, functions: &[&str], extra: &Value) {
        let roles: Vec<Value> = functions
            .iter()
            .map(|function| {
                let haystack =
                    json!({"name": "Docs", "service": "LocalFiles", "location": self.docs()});
                json!({
                    "name": function, "relevance_function": function, "haystacks": [haystack],
                    "extra": extra,
                })
            })
            .collect();
        let roles = json!({"roles": roles, "default_role": functions[0]});
        std::fs::write(self.data(file), roles.to_string()).expect("room");
    }

    /// The program with its settings, in this mode.
    pub(crate) fn command(&self, name: &str, mode: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_search-server"));
        command
            .env_clear()
            .env("HOME", self.folder.path())
            .env("SERVICE_DATA_PATH", self.data(name))
            .env(
                "SERVICE_SETTINGS_PATH",
                self.folder.path().join("roles.json"),
            )
            .env("SERVICE_SERVER_HOSTNAME", "127.0.0.1:0")
            .env("LOG_LEVEL", "debug")
            .env("SERVICE_SEARCH_MODE", mode)
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        if mode != "local" {
            command.envs(&self.storage);
        }
        command
    }

    pub(crate) fn start(&self, name: &str, mode: &str) -> Server {
        Server::start(self.command(name, mode))
    }

    /// The same with another file of roles.
    pub(crate) fn start_with(&self, name: &str, mode: &str, roles: &str) -> Server {
        let mut command = self.command(name, mode);
        command.env("SERVICE_SETTINGS_PATH", self.data(roles));
        Server::start(command)
    }

    /// One of the indexers or searchers of sources that are split into `parts`.
    pub(crate) fn start_part(&self, name: &str, mode: &str, part: u32, parts: u32) -> Server {
        let mut command = self.command(name, mode);
        command
            .env("SERVICE_INDEX_PARTS", parts.to_string())
            .env("SERVICE_INDEX_PART", part.to_string());
        Server::start(command)
    }

    pub(crate) fn run(&self, name: &str, mode: &str, arguments: &[&str]) -> Output {
        let mut command = self.command(name, mode);
        command.args(arguments).output().expect("it runs")
    }
}

/// A corpus of so many documents, of words that say different things.
pub(crate) fn write_corpus(docs: &Path, count: usize) {
    const TOPICS: [&str; 8] = [
        "supervision restart policy actor mailbox crash",
        "inverted index posting list segment merge term",
        "webhook delivery signature payload push branch",
        "virtual machine image boot kernel guest memory",
        "lease epoch fencing storage conditional write",
        "snippet highlight passage excerpt query word",
        "garden tomato basil soil water sunlight",
        "bicycle chain gear brake wheel saddle",
    ];
    for number in 0..count {
        let topic = TOPICS[number % TOPICS.len()];
        let other = TOPICS[(number / TOPICS.len() + 3) % TOPICS.len()];
        let words: Vec<&str> = topic.split(' ').collect();
        let mut text = format!(
            "# {} {} note {number}\n\n",
            words[number % 6],
            words[(number + 1) % 6]
        );
        for line in 0..(3 + number % 17) {
            let word = words[(line * 5 + number) % words.len()];
            text += &format!("The {word} of {topic} stands beside the {word} number{line}.\n");
        }
        text += &format!("\nIt is unlike {other}.\n");
        let folder = docs.join(format!("part{}", number % 5));
        std::fs::create_dir_all(&folder).expect("room");
        std::fs::write(folder.join(format!("note-{number:04}.md")), text).expect("room");
    }
}

pub(crate) const QUERIES: [&str; 12] = [
    "restart policy",
    "posting list",
    "\"conditional write\"",
    "basil",
    "supervision OR bicycle",
    "lease AND epoch",
    "title:garden",
    "virt*",
    "number16",
    "webhok signature",
    "the brake of a machine",
    "crash kernel mailbox guest",
];

/// A server as a process.
pub(crate) struct Server {
    pub(crate) program: Program,
}

impl Server {
    pub(crate) fn start(command: Command) -> Self {
        let program = Program::start(command);
        Self { program }
    }

    /// Ends it as a service manager does.
    pub(crate) fn end(mut self) {
        let (code, output) = self.program.end();
        assert_eq!(code, Some(0), "{output}");
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let reply = self.program.ask(&format!("GET {path}"), &[], "");
        (reply.status, reply.body)
    }

    pub(crate) fn health(&self) -> Value {
        serde_json::from_str(&self.get("/health").1).expect("JSON")
    }

    /// The first source's state in `/health`.
    pub(crate) fn source(&self) -> Value {
        self.health()["sources"][0].clone()
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.get("/readyz").0 == 200
    }

    /// Waits until all of its documents and concepts are there.
    pub(crate) fn settle(&mut self, documents: usize, concepts: bool) {
        self.settle_within(documents, concepts, DEADLINE);
    }

    /// The same, and it may take longer.
    pub(crate) fn settle_within(&mut self, documents: usize, concepts: bool, most: Duration) {
        wait_within(
            &format!("{documents} documents"),
            most,
            || {
                let source = self.source();
                let learnt = !concepts || source["concepts"]["state"] == "ready";
                source["state"] == "ready" && source["documents"] == documents && learnt
            },
            || format!("{} {}", self.source(), self.program.output()),
        );
    }

    /// A search: its status, and the first `limit` results.
    pub(crate) fn ask(&self, role: &str, words: &str, limit: usize) -> (u16, Value) {
        let body = json!({"role": role, "search_term": words, "limit": limit}).to_string();
        let headers = [("Content-Type", "application/json")];
        let reply = self
            .program
            .ask("POST /api/documents/search", &headers, &body);
        (reply.status, reply.json())
    }

    pub(crate) fn search(&self, role: &str, words: &str) -> Value {
        let (status, answer) = self.ask(role, words, 30);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// An answer without what differs from call to call.
    pub(crate) fn answer(&self, role: &str, words: &str) -> Value {
        without_times(self.search(role, words))
    }

    pub(crate) fn finds(&self, role: &str, words: &str) -> bool {
        self.search(role, words)["total"] != 0
    }
}

/// Waits for something that comes by itself.
pub(crate) fn wait(
    what: &str,
    is_so: impl FnMut() -> bool,
    told: impl FnOnce() -> String,
) -> Duration {
    wait_within(what, DEADLINE, is_so, told)
}

pub(crate) fn wait_within(
    what: &str,
    most: Duration,
    mut is_so: impl FnMut() -> bool,
    told: impl FnOnce() -> String,
) -> Duration {
    let began = Instant::now();
    let (_kept, never) = channel::<()>();
    while !is_so() {
        if began.elapsed() > most {
            panic!("no {what} within {most:?}: {}", told());
        }
        let _ = never.recv_timeout(Duration::from_millis(20));
    }
    began.elapsed()
}

/// An answer without what differs from call to call.
pub(crate) fn without_times(mut answer: Value) -> Value {
    if let Some(all) = answer.as_object_mut() {
        all.remove("took_ms");
    }
    let sources = answer.get_mut("sources").and_then(Value::as_array_mut);
    for source in sources.into_iter().flatten() {
        if let Some(source) = source.as_object_mut() {
            source.remove("took_ms");
        }
    }
    answer
}

/// Asserts that two servers give the same answers, by every function.
pub(crate) fn assert_same_answers(one: &Server, other: &Server, functions: &[&str]) {
    let mut hits = 0;
    for function in functions {
        for query in QUERIES {
            let (a, b) = (one.answer(function, query), other.answer(function, query));
            hits += a["results"].as_array().map_or(0, Vec::len);
            assert_eq!(a, b, "{function}: {query}");
        }
    }
    assert!(
        hits > 20 * functions.len(),
        "the answers say something: {hits}"
    );
}
