//! The search server beside its alternatives, on one folder, in one run:
//! `cargo bench -p integration-tests --bench search -- FOLDER [--json FILE] [--quick] [--concepts]`.
//!
//! Each contender runs in a process of its own, so that CPU seconds and memory are the kernel's own
//! account of it. Load phases are interleaved round by round and medians are printed, because a
//! shared machine changes its speed while it is measured.
//!
//! What is compared:
//! - indexing: `search-server` on a fresh data folder; plain tantivy (default tokenizer, no stems);
//!   plain tantivy with stems and positions;
//! - searching over HTTP at 1 and 16 keep-alive connections: `search-server` as configured, the
//!   same without its result cache, a minimal actix-web + tantivy server over the same index (no
//!   excerpts), and one that cuts ten excerpts as tantivy does, from texts in the index;
//! - the same with ServiceGraph, once its vectors are learnt (`--concepts`);
//! - `ripgrep -il` for single words, where it is installed;
//! - a changed file until it is found, a restart until `/readyz`, memory while serving.

#![allow(clippy::print_stdout, reason = "its table is what it is run for")]

mod contenders;
mod load;
mod process;
mod queries;
mod report;
mod server;
mod serving;
mod stems;
mod table;

use std::path::PathBuf;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--contender", "plain-index", folder, index, mode] => {
            contenders::plain_index(folder.as_ref(), index.as_ref(), mode);
        }
        ["--contender", "minimal-server", index, port] => {
            contenders::minimal_server(index.as_ref(), port.parse().expect("a port number"));
        }
        ["--contender", "snippet-server", index, port] => {
            contenders::snippet_server(index.as_ref(), port.parse().expect("a port number"));
        }
        [folder, rest @ ..] if !folder.starts_with('-') => {
            let json = rest
                .iter()
                .position(|a| *a == "--json")
                .and_then(|at| rest.get(at + 1));
            report::run(
                &PathBuf::from(folder),
                rest.contains(&"--quick"),
                rest.contains(&"--concepts"),
                json.map(PathBuf::from),
            );
        }
        _ => {
            // `cargo bench --workspace` calls every bench without arguments: say how, do not fail.
            println!(
                "usage: cargo bench -p integration-tests --bench search -- FOLDER [--json FILE] [--quick] [--concepts]"
            );
        }
    }
}
