//! Relevance of the ranking functions on a test collection in BEIR layout.
//!
//! `cargo bench -p search-engine --bench relevance -- FOLDER… [--json] [--no-code-titles]`: each folder holds
//! `corpus.jsonl`, `queries.jsonl` (or their `.gz`) and `qrels.tsv`. Prints nDCG@10, MRR@10 and
//! recall@100 with trec_eval's definitions, for each relevance function and, for comparison, for
//! tantivy as it comes: its tokenizer with English stems, title and text as one field.
//! `--no-code-titles` drops the titles that a data set of code adds to what lies in the files.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use rust_stemmers::{Algorithm, Stemmer};
use search_core::document::{ContentKind, ExtractedDocument};
use search_core::measures::{Measures, judge, mean};
use search_core::query::{SearchRequest, parse};
use search_core::role::RelevanceFunction;
use search_engine::index::{
    Durability, FileState, IndexOptions, IndexSnapshot, SourceIndex, search_across,
};
use serde::Deserialize;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::tokenizer::{
    LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer, TokenStream,
};
use tantivy::{Index, IndexWriter, TantivyDocument, Term};

const DEPTH: usize = 100;

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

struct Collection {
    name: String,
    documents: Vec<Entry>,
    queries: Vec<Entry>,
    relevance: HashMap<String, HashMap<String, i32>>,
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let json = arguments.iter().any(|a| a == "--json");
    let without_titles = arguments.iter().any(|a| a == "--no-code-titles");
    for folder in arguments.iter().filter(|a| !a.starts_with("--")) {
        let mut collection = Collection::read(Path::new(folder));
        let kind = if collection.is_code() {
            ContentKind::Code
        } else {
            ContentKind::Prose
        };
        if kind == ContentKind::Code && without_titles {
            collection
                .documents
                .iter_mut()
                .for_each(|document| document.title.clear());
        }
        report(&collection, kind, json);
    }
}

fn report(collection: &Collection, kind: ContentKind, json: bool) {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = index(collection, kind, folder.path());
    let mut rows: Vec<(&str, Measures)> = Vec::new();
    for (name, function) in [
        ("TitleScorer", RelevanceFunction::TitleScorer),
        ("BM25", RelevanceFunction::BM25),
        ("BM25F", RelevanceFunction::BM25F),
        ("ServiceGraph", RelevanceFunction::ServiceGraph),
    ] {
        rows.push((
            name,
            collection.judge(|query| ours(&snapshot, query, function)),
        ));
    }
    let plain = Plain::index(collection);
    rows.push((
        "tantivy, English stems",
        collection.judge(|query| plain.search(query)),
    ));
    if !json {
        println!(
            "{}: {} documents, {} queries",
            collection.name,
            collection.documents.len(),
            collection.queries.len()
        );
        println!(
            "  {:24} {:>8} {:>8} {:>10}",
            "", "nDCG@10", "MRR@10", "recall@100"
        );
    }
    for (name, m) in rows {
        if json {
            let row = serde_json::json!({
                "collection": collection.name, "function": name,
                "ndcg_at_10": m.ndcg_at_10, "mrr_at_10": m.mrr_at_10, "recall_at_100": m.recall_at_100,
            });
            println!("{row}");
        } else {
            println!(
                "  {name:24} {:8.4} {:8.4} {:10.4}",
                m.ndcg_at_10, m.mrr_at_10, m.recall_at_100
            );
        }
    }
}

