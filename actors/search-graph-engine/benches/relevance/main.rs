//! Relevance of ServiceGraph beside what it is compared with, and what learning costs.
//!
//! `cargo bench -p search-graph-engine --bench relevance -- FOLDER… [--model FOLDER | --minilm] [--seeds N]`:
//! each folder holds a collection in BEIR layout (`corpus.jsonl`, `queries.jsonl` or their `.gz`,
//! and `qrels.tsv`). `--model` is a sentence-transformer folder; with `--minilm` the variable
//! `ORRERY_MINILM` names it.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

mod collection;
mod plain;
mod sqlite;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use collection::Collection;
use search_core::document::{ContentKind, ExtractedDocument};
use search_core::measures::Measures;
use search_core::query::{SearchRequest, parse};
use search_core::role::RelevanceFunction;
use search_engine::index::{
    Durability, FileState, IndexOptions, IndexSnapshot, LexicalResult, Nearness, Page,
    RerankedDocument, Reranker, Scope, SourceIndex, search_across, search_in,
};
use search_graph_engine::embedding::{EmbeddingIndex, EmbeddingModel, dense_weight};
use search_graph_engine::fuse::{CONCEPT_WEIGHT, Candidate, LEXICAL_DEPTH, fuse};
use search_graph_engine::learning::{CorpusWriter, LearnOptions, Learner, TermReader};
use search_graph_engine::space::{ConceptSpace, SCAN_DEPTH};

/// A ranking by key with scores, best first.
type Ranking = Vec<(String, f32)>;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    let (mut folders, mut seeds, mut model) = (Vec::new(), 3, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--model" => {
                model = Some(EmbeddingModel::open(arguments.next().unwrap().as_ref()).unwrap());
            }
            // A name, so that a record names no folder of this machine.
            "--minilm" => {
                let folder = std::env::var_os("ORRERY_MINILM");
                let folder = folder.expect("ORRERY_MINILM names the folder of the model");
                model = Some(EmbeddingModel::open(folder.as_ref()).unwrap());
            }
            "--seeds" => seeds = arguments.next().unwrap().parse().unwrap(),
            _ => folders.push(argument),
        }
    }
    for folder in folders {
        report(&Collection::read(Path::new(&folder)), seeds, model.as_ref());
    }
}

fn report(collection: &Collection, seeds: u64, model: Option<&EmbeddingModel>) {
    println!(
        "{}: {} documents, {} queries",
        collection.name,
        collection.documents.len(),
        collection.queries.len()
    );
    println!(
        "  {:28} {:>8} {:>8} {:>10}",
        "", "nDCG@10", "MRR@10", "recall@100"
    );
    row(
        "tantivy, English stems",
        collection.judge(&plain::rankings(collection)),
    );
    row(
        "SQLite FTS5",
        collection.judge(&sqlite::rankings(collection)),
    );
    let folder = tempfile::tempdir().unwrap();
    let snapshot = index(collection, folder.path());
    for function in [
        RelevanceFunction::TitleScorer,
        RelevanceFunction::BM25,
        RelevanceFunction::BM25F,
    ] {
        let rankings = lexical(collection, &snapshot, function, 100);
        row(&format!("{function:?}"), collection.judge(&keys(&rankings)));
    }
    let pools = lexical(collection, &snapshot, RelevanceFunction::BM25F, 1000);
    let mut sums = Vec::new();
    for seed in 1..=seeds {
        let space = learn(collection, folder.path(), seed);
        let rankings = with_concepts(collection, &snapshot, &space);
        let measures = collection.judge(&rankings);
        row(&format!("ServiceGraph, seed {seed}"), measures);
        sums.push(measures);
    }
    if seeds > 0 {
        row("ServiceGraph, mean", search_core::measures::mean(&sums));
    }
    if let Some(model) = model {
        embedded(collection, &pools, model);
    }
}

