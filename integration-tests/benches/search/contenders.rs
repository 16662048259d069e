//! What `search-server` is measured against: plain tantivy over the same files, and a minimal
//! actix-web + tantivy server over the same index.

use std::path::Path;
use std::time::Instant;

use actix_web::{App, HttpResponse, HttpServer, web};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, QueryParser, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::snippet::SnippetGenerator;
use tantivy::{Index, IndexReader, ReloadPolicy, TantivyDocument, Term, doc};

use crate::{process, stems};

/// Indexes every text file below `folder` with tantivy as it comes and prints its own account.
/// `mode`: `plain` (default tokenizer, frequencies), `stems` (English stems, positions) or `stored`
/// (as `plain`, with the texts, for excerpts).
pub(crate) fn plain_index(folder: &Path, index: &Path, mode: &str) {
    let (tokenizer, record) = match mode {
        "stems" => (stems::NAME, IndexRecordOption::WithFreqsAndPositions),
        _ => ("default", IndexRecordOption::WithFreqs),
    };
    let mut schema = Schema::builder();
    let path = schema.add_text_field("path", STRING | STORED);
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(tokenizer)
        .set_index_option(record);
    let mut options = TextOptions::default().set_indexing_options(indexing);
    if mode == "stored" {
        options = options.set_stored();
    }
    let text = schema.add_text_field("text", options);
    std::fs::create_dir_all(index).expect("a folder for the index");
    let index = Index::create_in_dir(index, schema.build()).expect("an index");
    index.tokenizers().register(stems::NAME, stems::analyzer());
    let began = Instant::now();
    let mut writer = index
        .writer_with_num_threads(1, 100_000_000)
        .expect("a writer");
    let (mut bytes, mut files) = (0_u64, 0_u64);
    for entry in ignore::WalkBuilder::new(folder).build().flatten() {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Some(body) = text_of(entry.path()) else {
            continue;
        };
        bytes += body.len() as u64;
        files += 1;
        let name = entry.path().to_string_lossy().into_owned();
        writer
            .add_document(doc!(path => name, text => body))
            .expect("indexed");
    }
    writer.commit().expect("committed");
    writer.wait_merging_threads().expect("merged");
    let account = serde_json::json!({
        "bytes": bytes, "files": files, "wall_s": began.elapsed().as_secs_f64(), "usage": process::own_usage(),
    });
    println!("{account}");
}

fn text_of(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let binary = bytes.iter().take(8192).any(|byte| *byte == 0);
    (!binary && bytes.len() <= 10 << 20).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

struct Minimal {
    reader: IndexReader,
    text: Field,
    record: Field,
}

#[derive(serde::Deserialize)]
struct Ask {
    search_term: String,
    limit: usize,
}

/// Serves BM25 top hits over an index made by `search-server`, with what the index stores of them:
/// the least a search server can do. No total, no excerpts, no roles, no limits, no log.
pub(crate) fn minimal_server(index: &Path, port: u16) {
    let index = Index::open_in_dir(index).expect("the index opens");
    let schema = index.schema();
    let field = |name| schema.get_field(name).expect("the schema's field");
    let minimal = web::Data::new(Minimal {
        reader: index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .expect("a reader"),
        text: field("text"),
        record: field("record"),
    });
    serve(port, move |app| {
        app.app_data(minimal.clone())
            .route("/api/documents/search", web::post().to(minimal_search));
    });
}

/// Serves one route beside `/health` with two workers until it is ended.
fn serve(port: u16, routes: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static) {
    actix_rt::System::new()
        .block_on(
            HttpServer::new(move || {
                App::new()
                    .route(
                        "/health",
                        web::get().to(async || HttpResponse::Ok().json("ok")),
                    )
                    .configure(routes.clone())
            })
            .workers(2)
            .bind(("127.0.0.1", port))
            .expect("the port is free")
            .run(),
        )
        .expect("it serves until it is ended");
}

async fn minimal_search(minimal: web::Data<Minimal>, ask: web::Json<Ask>) -> HttpResponse {
    let request = search_core::query::SearchRequest::for_text(&ask.search_term);
    let Ok(query) = search_core::query::parse(&request) else {
        return HttpResponse::BadRequest().finish();
    };
    let clauses = query
        .terms()
        .iter()
        .map(|term| {
            let term = Term::from_field_text(minimal.text, &term.text);
            let query: Box<dyn Query> =
                Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
            (Occur::Should, query)
        })
        .collect();
    let searcher = minimal.reader.searcher();
    let collector = TopDocs::with_limit(ask.limit).order_by_score();
    let top = searcher
        .search(&BooleanQuery::new(clauses), &collector)
        .expect("a search");
    let results: Vec<_> = top
        .into_iter()
        .map(|(score, address)| {
            let document: TantivyDocument = searcher.doc(address).expect("a stored document");
            let record = document.get_first(minimal.record).and_then(|value| value.as_bytes());
            serde_json::json!({"record": String::from_utf8_lossy(record.unwrap_or_default()), "score": score})
        })
        .collect();
    HttpResponse::Ok().json(serde_json::json!({"results": results}))
}

struct Usual {
    reader: IndexReader,
    parser: QueryParser,
    text: Field,
    path: Field,
}

/// Serves the same with excerpts as tantivy makes them: the texts lie in the index, and a
/// `SnippetGenerator` cuts each. What `search-server` does without a copy of the texts.
pub(crate) fn snippet_server(index: &Path, port: u16) {
    let index = Index::open_in_dir(index).expect("the index opens");
    let schema = index.schema();
    let field = |name| schema.get_field(name).expect("the schema's field");
    let usual = web::Data::new(Usual {
        reader: index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .expect("a reader"),
        parser: QueryParser::for_index(&index, vec![field("text")]),
        text: field("text"),
        path: field("path"),
    });
    serve(port, move |app| {
        app.app_data(usual.clone())
            .route("/api/documents/search", web::post().to(snippet_search));
    });
}

async fn snippet_search(usual: web::Data<Usual>, ask: web::Json<Ask>) -> HttpResponse {
    let (query, _) = usual.parser.parse_query_lenient(&ask.search_term);
    let searcher = usual.reader.searcher();
    let collector = TopDocs::with_limit(ask.limit).order_by_score();
    let top = searcher.search(&query, &collector).expect("a search");
    let mut generator =
        SnippetGenerator::create(&searcher, &*query, usual.text).expect("the field is indexed");
    generator.set_max_num_chars(240);
    let results: Vec<_> = top
        .into_iter()
        .map(|(score, address)| {
            let document: TantivyDocument = searcher.doc(address).expect("a stored document");
            let snippet = generator.snippet_from_doc(&document);
            let marks: Vec<_> = snippet.highlighted().iter().map(|one| [one.start, one.end]).collect();
            let path = document.get_first(usual.path).and_then(|value| value.as_str());
            serde_json::json!({"path": path, "score": score, "snippet": snippet.fragment(), "highlights": marks})
        })
        .collect();
    HttpResponse::Ok().json(serde_json::json!({"results": results}))
}
