//! What stored runs cost: the start of the runner, a collection of its garbage collector, which
//! comes once a minute, and the first page of the list of runs.
//!
//! `cargo bench -p runner-actors --bench stored_runs -- [--runs N] [--jobs N] [--steps N]`
//!
//! One run is real, of the runner's own actors with a scripted VM manager; its record, event and
//! log are stored as often as is asked for, under ids of the hours before. Processor time is that
//! of the whole process, to 10 ms.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "../tests/actors/harness.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod harness;

use std::path::Path;
use std::time::{Duration, Instant};

use runner_actors::{RunFilter, RunRecord, StoredEvent};
use runner_core::state::RunState;
use serde::{Deserialize, Serialize};
use store::{Blob, Extent, JsonRow, Row, Store, StoreError, StoreOptions, Table};

use harness::{REPOSITORY, Runner, Site};

/// Bytes of the body of a webhook.
const BODY_BYTES: usize = 8 << 10;
/// Runs that are stored together.
const BATCH: usize = 500;
/// Between two collections, in place of a minute.
const COLLECTION: Duration = Duration::from_secs(5);
/// Pages that are read.
const PAGES: u32 = 50;

/// As `rows.rs` stores a run that was stored again since it came.
#[derive(Serialize, Deserialize)]
struct RunRow {
    record: JsonRow<RunRecord>,
    trigger: Option<ArrivalRow>,
}

impl Row for RunRow {
    const SCHEMA: u16 = 2;
}

/// As it stores what a run was started by.
#[derive(Serialize, Deserialize)]
struct ArrivalRow {
    body: Extent,
    event: JsonRow<StoredEvent>,
}

impl Row for ArrivalRow {
    const SCHEMA: u16 = 1;
}

const RUNS: Table<String, RunRow> = Table::new("runner_runs");
const ARRIVALS: Table<String, ArrivalRow> = Table::new("runner_arrivals");

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str, otherwise: usize| {
        let at = arguments.iter().position(|argument| argument == name);
        let text = at.and_then(|at| arguments.get(at + 1));
        text.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let runs = option("--runs", 10_000);
    let shape = (option("--jobs", 10), option("--steps", 10));
    actix_rt::System::new().block_on(measure(runs, shape));
}

async fn measure(runs: usize, (jobs, steps): (usize, usize)) {
    let site = Site::new();
    let (record, event, log) = real_run(&site, jobs, steps).await;
    let bytes = serde_json::to_vec(&record).unwrap().len();
    println!("{runs} runs of {jobs} jobs of {steps} steps, {bytes} bytes of JSON each");
    let filled = Instant::now();
    fill(&site.data(), runs, (&record, &event, &log));
    println!("stored in {:.1} s", filled.elapsed().as_secs_f64());

    let before = Spent::now();
    let runner = start(&site, runs).await;
    before.say("start, until runs are taken");
    println!("memory then: {} MiB", resident_mib());
    collection(&site, 1, "the first collection").await;
    collection(&site, 2, "a later collection").await;
    pages(
        &runner,
        RunFilter::default(),
        50,
        "the first page of 50 runs",
    )
    .await;
    let none = RunFilter {
        text: Some("no run is called so".to_owned()),
        ..RunFilter::default()
    };
    pages(&runner, none, 0, "a page whose filter shows none").await;
    println!("memory at the end: {} MiB", resident_mib());
    runner.stop().await;
}

async fn start(site: &Site, runs: usize) -> Runner {
    site.start_with(|settings| {
        settings.keep_runs = runs * 2;
        settings.gc_interval = Some(COLLECTION);
    })
    .await
}

/// A run to its end: its record, what started it, and its log.
async fn real_run(site: &Site, jobs: usize, steps: usize) -> (RunRecord, StoredEvent, Vec<u8>) {
    let numbers: Vec<String> = (0..jobs).map(|n| n.to_string()).collect();
    let steps: Vec<String> = (0..steps)
        .map(|n| format!("{{name: Step {n} of the job, run: make part-{n}}}"))
        .collect();
    let workflow = format!(
        "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    strategy: {{matrix: {{n: [{}]}}}}\n    steps: [{}]\n",
        numbers.join(", "),
        steps.join(", ")
    );
    let runner = start(site, 1).await;
    let sha = site.commit(&workflow);
    let event = site.push(REPOSITORY, "main", &sha);
    let run = runner.start_event(event.clone()).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Succeeded, "{:?}", record.reason);
    let log = runner.log(&run).await.into_bytes();
    runner.stop().await;
    (record, event, log)
}