fn index(collection: &Collection, kind: ContentKind, folder: &Path) -> IndexSnapshot {
    let (mut index, _) = SourceIndex::open(folder, IndexOptions::default()).unwrap();
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

fn ours(snapshot: &IndexSnapshot, query: &str, function: RelevanceFunction) -> Vec<String> {
    let query = parse(&SearchRequest::for_text(query)).unwrap();
    let hits = search_across(std::slice::from_ref(snapshot), &query, function, 0, DEPTH).unwrap();
    hits.hits.into_iter().map(|hit| hit.record.key).collect()
}

impl Collection {
    fn read(folder: &Path) -> Self {
        let mut relevance: HashMap<String, HashMap<String, i32>> = HashMap::new();
        for line in lines(&folder.join("qrels.tsv"))
            .iter()
            .filter(|line| !line.starts_with("query-id"))
        {
            let parts: Vec<&str> = line.split('\t').collect();
            relevance
                .entry(parts[0].to_owned())
                .or_default()
                .insert(parts[1].to_owned(), parts[2].parse().unwrap());
        }
        let entries = |name: &str| -> Vec<Entry> {
            lines(&folder.join(name))
                .iter()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()
        };
        Self {
            name: folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            documents: entries("corpus.jsonl"),
            queries: entries("queries.jsonl"),
            relevance,
        }
    }

    /// Whether most documents look like source code.
    fn is_code(&self) -> bool {
        let code = self
            .documents
            .iter()
            .filter(|d| d.text.contains("def ") || d.text.contains("){") || d.text.contains(") {"));
        code.count() * 2 > self.documents.len()
    }

    fn judge(&self, search: impl Fn(&str) -> Vec<String>) -> Measures {
        let mut measures = Vec::new();
        for query in &self.queries {
            if let Some(relevance) = self.relevance.get(&query.id)
                && let Some(measure) = judge(relevance, &search(&query.text))
            {
                measures.push(measure);
            }
        }
        mean(&measures)
    }
}

/// The lines of a file, or of its gzip twin.
fn lines(path: &Path) -> Vec<String> {
    let reader: Box<dyn Read> = match File::open(path) {
        Ok(file) => Box::new(file),
        Err(_) => {
            let mut name = path.as_os_str().to_owned();
            name.push(".gz");
            Box::new(flate2::read::MultiGzDecoder::new(File::open(name).unwrap()))
        }
    };
    BufReader::new(reader).lines().map(Result::unwrap).collect()
}

/// tantivy as it comes.
struct Plain {
    index: Index,
    tokenizer: TextAnalyzer,
}

impl Plain {
    fn index(collection: &Collection) -> Self {
        let tokenizer = TextAnalyzer::builder(SimpleTokenizer::default())
            .filter(RemoveLongFilter::limit(40))
            .filter(LowerCaser)
            .build();
        let mut schema = Schema::builder();
        let id = schema.add_text_field("id", STRING | STORED);
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("whitespace")
            .set_index_option(IndexRecordOption::WithFreqs);
        let text = schema.add_text_field(
            "text",
            TextOptions::default().set_indexing_options(indexing),
        );
        let index = Index::create_in_ram(schema.build());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 50_000_000).unwrap();
        let mut plain = Self { index, tokenizer };
        for entry in &collection.documents {
            let mut document = TantivyDocument::new();
            document.add_text(id, &entry.id);
            document.add_text(
                text,
                plain
                    .stems(&format!("{} {}", entry.title, entry.text))
                    .join(" "),
            );
            writer.add_document(document).unwrap();
        }
        writer.commit().unwrap();
        plain
    }

    fn stems(&mut self, text: &str) -> Vec<String> {
        let stemmer = Stemmer::create(Algorithm::English);
        let mut stream = self.tokenizer.token_stream(text);
        let mut stems = Vec::new();
        while stream.advance() {
            stems.push(stemmer.stem(&stream.token().text).into_owned());
        }
        stems
    }

    fn search(&self, query: &str) -> Vec<String> {
        let text = self.index.schema().get_field("text").unwrap();
        let id = self.index.schema().get_field("id").unwrap();
        let mut this = Self {
            index: self.index.clone(),
            tokenizer: self.tokenizer.clone(),
        };
        let clauses = this.stems(query).into_iter().map(|stem| {
            let term = TermQuery::new(
                Term::from_field_text(text, &stem),
                IndexRecordOption::WithFreqs,
            );
            (Occur::Should, Box::new(term) as Box<dyn Query>)
        });
        let query = BooleanQuery::new(clauses.collect());
        let searcher = self.index.reader().unwrap().searcher();
        let found = searcher
            .search(&query, &TopDocs::with_limit(DEPTH).order_by_score())
            .unwrap();
        let id_of = |address| {
            let document: TantivyDocument = searcher.doc(address).unwrap();
            document
                .get_first(id)
                .and_then(|value| value.as_str().map(str::to_owned))
                .unwrap()
        };
        found
            .into_iter()
            .map(|(_, address)| id_of(address))
            .collect()
    }
}
