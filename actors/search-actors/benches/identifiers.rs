//! What people who own code look for all day, without labels: identifiers that stand in few files,
//! and files and pages by their names.
//!
//! `cargo bench -p search-actors --bench identifiers -- FOLDER… [--seed N] [--misses] [--ask FILE]`
//!
//! Indexes the folders as sources of one role, by the actors of the search server, and waits until
//! their concepts are learnt. Then it draws queries from what was indexed
//! (`support/samples.rs`) and counts how often a right document is first. `--misses` lists the
//! others. `--ask` shows the first results of each line of a file instead.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "support/cpu.rs"]
mod cpu;
#[path = "support/role.rs"]
mod role;
#[path = "support/samples.rs"]
mod samples;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use search_actors::RoleRegistry;
use search_core::role::RelevanceFunction;
use search_engine::answering::{DocumentRequest, SearchableRole, read_document};

use cpu::cpu_seconds;
use role::{FUNCTIONS, found, wait, with_role};
use samples::{Sample, Sampler, Samples};

/// How many identifiers are looked for.
const IDENTIFIERS: usize = 120;

/// How many names.
const NAMES: usize = 80;

/// How deep a right document is looked for.
const DEPTH: usize = 30;

/// What is to be measured.
#[derive(Default)]
struct Options {
    folders: Vec<PathBuf>,
    seed: u64,
    lists_misses: bool,
    ask: Option<PathBuf>,
}

fn main() {
    let options = options();
    if options.folders.is_empty() {
        println!("usage: identifiers FOLDER… [--seed N] [--misses] [--ask FILE]");
        return;
    }
    with_role(&options.folders, |registry| measure(&options, registry));
}

fn options() -> Options {
    let mut options = Options {
        seed: 1,
        ..Options::default()
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--seed" => options.seed = arguments.next().unwrap().parse().unwrap(),
            "--misses" => options.lists_misses = true,
            "--ask" => options.ask = arguments.next().map(PathBuf::from),
            _ => options.folders.push(argument.into()),
        }
    }
    options
}

fn measure(options: &Options, registry: &RoleRegistry) {
    let began = Instant::now();
    wait(registry);
    let role = registry.now().role(None).unwrap().searchable();
    let documents: u64 = role
        .sources
        .iter()
        .map(|source| {
            let count = source
                .snapshot
                .as_ref()
                .map_or(0, |one| one.document_count());
            println!("{}: {count} documents", source.name);
            count
        })
        .sum();
    println!(
        "indexed and learnt in {:.0} s, {:.2} CPU ms a document",
        began.elapsed().as_secs_f64(),
        cpu_seconds() * 1e3 / documents.max(1) as f64
    );
    if let Some(file) = &options.ask {
        return ask(&role, &fs::read_to_string(file).unwrap());
    }
    let samples = draw(&role, options.seed);
    println!("\nfirst of {:24} {:>12} {:>12}", "", "identifiers", "names");
    println!(
        "{:33} {:>12} {:>12}",
        "",
        samples.identifiers.len(),
        samples.names.len()
    );
    let mut misses = Vec::new();
    for function in FUNCTIONS {
        let role = SearchableRole {
            function,
            ..role.clone()
        };
        let mut first = |list: &[Sample]| {
            let ranks = list.iter().map(|sample| (rank(&role, sample), sample));
            let missed = ranks.filter(|(rank, _)| *rank != Some(1));
            let missed: Vec<String> = missed
                .map(|(rank, one)| miss(function, rank, one))
                .collect();
            let first = list.len() - missed.len();
            misses.extend(missed);
            first
        };
        let (identifiers, names) = (first(&samples.identifiers), first(&samples.names));
        println!("  {:31} {identifiers:12} {names:12}", function.as_str());
    }
    if options.lists_misses {
        misses.iter().for_each(|miss| println!("{miss}"));
    }
}

fn miss(function: RelevanceFunction, rank: Option<usize>, sample: &Sample) -> String {
    let rank = rank.map_or_else(|| "none".to_owned(), |rank| rank.to_string());
    format!(
        "  {} {rank:>4} {:?}: {}",
        function.as_str(),
        sample.query,
        sample.right.join(", ")
    )
}

/// Draws the queries from the texts as they were indexed.
fn draw(role: &SearchableRole, seed: u64) -> Samples {
    let mut sampler = Sampler::default();
    for (group, source) in role.sources.iter().enumerate() {
        let Some(snapshot) = &source.snapshot else {
            continue;
        };
        let mut records = Vec::new();
        snapshot
            .for_each_document(|record| records.push(record))
            .unwrap();
        records.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        for record in records {
            let request = DocumentRequest {
                id: format!("{}/{}", source.id, record.key),
                ..DocumentRequest::default()
            };
            if let Ok(view) = read_document(role, &request) {
                sampler.add(group, &request.id, &record.title, &view.body);
            }
        }
    }
    sampler.draw(seed, IDENTIFIERS, NAMES)
}

/// The rank of the first right document.
fn rank(role: &SearchableRole, sample: &Sample) -> Option<usize> {
    let ids = found(role, &sample.query, DEPTH);
    let place = ids.iter().position(|id| sample.right.contains(id));
    place.map(|place| place + 1)
}

/// The first results of each line.
fn ask(role: &SearchableRole, questions: &str) {
    for line in questions.lines() {
        println!("\n{line}");
        for function in FUNCTIONS {
            let role = SearchableRole {
                function,
                ..role.clone()
            };
            println!(
                "  {}: {}",
                function.as_str(),
                found(&role, line, 5).join("  ")
            );
        }
    }
}
