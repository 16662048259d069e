//! The search part of an actor tree without HTTP.

use std::time::{Duration, Instant, SystemTime};

use search_actors::messages::Search;
use search_actors::{SearchSettings, SearchTree, SourceHandle};
use search_core::answer::SourceState;
use search_core::query::SearchRequest;
use search_engine::answering::SearchParams;
use supervision::{Root, SupervisorSpec, TreeExit};

/// A deadline no healthy run comes near.
const DEADLINE: Duration = Duration::from_secs(20);

async fn ready_after(handle: &SourceHandle, before: Option<SystemTime>) -> SystemTime {
    let began = Instant::now();
    loop {
        let status = handle.read();
        if status.state == SourceState::Ready && status.updated_at > before {
            return status.updated_at.expect("a ready source was updated");
        }
        assert!(began.elapsed() < DEADLINE, "not ready in time: {status:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn search_tree(home: &std::path::Path) -> SearchTree {
    let role = format!(
        r#"{{"name":"R","relevance_function":"BM25","theme":"spacelab","haystacks":[{{"name":"H","service":"LocalFiles","location":{:?}}}]}}"#,
        home.join("files").to_str().expect("a Unicode path")
    );
    let roles = search_core::role::parse("role.json", &role, &config_core::Environment::default());
    SearchTree::new(&SearchSettings {
        roles: roles.expect("a valid role"),
        data: home.join("index"),
        max_concurrent_searches: 4,
        search_timeout: DEADLINE,
        search_threads: 1,
        learning_rests: search_actors::LearningRests::default(),
        limits: search_actors::SearchLimits::default(),
    })
}

/// Segments in the folder of an index: each has one file of lengths.
fn segments(folder: &std::path::Path) -> usize {
    let mut count = 0;
    for entry in walkdir(folder) {
        count += usize::from(entry.extension().is_some_and(|kind| kind == "fieldnorm"));
    }
    count
}

fn walkdir(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .flat_map(|path| {
            let mut all = walkdir(&path);
            all.push(path);
            all
        })
        .collect()
}

#[actix_rt::test]
async fn the_index_of_a_source_that_is_quiet_is_merged_into_one_segment() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let files = home.path().join("files");
    std::fs::create_dir(&files).expect("a folder");
    std::fs::write(files.join("first.txt"), "needle\n").expect("a file");
    let tree = search_tree(home.path());
    let (registry, search, threads) = (tree.registry, tree.search, tree.threads);
    let root = Root::start(SupervisorSpec::root("test").supervisor(tree.supervisor));
    let role_set = registry.now();
    let mut before = ready_after(&role_set.handles()[0], None).await;
    for name in ["a.txt", "b.txt", "c.txt"] {
        std::fs::write(files.join(name), "needle\n").expect("a file");
        before = ready_after(&role_set.handles()[0], Some(before)).await;
    }
    let index = home.path().join("index");
    assert!(segments(&index) > 1, "each change made a segment");
    let began = Instant::now();
    while segments(&index) > 1 {
        assert!(began.elapsed() < DEADLINE, "not merged in time");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let order = SearchParams {
        request: SearchRequest::for_text("needle"),
        limit: 10,
        ..SearchParams::default()
    };
    let answer = search.ask(Search(order)).await.expect("the service runs");
    assert_eq!(answer.expect("an answer").total, 4);
    root.handle().stop();
    assert_eq!(root.verdict().await, TreeExit::Stopped);
    threads.join_all();
}

#[actix_rt::test]
async fn an_indexer_that_is_told_to_compares_everything_again_and_searches_go_on() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let files = home.path().join("files");
    std::fs::create_dir(&files).expect("a folder");
    std::fs::write(files.join("a.txt"), "needle\n").expect("a file");
    let tree = search_tree(home.path());
    let (registry, search, threads) = (tree.registry, tree.search, tree.threads);
    let root = Root::start(SupervisorSpec::root("test").supervisor(tree.supervisor));
    let role_set = registry.now();
    let first = ready_after(&role_set.handles()[0], None).await;
    let indexer = role_set.handles()[0].reindex_handle().expect("an indexer");

    indexer.request().expect("the indexer runs");
    ready_after(&role_set.handles()[0], Some(first)).await;

    let order = SearchParams {
        request: SearchRequest::for_text("needle"),
        limit: 1,
        ..SearchParams::default()
    };
    let answer = search
        .ask(Search(order))
        .await
        .expect("the service runs")
        .expect("an answer");
    assert_eq!(answer.total, 1);
    root.handle().stop();
    assert_eq!(root.verdict().await, TreeExit::Stopped);
    threads.join_all();
}
