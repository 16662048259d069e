//! What takes long beside processes hears a cancellation: a fetch, a transfer.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use runner_actors::messages::CancelRun;
use runner_core::state::{RunState, StepEnd};
use scripted_peers::{Misbehaviour, Play};

use crate::harness::{Runner, Site, entries, wait_until};

const WORKFLOW: &str =
    "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n";

async fn cancel(runner: &Runner, run: &str) {
    let cancel = CancelRun {
        run: run.to_owned(),
        reason: "ada".to_owned(),
    };
    assert!(runner.coordinator.ask(cancel).await.unwrap());
}

/// A git that waits before it does what has this word, for a file that says it may: it, that it
/// waits, and that it may go on.
fn slow_git(site: &Site, word: &str) -> [PathBuf; 3] {
    let [git, begun, go_on] =
        ["slow-git", "begun", "go-on"].map(|name| site.directory.path().join(name));
    let script = format!(
        "#!/bin/sh\nfor word in \"$@\"; do case \"$word\" in {word}) touch {}; while [ ! -e {} ]; do sleep 0.05; done ;; esac; done\nexec git \"$@\"\n",
        begun.display(),
        go_on.display()
    );
    std::fs::write(&git, script).unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    [git, begun, go_on]
}

/// It ended when git did, minutes later.
#[actix_rt::test]
async fn i17_a_run_that_is_being_fetched_ends_when_it_is_cancelled() {
    let site = Site::new();
    let [git, begun, go_on] = slow_git(&site, "fetch");
    let runner = site
        .start_with(|settings| settings.git.0 = git.display().to_string().into())
        .await;
    let run = runner.run(&site, WORKFLOW).await;
    wait_until("git fetches", || begun.exists()).await;
    cancel(&runner, &run).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Cancelled, "{record:#?}");
    assert_eq!(record.reason.as_deref(), Some("ada"));
    std::fs::write(&go_on, "").unwrap();
    let next = runner.run(&site, WORKFLOW).await;
    assert_eq!(runner.ended(&next).await.state, RunState::Succeeded);
    runner.stop().await;
}

/// The same of what git lays out, which is removed when it is through.
#[actix_rt::test]
async fn i17_a_run_that_is_being_laid_out_ends_when_it_is_cancelled() {
    let site = Site::new();
    let [git, begun, go_on] = slow_git(&site, "checkout");
    let runner = site
        .start_with(|settings| settings.git.0 = git.display().to_string().into())
        .await;
    let run = runner.run(&site, WORKFLOW).await;
    wait_until("git checks out", || begun.exists()).await;
    cancel(&runner, &run).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Cancelled, "{record:#?}");
    assert_eq!(record.reason.as_deref(), Some("ada"));
    assert_eq!(site.vmm.ordered(), 0);
    std::fs::write(&go_on, "").unwrap();
    let checkouts = site.data().join("checkouts");
    wait_until("what was laid out is gone", || entries(&checkouts) == 0).await;
    let next = runner.run(&site, WORKFLOW).await;
    assert_eq!(runner.ended(&next).await.state, RunState::Succeeded);
    runner.stop().await;
}

/// It went on for five minutes, since only processes heard of it.
#[actix_rt::test]
async fn i17_an_upload_ends_when_its_job_is_cancelled() {
    let site = Site::playing(|_| Play::exit(0).out("::set-output name=files::1\n"));
    site.vmm.plan("GET /vms/vm-1/files", Misbehaviour::Hang);
    let runner = site.start().await;
    let upload = "    - {uses: actions/upload-artifact@v4, with: {name: a, path: a}}\n    - {if: always(), run: after}\n";
    let text = WORKFLOW.replace(
        "    steps: [{run: make}]\n",
        &format!("    steps:\n{upload}"),
    );
    let run = runner.run(&site, &text).await;
    wait_until("the files are asked for", || {
        let requests = site.vmm.requests();
        let mut asked = requests.iter();
        asked.any(|one| one.method == "GET" && one.path.ends_with("/files"))
    })
    .await;
    cancel(&runner, &run).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Cancelled, "{record:#?}");
    let ends: Vec<_> = record.jobs[0].steps.iter().map(|step| step.end).collect();
    assert_eq!(
        ends,
        [Some(StepEnd::Cancelled), Some(StepEnd::Exited(0))],
        "{record:#?}"
    );
    let artifacts = site.data().join("artifacts").join(&run);
    assert_eq!(entries(&artifacts), 0, "nothing is left of the transfer");
    runner.stop().await;
}
