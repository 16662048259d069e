//! What steps cost beside what they do: a JavaScript action beside Node itself, artifacts and
//! caches of a gigabyte beside a plain copy.
//!
//! `cargo bench -p workflow-runner --bench costs -- [--steps N] [--mib N]`
//!
//! The real runner and the real VM manager, one VM of the image `full` (which has to be built:
//! `vm-manager image build full`). A step's time is that of its record: from the runner's word that
//! it begins to its word that it has ended, with its files put into the VM and read back.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "../tests/site/mod.rs"]
mod site;

use std::fmt::Write as _;

use serde_json::Value;
use site::Site;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str, otherwise: usize| {
        let at = arguments.iter().position(|argument| argument == name);
        let text = at.and_then(|at| arguments.get(at + 1));
        text.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (steps, mib) = (option("--steps", 20), option("--mib", 1024));
    // `[keep]` is the table before: nothing is kept.
    let mut site = Site::new(
        "qemu",
        "failed = false\n[machines.large]\nimage = \"full\"\nmemory = \"1GiB\"\ndisk = \"8GiB\"",
    );
    actions(&mut site, steps);
    transfers(&mut site, mib);
}

/// The durations of a job's steps, with their names.
fn times(record: &Value, job: &str) -> Vec<(String, u64)> {
    let jobs = record["jobs"].as_array().unwrap();
    let job = jobs.iter().find(|it| it["key"] == job).unwrap();
    let steps = job["steps"].as_array().unwrap().iter();
    steps
        .map(|step| {
            let at = |name: &str| step[name].as_u64().unwrap();
            let name = step["name"].as_str().unwrap().to_owned();
            (name, at("ended_at") - at("started_at"))
        })
        .collect()
}

fn succeeded(site: &mut Site, workflow: &str) -> Value {
    let (run, record) = site.run(workflow);
    assert_eq!(
        record["state"],
        "succeeded",
        "{record:#}\n{}",
        site.log(&run)
    );
    record
}

/// Node by a script, and by an action that does nothing.
fn actions(site: &mut Site, steps: usize) {
    let action = "name: nothing\ndescription: nothing\nruns: {using: node24, main: index.js}\n";
    site.repository.write("nothing/action.yml", action);
    site.repository.write("nothing/index.js", "\n");
    let mut workflow = String::from(
        "on: push\njobs:\n  a:\n    runs-on: large\n    steps:\n      - {run: node -e 0}\n      - {uses: ./nothing}\n",
    );
    for _ in 0..steps {
        workflow.push_str("      - {name: shell, run: 'true'}\n");
        workflow.push_str("      - {name: node, run: node nothing/index.js}\n");
        workflow.push_str("      - {name: action, uses: ./nothing}\n");
    }
    let record = succeeded(site, &workflow);
    let all = times(&record, "a");
    println!("{steps} steps each in a warm VM, milliseconds of a step:");
    let of = |name: &str| {
        let mut found: Vec<u64> = all
            .iter()
            .filter(|(step, _)| step == name)
            .map(|(_, time)| *time)
            .collect();
        found.sort_unstable();
        assert_eq!(found.len(), steps);
        let median = found[found.len() / 2];
        println!(
            "  {name}: p50 {median}, least {}, most {}",
            found[0],
            found[found.len() - 1]
        );
        median
    };
    of("shell");
    let (node, action) = (of("node"), of("action"));
    let beside = i64::try_from(action).unwrap() - i64::try_from(node).unwrap();
    println!("  an action that does nothing beside a script that runs Node: p50 {beside:+}");
}

/// A file there and back: as an artifact, as a cache, and copied in the VM.
fn transfers(site: &mut Site, mib: usize) {
    let mut workflow = String::from("on: push\njobs:\n  out:\n    runs-on: large\n    steps:\n");
    let file = "/tmp/orrery/file";
    let _ = write!(
        workflow,
        r#"      - {{name: made, run: mkdir -p /tmp/orrery && head -c {mib}M /dev/urandom > {file} && sync}}
      - {{name: copied, run: cp {file} /tmp/copy && sync && rm /tmp/copy}}
      - {{name: artifact stored, uses: actions/upload-artifact@v4, with: {{name: large, path: {file}}}}}
      - {{name: cache stored, uses: actions/cache/save@v4, with: {{key: large, path: {file}}}}}
  back:
    needs: out
    runs-on: large
    steps:
      - {{name: artifact fetched, uses: actions/download-artifact@v4, with: {{name: large, path: /tmp/back}}}}
      - {{run: rm -r /tmp/back}}
      - {{name: cache fetched, uses: actions/cache/restore@v4, with: {{key: large, path: {file}, fail-on-cache-miss: true}}}}
"#
    );
    let record = succeeded(site, &workflow);
    println!("a file of {mib} MiB, not compressible:");
    let all = times(&record, "out");
    for (name, time) in all.into_iter().chain(times(&record, "back")) {
        if !name.starts_with("Run ") {
            let speed = mib as f64 * 1.048_576 / (time as f64 / 1000.0);
            println!("  {name}: {time} ms, {speed:.1} MB/s");
        }
    }
}
