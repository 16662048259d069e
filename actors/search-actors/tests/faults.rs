//! Source indexers in bad hours: a full disk, a folder that cannot be had, flipped bits, file
//! systems that go away.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use search_actors::messages::Search;
use search_actors::{
    IndexThreads, RoleRegistry, SearchService, SearchSettings, SearchTree, SourceHandle,
    SourceStatus,
};
use search_core::answer::{AnswerStatus, SearchAnswer, SourceState};
use search_core::query::SearchRequest;
use search_engine::answering::SearchParams;
use supervision::{ChildRef, Root, SupervisorSpec, TreeExit};

/// A deadline no healthy run comes near.
const DEADLINE: Duration = Duration::from_secs(40);

/// A search part that runs.
struct Running {
    registry: RoleRegistry,
    search: ChildRef<SearchService>,
    threads: IndexThreads,
    root: Root,
}

impl Running {
    /// Sources by name, each a folder below `home`; indexes in `home/index`.
    fn start(home: &Path, names: &[&str]) -> Self {
        let haystack = |name: &&str| {
            let location = home.join(name);
            let location = location.to_str().expect("a Unicode path").to_owned();
            format!(r#"{{"name":{name:?},"service":"LocalFiles","location":{location:?}}}"#)
        };
        let haystacks: Vec<String> = names.iter().map(haystack).collect();
        let role = format!(
            r#"{{"name":"R","relevance_function":"BM25F","theme":"spacelab","haystacks":[{}]}}"#,
            haystacks.join(",")
        );
        let roles =
            search_core::role::parse("role.json", &role, &config_core::Environment::default());
        let tree = SearchTree::new(&SearchSettings {
            roles: roles.expect("a valid role"),
            data: home.join("index"),
            max_concurrent_searches: 4,
            search_timeout: DEADLINE,
            search_threads: 2,
            learning_rests: search_actors::LearningRests::default(),
            limits: search_actors::SearchLimits::default(),
        });
        let root = Root::start(SupervisorSpec::root("test").supervisor(tree.supervisor));
        Self {
            registry: tree.registry,
            search: tree.search,
            threads: tree.threads,
            root,
        }
    }

    fn handle(&self, place: usize) -> std::sync::Arc<SourceHandle> {
        self.registry.now().handles()[place].clone()
    }

    async fn search(&self, words: &str) -> SearchAnswer {
        let order = SearchParams {
            request: SearchRequest::for_text(words),
            limit: 10,
            ..SearchParams::default()
        };
        let answer = self
            .search
            .ask(Search(order))
            .await
            .expect("the service runs");
        answer.expect("an answer")
    }

    async fn reindex(&self, place: usize) {
        let indexer = self.handle(place).reindex_handle().expect("an indexer");
        indexer.request().expect("it is never parked");
    }

    async fn stop(self) {
        self.root.handle().stop();
        assert_eq!(self.root.verdict().await, TreeExit::Stopped);
        self.threads.join_all();
    }
}

/// Waits until the handle shows what is wanted.
async fn until(
    handle: &SourceHandle,
    what: &str,
    is_it: impl Fn(&SourceStatus) -> bool,
) -> SourceStatus {
    let began = Instant::now();
    loop {
        let status = handle.read();
        if is_it(&status) {
            return status;
        }
        assert!(began.elapsed() < DEADLINE, "{what}: {status:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn is_ready(status: &SourceStatus) -> bool {
    status.state == SourceState::Ready && status.error.is_none()
}

/// Waits until the source is ready; gives the number of its documents.
async fn ready(handle: &SourceHandle) -> u64 {
    let status = until(handle, "not ready in time", is_ready).await;
    status.snapshot.expect("a ready source").document_count()
}

fn folder_with(home: &Path, name: &str, files: usize) -> PathBuf {
    let folder = home.join(name);
    fs::create_dir_all(&folder).expect("a folder");
    for number in 0..files {
        write(&folder, &format!("{number:02}.txt"), "needle in hay\n");
    }
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("a file");
}

/// A file system in memory of its own at a folder; unmounted at the end.
struct Mount(PathBuf);

impl Mount {
    /// `None`, with a word why, where this process may not mount.
    #[allow(clippy::print_stdout, reason = "a test that is skipped says why")]
    fn new(folder: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(folder).expect("a folder");
        let options = format!("size={size}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(folder)
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(folder.to_owned()));
        }
        println!("skipped: this process may not mount a file system (it needs root)");
        None
    }

    /// As `umount -l`: gone at once, whoever still looks at it.
    fn detach(&self) {
        let status = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(status.expect("umount runs").success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // It may be detached already.
        let _ = Command::new("umount")
            .args(["-q", "-l"])
            .arg(&self.0)
            .status();
    }
}

/// The files of a kind in the indexes of `home`.
fn index_files(home: &Path, kind: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in fs::read_dir(home.join("index")).expect("indexes").flatten() {
        let files = fs::read_dir(folder.path()).into_iter().flatten().flatten();
        let files = files.map(|entry| entry.path());
        found.extend(files.filter(|path| path.extension().is_some_and(|one| one == kind)));
    }
    found
}

#[actix_rt::test]
async fn u1_an_indexer_that_has_failed_comes_back_by_itself_and_readiness_tells() {
    let home = tempfile::tempdir().expect("a temporary folder");
    folder_with(home.path(), "files", 3);
    // A file stands where the indexes are to be.
    fs::write(home.path().join("index"), "in the way").expect("a file");
    let running = Running::start(home.path(), &["files"]);
    let handle = running.handle(0);
    let down = until(&handle, "it cannot work", |status| status.is_down).await;
    assert_eq!(down.state, SourceState::Failed);
    let reason = down.error.expect("a reason");
    assert!(
        reason.contains("check that it is writable") && reason.contains("tried again"),
        "{reason}"
    );
    let role_set = running.registry.now();
    let degraded = role_set.check_indexers().expect_err("an indexer is down");
    assert!(
        degraded.starts_with("degraded: source \"files\""),
        "{degraded}"
    );
    assert!(role_set.is_degraded());
    fs::remove_file(home.path().join("index")).expect("removed");
    assert_eq!(ready(&handle).await, 3);
    assert_eq!(role_set.check_indexers(), Ok(()));
    assert!(!role_set.is_degraded());
    running.stop().await;
}

#[actix_rt::test]
async fn u1_a_disk_that_was_full_for_long_parks_no_indexer_and_a_reindex_is_at_once() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let data = home.path().join("index");
    let Some(_mount) = Mount::new(&data, "4m") else {
        return;
    };
    folder_with(home.path(), "files", 5);
    let ballast = data.join("ballast");
    let fill = || {
        let file = fs::File::create(&ballast).expect("a file");
        let mut at = 0;
        while file
            .write_at(&[7; 4_096], at)
            .is_ok_and(|written| written > 0)
        {
            at += 4_096;
        }
    };
    fill();
    let running = Running::start(home.path(), &["files"]);
    let handle = running.handle(0);
    let down = until(&handle, "the disk is full", |status| status.is_down).await;
    assert!(down.error.expect("a reason").contains("os error 28"));
    // More failures than any supervisor lets pass.
    for _ in 0..9 {
        let before = handle.version();
        running.reindex(0).await;
        until(&handle, "the disk is still full", |status| {
            handle.version() > before && status.state == SourceState::Failed
        })
        .await;
    }
    assert!(running.registry.now().check_indexers().is_err());
    fs::remove_file(&ballast).expect("room");
    running.reindex(0).await;
    assert_eq!(ready(&handle).await, 5);
    assert_eq!(running.search("needle").await.total, 5);
    // It fills again while the indexer follows the folder; what was searchable stays so.
    fill();
    for number in 0..40 {
        let text: String = (0..2_000)
            .map(|word| format!("w{number}x{word} "))
            .collect();
        write(
            &home.path().join("files"),
            &format!("more{number}.txt"),
            &text,
        );
    }
    until(&handle, "the disk is full again", |status| status.is_down).await;
    assert_eq!(running.search("needle").await.total, 5);
    fs::remove_file(&ballast).expect("room");
    running.reindex(0).await;
    until(&handle, "everything is indexed", |status| {
        is_ready(status)
            && status
                .snapshot
                .as_ref()
                .is_some_and(|all| all.document_count() == 45)
    })
    .await;
    running.stop().await;
}

#[actix_rt::test]
async fn u5_a_search_that_meets_damage_is_answered_by_the_others_and_the_index_is_put_right() {
    let home = tempfile::tempdir().expect("a temporary folder");
    folder_with(home.path(), "damaged", 6);
    folder_with(home.path(), "whole", 4);
    let running = Running::start(home.path(), &["damaged", "whole"]);
    for place in [0, 1] {
        ready(&running.handle(place)).await;
    }
    assert_eq!(running.search("needle").await.total, 10);
    let id = running.handle(0).id.clone();
    let stores = index_files(home.path(), "store").into_iter();
    let mut stores = stores.filter(|path| path.to_string_lossy().contains(&id));
    let store = stores.next().expect("a store");
    let file = fs::File::options().write(true).open(&store).expect("opens");
    let half = file.metadata().expect("a file").len() / 2;
    file.write_all_at(&vec![0xff; half as usize], 0)
        .expect("writes");
    // Whatever was damaged by then: an answer, never an error, and never less than the whole
    // source's.
    let answer = running.search("hay needle").await;
    assert!(answer.total == 4 || answer.total == 10, "{answer:?}");
    if answer.total == 4 {
        assert_eq!(answer.status, AnswerStatus::PartialSuccess);
        let report = &answer.sources[0];
        assert!(
            report
                .error
                .as_ref()
                .is_some_and(|why| why.contains(".store")),
            "{report:?}"
        );
    }
    assert_eq!(ready(&running.handle(0)).await, 6);
    let answer = running.search("hay needle").await;
    assert_eq!((answer.total, answer.status), (10, AnswerStatus::Success));
    running.stop().await;
}

#[actix_rt::test]
async fn u5_a_bit_that_flipped_while_nobody_ran_is_found_at_the_start() {
    let home = tempfile::tempdir().expect("a temporary folder");
    folder_with(home.path(), "files", 7);
    for kind in ["term", "store", "idx", "fieldnorm", "fast"] {
        let running = Running::start(home.path(), &["files"]);
        assert_eq!(ready(&running.handle(0)).await, 7, "{kind}");
        running.stop().await;
        let path = index_files(home.path(), kind).pop().expect("a file");
        let mut bytes = fs::read(&path).expect("reads");
        bytes[8] ^= 1;
        fs::write(&path, bytes).expect("writes");
        let running = Running::start(home.path(), &["files"]);
        assert_eq!(ready(&running.handle(0)).await, 7, "{kind}");
        let answer = running.search("needle").await;
        assert_eq!((answer.total, answer.results.len()), (7, 7), "{kind}");
        running.stop().await;
    }
}

#[actix_rt::test]
async fn u8_a_file_that_grows_over_the_limit_is_counted_as_skipped() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let files = folder_with(home.path(), "files", 3);
    let running = Running::start(home.path(), &["files"]);
    let handle = running.handle(0);
    assert_eq!(ready(&handle).await, 3);
    write(&files, "00.txt", &"needle ".repeat(1_600_000));
    let large = |status: &SourceStatus| status.skipped.get("too_large").copied();
    let grown = until(&handle, "it is counted", |status| large(status) == Some(1)).await;
    assert_eq!(grown.skipped.len(), 1);
    until(&handle, "it is not found any more", |status| {
        status
            .snapshot
            .as_ref()
            .is_some_and(|all| all.document_count() == 2)
    })
    .await;
    write(&files, "new.txt", &"needle ".repeat(1_600_000));
    until(&handle, "a new one is counted too", |status| {
        large(status) == Some(2)
    })
    .await;
    write(&files, "00.txt", "needle");
    fs::remove_file(files.join("new.txt")).expect("removed");
    until(&handle, "neither is", |status| {
        large(status).is_none()
            && status
                .snapshot
                .as_ref()
                .is_some_and(|all| all.document_count() == 3)
    })
    .await;
    running.stop().await;
}

/// What is searched when the file system at `mounted` goes away and comes back.
async fn unmounted(home: &Path, mounted: &Path, own: u64) {
    let Some(mount) = Mount::new(mounted, "4m") else {
        return;
    };
    let fill = || {
        for number in 0..32 {
            write(mounted, &format!("away{number}.txt"), "needle far away\n");
        }
    };
    fill();
    let running = Running::start(home, &["files"]);
    let handle = running.handle(0);
    assert_eq!(ready(&handle).await, own + 32);
    let is_away = |status: &SourceStatus| {
        let said = status.error.as_ref();
        status.state == SourceState::Ready
            && said.is_some_and(|why| why.contains("is not mounted any more"))
    };
    let documents =
        |status: &SourceStatus| status.snapshot.as_ref().map(|all| all.document_count());
    mount.detach();
    until(&handle, "it is said", is_away).await;
    // However often it is compared.
    for _ in 0..2 {
        let before = handle.read().updated_at;
        running.reindex(0).await;
        let now = until(&handle, "compared", |status| {
            status.updated_at > before && is_away(status)
        })
        .await;
        assert_eq!(documents(&now), Some(own + 32));
    }
    assert_eq!(running.search("needle").await.total, own as usize + 32);
    running.stop().await;
    // A start without it.
    let running = Running::start(home, &["files"]);
    let handle = running.handle(0);
    let now = until(&handle, "it is said again", is_away).await;
    assert_eq!(documents(&now), Some(own + 32));
    // Mounted again, with one file less.
    let mount = Mount::new(mounted, "4m").expect("as before");
    fill();
    fs::remove_file(mounted.join("away7.txt")).expect("removed");
    until(&handle, "it is back", |status| {
        is_ready(status) && documents(status) == Some(own + 31)
    })
    .await;
    // Changes are followed there.
    write(mounted, "new.txt", "needle\n");
    until(&handle, "it is watched", |status| {
        documents(status) == Some(own + 32)
    })
    .await;
    running.stop().await;
    drop(mount);
}

#[actix_rt::test]
async fn u8_what_lay_on_a_file_system_that_is_unmounted_stays() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let files = folder_with(home.path(), "files", 3);
    unmounted(home.path(), &files.join("deep").join("stick"), 3).await;
}

#[actix_rt::test]
async fn u8_a_searched_folder_that_is_unmounted_keeps_its_documents() {
    let home = tempfile::tempdir().expect("a temporary folder");
    unmounted(home.path(), &home.path().join("files"), 0).await;
}