/// What a model adds: alone over all documents, by reciprocal ranks, and by weighted scores.
fn embedded(collection: &Collection, pools: &[Ranking], model: &EmbeddingModel) {
    let before = cpu_seconds();
    // The name that a data set gives a piece of code stands in the code itself.
    let is_code = collection.is_code();
    let text = |entry: &collection::Entry| match is_code {
        true => entry.text.clone(),
        false => format!("{} {}", entry.title, entry.text),
    };
    let mut index = EmbeddingIndex::default();
    for entry in &collection.documents {
        index.put(&entry.id, model.embed(text(entry).trim()));
    }
    println!(
        "    embedded: {:.1} documents a CPU second",
        index.len() as f64 / (cpu_seconds() - before)
    );
    let kind = if is_code {
        ContentKind::Code
    } else {
        ContentKind::Prose
    };
    let (mut alone, mut reciprocal) = (Vec::new(), Vec::new());
    let (mut lexical, mut both) = (Vec::new(), Vec::new());
    for (query, pool) in collection.queries.iter().zip(pools) {
        let query = model.embed(&query.text);
        let near: Vec<String> = index
            .scan(&query, SCAN_DEPTH)
            .into_iter()
            .map(|n| n.key)
            .collect();
        reciprocal.push(by_reciprocal_ranks(pool, &near));
        let cosine = |key: &str| index.cosine(&query, key);
        lexical.push(fused(pool, &[], cosine, dense_weight(kind)));
        both.push(fused(pool, &near, cosine, dense_weight(kind)));
        alone.push(near);
    }
    row("MiniLM alone", collection.judge(&alone));
    row("BM25F + MiniLM, RRF", collection.judge(&reciprocal));
    row("MiniLM, lexical pool alone", collection.judge(&lexical));
    row("ServiceGraph with MiniLM", collection.judge(&both));
}

/// Reciprocal-rank fusion with the usual constant of 60.
fn by_reciprocal_ranks(pool: &Ranking, ranked: &[String]) -> Vec<String> {
    let mut scores: HashMap<&str, f32> = HashMap::new();
    let lexical = pool.iter().take(100).map(|(key, _)| key.as_str());
    for list in [
        lexical.collect::<Vec<_>>(),
        ranked.iter().map(String::as_str).collect(),
    ] {
        for (rank, key) in list.into_iter().enumerate() {
            *scores.entry(key).or_default() += 1.0 / (61.0 + rank as f32);
        }
    }
    let mut order: Vec<(&str, f32)> = scores.into_iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    order.into_iter().map(|(key, _)| key.to_owned()).collect()
}

fn row(name: &str, m: Measures) {
    println!(
        "  {name:28} {:8.4} {:8.4} {:10.4}",
        m.ndcg_at_10, m.mrr_at_10, m.recall_at_100
    );
}

fn keys(rankings: &[Ranking]) -> Vec<Vec<String>> {
    let keys = |ranking: &Ranking| ranking.iter().map(|(key, _)| key.clone()).collect();
    rankings.iter().map(keys).collect()
}

fn index(collection: &Collection, folder: &Path) -> IndexSnapshot {
    let (mut index, _) = SourceIndex::open(folder, IndexOptions::default()).unwrap();
    let kind = if collection.is_code() {
        ContentKind::Code
    } else {
        ContentKind::Prose
    };
    for entry in &collection.documents {
        let document = ExtractedDocument {
            key: entry.id.clone(),
            title: entry.title.trim().to_owned(),
            body: entry.text.clone(),
            kind,
            ..ExtractedDocument::default()
        };
        index.put(&document, FileState::default()).unwrap();
    }
    index.commit(Durability::Fast).unwrap()
}

fn lexical(
    collection: &Collection,
    snapshot: &IndexSnapshot,
    function: RelevanceFunction,
    depth: usize,
) -> Vec<Ranking> {
    let ranking = |query: &collection::Entry| {
        let query = parse(&SearchRequest::for_text(&query.text)).unwrap();
        let hits = search_across(std::slice::from_ref(snapshot), &query, function, 0, depth);
        let hits = hits.unwrap().hits.into_iter();
        hits.map(|hit| (hit.record.key, hit.score)).collect()
    };
    collection.queries.iter().map(ranking).collect()
}

