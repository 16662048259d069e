//! Items of other servers rank like files, together with them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;

use search_core::document::ExtractedDocument;
use search_core::query::SearchRequest;
use search_core::role::RelevanceFunction;
use search_engine::answering::{
    DocumentRequest, SearchParams, SearchableRole, SearchableSource, read_document, search,
};
use search_engine::index::{Durability, FileState, IndexOptions, IndexSnapshot, SourceIndex};
use search_engine::item_cache::{ItemCache, MAX_ITEM_BYTES};
use search_sources_core::SourceItem;

fn item(key: &str, title: &str, body: &str) -> SourceItem {
    SourceItem {
        key: key.to_owned(),
        title: title.to_owned(),
        body: body.to_owned(),
        url: Some(format!("https://forum.example/{key}")),
        ..SourceItem::default()
    }
}

fn items() -> Vec<SourceItem> {
    vec![
        item(
            "1",
            "Leaking valve",
            "The valve of the pump leaks when cold",
        ),
        item(
            "2",
            "Pump",
            "Change the pump's seal, then the valve, then the pump",
        ),
        item("3", "Weather", "It will rain"),
    ]
}

fn document(item: &SourceItem) -> ExtractedDocument {
    ExtractedDocument {
        key: item.key.clone(),
        title: item.title.clone(),
        body: item.body.clone(),
        ..ExtractedDocument::default()
    }
}

fn asked(name: &str, items: Vec<SourceItem>) -> SearchableSource {
    let item_cache = Arc::new(ItemCache::new(items).unwrap());
    SearchableSource {
        is_embedded: false,
        id: name.to_owned(),
        name: name.to_owned(),
        service: "CommunityDocs",
        snapshot: Some(item_cache.snapshot().clone()),
        root: None,
        graph: None,
        item_cache: Some(item_cache),
        texts: None,
        indexing: None,
        error: None,
    }
}

fn role(function: RelevanceFunction, sources: Vec<SearchableSource>) -> SearchableRole {
    SearchableRole {
        served: Vec::new(),
        reranking: None,
        ignores_file_roles: false,
        name: "R".to_owned(),
        function,
        sources,
        thesaurus: None,
    }
}

fn order(text: &str) -> SearchParams {
    SearchParams {
        request: SearchRequest::for_text(text),
        limit: 10,
        ..SearchParams::default()
    }
}

const FUNCTIONS: [RelevanceFunction; 4] = [
    RelevanceFunction::TitleScorer,
    RelevanceFunction::BM25,
    RelevanceFunction::BM25F,
    RelevanceFunction::ServiceGraph,
];

#[test]
fn an_index_in_memory_scores_like_the_one_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (mut index, _) = SourceIndex::open(folder.path(), IndexOptions::default()).unwrap();
    for item in items() {
        index.put(&document(&item), FileState::default()).unwrap();
    }
    let on_disk = index.commit(Durability::Fast).unwrap();
    let documents: Vec<_> = items().iter().map(document).collect();
    let in_memory = IndexSnapshot::in_memory(&documents).unwrap();
    assert_eq!(in_memory.document_count(), 3);
    for function in FUNCTIONS {
        for text in [
            "valve pump",
            "\"pump seal\"",
            "pum*",
            "title:pump",
            "valve -rain",
        ] {
            let found = |snapshot: &IndexSnapshot| {
                let source = SearchableSource {
                    snapshot: Some(snapshot.clone()),
                    ..asked("a", items())
                };
                search(&role(function, vec![source]), &order(text))
                    .unwrap()
                    .results
            };
            let (disk, memory) = (found(&on_disk), found(&in_memory));
            assert!(
                !disk.is_empty() || text.starts_with('"'),
                "{function:?} {text}"
            );
            assert_eq!(disk, memory, "{function:?} {text}");
        }
    }
}

#[test]
fn items_of_several_places_are_one_ranked_list_with_excerpts_and_addresses() {
    let mut items = items();
    items[2].url = Some("javascript:alert(1)".to_owned());
    let other = vec![item("9", "Rain", "rain rain rain, and a valve")];
    let sources = vec![
        asked("a", items),
        asked("b", other),
        asked("none", Vec::new()),
    ];
    let role = role(RelevanceFunction::BM25, sources);
    let answer = search(&role, &order("rain valve")).unwrap();
    let ids: Vec<&str> = answer.results.iter().map(|one| one.id.as_str()).collect();
    assert_eq!((ids.len(), ids[0], answer.total), (4, "b/9", 4));
    let hits: Vec<usize> = answer.sources.iter().map(|report| report.hits).collect();
    assert_eq!(hits, [3, 1, 0]);
    let first = &answer.results[0];
    assert_eq!(first.url, "https://forum.example/9");
    assert_eq!(first.snippet, "rain rain rain, and a valve");
    assert_eq!(first.highlights.len(), 4);
    let weather = answer.results.iter().find(|one| one.id == "a/3").unwrap();
    assert_eq!(
        weather.url, "a:3",
        "an address of another scheme is not given on"
    );

    let request = DocumentRequest {
        id: "b/9".to_owned(),
        query: "valve".to_owned(),
        ..DocumentRequest::default()
    };
    let view = read_document(&role, &request).unwrap();
    assert_eq!(
        (view.title.as_str(), view.body.as_str()),
        ("Rain", "rain rain rain, and a valve")
    );
    assert_eq!(view.highlights, [[22, 27]]);
}

#[test]
fn long_texts_are_cut_and_double_keys_are_one_item() {
    let long = "é".repeat(MAX_ITEM_BYTES);
    let item_cache = ItemCache::new([item("x", "first", &long), item("x", "second", "")]).unwrap();
    assert_eq!(item_cache.snapshot().document_count(), 1);
    let kept = item_cache.get("x").unwrap();
    assert_eq!(
        (kept.title.as_str(), kept.body.len()),
        ("first", MAX_ITEM_BYTES)
    );
}
