//! How well files are found by what people ask about code: the semble benchmark, or anything in
//! its shape.
//!
//! `cargo bench -p search-actors --bench code -- FOLDER [--misses] [--only NAME,…] [--results FILE]
//! [--minilm] [--keep FOLDER] [--scope folder|tree]`
//!
//! FOLDER holds `repos.json`, `annotations/NAME.json` and the checkouts in `repos/NAME`;
//! repositories without annotations or a checkout are left out. Each is indexed twice by the actors
//! of the search server: only the folder that the benchmark names, and the whole tree; `--scope`
//! has one of them alone. nDCG@10 over files, each of those that answer counting alike, as the mean
//! over queries; and recall: the share of those files that is among the passages of an answer to a
//! program, of 1,000 tokens.
//! `--results` writes a line of JSON a query: its results, and what their scores are made of. With
//! `--minilm` the role has an embedding model, that of the folder that `ORRERY_MINILM` names; what
//! it makes is kept below the folder of `--keep` for the next run.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "support/code_tasks.rs"]
mod code_tasks;
#[path = "../../search-graph-engine/benches/relevance/measures.rs"]
#[allow(dead_code, reason = "means are of other figures here")]
mod measures;
#[path = "support/role.rs"]
mod role;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use search_core::query::SearchRequest;
use search_core::role::RelevanceFunction;
use search_engine::answering::{SearchParams, SearchableRole, search};
use serde_json::json;

use code_tasks::{Category, CodeTask, Repository, repositories, tasks};
use measures::{judge, recall};
use role::{BenchRole, found, minilm, passages, wait, wait_embedded};

/// What is measured beside one another.
const FUNCTIONS: [RelevanceFunction; 2] = [role::FUNCTIONS[1], role::FUNCTIONS[2]];

/// How deep right files are looked for.
const DEPTH: usize = 100;

/// Tokens that a program gets.
const BUDGET: usize = 1_000;

/// What is searched of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Scope {
    Folder,
    Tree,
}

impl Scope {
    const ALL: [Self; 2] = [Self::Folder, Self::Tree];

    /// The value of `--scope`.
    const fn name(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::Tree => "tree",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Folder => "the benchmark's folder",
            Self::Tree => "the whole tree",
        }
    }
}

/// How well one query is answered.
struct Judged {
    repository: String,
    scope: Scope,
    function: RelevanceFunction,
    category: Category,
    ndcg: f64,
    /// Share of the right files among the passages of a small answer.
    recall: f64,
    /// Tokens of these passages.
    tokens: usize,
}

/// What is to be measured, and where.
#[derive(Default)]
struct Options {
    folder: Option<PathBuf>,
    only: Vec<String>,
    lists_misses: bool,
    results: Option<PathBuf>,
    model: Option<PathBuf>,
    keep: Option<PathBuf>,
    scope: Option<Scope>,
}

fn main() {
    let options = options();
    let Some(folder) = &options.folder else {
        println!(
            "usage: code FOLDER [--misses] [--only NAME,…] [--results FILE] [--minilm] [--keep FOLDER] [--scope folder|tree]"
        );
        return;
    };
    let mut run = Run {
        lists_misses: options.lists_misses,
        results: options
            .results
            .as_ref()
            .map(|file| BufWriter::new(File::create(file).unwrap())),
        judged: Vec::new(),
        left_out: 0,
        model: options.model,
        keep: options.keep,
        scopes: Scope::ALL
            .into_iter()
            .filter(|scope| options.scope.is_none_or(|only| only == *scope))
            .collect(),
    };
    let listed = fs::read_to_string(folder.join("repos.json"));
    let listed = listed.expect("the folder has a repos.json");
    for repository in repositories(&listed).expect("repos.json has the benchmark's shape") {
        if options.only.is_empty() || options.only.contains(&repository.name) {
            run.repository(folder, &repository);
        }
    }
    run.report();
}

