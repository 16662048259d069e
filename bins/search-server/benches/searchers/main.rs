//! Searchers beside one machine: whether their answers are equal, on a judged collection, and what
//! a new searcher costs over many documents.
//!
//! `cargo bench -p search-server --bench searchers -- COLLECTION… [--parts N] [STORAGE]`, or
//! `… -- TEXTS… --documents N [STORAGE]`. The storage is a folder; `--bucket`: s3s-fs on this
//! machine; `--bucket=s3://bucket/prefix [--endpoint URL]`: that server's, with the keys of the
//! environment.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on should stop"
)]

#[path = "../../../../actors/search-graph-engine/benches/relevance/collection.rs"]
#[allow(dead_code, reason = "rankings are judged elsewhere")]
mod collection;
#[path = "../../../../actors/search-actors/benches/growth/corpus.rs"]
#[allow(dead_code, reason = "queries are drawn elsewhere")]
mod corpus;
mod equal;
#[path = "../../tests/snapshots/equality.rs"]
mod equality;
mod many;
#[path = "../../../../actors/search-graph-engine/benches/relevance/measures.rs"]
#[allow(dead_code, reason = "rankings are judged elsewhere")]
mod measures;
#[path = "../../../../actors/search-actors/benches/growth/random.rs"]
mod random;
#[path = "../../tests/snapshots/servers.rs"]
#[allow(dead_code, reason = "the tests need more of it")]
mod servers;

use std::path::PathBuf;
use std::time::Duration;

use scripted_peers::s3::S3Server;
use servers::{BucketPlace, Home, Server};

/// The longest that anything may take.
const DEADLINE: Duration = Duration::from_secs(3_600);

fn main() {
    let (mut folders, mut documents, mut parts) = (Vec::<PathBuf>::new(), None, 2);
    let (mut bucket, mut endpoint) = (None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--bucket" => bucket = Some(String::new()),
            "--endpoint" => endpoint = arguments.next(),
            "--documents" => documents = arguments.next().and_then(|text| text.parse().ok()),
            "--parts" => parts = arguments.next().and_then(|text| text.parse().ok()).unwrap(),
            other => match other.strip_prefix("--bucket=") {
                Some(url) => bucket = Some(url.to_owned()),
                None => folders.push(other.into()),
            },
        }
    }
    if folders.is_empty() {
        println!("usage: searchers FOLDER… [--documents N] [--parts N] [--bucket[=URL]]");
        return;
    }
    let storage = Storage::new(bucket, endpoint);
    match documents {
        Some(documents) => many::measure(&folders, documents, &storage),
        None => {
            for folder in &folders {
                equal::measure(folder, &storage, parts);
            }
        }
    }
}

/// Where snapshots are.
pub(crate) enum Storage {
    /// In a folder.
    Folder,
    /// On a server that this benchmark started.
    Own(S3Server),
    /// On another one.
    Bucket(BucketPlace),
}

impl Storage {
    fn new(bucket: Option<String>, endpoint: Option<String>) -> Self {
        match bucket {
            None => Self::Folder,
            Some(url) if url.is_empty() => Self::Own(S3Server::start()),
            Some(url) => {
                let key = |name: &str| {
                    let own = std::env::var(format!("CLOUDSTORE_{name}"));
                    own.or_else(|_| std::env::var(format!("AWS_{name}")))
                        .unwrap()
                };
                Self::Bucket(BucketPlace {
                    url,
                    endpoint,
                    access: key("ACCESS_KEY_ID"),
                    secret: key("SECRET_ACCESS_KEY"),
                })
            }
        }
    }
}

/// Folders of their own for all processes.
fn home(storage: &Storage) -> Home {
    let mut home = Home::new();
    let place = match storage {
        Storage::Folder => "a folder".to_owned(),
        Storage::Own(server) => {
            home.in_bucket(server);
            "a bucket of s3s-fs on this machine".to_owned()
        }
        Storage::Bucket(place) => {
            // What a former run left is of other documents.
            let name = format!("bench-{}", uuid::Uuid::new_v4().simple());
            let url = format!("{}/{name}", place.url.trim_end_matches('/'));
            let shown = format!("{url}, where they are left");
            home.in_bucket_at(&BucketPlace {
                url,
                ..place.clone()
            });
            shown
        }
    };
    println!("snapshots in {place}");
    home
}

/// Starts a server that logs little.
fn start(home: &Home, name: &str, mode: &str) -> Server {
    start_part(home, name, mode, 1, 1)
}

/// The same over sources that are split.
fn start_part(home: &Home, name: &str, mode: &str, part: u32, parts: u32) -> Server {
    let mut command = home.command(name, mode);
    command.env("LOG_LEVEL", "info");
    if mode != "local" {
        command
            .env("SERVICE_INDEX_PARTS", parts.to_string())
            .env("SERVICE_INDEX_PART", part.to_string());
    }
    Server::start(command)
}
