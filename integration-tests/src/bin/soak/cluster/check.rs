//! What must hold once everything is quiet. Apart from the programs: only their interfaces, the
//! forge's memory and the database are asked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::faults::until_led;
use super::load::send;
use super::world::{Cluster, Product};
use crate::check::leaked_processes;
use crate::daemon::pause;
use crate::findings::Findings;
use crate::lost_jobs;
use crate::wire::{ask, get};
use crate::world::{ADMIN_TOKEN, CONTEXTS, MAIN, ROCKET};

/// Longest time until everything has settled.
const QUIET_TIMEOUT: Duration = Duration::from_secs(300);

/// Asks everything.
pub(crate) fn all(cluster: &Cluster, findings: &mut Findings) {
    let refused = std::mem::take(&mut cluster.acknowledged().refused);
    findings.lost.extend(refused);
    until_quiet(findings, || undecided(cluster));
    known(cluster, &cluster.runners, findings);
    known(cluster, &cluster.orchestrators, findings);
    runs(cluster, findings);
    agents(cluster, findings);
    statuses(cluster, findings);
    machines(cluster, findings);
}

/// No manager holds a VM any more.
fn machines(cluster: &Cluster, findings: &mut Findings) {
    for manager in &cluster.managers {
        let authorization = format!("Bearer {}", manager.token);
        let headers = [("Authorization", authorization.as_str())];
        let mut left = Vec::new();
        let settled = settles(|| {
            left = match get(manager.daemon.address, "/vms", &headers) {
                Some(Value::Array(vms)) if vms.is_empty() => Vec::new(),
                Some(vms) => vec![format!("VMs are held: {vms}")],
                None => vec!["a VM manager does not answer".to_owned()],
            };
            left.is_empty()
        });
        if !settled {
            findings.leaked.extend(left);
        }
    }
}

/// What is left after all programs were stopped.
pub(crate) fn leaks(cluster: &Cluster, findings: &mut Findings) {
    findings.leaked.extend(leaked_processes(&cluster.path));
    for number in 0..cluster.managers.len() {
        let path = cluster.path.join(format!("vms-{number}/vms"));
        let left = std::fs::read_dir(&path).map_or(0, Iterator::count);
        if left > 0 {
            findings.leaked.push(format!("{left} entries in {path:?}"));
        }
    }
}

fn until_quiet(findings: &mut Findings, mut open: impl FnMut() -> Vec<String>) {
    let mut left = Vec::new();
    let settled = settles(|| {
        left = open();
        left.is_empty()
    });
    if !settled {
        findings.hanging.extend(left);
    }
}

/// Whether it comes to hold before the time is over.
fn settles(mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > QUIET_TIMEOUT {
            return false;
        }
        pause(Duration::from_millis(500));
    }
    true
}

/// What a process without the store took in has been decided.
fn undecided(cluster: &Cluster) -> Vec<String> {
    let database = cluster.database.lock().expect("not poisoned");
    let count = |schema: &str| {
        let statement = format!("SELECT count(*) FROM {schema}.intake WHERE outcome IS NULL");
        let count = database.primary.sql(&statement);
        (count != "0").then(|| format!("{count} deliveries of {schema} are undecided"))
    };
    ["workflow_runner", "orchestrator"]
        .into_iter()
        .filter_map(count)
        .collect()
}

/// Each delivery that was acknowledged is known to the leader: sent again, it is a duplicate.
fn known(cluster: &Cluster, product: &Product, findings: &mut Findings) {
    let Some((leader, _)) = until_led(product, None) else {
        findings
            .hanging
            .push(format!("nobody leads of {}", product.name));
        return;
    };
    let deliveries = match product.name {
        "orchestrator" => cluster.acknowledged().events.clone(),
        _ => cluster.acknowledged().pushes.clone(),
    };
    for delivery in deliveries {
        let answer = send(product, leader, &delivery);
        let word = answer.as_ref().map(|answer| {
            let json = answer.json();
            let word = [&json["status"], &json["outcome"]]
                .into_iter()
                .find_map(Value::as_str);
            word.unwrap_or_default().to_owned()
        });
        if word.as_deref() != Some("duplicate") {
            let (id, answer) = (&delivery.id, answer.map(|it| it.body));
            findings
                .lost
                .push(format!("{}: {id}: {answer:?}", product.name));
        }
    }
}

