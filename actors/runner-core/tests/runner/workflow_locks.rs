//! Workflows whose repository has a lock file of its own (`.github/workflows/actions.lock`).

use runner_core::actions::{
    ActionReference, ActionSource, LockedAction, WORKFLOW_LOCK, how_to_add,
};
use runner_core::context::RunFacts;
use runner_core::id_token::id_token_claims;
use runner_core::plan::{
    ActionLocation, LockedUses, PlanInput, PlannedWork, StepKind, WorkflowPlace, plan,
};
use runner_core::report::{FileReport, FileStatus, check_with};
use runner_core::workflow::{Need, parse};

const WORKFLOW: &str = ".github/workflows/ci.yml";

/// A store with `acme/tools` at two names and `acme/wrap`, which uses it.
struct Store;

fn commit(digit: char) -> String {
    digit.to_string().repeat(40)
}

impl ActionSource for Store {
    fn find(&self, reference: &ActionReference) -> Result<LockedAction, String> {
        let new = commit('b');
        let digit = match reference.key().as_str() {
            "acme/tools@v1" => 'a',
            "acme/wrap@v1" => 'c',
            "acme/calls@v1" => 'd',
            key if key == format!("acme/tools@{new}") => 'b',
            _ => return Err(how_to_add(reference)),
        };
        Ok(LockedAction {
            url: "https://code.example/acme".to_owned(),
            commit: commit(digit),
            tree: format!("sha256:{}", "0".repeat(64)),
            private: false,
            reference: (digit == 'd').then(|| "refs/tags/v1".to_owned()),
        })
    }

    fn read(&self, action: &LockedAction, path: &str) -> Option<Vec<u8>> {
        let text = match (action.commit.chars().next()?, path) {
            ('a' | 'b', "action.yml") => "runs: {using: node20, main: x.js}\n".to_owned(),
            ('c', "action.yml") => {
                "runs: {using: composite, steps: [{uses: acme/tools@v1}]}\n".to_owned()
            }
            ('d', ".github/workflows/in.yml") => {
                "on: workflow_call\njobs: {in: {runs-on: x, steps: [{uses: acme/tools@v1}]}}\n"
                    .to_owned()
            }
            ('d', WORKFLOW_LOCK) => lock(".github/workflows/in.yml", &[("acme/tools@v1", 'b')]),
            _ => return None,
        };
        Some(text.into_bytes())
    }
}

/// A lock file of one workflow.
fn lock(workflow: &str, pins: &[(&str, char)]) -> String {
    let mut text = format!("version: v0.0.2\nworkflows: {{{workflow}: []}}\ndependencies:\n");
    for (name, digit) in pins {
        let commit = commit(*digit);
        text +=
            &format!("  '{name}': {{ref: v1, commit: sha1-{commit}, owner_id: 1, repo_id: 1}}\n");
    }
    text
}

fn workflow(work: &str) -> String {
    format!("on: push\njobs: {{a: {work}}}\n")
}

fn files(lock: Option<&str>) -> impl Fn(&str) -> Option<Vec<u8>> {
    let lock = lock.map(str::to_owned);
    move |path| match path {
        WORKFLOW_LOCK => lock.clone().map(String::into_bytes),
        "own/action.yml" => {
            let own = "runs: {using: composite, steps: [{uses: acme/tools@v1}]}\n";
            Some(own.as_bytes().to_vec())
        }
        _ => None,
    }
}

fn checked(work: &str, lock: Option<&str>) -> FileReport {
    check_with(WORKFLOW, workflow(work).as_bytes(), &files(lock), &Store)
}

fn steps(steps: &str) -> String {
    format!("{{runs-on: x, steps: [{steps}]}}")
}

