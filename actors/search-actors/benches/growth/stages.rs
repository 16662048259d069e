//! The two processes that measure: one that grows an index and changes it, one that starts again.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use search_actors::{LearningRests, RoleRegistry};

use crate::corpus::{self, Sample};
use crate::queries::{self, KINDS};
use crate::role::{found, wait, with_role_at};
use crate::usage::{Memory, MemoryWatch, Usage, cpu_of_thread, wait_until_idle};

/// The stages, in their order.
pub(crate) const STAGES: [&str; 2] = ["grow", "restart"];

/// Single changes that are measured.
const CHANGES: usize = 5;

/// Documents that are changed at once.
const MANY: usize = 10_000;

/// What comes after a change is over when nothing has happened for so long: what was committed is
/// synchronised after two seconds, and merged after five.
const QUIET: Duration = Duration::from_secs(4);
const QUIET_LONG: Duration = Duration::from_secs(8);

/// Threads rest shortly: what they do is measured, not how long they wait.
const SHORT_RESTS: LearningRests = LearningRests {
    settle_after: Duration::from_secs(24 * 3600),
    before_settling: 20,
    after_work: 0,
};

pub(crate) fn run(stage: &str, home: &Path, count: usize) {
    let data = home.join("data");
    let folders = [home.join("files")];
    with_role_at(&data, SHORT_RESTS, &folders, |registry| match stage {
        "grow" => grow(registry, home, count),
        _ => restart(registry),
    });
}

fn row(name: &str, value: impl std::fmt::Display) {
    println!("{name}\t{value}");
}

fn grow(registry: &RoleRegistry, home: &Path, count: usize) {
    let (began, before) = (Instant::now(), Usage::now());
    wait(registry);
    wait_until_idle(QUIET_LONG);
    let all = Usage::since(before);
    row("documents", count);
    row(
        "indexed and learnt: wall s",
        seconds_since(began, QUIET_LONG),
    );
    row("indexed and learnt: CPU s", format!("{:.1}", all.cpu));
    row("indexed and learnt: MB written", all.written >> 20);
    row("indexed and learnt: memory, most MB", Memory::now().most);
    let text = size(&home.join("files"));
    let learnt = size(&home.join("data/concepts"));
    let index = size(&home.join("data")) - learnt;
    row("text MB", text >> 20);
    row(
        "index, % of the text",
        format!("{:.1}", index as f64 * 100.0 / text as f64),
    );
    row("graph, vectors, model MB", learnt >> 20);
    let role = registry.now().role(None).unwrap().searchable();
    let sample = Sample::read(&home.join("sample"));
    let [cost, first] = queries::cost_of_new_beginnings(&role, &sample);
    row("a query: the first, CPU ms", format!("{first:.2}"));
    row(
        "a query: new prefixes of 2 letters, CPU ms",
        format!("{cost:.2}"),
    );
    for (kind, cost) in KINDS.iter().zip(queries::cost(&role, &sample)) {
        let cost = cost.map_or_else(|| "refused".to_owned(), |cost| format!("{cost:.2}"));
        row(&format!("a query: {kind}, CPU ms"), cost);
    }
    let memory = Memory::now();
    row("memory after queries: own MB", memory.own);
    row("memory after queries: of mapped files, MB", memory.mapped);
    drop(role);
    one_change(registry, home, count);
    one_change_unwatched(registry, home, count);
    many_changes(registry, home, count);
}

/// Seconds without those that were waited to see that nothing more happens.
fn seconds_since(began: Instant, quiet: Duration) -> String {
    format!("{:.1}", began.elapsed().saturating_sub(quiet).as_secs_f64())
}

/// Bytes of all files of a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let sizes = entries.map(|entry| match entry.metadata().unwrap() {
        facts if facts.is_dir() => size(&entry.path()),
        facts => facts.len(),
    });
    sizes.sum()
}

fn path(home: &Path, number: usize) -> PathBuf {
    home.join("files").join(corpus::key(number))
}

/// Changes a document: a line more, with a word that no other has.
fn change(home: &Path, number: usize, word: &str) {
    let path = path(home, number);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, format!("{text}\nchanged {word}\n")).unwrap();
}