/// Learns from the collection, and says what that costs.
fn learn(collection: &Collection, folder: &Path, seed: u64) -> ConceptSpace {
    let mut reader = TermReader::default();
    let mut writer = CorpusWriter::create(&folder.join("tokens")).unwrap();
    for entry in &collection.documents {
        let title = reader.read(&entry.title, usize::MAX);
        let body = reader.read(&entry.text, usize::MAX);
        writer.add(&entry.id, &title, &body).unwrap();
    }
    let corpus = writer.finish().unwrap();
    let words = corpus.vocabulary().len();
    let options = LearnOptions {
        seed,
        ..LearnOptions::default()
    };
    let before = cpu_seconds();
    let mut learner = Learner::begin(corpus, options);
    while !learner.step().unwrap().is_done() {}
    let progress = learner.progress();
    let learnt = cpu_seconds();
    let space = learner.finish().finish().unwrap();
    let epochs = progress.total as usize / collection.documents.len();
    println!(
        "    {words} words, {epochs} epochs: {:.2} CPU s ({:.2} a thousand documents for 8 epochs), vectors {:.2} s, loss {:.3}, {:.1} MB",
        learnt - before,
        (learnt - before) * 8_000.0 / progress.total as f64,
        cpu_seconds() - learnt,
        progress.loss,
        space.heap_bytes() as f64 / 1e6,
    );
    space
}

fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    let nanoseconds: f64 = text.split(' ').next().unwrap().parse().unwrap();
    nanoseconds / 1e9
}

/// Ranks by the vectors of one space, as the server does.
struct ByConcepts<'s>(&'s ConceptSpace);

impl Reranker for ByConcepts<'_> {
    fn rerank(
        &self,
        terms: &[(&str, u32)],
        results: &[LexicalResult],
        _: bool,
    ) -> Option<Vec<RerankedDocument>> {
        let vector = self.0.query_vector(terms.iter().copied())?;
        let near = self.0.scan(&vector, SCAN_DEPTH);
        let lexical = results.iter().map(|one| (one.key.as_str(), one.score));
        let mut known: Vec<(&str, f32)> = lexical.collect();
        let found: HashSet<&str> = known.iter().map(|(key, _)| *key).collect();
        let near = near.iter().map(|one| one.key.as_str());
        known.extend(
            near.filter(|key| !found.contains(key))
                .map(|key| (key, 0.0)),
        );
        let candidates = known.iter().map(|(key, lexical)| Candidate {
            key,
            lexical: *lexical,
            cosine: self.0.cosine(&vector, key),
        });
        let candidates: Vec<Candidate<'_>> = candidates.collect();
        let ranked = fuse(&candidates, CONCEPT_WEIGHT).into_iter();
        let ranked = ranked.map(|one| RerankedDocument {
            source: 0,
            key: candidates[one.candidate].key.to_owned(),
            score: one.score,
            lexical_part: one.lexical_part,
            concept_part: one.dense_part,
            nearness: Nearness::Learnt,
            concepts: Vec::new(),
        });
        Some(ranked.collect())
    }
}

fn with_concepts(
    collection: &Collection,
    snapshot: &IndexSnapshot,
    space: &ConceptSpace,
) -> Vec<Vec<String>> {
    let scope = Scope {
        snapshots: std::slice::from_ref(snapshot),
        names: &[],
        texts: None,
        reranker: Some(&ByConcepts(space)),
    };
    let page = Page {
        limit: 100,
        ..Page::default()
    };
    let rank = |query: &collection::Entry| {
        let query = parse(&SearchRequest::for_text(&query.text)).unwrap();
        let found = search_in(&scope, &query, RelevanceFunction::ServiceGraph, page).unwrap();
        let hits = found.hits.into_iter();
        hits.map(|hit| hit.record.key).collect()
    };
    collection.queries.iter().map(rank).collect()
}

/// The best of the pool and those near by vectors, ranked by both scores.
fn fused(
    pool: &Ranking,
    near: &[String],
    cosine: impl Fn(&str) -> Option<f32>,
    weight: f32,
) -> Vec<String> {
    let mut known: Vec<(&str, f32)> = Vec::new();
    let scores: HashMap<&str, f32> = pool.iter().map(|(key, s)| (key.as_str(), *s)).collect();
    let lexical = pool.iter().take(LEXICAL_DEPTH).map(|(key, _)| key);
    for key in lexical.chain(near) {
        if known.iter().all(|(other, _)| other != key) {
            known.push((key, scores.get(key.as_str()).copied().unwrap_or(0.0)));
        }
    }
    let candidates: Vec<Candidate<'_>> = known
        .iter()
        .map(|(key, lexical)| Candidate {
            key,
            lexical: *lexical,
            cosine: cosine(key),
        })
        .collect();
    let order = fuse(&candidates, weight);
    order
        .iter()
        .map(|f| known[f.candidate].0.to_owned())
        .collect()
}
