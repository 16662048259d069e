//! Agents that lie, are late, say nothing, or start each other; and rows that nobody can read.

use crate::forge::Forge;
use crate::harness::{Site, comment, pull, run_of, wait_until};

const LIARS: &str = r#"
[pr_dispatch]
project = "main"
agents = [
    { agent = "liar", context = "orch/liar" },
    { agent = "late", context = "orch/late" },
    { agent = "mute", context = "orch/mute" },
]
[[agents]]
project = "main"
name = "liar"
cli = "sh"
verdict = "block"
script = '''
printf '```orch-result\n{"nonce":"%s","agent":"%s","context":"orch/other","head_sha":"%s","status":"success"}\n```\n' "$ORCH_RESULT_NONCE" "$ORCH_AGENT" "$ORCH_HEAD_SHA"
'''
max_parallel = 4
[[agents]]
project = "main"
name = "late"
cli = "sh"
verdict = "block"
script = '''
trap 'printf "\`\`\`orch-result\n{\"nonce\":\"%s\",\"agent\":\"late\",\"context\":\"orch/late\",\"head_sha\":\"%s\",\"status\":\"success\"}\n\`\`\`\n" "$ORCH_RESULT_NONCE" "$ORCH_HEAD_SHA"; exit 0' TERM
echo ready
while :; do sleep 0.1; done
'''
grace_seconds = 5
max_parallel = 4
[[agents]]
project = "main"
name = "mute"
cli = "sh"
script = "true"
verdict = "block"
max_parallel = 4
[[agents]]
project = "main"
name = "actor"
cli = "sh"
script = '''
echo '{"timestamp":"2026-11-21T10:00:00Z","level":"INFO","event":"agent.exited","run":"'$ORCH_RUN_ID'","detail":"success after 1 ms"}'
echo "agent.exited run=$ORCH_RUN_ID class=success"
echo "event: end"; echo "data: {}"; echo
sleep 600
'''
grace_seconds = 1
[[agents]]
project = "main"
name = "closed"
cli = "sh"
script = "exec >&- 2>&-; sleep 600"
stall_seconds = 1
grace_seconds = 1
[[agents]]
project = "main"
name = "asking"
cli = "sh"
script = "read answer && echo got; [ -t 0 ] || echo no terminal; sleep 600"
stall_seconds = 1
grace_seconds = 1
"#;

fn site(forge: &Forge) -> Site {
    Site::new("", &format!("{}[mentions]\n{LIARS}", forge.table()))
}

#[test]
fn o02_what_an_agent_prints_is_not_what_happened() {
    let forge = Forge::start();
    let site = site(&forge);
    let daemon = site.start();
    let run = run_of(&daemon.hook(&comment(0, 1, "@orch:actor")).json(), "actor");
    wait_until("its output", || {
        let log = daemon.admin("GET", &format!("/admin/runs/{run}/log"));
        log.body.contains("event: end")
    });
    assert_eq!(
        daemon.run(&run)["state"],
        "running",
        "its record is not fooled"
    );
    let exits = |daemon: &crate::harness::Daemon| {
        let journal = daemon.journal();
        journal
            .iter()
            .filter(|name| *name == "agent.exited")
            .count()
    };
    assert_eq!(exits(&daemon), 0, "neither is the journal");
    daemon.post(&format!("/admin/runs/{run}/cancel"));
    assert_eq!(daemon.ended(&run)["state"], "cancelled");
    assert_eq!(exits(&daemon), 1);
}

#[test]
fn o03_o16_verdicts_about_others_late_or_missing_pass_nothing() {
    let forge = Forge::start();
    let site = site(&forge);
    let daemon = site.start();
    let (first, second) = (site.commit("one"), site.commit("two"));
    let reply = daemon.hook(&pull("opened", 3, &first)).json();
    let late = run_of(&reply, "late");
    wait_until("the quick ones", || {
        forge.state(&first, "orch/liar").as_deref() == Some("error")
            && forge.state(&first, "orch/mute").as_deref() == Some("error")
    });
    let said = forge.description("orch/liar").expect("a description");
    assert!(said.starts_with("no_verdict"), "o03: {said}");
    assert!(forge.states(&first, "orch/other").is_empty(), "o03");
    wait_until("the late one is ready", || {
        let log = daemon.admin("GET", &format!("/admin/runs/{late}/log"));
        log.body.contains("ready")
    });
    daemon.hook(&pull("synchronize", 3, &second));
    let run = daemon.ended(&late);
    assert_eq!(run["reason"], "superseded", "{run}");
    let log = daemon.admin("GET", &format!("/admin/runs/{late}/log")).body;
    assert!(
        log.contains("\"status\":\"success\""),
        "it did say so: {log}"
    );
    wait_until("its status", || {
        forge.state(&first, "orch/late").as_deref() == Some("error")
    });
    assert!(
        !forge
            .states(&first, "orch/late")
            .contains(&"success".to_owned()),
        "o16"
    );
}

