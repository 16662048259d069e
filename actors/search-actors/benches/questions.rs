//! Whether questions of a user's day are answered: by one of the first three results, and by the
//! passages that a program gets within a thousand tokens.
//!
//! `cargo bench -p search-actors --bench questions -- FOLDER… [--questions FILE] [--misses]
//! [--minilm]`
//!
//! The folders are sources of one role: this project's tree and the Rust documentation, for the
//! questions of `questions.txt`. A question none of whose documents is there is said and left out.
//! With `--minilm` the role has the embedding model of the folder that `ORRERY_MINILM` names.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "support/role.rs"]
mod role;

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use search_actors::RoleRegistry;
use search_engine::answering::SearchableRole;

use role::{BenchRole, FUNCTIONS, found, minilm, passages, wait, wait_embedded};

/// Results that a person looks at.
const TOP: usize = 3;

/// How deep a right document is looked for.
const DEPTH: usize = 30;

/// Tokens that a program gets.
const BUDGET: usize = 1_000;

/// A question and the ends of the paths of what answers it.
struct Question {
    text: String,
    right: Vec<String>,
}

fn main() {
    let (mut folders, mut file, mut lists_misses) = (Vec::<PathBuf>::new(), None, false);
    let mut model = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--misses" => lists_misses = true,
            "--questions" => file = arguments.next(),
            "--minilm" => model = Some(minilm()),
            _ => folders.push(argument.into()),
        }
    }
    if folders.is_empty() {
        println!("usage: questions FOLDER… [--questions FILE] [--misses] [--minilm]");
        return;
    }
    let text = file.map_or_else(
        || include_str!("questions.txt").to_owned(),
        |file| fs::read_to_string(file).unwrap(),
    );
    let questions = read(&text);
    let role = BenchRole {
        model: model.as_deref(),
        ..BenchRole::over(&folders)
    };
    let data = tempfile::tempdir().unwrap();
    role.run(data.path(), |registry| {
        match &model {
            Some(_) => wait_embedded(registry),
            None => wait(registry),
        }
        measure(registry, &questions, lists_misses);
    });
}

fn read(text: &str) -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    for line in lines.filter(|line| !line.starts_with('#')) {
        match (line.strip_prefix("    "), questions.last_mut()) {
            (Some(right), Some(question)) => question.right.push(format!("/{right}")),
            _ => questions.push(Question {
                text: line.to_owned(),
                right: Vec::new(),
            }),
        }
    }
    questions
}

fn measure(registry: &RoleRegistry, questions: &[Question], lists_misses: bool) {
    let role = registry.now().role(None).unwrap().searchable();
    let there = ids(&role);
    let is_there = |question: &&Question| {
        let right = there.iter().any(|id| answers(question, id));
        if !right {
            println!("left out, its documents are not there: {}", question.text);
        }
        right
    };
    let questions: Vec<&Question> = questions.iter().filter(is_there).collect();
    println!(
        "{} questions; answered by the first 3, by the first, within {BUDGET} tokens (on average)",
        questions.len()
    );
    for function in FUNCTIONS {
        let role = SearchableRole {
            function,
            ..role.clone()
        };
        let (mut first, mut top, mut within, mut tokens) = (0, 0, 0, 0);
        for question in &questions {
            let results = found(&role, &question.text, DEPTH);
            let place = results.iter().position(|id| answers(question, id));
            first += usize::from(place == Some(0));
            top += usize::from(place.is_some_and(|place| place < TOP));
            let (ids, size) = passages(&role, &question.text, BUDGET);
            within += usize::from(ids.iter().any(|id| answers(question, id)));
            tokens += size;
            if lists_misses && place.is_none_or(|place| place >= TOP) {
                let place =
                    place.map_or_else(|| "none".to_owned(), |place| (place + 1).to_string());
                let shown = &results[..results.len().min(TOP)];
                println!(
                    "  {} {place:>4} {}: {}",
                    function.as_str(),
                    question.text,
                    shown.join("  ")
                );
            }
        }
        println!(
            "  {:16} {top:4} {first:4} {within:4} ({})",
            function.as_str(),
            tokens / questions.len().max(1)
        );
    }
}

fn answers(question: &Question, id: &str) -> bool {
    let mut right = question.right.iter();
    right.any(|right| id.ends_with(right.as_str()))
}

/// All documents of the role.
fn ids(role: &SearchableRole) -> HashSet<String> {
    let mut ids = HashSet::new();
    for source in &role.sources {
        if let Some(snapshot) = &source.snapshot {
            snapshot
                .for_each_document(|record| {
                    ids.insert(format!("{}/{}", source.id, record.key));
                })
                .unwrap();
        }
    }
    ids
}