/// Stores the run so often, one for each two seconds up to an hour before it.
fn fill(data: &Path, runs: usize, (record, event, log): (&RunRecord, &StoredEvent, &[u8])) {
    let store = Store::open(data, &StoreOptions::new("workflow-runner")).unwrap();
    let logs = data.join("logs");
    std::fs::create_dir_all(&logs).unwrap();
    for first in (0..runs).step_by(BATCH) {
        let some: Vec<RunRecord> = (first..runs.min(first + BATCH))
            .map(|number| copy(record, runs - number, number))
            .collect();
        for record in &some {
            std::fs::write(logs.join(format!("{}.jsonl", record.id)), log).unwrap();
        }
        let event = event.clone();
        let stored = store.write_blocking(move |rows| {
            for record in &some {
                let body = rows.append(&Blob::new(vec![b' '; BODY_BYTES].into()))?;
                let event = JsonRow::new(&event);
                rows.put(&ARRIVALS, &record.id, &ArrivalRow { body, event })?;
                let row = RunRow {
                    record: JsonRow::new(record),
                    trigger: None,
                };
                rows.put(&RUNS, &record.id, &row)?;
            }
            Ok::<_, StoreError>(())
        });
        stored.unwrap();
    }
    store.close();
}

/// One of another time. Ids are in the order of time.
fn copy(record: &RunRecord, ago: usize, number: usize) -> RunRecord {
    let earlier = |at: u64| at.saturating_sub(3_600_000 + ago as u64 * 2000);
    let mut copy = record.clone();
    copy.id = format!("01000000-0000-7000-8000-{number:012x}");
    copy.number = number as u64 + 1;
    copy.created_at = earlier(copy.created_at);
    copy.started_at = copy.started_at.map(earlier);
    copy.ended_at = copy.ended_at.map(earlier);
    copy
}

/// From the middle between two collections, or the start, to the middle behind the next.
async fn collection(site: &Site, number: u32, what: &str) {
    let looks = || {
        let requests = site.vmm.requests();
        let is_look = |path: &str| path.trim_matches('/') == "vms";
        let looks = requests.iter();
        looks
            .filter(|one| one.method == "GET" && is_look(&one.path))
            .count()
    };
    let (looked, before) = (looks(), Spent::now());
    tokio::time::sleep(match number {
        1 => COLLECTION.mul_f64(1.5),
        _ => COLLECTION,
    })
    .await;
    assert!(looks() > looked, "a collection has begun");
    before.say(what);
}

async fn pages(runner: &Runner, filter: RunFilter, expected: usize, what: &str) {
    let (begun, before) = (Instant::now(), Spent::now());
    let mut bytes = 0;
    for _ in 0..PAGES {
        let page = runner.view.page(filter.clone(), None, 50).await.unwrap();
        assert_eq!(page.runs.len(), expected);
        let runs: Vec<RunRecord> = page.runs.into_iter().map(RunRecord::for_display).collect();
        bytes = serde_json::to_vec(&runs).unwrap().len();
    }
    let each = |time: Duration| (time / PAGES).as_secs_f64() * 1000.0;
    let (wall, processor) = (each(begun.elapsed()), each(before.processor_since()));
    println!("{what}: {wall:.1} ms, {processor:.1} ms of a processor, {bytes} bytes of JSON");
}

/// Time of this process at one moment.
struct Spent {
    at: Instant,
    processor: Duration,
}

impl Spent {
    fn now() -> Self {
        Self {
            at: Instant::now(),
            processor: processor_time(),
        }
    }

    fn processor_since(&self) -> Duration {
        processor_time().saturating_sub(self.processor)
    }

    fn say(&self, what: &str) {
        let (processor, wall) = (self.processor_since(), self.at.elapsed());
        println!(
            "{what}: {} ms of a processor in {} ms",
            processor.as_millis(),
            wall.as_millis()
        );
    }
}

/// User and system time, in hundredths of a second as Linux says it.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, after_name) = text.rsplit_once(')').unwrap();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<u64>().unwrap();
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

fn resident_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 = line
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib >> 10
}
