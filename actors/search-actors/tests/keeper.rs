//! The search part of an actor tree without HTTP.

use std::time::{Duration, Instant, SystemTime};

use search_actors::messages::{Reindex, Search};
use search_actors::{SearchService, SearchSettings, SourceSlot};
use search_core::answer::SourceState;
use search_core::query::SearchRequest;
use search_engine::answering::SearchOrder;
use supervision::{Root, SupervisorSpec, Verdict};

/// A deadline no healthy run comes near.
const DEADLINE: Duration = Duration::from_secs(20);

async fn ready_after(slot: &SourceSlot, before: Option<SystemTime>) -> SystemTime {
    let began = Instant::now();
    loop {
        let published = slot.read();
        if published.state == SourceState::Ready && published.updated_at > before {
            return published.updated_at.expect("a ready source was updated");
        }
        assert!(
            began.elapsed() < DEADLINE,
            "not ready in time: {published:?}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn service(home: &std::path::Path) -> SearchService {
    let role = format!(
        r#"{{"name":"R","relevance_function":"BM25","theme":"spacelab","haystacks":[{{"name":"H","service":"LocalFiles","location":{:?}}}]}}"#,
        home.join("files").to_str().expect("a Unicode path")
    );
    let roles = search_core::role::parse("role.json", &role, &config_core::Environment::default());
    SearchService::new(&SearchSettings {
        roles: roles.expect("a valid role"),
        data: home.join("index"),
        max_concurrent_searches: 4,
        search_timeout: DEADLINE,
        search_threads: 1,
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
    let service = service(home.path());
    let (boards, desk) = (service.boards, service.desk);
    let root = Root::start(SupervisorSpec::root("test").supervisor(service.supervisor));
    let board = boards.now();
    let mut before = ready_after(&board.slots()[0], None).await;
    for name in ["a.txt", "b.txt", "c.txt"] {
        std::fs::write(files.join(name), "needle\n").expect("a file");
        before = ready_after(&board.slots()[0], Some(before)).await;
    }
    let index = home.path().join("index");
    assert!(segments(&index) > 1, "each change made a segment");
    let began = Instant::now();
    while segments(&index) > 1 {
        assert!(began.elapsed() < DEADLINE, "not merged in time");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let order = SearchOrder {
        request: SearchRequest::for_text("needle"),
        limit: 10,
        ..SearchOrder::default()
    };
    let answer = desk.ask(Search(order)).await.expect("the desk runs");
    assert_eq!(answer.expect("an answer").total, 4);
    root.handle().stop();
    assert_eq!(root.verdict().await, Verdict::Stopped);
    boards.wait_for_threads();
}

#[actix_rt::test]
async fn a_keeper_that_is_told_to_compares_everything_again_and_searches_go_on() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let files = home.path().join("files");
    std::fs::create_dir(&files).expect("a folder");
    std::fs::write(files.join("a.txt"), "needle\n").expect("a file");
    let service = service(home.path());
    let (boards, desk) = (service.boards, service.desk);
    let root = Root::start(SupervisorSpec::root("test").supervisor(service.supervisor));
    let board = boards.now();
    let first = ready_after(&board.slots()[0], None).await;
    let keeper = board.slots()[0].keeper().expect("a keeper");

    keeper.ask(Reindex).await.expect("the keeper runs");
    ready_after(&board.slots()[0], Some(first)).await;

    let order = SearchOrder {
        request: SearchRequest::for_text("needle"),
        limit: 1,
        ..SearchOrder::default()
    };
    let answer = desk
        .ask(Search(order))
        .await
        .expect("the desk runs")
        .expect("an answer");
    assert_eq!(answer.total, 1);
    root.handle().stop();
    assert_eq!(root.verdict().await, Verdict::Stopped);
    boards.wait_for_threads();
}