fn options() -> Options {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--misses" => options.lists_misses = true,
            "--only" => {
                let names = arguments.next().unwrap_or_default();
                options.only = names.split(',').map(str::to_owned).collect();
            }
            "--minilm" => options.model = Some(minilm()),
            "--keep" => options.keep = arguments.next().map(PathBuf::from),
            "--scope" => {
                let name = arguments.next().unwrap_or_default();
                let scope = Scope::ALL.into_iter().find(|scope| scope.name() == name);
                options.scope = Some(scope.expect("--scope is folder or tree"));
            }
            "--results" => options.results = arguments.next().map(PathBuf::from),
            _ => options.folder = Some(argument.into()),
        }
    }
    options
}

struct Run {
    lists_misses: bool,
    results: Option<BufWriter<File>>,
    judged: Vec<Judged>,
    /// Queries none of whose files are there.
    left_out: usize,
    /// The embedding model of the role.
    model: Option<PathBuf>,
    /// Where what is indexed, learnt and embedded is kept.
    keep: Option<PathBuf>,
    /// What is searched of each repository.
    scopes: Vec<Scope>,
}

impl Run {
    /// Measures both scopes of a repository, if it is there.
    fn repository(&mut self, folder: &Path, repository: &Repository) {
        let name = &repository.name;
        let checkout = folder.join("repos").join(name);
        let file = folder.join("annotations").join(format!("{name}.json"));
        let (Ok(annotations), true) = (fs::read_to_string(&file), checkout.is_dir()) else {
            return;
        };
        let tasks = tasks(&annotations).expect("annotations have the benchmark's shape");
        for scope in self.scopes.clone() {
            let (place, root) = match scope {
                Scope::Folder => (checkout.join(&repository.benchmark_root), ""),
                Scope::Tree => (checkout.clone(), repository.benchmark_root.as_str()),
            };
            let temporary = tempfile::tempdir().unwrap();
            let data = match &self.keep {
                Some(keep) => keep.join(name).join(format!("{scope:?}")),
                None => temporary.path().to_owned(),
            };
            let model = self.model.clone();
            let bench = BenchRole {
                model: model.as_deref(),
                ..BenchRole::over(std::slice::from_ref(&place))
            };
            bench.run(&data, |registry| {
                match &model {
                    Some(_) => wait_embedded(registry),
                    None => wait(registry),
                }
                let role = registry.now().role(None).unwrap().searchable();
                self.measure(name, scope, root, &role, &tasks);
            });
        }
    }

    fn measure(
        &mut self,
        name: &str,
        scope: Scope,
        root: &str,
        role: &SearchableRole,
        tasks: &[CodeTask],
    ) {
        let keys = keys(role);
        for task in tasks {
            let right = task.right(root, &keys);
            if right.is_empty() {
                self.left_out += usize::from(self.scopes.last() == Some(&scope));
                continue;
            }
            for function in FUNCTIONS {
                let role = SearchableRole {
                    function,
                    ..role.clone()
                };
                let ranking: Vec<String> = found(&role, &task.query, DEPTH)
                    .into_iter()
                    .map(|id| key_of(&id).to_owned())
                    .collect();
                let grades: HashMap<String, i32> =
                    right.iter().map(|key| (key.clone(), 1)).collect();
                let ndcg = judge(&grades, &ranking).map_or(0.0, |measures| measures.ndcg_at_10);
                let (ids, tokens) = passages(&role, &task.query, BUDGET);
                let shown: Vec<&str> = ids.iter().map(|id| key_of(id)).collect();
                let judged = Judged {
                    repository: name.to_owned(),
                    scope,
                    function,
                    category: task.category,
                    ndcg,
                    recall: recall(&right, &shown),
                    tokens,
                };
                if self.lists_misses && ndcg < 1.0 {
                    miss(&judged, task, &right, &ranking);
                }
                self.write(&judged, task, &right, &role);
                self.judged.push(judged);
            }
        }
    }

