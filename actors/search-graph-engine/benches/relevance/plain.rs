//! tantivy as it comes: its tokenizer with English stems, title and text as one field, its BM25.

use rust_stemmers::{Algorithm, Stemmer};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::tokenizer::{
    LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer, TokenStream,
};
use tantivy::{Index, IndexWriter, Searcher, TantivyDocument, Term};

use crate::collection::Collection;

/// As deep as rankings are judged.
const DEPTH: usize = 100;

struct Plain {
    searcher: Searcher,
    id: Field,
    text: Field,
}

/// The rankings of a collection's queries.
pub(crate) fn rankings(collection: &Collection) -> Vec<Vec<String>> {
    let plain = Plain::index(collection);
    let queries = collection.queries.iter();
    queries.map(|query| plain.search(&query.text)).collect()
}

fn stems(text: &str) -> Vec<String> {
    let mut tokenizer = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser)
        .build();
    let stemmer = Stemmer::create(Algorithm::English);
    let mut stream = tokenizer.token_stream(text);
    let mut stems = Vec::new();
    while stream.advance() {
        stems.push(stemmer.stem(&stream.token().text).into_owned());
    }
    stems
}

impl Plain {
    fn index(collection: &Collection) -> Self {
        let mut schema = Schema::builder();
        let id = schema.add_text_field("id", STRING | STORED);
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("whitespace")
            .set_index_option(IndexRecordOption::WithFreqs);
        let options = TextOptions::default().set_indexing_options(indexing);
        let text = schema.add_text_field("text", options);
        let index = Index::create_in_ram(schema.build());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 50_000_000).unwrap();
        for entry in &collection.documents {
            let words = stems(&format!("{} {}", entry.title, entry.text));
            let mut document = TantivyDocument::new();
            document.add_text(id, &entry.id);
            document.add_text(text, words.join(" "));
            writer.add_document(document).unwrap();
        }
        writer.commit().unwrap();
        let searcher = index.reader().unwrap().searcher();
        Self { searcher, id, text }
    }

    fn search(&self, query: &str) -> Vec<String> {
        let clauses = stems(query).into_iter().map(|stem| {
            let term = Term::from_field_text(self.text, &stem);
            let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
            (Occur::Should, Box::new(query) as Box<dyn Query>)
        });
        let query = BooleanQuery::new(clauses.collect());
        let best = TopDocs::with_limit(DEPTH).order_by_score();
        let id_of = |address| {
            let document: TantivyDocument = self.searcher.doc(address).unwrap();
            let id = document.get_first(self.id).and_then(|value| value.as_str());
            id.unwrap_or_default().to_owned()
        };
        let found = self.searcher.search(&query, &best).unwrap();
        found.into_iter().map(|(_, at)| id_of(at)).collect()
    }
}