/// The commits of the JavaScript actions of all jobs.
fn commits(work: &str, lock: Option<&str>) -> Vec<String> {
    let parsed = parse(WORKFLOW, workflow(work).as_bytes()).expect("a workflow");
    let input = PlanInput {
        contexts: &runner_core::expr::Contexts::default(),
        files: &files(lock),
        actions: &Store,
    };
    let planned = plan(parsed.value, input).expect("a plan");
    let mut found = Vec::new();
    let mut open: Vec<StepKind> = Vec::new();
    for job in &planned.jobs {
        if let PlannedWork::Steps(steps) = &job.work {
            open.extend(steps.iter().map(|step| step.work.clone()));
        }
    }
    while let Some(work) = open.pop() {
        match work {
            StepKind::Node(action) => match action.location {
                ActionLocation::Stored(origin) => found.push(origin.locked.commit),
                ActionLocation::Workspace => {}
            },
            StepKind::Composite(action) => {
                open.extend(action.steps.into_iter().map(|step| step.work));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn i17_a_locked_workflow_runs_the_commits_of_its_lock_file() {
    let tools = steps("{uses: Acme/Tools@v1}");
    let newer = lock(WORKFLOW, &[("acme/tools@v1", 'b')]);
    assert_eq!(commits(&tools, None), [commit('a')]);
    assert_eq!(commits(&tools, Some(&newer)), [commit('b')]);
    let report = checked(&tools, Some(&newer));
    assert_eq!(report.status(), FileStatus::Good);
    let note = format!("Acme/Tools@v1: {}, as {WORKFLOW_LOCK} says", commit('b'));
    assert_eq!(report.jobs[0].notes[0], note);

    // What an action uses is locked too, of whichever repository it is.
    let wrapped = lock(WORKFLOW, &[("acme/wrap@v1", 'c'), ("acme/tools@v1", 'b')]);
    assert_eq!(
        commits(&steps("{uses: acme/wrap@v1}"), Some(&wrapped)),
        [commit('b')]
    );
    for own in ["$/own", "./own"] {
        let own = steps(&format!("{{uses: {own}}}"));
        assert_eq!(commits(&own, Some(&newer)), [commit('b')], "{own}");
    }
    // A workflow that takes no part is as without the file.
    let other = lock(".github/workflows/other.yml", &[("acme/tools@v1", 'b')]);
    assert_eq!(commits(&tools, Some(&other)), [commit('a')]);
    // A called workflow of another repository has the lock file of that one.
    let call = "{uses: acme/calls/.github/workflows/in.yml@v1}";
    assert_eq!(commits(call, None), [commit('b')]);
    let called = checked(call, Some(&lock(WORKFLOW, &[])));
    assert_eq!(
        called.status(),
        FileStatus::Good,
        "calls need not be in the lock file"
    );
}

#[test]
fn i17_a_lock_file_that_disagrees_refuses_its_workflow() {
    let tools = steps("{uses: acme/tools@v1}");
    let wanted = commit('e');
    let moved = lock(WORKFLOW, &[("acme/tools@v1", 'e')]);
    let add = format!("workflow-runner actions add acme/tools@{wanted}");
    for (work, lock, parts, need, locked) in [
        (
            tools.clone(),
            moved,
            vec![add.as_str(), "store of actions has aaaaaaa"],
            Need::Action("acme/tools".to_owned()),
            Some(format!("acme/tools@{wanted}")),
        ),
        (
            steps("{uses: acme/new/sub@v2}"),
            lock(WORKFLOW, &[("acme/new@v2", 'e')]),
            vec!["actions add acme/new/sub@eeee", "which is not in"],
            Need::Action("acme/new/sub".to_owned()),
            Some(format!("acme/new/sub@{wanted}")),
        ),
        (
            "{uses: acme/calls/.github/workflows/in.yml@v1}".to_owned(),
            lock(WORKFLOW, &[("acme/calls@v1", 'e')]),
            vec!["store of actions has ddddddd"],
            Need::RemoteWorkflow("acme/calls/.github/workflows/in.yml".to_owned()),
            Some(format!("acme/calls/.github/workflows/in.yml@{wanted}")),
        ),
        (
            tools.clone(),
            lock(WORKFLOW, &[]),
            vec![
                "has this workflow and not acme/tools@v1",
                "`gh actions-lock`",
            ],
            Need::OwnFiles,
            None,
        ),
        // The runner does it itself; it has to be there all the same, as on GitHub.
        (
            steps("{uses: actions/checkout@v4}"),
            lock(WORKFLOW, &[]),
            vec!["and not actions/checkout@v4"],
            Need::OwnFiles,
            None,
        ),
        (
            steps("{uses: $/own}"),
            lock(WORKFLOW, &[]),
            vec!["and not acme/tools@v1"],
            Need::OwnFiles,
            None,
        ),
        (
            tools,
            "version: v9\n".to_owned(),
            vec![".github/workflows/actions.lock:1:10: this program knows the versions"],
            Need::OwnFiles,
            None,
        ),
    ] {
        let report = checked(&work, Some(&lock));
        assert_eq!(report.status(), FileStatus::Refused, "{work}");
        let refusal = &report.refused[0];
        for part in parts {
            assert!(refusal.reason.contains(part), "{part}: {refusal}");
        }
        assert_eq!(
            (&refusal.need, &refusal.locked),
            (&need, &locked),
            "{refusal}"
        );
    }
}

#[test]
fn i17_what_the_lock_file_does_not_decide_is_noted_or_left() {
    let checkout = steps("{uses: actions/checkout@v4}");
    let report = checked(
        &checkout,
        Some(&lock(WORKFLOW, &[("actions/checkout@v4", 'e')])),
    );
    assert_eq!(report.status(), FileStatus::Good);
    let own = format!(
        "actions/checkout@v4: the runner does it itself, whichever commit {WORKFLOW_LOCK} names"
    );
    assert_eq!(report.jobs[0].notes[0], own);
    let of_locks = report.jobs[0]
        .notes
        .iter()
        .filter(|note| note.contains("actions"));
    assert_eq!(of_locks.count(), 1);
    // What lies at `./path` when the step runs is nothing that the lock file could follow.
    let own = steps("{uses: ./own}");
    let report = checked(&own, Some(&lock(WORKFLOW, &[])));
    assert_eq!(report.status(), FileStatus::Good, "{:?}", report.refused);
    assert_eq!(LockedUses::default(), LockedUses::Open);
}

/// Page "Using OpenID Connect with reusable workflows": trust is built on these claims.
#[test]
fn i17_the_claims_of_a_called_workflow_are_of_its_own_repository() {
    let event = crate::environments::pushed_event();
    let calls = |uses: &str| {
        let work = format!("{{uses: {uses}}}");
        let parsed = parse(WORKFLOW, workflow(&work).as_bytes()).expect("a workflow");
        let input = PlanInput {
            contexts: &runner_core::expr::Contexts::default(),
            files: &files(None),
            actions: &Store,
        };
        let planned = plan(parsed.value, input).expect("a plan");
        let places: Vec<WorkflowPlace> = planned
            .workflows
            .iter()
            .map(|called| called.place(&event))
            .collect();
        places
    };
    let places = calls("acme/calls/.github/workflows/in.yml@v1");
    let claims = |place: &WorkflowPlace| {
        let claims = id_token_claims(&event, &RunFacts::default(), place, None);
        let text = |name: &str| claims[name].as_str().unwrap().to_owned();
        (text("job_workflow_ref"), text("job_workflow_sha"))
    };
    let own = format!("o/r/{WORKFLOW}@refs/heads/main");
    assert_eq!(claims(&places[0]), (own, event.sha.clone()));
    let called = "acme/calls/.github/workflows/in.yml@refs/tags/v1".to_owned();
    assert_eq!(claims(&places[1]), (called, commit('d')));
}