    /// Writes the results of a query where that is asked for.
    fn write(&mut self, judged: &Judged, task: &CodeTask, right: &[String], role: &SearchableRole) {
        let Some(out) = &mut self.results else {
            return;
        };
        let params = SearchParams {
            request: SearchRequest::for_text(&task.query),
            limit: DEPTH,
            explain: true,
            ..SearchParams::default()
        };
        let results = search(role, &params).map_or_else(|_| Vec::new(), |answer| answer.results);
        let results: Vec<_> = results
            .iter()
            .map(|one| {
                json!({"key": key_of(&one.id), "score": one.score, "line": one.line,
                              "explanation": one.explanation})
            })
            .collect();
        let line = json!({"repository": judged.repository, "scope": judged.scope.title(),
                          "function": judged.function.as_str(), "query": task.query,
                          "category": judged.category.as_str(), "ndcg": judged.ndcg,
                          "right": right, "results": results});
        writeln!(out, "{line}").unwrap();
    }

    fn report(&self) {
        let mut repositories: Vec<&str> = self
            .judged
            .iter()
            .map(|one| one.repository.as_str())
            .collect();
        repositories.dedup();
        println!(
            "{} repositories, {} queries; {} left out: none of their files is there",
            repositories.len(),
            self.judged.len() / FUNCTIONS.len() / self.scopes.len(),
            self.left_out
        );
        for &scope in &self.scopes {
            print!("\n{:28} {:>8}", scope.title(), "nDCG@10");
            for category in Category::ALL {
                print!(" {:>13}", category.as_str());
            }
            println!(" {:>22}", format!("recall at {BUDGET} tokens"));
            for function in FUNCTIONS {
                let of = |one: &&Judged| one.scope == scope && one.function == function;
                print!("  {:26} {:8.4}", function.as_str(), self.ndcg(of));
                for category in Category::ALL {
                    let mean = self.ndcg(|one| of(one) && one.category == category);
                    print!(" {mean:13.4}");
                }
                let recall = self.mean(of, |one| one.recall);
                let tokens = self.mean(of, |one| one.tokens as f64);
                println!(" {:>22}", format!("{recall:.4} (of {tokens:.0})"));
            }
        }
        print!("\n{:28}", "by repository");
        for scope in &self.scopes {
            print!(" {:>17}", scope.name());
        }
        println!();
        for name in repositories {
            print!("  {name:26}");
            for &scope in &self.scopes {
                for function in FUNCTIONS {
                    let of = |one: &&Judged| one.scope == scope && one.function == function;
                    print!(
                        " {:8.3}",
                        self.ndcg(|one| of(one) && one.repository == name)
                    );
                }
            }
            println!();
        }
    }

    fn ndcg(&self, of: impl Fn(&&Judged) -> bool) -> f64 {
        self.mean(of, |one| one.ndcg)
    }

    fn mean(&self, of: impl Fn(&&Judged) -> bool, measure: fn(&Judged) -> f64) -> f64 {
        let chosen: Vec<f64> = self.judged.iter().filter(of).map(measure).collect();
        chosen.iter().sum::<f64>() / chosen.len().max(1) as f64
    }
}

fn miss(judged: &Judged, task: &CodeTask, right: &[String], ranking: &[String]) {
    let place = |key: &String| {
        let place = ranking.iter().position(|found| found == key);
        let place = place.map_or_else(|| "none".to_owned(), |place| (place + 1).to_string());
        format!("{key} at {place}")
    };
    println!(
        "  {:.3} {} {} {} {:?}: {}; first {}",
        judged.ndcg,
        judged.function.as_str(),
        judged.scope.title(),
        judged.repository,
        task.query,
        right.iter().map(place).collect::<Vec<_>>().join(", "),
        ranking
            .iter()
            .take(3)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("  ")
    );
}

/// An id is that of the source, and the key there.
fn key_of(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, key)| key)
}

/// The keys of all documents.
fn keys(role: &SearchableRole) -> Vec<String> {
    let mut keys = Vec::new();
    for snapshot in role
        .sources
        .iter()
        .filter_map(|source| source.snapshot.as_ref())
    {
        snapshot
            .for_each_document(|record| keys.push(record.key))
            .unwrap();
    }
    keys.sort();
    keys
}