#[test]
fn o04_agents_that_mention_agents_come_to_an_end() {
    let forge = Forge::start();
    let agent = "[[agents]]\nproject = \"main\"\nname = \"echoer\"\ncli = \"sh\"\nscript = \"echo @orch:echoer again\"\nmax_parallel = 4\n";
    let site = Site::new("", &format!("{}[mentions]\n{agent}", forge.table()));
    let daemon = site.start();
    daemon.ended(&run_of(
        &daemon.hook(&comment(7, 1, "@orch:echoer")).json(),
        "echoer",
    ));
    wait_until("its comment", || !forge.comments().is_empty());
    let posted = forge.comments().remove(0).1;
    let reply = daemon.hook(&comment(7, 2, &posted)).json();
    assert_eq!(
        reply["outcome"], "ignored",
        "a name in its output names nobody: {posted}"
    );
    // Somebody who repeats it with the name restored carries the marker on, to an end.
    let mut id = 3;
    let mut chain = 0;
    let mut text = posted;
    loop {
        let body = format!("@orch:echoer\n{text}");
        let reply = daemon.hook(&comment(7, id, &body)).json();
        id += 1;
        if reply["rejected"][0]["reason"] == "loop_guard" {
            break;
        }
        daemon.ended(&run_of(&reply, "echoer"));
        chain += 1;
        assert!(chain < 5, "the chain does not end");
        wait_until("the next comment", || forge.comments().len() > chain);
        text = forge.comments().remove(chain).1;
    }
    assert!(chain <= 2, "{chain} more runs");
}

#[test]
fn o15_agents_that_say_nothing_or_wait_for_somebody_are_ended() {
    let forge = Forge::start();
    let site = site(&forge);
    let daemon = site.start();
    for (id, agent) in [(1, "closed"), (2, "asking")] {
        let event = comment(0, id, &format!("@orch:{agent}"));
        let run = run_of(&daemon.hook(&event).json(), agent);
        let ended = daemon.ended(&run);
        assert_eq!(ended["exit"]["class"], "timeout", "{agent}: {ended}");
    }
    assert!(
        daemon
            .journal()
            .contains(&"run.wall_clock_killed".to_owned())
    );
}

/// A row of another program, or damaged, is put aside; everything else goes on after a restart.
#[test]
fn w32_rows_that_cannot_be_read_are_put_aside_and_their_statuses_end() {
    let forge = Forge::start();
    let site = site(&forge);
    let daemon = site.start();
    daemon.post("/admin/projects/main/pause");
    let sha = site.commit("one");
    let reply = daemon.hook(&pull("opened", 3, &sha)).json();
    let poisoned = run_of(&reply, "liar");
    let sound = run_of(&daemon.hook(&comment(0, 1, "@orch:actor")).json(), "actor");
    assert_eq!(daemon.stop(), Some(0));
    {
        use store::{RawBytes, Store, StoreError, StoreOptions, Table};
        const RUNS: Table<String, RawBytes> = Table::new("orch_runs");
        let options = StoreOptions::new("orchestrator");
        let store = Store::open(&site.path("data"), &options).expect("nobody else has it");
        let key = poisoned.clone();
        let written: Result<(), StoreError> =
            store.write_blocking(move |rows| rows.put(&RUNS, &key, &RawBytes(vec![0xFF; 40])));
        written.expect("it is written");
        store.close();
    }
    let mut daemon = site.start();
    daemon.wait_for_line("row.quarantined");
    assert_eq!(
        daemon
            .admin("GET", &format!("/admin/runs/{poisoned}"))
            .status,
        404
    );
    daemon.post("/admin/projects/main/resume");
    daemon.wait_for_run(&sound, |run| run["state"] == "running");
    wait_until("the status of what is lost", || {
        forge.state(&sha, "orch/liar").as_deref() == Some("error")
    });
    let said = forge.description("orch/liar").expect("a description");
    assert!(said.contains("lost"), "{said}");
}
