//! `workflow-runner drain --wait` beside a job that does not end.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use scripted_peers::postgres::PostgresServer;
use scripted_peers::{GitForge, Play, ScriptedVmm, deliver, push_event};

use crate::runner::{Runner, SECRET, until};

const WORKFLOW: &str =
    "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n";

/// Two runners, and a job whose step never ends at the one that leads.
struct Site {
    first: Runner,
    second: Runner,
    vmm: ScriptedVmm,
    _forge: GitForge,
    _server: PostgresServer,
}

/// A manager on a thread of its own, whose commands hang; it ends with the process.
fn manager() -> ScriptedVmm {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move {
            sender.send(ScriptedVmm::start(|_| Play::hang())).ok();
            std::future::pending::<()>().await;
        });
    });
    receiver.recv().unwrap()
}

impl Site {
    fn start() -> Self {
        let (server, forge, vmm) = (PostgresServer::start(), GitForge::start(), manager());
        let repository = forge.repository("acme/rocket", false);
        repository.write(".gitea/workflows/ci.yml", WORKFLOW);
        let sha = repository.commit("a workflow");
        let (url, manager) = (forge.url().to_owned(), vmm.url());
        let variables = [
            ("FORGE_URL", url.as_str()),
            ("VMM_API_URL", manager.as_str()),
        ];
        let start = || Runner::with(&server.url(), &variables, "allow_http = true\n");
        let first = start();
        first.until_role("leader");
        let second = start();
        second.until_role("standby");
        let body = push_event(&format!("{url}/acme/rocket.git"), &sha);
        let taken = deliver(&first.program.address, SECRET, "push", "d-1", &body).unwrap();
        assert_eq!(taken.status, 202, "{}", taken.body);
        until(|| vmm.commands().len() == 1, "a step that runs");
        Self {
            first,
            second,
            vmm,
            _forge: forge,
            _server: server,
        }
    }

    /// The command, which asks the one that stands by.
    fn drain(&self, wait: &str) -> Child {
        Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
            .args(["drain", "--wait", wait, "--force", "--url"])
            .arg(format!("http://{}/", self.second.program.address))
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// How it ended, and all that it said behind its first line, which says that it waits.
fn ended(mut drain: Child, meanwhile: impl FnOnce()) -> (Option<i32>, String) {
    let mut errors = BufReader::new(drain.stderr.take().unwrap());
    let mut said = String::new();
    errors.read_line(&mut said).unwrap();
    assert!(said.contains("1 jobs run, and none begins"), "{said}");
    meanwhile();
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    let output = drain.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    (output.status.code(), format!("{out}{rest}"))
}

#[test]
fn i18_a_job_that_outlasts_the_wait_of_a_hand_over_is_an_exit_code_of_its_own() {
    let site = Site::start();
    let (code, said) = ended(site.drain("3s"), || {});
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("1 jobs had not ended after 3s"), "{said}");
    site.second.until_role("leader");
    site.first.until_role("standby");
    until(
        || site.vmm.vms().is_empty(),
        "the VM of the job that is lost",
    );
}

#[test]
fn i18_a_leader_that_is_lost_while_jobs_are_waited_for_is_no_hand_over() {
    let mut site = Site::start();
    let drain = site.drain("1h");
    let first = &mut site.first;
    let (code, said) = ended(drain, || first.program.kill());
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("the leader ended before it handed over"),
        "{said}"
    );
    site.second.until_role("leader");
}
