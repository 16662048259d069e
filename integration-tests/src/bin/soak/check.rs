//! What must hold once the load has stopped, nobody is killed any more and the forge behaves. Apart
//! from the programs: only their interfaces, the forge's memory, and the machine are asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::daemon::pause;
use crate::findings::Findings;
use crate::lost_jobs;
use crate::wire::{ask, get};
use crate::world::{ADMIN_TOKEN, CONTEXTS, MAIN, ROCKET, SoakSite};

/// Longest time until everything has settled: retries of posts wait up to minutes.
const QUIET_TIMEOUT: Duration = Duration::from_secs(900);
/// What is waited for is printed so often.
const REPORT_INTERVAL: Duration = Duration::from_secs(30);
/// Longest time until a first image and a first machine are there.
const MACHINES_TIMEOUT: Duration = Duration::from_secs(900);

/// Waits until the VM manager has machines to give.
pub(crate) fn machines_are_ready(world: &SoakSite) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < MACHINES_TIMEOUT {
        let answer = ask(world.vm_manager.address, "GET /readyz", &[], "");
        if answer.is_some_and(|answer| answer.status == 200) {
            return Ok(());
        }
        pause(Duration::from_millis(200));
    }
    bail!("the VM manager has no machines after {MACHINES_TIMEOUT:?}")
}

/// Everything that is asked from running programs.
pub(crate) fn all(world: &SoakSite, findings: &mut Findings) {
    let refused = std::mem::take(&mut world.ledger().refused);
    findings.lost.extend(refused);
    orchestrator(world, findings);
    agents(world, findings);
    comments(world, findings);
    pulls(world, findings);
    workflows(world, findings);
    machines(world, findings);
    documents(world, findings);
}

/// Waits until `open` says nothing is open any more; what it says last is hanging.
fn until_quiet(findings: &mut Findings, mut open: impl FnMut() -> Vec<String>) {
    let started = Instant::now();
    let mut reported = Duration::ZERO;
    loop {
        let left = open();
        if left.is_empty() {
            return;
        }
        if started.elapsed() > QUIET_TIMEOUT {
            findings.hanging.extend(left);
            return;
        }
        if started.elapsed() > reported + REPORT_INTERVAL {
            reported = started.elapsed();
            println!(
                "soak: {} s: waiting for {} things, one is: {}",
                reported.as_secs(),
                left.len(),
                left[0]
            );
        }
        pause(Duration::from_millis(500));
    }
}

fn admin(world: &SoakSite, path: &str) -> Option<Value> {
    let authorization = format!("Bearer {ADMIN_TOKEN}");
    get(world.admin, path, &[("Authorization", &authorization)])
}

fn orchestrator(world: &SoakSite, findings: &mut Findings) {
    until_quiet(findings, || {
        let Some(status) = admin(world, "/admin/status") else {
            return vec!["the orchestrator does not answer".to_owned()];
        };
        let states = ["queued", "starting", "running"];
        let open = states.iter().filter_map(|state| {
            let count = status["queue"][state].as_u64()?;
            (count > 0).then(|| format!("{count} runs of agents are {state}"))
        });
        open.collect()
    });
}

/// Every accepted run ran once, or was ended by a restart and says so; none ran twice.
fn agents(world: &SoakSite, findings: &mut Findings) {
    let written = std::fs::read_to_string(world.folder().join("agents.txt")).unwrap_or_default();
    let mut ran = BTreeSet::new();
    for run in written.lines() {
        if !ran.insert(run.to_owned()) {
            findings.doubled.push(format!("agent run {run} ran twice"));
        }
    }
    let accepted: Vec<String> = {
        let ledger = world.ledger();
        ledger
            .mentions
            .keys()
            .chain(&ledger.fanned)
            .cloned()
            .collect()
    };
    let mut ended = BTreeMap::<String, u64>::new();
    for run in accepted {
        let Some(record) = admin(world, &format!("/admin/runs/{run}")) else {
            findings.lost.push(format!("agent run {run} is unknown"));
            continue;
        };
        let class = record["exit"]["class"].as_str().unwrap_or("none");
        *ended.entry(class.to_owned()).or_default() += 1;
        // A verdict about an agent whose script is right is work lost with a reason that is not
        // true.
        let interrupted = matches!(class, "orchestrator_restart");
        if !interrupted && (class != "success" && class != "empty_success" || !ran.contains(&run)) {
            let reason = record["reason"].as_str().unwrap_or("no reason");
            findings
                .lost
                .push(format!("agent run {run}: {class}, {reason}"));
        }
    }
    println!("soak: ends of agents: {ended:?}");
}

/// Each run of a mention has one comment at the most, and one if it ran to its end.
fn comments(world: &SoakSite, findings: &mut Findings) {
    let mentions = world.ledger().mentions.clone();
    let issues: BTreeSet<u64> = mentions.values().copied().collect();
    let count = || {
        let mut count = BTreeMap::<String, usize>::new();
        for issue in &issues {
            for comment in world.forge.comments(MAIN, *issue) {
                let run = comment.body.split("<!-- orch:run=").nth(1);
                let run = run.and_then(|rest| rest.split(' ').next());
                if let Some(run) = run {
                    *count.entry(run.to_owned()).or_default() += 1;
                }
            }
        }
        count
    };
    until_quiet(findings, || {
        let count = count();
        let open = mentions.keys().filter(|run| !count.contains_key(*run));
        open.map(|run| format!("run {run} of a mention has no comment"))
            .collect()
    });
    let twice = count().into_iter().filter(|(_, times)| *times > 1);
    let twice = twice.map(|(run, times)| format!("run {run} has {times} comments"));
    findings.doubled.extend(twice);
}