/// Searches for a word until it is found; gives the number of searches.
fn wait_for(registry: &RoleRegistry, word: &str) -> usize {
    for searches in 1.. {
        let role = registry.now().role(None).unwrap().searchable();
        if !found(&role, word, 1).is_empty() {
            return searches;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    unreachable!("it is searched for until it is found")
}

fn one_change(registry: &RoleRegistry, home: &Path, count: usize) {
    let (before, mut searches) = (Usage::now(), 0);
    for number in 0..CHANGES {
        let word = format!("zebrafinch{number}");
        change(home, (number * 7_919 + 13) % count, &word);
        searches += wait_for(registry, &word);
        wait_until_idle(QUIET);
    }
    let used = Usage::since(before);
    row(
        "one change: searches that wait for it",
        format!("{:.1}", searches as f64 / CHANGES as f64),
    );
    let each = used.cpu * 1e3 / CHANGES as f64;
    row("one change: CPU ms", format!("{each:.0}"));
    row("one change: KB read", used.read / 1024 / CHANGES as u64);
    row(
        "one change: KB written",
        used.written / 1024 / CHANGES as u64,
    );
}

/// What the process takes while so many changes are made, or nothing is, without what this thread
/// takes to look at it: CPU milliseconds, KB read, pages that were not mapped; of each.
fn unwatched(mut each: impl FnMut(usize)) -> [f64; 3] {
    let (before, mine) = (Usage::now(), cpu_of_thread());
    for number in 0..CHANGES {
        each(number);
        wait_until_idle(QUIET);
    }
    let mine = cpu_of_thread() - mine;
    let used = Usage::since(before);
    let all = [
        (used.cpu - mine) * 1e3,
        used.read as f64 / 1024.0,
        used.faults as f64,
    ];
    all.map(|one| one / CHANGES as f64)
}

/// The same without searches that wait for the change: what following it costs by itself; and what
/// the process takes in as much time without any.
fn one_change_unwatched(registry: &RoleRegistry, home: &Path, count: usize) {
    let [idle, ..] = unwatched(|_| {});
    row("no change for as long: CPU ms", format!("{idle:.0}"));
    let [used, read, faults] = unwatched(|number| {
        let changed = (number * 6_007 + 29) % count;
        change(home, changed, &format!("quiet{number}"));
    });
    let role = registry.now().role(None).unwrap().searchable();
    for number in 0..CHANGES {
        assert_eq!(found(&role, &format!("quiet{number}"), 1).len(), 1);
    }
    row("one change, no search waits: CPU ms", format!("{used:.0}"));
    row("one change, no search waits: KB read", format!("{read:.0}"));
    row(
        "one change, no search waits: page faults",
        format!("{faults:.0}"),
    );
}

fn many_changes(registry: &RoleRegistry, home: &Path, count: usize) {
    let (began, before) = (Instant::now(), Usage::now());
    let many = MANY.min(count);
    for number in 0..many {
        let number = number * (count / many);
        let text = fs::read_to_string(path(home, number)).unwrap();
        fs::write(path(home, number), format!("{text}\nchanged all at once\n")).unwrap();
    }
    let writing = Usage::since(before);
    wait_until_idle(QUIET_LONG);
    wait(registry);
    wait_until_idle(QUIET_LONG);
    let used = Usage::since(before);
    row(
        "10,000 changes: wall s",
        seconds_since(began, QUIET_LONG * 2),
    );
    row(
        "10,000 changes: CPU s",
        format!("{:.1}", used.cpu - writing.cpu),
    );
    row(
        "10,000 changes: MB written",
        (used.written - writing.written) >> 20,
    );
    row("10,000 changes: memory, most MB", Memory::now().most);
}

fn restart(registry: &RoleRegistry) {
    let (began, watch) = (Instant::now(), MemoryWatch::start());
    let is_searchable = || {
        let role = registry.now().role(None).unwrap().searchable();
        role.sources.iter().all(|source| source.snapshot.is_some())
    };
    while !is_searchable() {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    row(
        "restart: searchable after s",
        seconds_since(began, Duration::ZERO),
    );
    wait(registry);
    row(
        "restart: in step after s",
        seconds_since(began, Duration::ZERO),
    );
    wait_until_idle(QUIET);
    row("restart: CPU s", format!("{:.1}", Usage::now().cpu));
    let highest = watch.highest();
    row("restart: own memory, most MB", highest.own);
    row("restart: mapped files in memory, most MB", highest.mapped);
    row("restart: memory with mapped files, most MB", highest.most);
    let now = Memory::now();
    row("restart: own memory at the end, MB", now.own);
    row("restart: mapped files in memory at the end, MB", now.mapped);
}