/// Each pushed commit has one run, which has ended.
fn runs(cluster: &Cluster, findings: &mut Findings) {
    let address = cluster.runners.replicas[0].daemon.address;
    let all = || get(address, "/runs?limit=1000", &[]);
    until_quiet(findings, || {
        let Some(runs) = all() else {
            return vec!["the runners do not answer".to_owned()];
        };
        let runs = runs.as_array().cloned().unwrap_or_default();
        let open = runs.iter().filter(|run| run.get("ended_at").is_none());
        open.map(|run| format!("run {} is {}", run["id"], run["state"]))
            .collect()
    });
    let (mut of_commit, mut ended) = (BTreeMap::<String, u32>::new(), BTreeMap::new());
    let pushed = cluster.acknowledged().pushed.clone();
    for run in all().unwrap_or_default().as_array().into_iter().flatten() {
        let text = |name: &str| run[name].as_str().unwrap_or_default().to_owned();
        findings.lost.extend(lost_jobs::broken(run));
        if let (Some(number), "succeeded") = (pushed.get(&text("sha")), text("state").as_str()) {
            let line = format!("marker-{number}");
            findings
                .lost
                .extend(log_without(address, &text("id"), &line));
        }
        *of_commit.entry(text("sha")).or_default() += 1;
        *ended.entry(text("state")).or_insert(0_u32) += 1;
    }
    println!("soak: ends of workflow runs: {ended:?}");
    for sha in pushed.keys() {
        match of_commit.get(sha) {
            None => findings.lost.push(format!("commit {sha} has no run")),
            Some(1) => {}
            Some(count) => findings
                .doubled
                .push(format!("commit {sha} has {count} runs")),
        }
    }
}

/// The log of a run that succeeded has what its job printed, whoever leads by now.
fn log_without(address: SocketAddr, run: &str, line: &str) -> Option<String> {
    let request = format!("GET /runs/{run}/log");
    let mut last = None;
    // The copies of a leader are made from the storage.
    for _ in 0..5 {
        last = ask(address, &request, &[], "");
        if last.as_ref().is_some_and(|it| it.body.contains(line)) {
            return None;
        }
        pause(Duration::from_secs(1));
    }
    let status = last.map(|it| it.status);
    Some(format!("the log of run {run} has no {line}: {status:?}"))
}

/// No run of an agent is open, and none ran twice.
fn agents(cluster: &Cluster, findings: &mut Findings) {
    let authorization = format!("Bearer {ADMIN_TOKEN}");
    let headers = [("Authorization", authorization.as_str())];
    let admin = cluster.orchestrators.replicas[0].daemon.health_address();
    until_quiet(findings, || {
        let status = ask(admin, "GET /admin/status", &headers, "");
        let Some(status) = status.filter(|answer| answer.status == 200) else {
            return vec!["the orchestrators do not answer".to_owned()];
        };
        let queue = status.json()["queue"].clone();
        let open = ["queued", "starting", "running"]
            .into_iter()
            .filter_map(|state| {
                let count = queue[state].as_u64()?;
                (count > 0).then(|| format!("{count} runs of agents are {state}"))
            });
        open.collect()
    });
    let written = std::fs::read_to_string(cluster.path.join("agents.txt")).unwrap_or_default();
    let mut ran = std::collections::BTreeSet::new();
    for run in written.lines().filter(|run| !ran.insert((*run).to_owned())) {
        findings.doubled.push(format!("agent run {run} ran twice"));
    }
    println!("soak: agents ran {} times", written.lines().count());
}

/// No status is pending.
fn statuses(cluster: &Cluster, findings: &mut Findings) {
    let (pushed, pulled) = {
        let acknowledged = cluster.acknowledged();
        (acknowledged.pushed.clone(), acknowledged.pulled.clone())
    };
    until_quiet(findings, || {
        let of_push = pushed.keys().filter(|sha| {
            let last: BTreeMap<String, String> = (cluster.forge.statuses(ROCKET, sha).into_iter())
                .map(|status| (status.context, status.state))
                .collect();
            last.is_empty() || last.values().any(|state| state == "pending")
        });
        let of_pull = pulled.iter().filter(|sha| {
            CONTEXTS.iter().any(|context| {
                let status = cluster.forge.status(MAIN, sha, context);
                status.is_none_or(|status| status.state == "pending")
            })
        });
        let open = of_push.chain(of_pull);
        open.map(|sha| format!("a status of {sha} has not ended"))
            .collect()
    });
}
