//! F01 for the store: a process is killed at random points, again and again, and nothing it
//! acknowledged is lost. `ORRERY_KILLS` asks for more kills than the 100 of the normal run.

#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::engines::Lab;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use store::{
    Blob, Extent, OpenError, PostgresUrl, RawBytes, ReadRows, Store, StoreError, StoreOptions,
    Table,
};

/// Tables that each request writes to: found in one only would be half a request.
const BODIES: Table<u64, RawBytes> = Table::new("bodies");
/// Where the same bytes are appended.
const EXTENTS: Table<u64, Extent> = Table::new("extents");
const INDEX: Table<(u64, u64), u64> = Table::new("index");

const CHILD: &str = "ORRERY_STORE_CHILD";
const WRITERS: u64 = 4;
const DEADLINE: Duration = Duration::from_secs(60);

/// The row of an id, of 100 B to 28 kB.
fn body(id: u64) -> RawBytes {
    let len = 100 + (id.wrapping_mul(7919) % 28_000) as usize;
    RawBytes(id.to_le_bytes().into_iter().cycle().take(len).collect())
}

/// The child: does nothing in a normal run of the tests.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Ok(task) = std::env::var(CHILD) else {
        return;
    };
    let (first, place) = task.split_once(' ').unwrap();
    let first: u64 = first.parse().unwrap();
    let store = open(place, "child").unwrap();
    say("\nready");
    std::thread::scope(|threads| {
        for writer in 0..WRITERS {
            let store = &store;
            threads.spawn(move || write_for_ever(store, first + writer));
        }
    });
}

/// Opens the store in a folder or at an address.
fn open(place: &str, program: &str) -> Result<Store, OpenError> {
    let options = StoreOptions {
        schema: "kills".to_owned(),
        ..StoreOptions::new(program)
    };
    match PostgresUrl::is_one(place) {
        true => Store::open_postgres(&place.parse()?, &options),
        false => Store::open(place.as_ref(), &options),
    }
}

fn write_for_ever(store: &Store, first: u64) {
    for id in (first..).step_by(WRITERS as usize) {
        let written = store.write_blocking(move |txn| {
            txn.put(&INDEX, &(id % 7, id), &txn.group())?;
            let extent = txn.append(&Blob::new(body(id).0.into()))?;
            txn.put(&EXTENTS, &id, &extent)?;
            txn.put(&BODIES, &id, &body(id))
        });
        let _: Result<(), StoreError> = written.clone();
        written.unwrap();
        say(&format!("ack {id}"));
    }
}

/// One line down the pipe, past the capture of the test harness.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

fn spawn(place: &str, first: u64) -> (Child, Receiver<String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "crash_kills::child_that_writes_until_it_is_killed",
            "--nocapture",
        ])
        .env(CHILD, format!("{first} {place}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (line, lines) = channel();
    std::thread::spawn(move || {
        // Ends with the pipe; a line cut short by the kill has no newline, and says nothing.
        for text in out.split(b'\n').map_while(Result::ok) {
            let _ = line.send(String::from_utf8_lossy(&text).into_owned());
        }
    });
    (child, lines)
}

/// Spreads the kills: a number below `n` from a counter, by multiplication with a large odd one.
fn spread(counter: u64, n: u64) -> u64 {
    (counter.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % n
}

/// Lets the child run for so many acknowledgements and a little longer, then kills it; all that
/// it acknowledged.
fn run_and_kill(place: &str, first: u64, round: u64) -> Vec<u64> {
    let (mut child, lines) = spawn(place, first);
    let mut acked = Vec::new();
    // Each tenth is killed while it starts.
    let wanted = if round % 10 == 9 {
        0
    } else {
        1 + spread(round, 40) as usize
    };
    let deadline = Instant::now() + DEADLINE;
    while acked.len() < wanted {
        match lines.recv_timeout(deadline - Instant::now()) {
            Ok(line) => acked.extend(ack(&line)),
            Err(e) => {
                let _ = child.kill();
                let output = child.wait_with_output().unwrap();
                panic!(
                    "round {round}: {e}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
            }
        }
    }
    let more = Duration::from_micros(spread(round + 1, 4000));
    let until = Instant::now() + more;
    while let Ok(line) = lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
        acked.extend(ack(&line));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    loop {
        match lines.recv_timeout(DEADLINE) {
            Ok(line) => acked.extend(ack(&line)),
            Err(RecvTimeoutError::Disconnected) => return acked,
            Err(RecvTimeoutError::Timeout) => panic!("the pipe stays open"),
        }
    }
}

fn ack(line: &str) -> Option<u64> {
    line.strip_prefix("ack ").map(|id| id.parse().unwrap())
}

/// Opens what the kill left and compares it with what was acknowledged.
fn check(place: &str, acked: &mut BTreeSet<u64>, round: u64) {
    let store = open(place, "parent").unwrap();
    let (bodies, index) = store
        .read_blocking(|rows| {
            let bodies = rows.range(&BODIES, .., usize::MAX)?;
            for (id, extent) in rows.range(&EXTENTS, .., usize::MAX)? {
                let blob = rows.blob(&extent)?.map(RawBytes);
                assert!(
                    blob == Some(body(id)),
                    "round {round}: another piece for {id}"
                );
            }
            assert_eq!(rows.len(&EXTENTS)?, bodies.len() as u64, "round {round}");
            Ok::<_, StoreError>((bodies, rows.range(&INDEX, .., usize::MAX)?))
        })
        .unwrap();
    let found: BTreeSet<u64> = bodies.iter().map(|(id, _)| *id).collect();
    let indexed: BTreeSet<u64> = index.iter().map(|((_, id), _)| *id).collect();
    let lost: Vec<_> = acked.difference(&found).collect();
    assert!(
        lost.is_empty(),
        "round {round}: acknowledged and lost: {lost:?}"
    );
    assert_eq!(found, indexed, "round {round}: half a request");
    for (id, row) in bodies {
        assert!(row == body(id), "round {round}: another body for {id}");
    }
    assert_eq!(store.health().quarantined, 0);
    if found.len() > 1000 {
        prune(&store, found);
        acked.clear();
    }
}

/// Empties the tables, so that a long run needs no large disk.
fn prune(store: &Store, found: BTreeSet<u64>) {
    let pruned = store.write_blocking(move |txn| {
        for id in found {
            txn.delete(&BODIES, &id)?;
            if let Some(extent) = txn.get(&EXTENTS, &id)? {
                txn.release(&extent);
            }
            txn.delete(&EXTENTS, &id)?;
            txn.delete(&INDEX, &(id % 7, id))?;
        }
        Ok::<_, StoreError>(())
    });
    pruned.unwrap();
}

fn kill_and_check(place: &str, kills: u64) {
    let mut acked = BTreeSet::new();
    let mut total = 0;
    for round in 0..kills {
        let now = run_and_kill(place, round * 1_000_000, round);
        total += now.len();
        acked.extend(now);
        check(place, &mut acked, round);
    }
    assert!(total as u64 >= kills / 2, "the children hardly wrote");
}

fn kills(usual: u64) -> u64 {
    std::env::var("ORRERY_KILLS").map_or(usual, |n| n.parse().unwrap())
}

#[test]
fn f01_a_killed_process_loses_nothing_it_acknowledged() {
    let lab = Lab::redb();
    kill_and_check(lab.folder().to_str().unwrap(), kills(100));
}

#[test]
fn i18_f01_a_killed_process_loses_nothing_it_acknowledged_in_postgresql() {
    let lab = Lab::postgres();
    kill_and_check(&lab.url(), kills(40));
}