/// Both contexts of every pull request that was accepted have ended.
fn pulls(world: &SoakSite, findings: &mut Findings) {
    let heads = world.ledger().pulls.clone();
    until_quiet(findings, || {
        let mut open = Vec::new();
        for (head, context) in heads.iter().flat_map(|head| CONTEXTS.map(|of| (head, of))) {
            match world.forge.status(MAIN, head, context) {
                Some(status) if status.state != "pending" => {}
                Some(_) => open.push(format!("{context} of {head} is pending")),
                None => open.push(format!("{context} of {head} has no status")),
            }
        }
        open
    });
}

/// Each pushed commit has exactly one run, which has ended, and a status that says so.
fn workflows(world: &SoakSite, findings: &mut Findings) {
    let pushes = world.ledger().pushes.clone();
    let runs = || get(world.runner.address, "/runs?limit=1000", &[]);
    until_quiet(findings, || {
        let Some(runs) = runs() else {
            return vec!["the runner does not answer".to_owned()];
        };
        let runs = runs.as_array().cloned().unwrap_or_default();
        let open = runs.iter().filter(|run| run.get("ended_at").is_none());
        open.map(|run| format!("run {} of the runner is {}", run["id"], run["state"]))
            .collect()
    });
    let mut of_commit = BTreeMap::<String, Vec<String>>::new();
    let mut ended = BTreeMap::<String, u64>::new();
    for run in runs().unwrap_or_default().as_array().into_iter().flatten() {
        findings.lost.extend(lost_jobs::broken(run));
        let state = run["state"].as_str().unwrap_or_default().to_owned();
        *ended.entry(state.clone()).or_default() += 1;
        let sha = run["sha"].as_str().unwrap_or_default().to_owned();
        of_commit.entry(sha).or_default().push(state);
    }
    println!("soak: ends of workflow runs: {ended:?}");
    for sha in &pushes {
        match of_commit.get(sha).map_or(0, Vec::len) {
            0 => findings.lost.push(format!("commit {sha} has no run")),
            1 => {}
            _ => findings
                .doubled
                .push(format!("commit {sha}: {:?}", of_commit[sha])),
        }
    }
    until_quiet(findings, || {
        // A run that never came to its plan has a status of the whole run; no context that was
        // started may stay pending.
        let settled = |sha: &&String| {
            let last: BTreeMap<String, String> = (world.forge.statuses(ROCKET, sha).into_iter())
                .map(|status| (status.context, status.state))
                .collect();
            !last.is_empty() && last.values().all(|state| state != "pending")
        };
        let open = pushes.iter().filter(|sha| !settled(sha));
        open.map(|sha| format!("the status of {sha} has not ended"))
            .collect()
    });
}

/// No VM is held any more.
fn machines(world: &SoakSite, findings: &mut Findings) {
    let authorization = format!("Bearer {}", world.vm_token);
    let headers = [("Authorization", authorization.as_str())];
    until_quiet(findings, || {
        match get(world.vm_manager.address, "/vms", &headers) {
            Some(Value::Array(vms)) if vms.is_empty() => Vec::new(),
            Some(vms) => vec![format!("VMs are held: {vms}")],
            None => vec!["the VM manager does not answer".to_owned()],
        }
    });
}

/// Each file is found by its word, once; no word of a former content finds anything.
fn documents(world: &SoakSite, findings: &mut Findings) {
    let (files, gone) = {
        let ledger = world.ledger();
        (ledger.files.clone(), ledger.gone.clone())
    };
    let search = |word: &str| -> Option<Vec<String>> {
        let body = json!({"search_term": word, "limit": 10}).to_string();
        let headers = [("Content-Type", "application/json")];
        let request = "POST /api/documents/search";
        let answer = ask(world.search.address, request, &headers, &body)?;
        let results = answer.json()["results"].as_array()?.clone();
        let path = |result: Value| Some(result["path"].as_str()?.to_owned());
        Some(results.into_iter().filter_map(path).collect())
    };
    until_quiet(findings, || {
        let mut open = Vec::new();
        for (name, word) in &files {
            match search(word).as_deref() {
                Some([one]) if one.ends_with(name.as_str()) => {}
                found => open.push(format!("{name} by {word}: {found:?}")),
            }
        }
        // A sample: each is one more request.
        for word in gone.iter().rev().take(100) {
            // In quotes, so that it is not put right into a word that is there.
            match search(&format!("\"{word}\"")).as_deref() {
                Some([]) => {}
                found => open.push(format!("the former word {word} finds {found:?}")),
            }
        }
        open
    });
}

/// What is left after all programs were stopped.
pub(crate) fn leaks(world: &SoakSite, findings: &mut Findings) {
    findings.leaked.extend(leaked_processes(world.folder()));
    for folder in ["vms/vms", "runs/checkouts"] {
        let path = world.folder().join(folder);
        let left = std::fs::read_dir(&path).map_or(0, Iterator::count);
        if left > 0 {
            findings.leaked.push(format!("{left} entries in {folder}"));
        }
    }
}

/// Processes that name a file of a run's folder, or are in it, once all programs were stopped.
pub(crate) fn leaked_processes(folder: &Path) -> Vec<String> {
    let own = folder.to_string_lossy().into_owned();
    let mut leaked = Vec::new();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in entries {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        // The web server of the repositories is this program's own.
        if (line.contains(&own) || cwd.starts_with(&own))
            && !line.contains("http.server")
            && pid != std::process::id()
        {
            leaked.push(format!("process {pid}: {}", line.trim()));
        }
    }
    leaked
}
