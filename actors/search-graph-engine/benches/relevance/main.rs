//! Relevance of ServiceGraph beside what it is compared with, and what learning costs.
//!
//! `cargo bench -p search-graph-engine --bench relevance -- FOLDER… [--model FOLDER | --minilm] [--seeds N]`:
//! each folder holds a collection in BEIR layout (`corpus.jsonl`, `queries.jsonl` or their `.gz`,
//! and `qrels.tsv`). `--model` is a sentence-transformer folder; with `--minilm` the variable
//! `ORRERY_MINILM` names it.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

mod collection;
#[allow(dead_code, reason = "recall alone is measured elsewhere")]
mod measures;
mod plain;
mod sqlite;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use collection::Collection;
use measures::Measures;
use search_core::document::{ContentKind, ExtractedDocument};
use search_core::passages::embedded_texts;
use search_core::query::{SearchRequest, parse_lenient};
use search_core::role::RelevanceFunction;
use search_engine::index::{
    Durability, FileState, IndexOptions, IndexSnapshot, LackedTerm, LackedTerms, LexicalResult,
    Nearness, PageRequest, RerankedDocument, Reranker, SearchScope, SourceIndex, search_across,
    search_in,
};
use search_graph_engine::embedding::{
    DocumentEmbedding, Embedding, EmbeddingIndex, EmbeddingModel,
};
use search_graph_engine::fuse::{FusionCandidate, VectorWeights, fuse, paraphrase_score};
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
    let embedded = model.map(|model| Embedded::new(collection, model));
    if let Some(embedded) = &embedded {
        embedded.report(collection, &pools, &snapshot);
    }
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for seed in 1..=seeds {
        let space = learn(collection, folder.path(), seed);
        let rankings = ranked(collection, &snapshot, Some(&space), None);
        without.push(collection.judge(&rankings));
        row(
            &format!("ServiceGraph, seed {seed}"),
            without[without.len() - 1],
        );
        if let Some(embedded) = &embedded {
            let rankings = ranked(collection, &snapshot, Some(&space), Some(embedded));
            with.push(collection.judge(&rankings));
            let name = format!("with the model, seed {seed}");
            row(&name, with[with.len() - 1]);
        }
    }
    for (name, of_seeds) in [
        ("ServiceGraph, mean", without),
        ("ServiceGraph with MiniLM", with),
    ] {
        if !of_seeds.is_empty() {
            row(name, measures::mean(&of_seeds));
        }
    }
}

/// A collection as a model sees it.
struct Embedded {
    index: EmbeddingIndex,
    queries: Vec<Embedding>,
    weights: VectorWeights,
}

impl Embedded {
    fn new(collection: &Collection, model: &EmbeddingModel) -> Self {
        let before = cpu_seconds();
        // The name that a data set gives a piece of code stands in the code itself.
        let is_code = collection.is_code();
        let text = |entry: &collection::Entry| match is_code {
            true => entry.text.clone(),
            false => format!("{} {}", entry.title, entry.text),
        };
        let kind = kind_of(collection);
        let mut index = EmbeddingIndex::default();
        let mut short = 0;
        for entry in &collection.documents {
            let texts = embedded_texts(&document(entry, kind), usize::MAX);
            if texts.len() == 1 {
                short += 1;
                index.insert(&entry.id, model.embed(text(entry).trim()));
            } else {
                let passages = texts.iter().map(|text| model.embed_passage(text));
                index.insert(&entry.id, DocumentEmbedding::new(passages, true));
            }
        }
        println!(
            "    embedded: {:.1} documents a CPU second, {short} of {} in one passage",
            index.len() as f64 / (cpu_seconds() - before),
            index.len()
        );
        let queries = collection.queries.iter();
        Self {
            index,
            queries: queries.map(|query| model.embed(&query.text)).collect(),
            weights: VectorWeights::with_model(
                kind,
                short as f32 / collection.documents.len() as f32,
            ),
        }
    }

