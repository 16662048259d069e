//! Searchers beside one machine: whether their answers are equal, on a judged collection, and what
//! a new searcher costs over many documents.
//!
//! `cargo bench -p search-server --bench searchers -- COLLECTION… [--bucket]`, or
//! `… -- TEXTS… --documents N [--bucket]`.

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
#[path = "../../../../actors/search-actors/benches/growth/random.rs"]
mod random;
#[path = "../../tests/snapshots/servers.rs"]
#[allow(dead_code, reason = "the tests need more of it")]
mod servers;

use std::path::PathBuf;
use std::time::Duration;

use s3_server::S3Server;
use servers::{Home, Server};

/// The longest that anything may take.
const DEADLINE: Duration = Duration::from_secs(3_600);

fn main() {
    let (mut folders, mut documents, mut bucket) = (Vec::<PathBuf>::new(), None, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--bucket" => bucket = true,
            "--documents" => documents = arguments.next().and_then(|text| text.parse().ok()),
            _ => folders.push(argument.into()),
        }
    }
    if folders.is_empty() {
        println!("usage: searchers FOLDER… [--documents N] [--bucket]");
        return;
    }
    let storage = bucket.then(S3Server::start);
    match documents {
        Some(documents) => many::measure(&folders, documents, storage.as_ref()),
        None => {
            for folder in &folders {
                equal::measure(folder, storage.as_ref());
            }
        }
    }
}

/// Folders of their own for all processes.
fn home(storage: Option<&S3Server>) -> Home {
    let mut home = Home::new();
    println!(
        "snapshots in {}",
        if storage.is_some() {
            "a bucket of s3s-fs on this machine"
        } else {
            "a folder"
        }
    );
    if let Some(server) = storage {
        home.in_bucket(server);
    }
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