    /// What the model gives alone, by reciprocal ranks, and without learnt vectors.
    fn report(&self, collection: &Collection, pools: &[Ranking], snapshot: &IndexSnapshot) {
        let (mut alone, mut reciprocal) = (Vec::new(), Vec::new());
        for (query, pool) in self.queries.iter().zip(pools) {
            let near = self.index.scan(query, SCAN_DEPTH).into_iter();
            let near: Vec<String> = near.map(|near| near.key).collect();
            reciprocal.push(by_reciprocal_ranks(pool, &near));
            alone.push(near);
        }
        row("MiniLM alone", collection.judge(&alone));
        row("BM25F + MiniLM, RRF", collection.judge(&reciprocal));
        let words = ranked(collection, snapshot, None, Some(self));
        row("words and MiniLM", collection.judge(&words));
    }
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

fn kind_of(collection: &Collection) -> ContentKind {
    match collection.is_code() {
        true => ContentKind::Code,
        false => ContentKind::Prose,
    }
}

/// As it is indexed, and as a model reads it.
fn document(entry: &collection::Entry, kind: ContentKind) -> ExtractedDocument {
    ExtractedDocument {
        key: entry.id.clone(),
        title: entry.title.trim().to_owned(),
        body: entry.text.clone(),
        kind,
        ..ExtractedDocument::default()
    }
}

fn index(collection: &Collection, folder: &Path) -> IndexSnapshot {
    let (mut index, _) = SourceIndex::open(folder, IndexOptions::default()).unwrap();
    let kind = kind_of(collection);
    for entry in &collection.documents {
        index
            .put(&document(entry, kind), FileState::default())
            .unwrap();
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
        let query = parse_lenient(&SearchRequest::for_text(&query.text))
            .unwrap()
            .query;
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
    let mut learner = Learner::new(corpus, options);
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

/// Ranks one query by the vectors there are, as the server does.
struct ByVectors<'s> {
    space: Option<&'s ConceptSpace>,
    model: Option<(&'s Embedded, &'s Embedding)>,
}

impl ByVectors<'_> {
    /// What each result has for terms that it lacks.
    fn paraphrase_scores(
        &self,
        terms: &[(&str, u32)],
        results: &[LexicalResult],
        lacked: &LackedTerms<'_>,
    ) -> Vec<f32> {
        let Some(space) = self.space.filter(|_| self.model.is_none()) else {
            return vec![0.0; results.len()];
        };
        let vectors = space.term_vectors(terms.iter().map(|(term, _)| *term));
        let of_term = |lacked: &LackedTerm, key: &str| {
            let cosine = space.cosine(vectors[lacked.term].as_ref()?, key)?;
            Some(lacked.weight * paraphrase_score(cosine))
        };
        let of_result = |(result, lacks): (&LexicalResult, Vec<LackedTerm>)| {
            let lacks = lacks.iter();
            lacks.filter_map(|one| of_term(one, &result.key)).sum()
        };
        let lacked = lacked.of_results();
        results.iter().zip(lacked).map(of_result).collect()
    }
}

impl Reranker for ByVectors<'_> {
    fn rerank(
        &self,
        terms: &[(&str, u32)],
        results: &[LexicalResult],
        lacked: &LackedTerms<'_>,
        _: bool,
    ) -> Option<Vec<RerankedDocument>> {
        let learnt = self
            .space
            .and_then(|space| Some((space, space.query_vector(terms.iter().copied())?)));
        let mut near = Vec::new();
        if let Some((space, vector)) = &learnt {
            near.extend(space.scan(vector, SCAN_DEPTH));
        }
        if let Some((embedded, query)) = self.model.filter(|_| !results.is_empty()) {
            near.extend(embedded.index.scan(query, SCAN_DEPTH));
        }
        let lexical = results
            .iter()
            .zip(self.paraphrase_scores(terms, results, lacked))
            .map(|(one, otherwise)| (one.key.as_str(), one.score, otherwise));
        let mut known: Vec<(&str, f32, f32)> = lexical.collect();
        let mut found: HashSet<&str> = known.iter().map(|(key, ..)| *key).collect();
        for one in &near {
            if found.insert(&one.key) {
                known.push((&one.key, 0.0, 0.0));
            }
        }
        let weights = self.model.map_or(VectorWeights::LEARNT, |(m, _)| m.weights);
        let candidates = known
            .iter()
            .map(|(key, lexical, otherwise)| FusionCandidate {
                key,
                lexical: *lexical,
                otherwise: *otherwise,
                learnt: learnt
                    .as_ref()
                    .and_then(|(space, vector)| space.cosine(vector, key)),
                model: self
                    .model
                    .and_then(|(m, query)| m.index.nearness(query, key)),
                weights,
            });
        let candidates: Vec<FusionCandidate<'_>> = candidates.collect();
        let ranked = fuse(&candidates).into_iter();
        let ranked = ranked.map(|one| RerankedDocument {
            source: 0,
            key: candidates[one.candidate].key.to_owned(),
            score: one.score,
            lexical_part: one.lexical_part,
            otherwise_part: one.otherwise_part,
            concept_part: one.vector_part,
            vector_weight: one.vector_weight,
            vectors: self
                .model
                .and_then(|(m, _)| m.index.get(candidates[one.candidate].key))
                .map_or(1, DocumentEmbedding::passages),
            nearest: None,
            nearness: Nearness::Blended,
            concepts: Vec::new(),
        });
        Some(ranked.collect())
    }
}

fn ranked(
    collection: &Collection,
    snapshot: &IndexSnapshot,
    space: Option<&ConceptSpace>,
    embedded: Option<&Embedded>,
) -> Vec<Vec<String>> {
    let page = PageRequest {
        limit: 100,
        ..PageRequest::default()
    };
    let rank = |(number, query): (usize, &collection::Entry)| {
        let reranker = ByVectors {
            space,
            model: embedded.map(|one| (one, &one.queries[number])),
        };
        let scope = SearchScope {
            snapshots: std::slice::from_ref(snapshot),
            names: &[],
            texts: None,
            reranker: Some(&reranker),
        };
        let query = parse_lenient(&SearchRequest::for_text(&query.text))
            .unwrap()
            .query;
        let found = search_in(&scope, &query, RelevanceFunction::ServiceGraph, page).unwrap();
        let hits = found.hits.into_iter();
        hits.map(|hit| hit.record.key).collect()
    };
    collection.queries.iter().enumerate().map(rank).collect()
}
