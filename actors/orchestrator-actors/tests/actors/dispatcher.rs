//! Ticks: what they hold back, start and prune, by a clock that the test sets.

use forge_core::RunId;
use orchestrator_actors::ledger::{self, LedgerTxn};
use orchestrator_actors::messages::{OperatorError, PauseProject};
use orchestrator_core::config::Config;
use orchestrator_core::intake::{EventDecision, IntakeContext, decide};
use orchestrator_core::run::{ExitClass, ExitReport, Terminal};

use crate::world::{MENTIONS, REPO, Site, by_hand, event, pull, sha, test};

const BROKEN: &str = "[[agents]]\nproject = \"main\"\nname = \"broken\"\ncli = \"command\"\n\
    command = [\"/nonexistent/program\"]\n";

#[test]
fn a_paused_project_holds_its_runs_back() {
    test(async || {
        let site = Site::with_agents(MENTIONS, BROKEN);
        let world = site.start();
        world.ready().await;
        let pause = async |project: &str, paused| {
            let project = project.to_owned();
            let asked = PauseProject { project, paused };
            world.service.operator_api.ask(asked).await.unwrap()
        };
        assert!(pause("main", true).await.unwrap().paused);
        world.hook(&by_hand(1, "@orch:broken")).await;
        world
            .until("the hold", async |world| {
                let runs = world.runs().await;
                runs[0].state == "queued" && runs[0].hold.as_deref() == Some("paused")
            })
            .await;
        assert!(!pause("main", false).await.unwrap().paused);
        world
            .until("its end", async |world| world.runs().await[0].ended)
            .await;
        let run = world.runs().await.remove(0);
        assert_eq!(run.reason.as_deref(), Some("start_failed"));
        assert_eq!(run.exit.unwrap().class, "config_error");
        let none = pause("none", true).await;
        assert!(matches!(none, Err(OperatorError::NotFound(_))), "{none:?}");
        world.stop().await;
    });
}

/// Without `wake_on_dispatch` a mention waits for the interval; a reload's tick is whole, and is
/// answered when it has ended.
#[test]
fn without_early_ticks_a_whole_one_starts_what_waits() {
    test(async || {
        let site = Site::with_agents("[mentions]\n", BROKEN);
        let world = site.start();
        world.ready().await;
        // Twice: the tick of the start may be followed by an early one.
        world.tick().await;
        world.tick().await;
        let before = world.service.view.ticks();
        world.hook(&by_hand(1, "@orch:broken")).await;
        let run = world.runs().await.remove(0);
        assert_eq!(
            (run.state.as_str(), run.hold.as_deref()),
            ("queued", Some("next_tick"))
        );
        site.later(300);
        world.tick().await;
        let after = world.service.view.ticks();
        assert_eq!(after.count, before.count + 1);
        assert_eq!(after.last_at, before.last_at.map(|at| at + 300_000));
        world
            .until("its end", async |world| world.runs().await[0].ended)
            .await;
        world.stop().await;
    });
}

#[test]
fn a_used_up_budget_refuses_and_ends_the_status() {
    test(async || {
        let agents = BROKEN.to_owned() + "budget_monthly_runs = 1\n";
        let top = "wake_on_dispatch = true\n[mentions]\n[pr_dispatch]\nproject = \"main\"\n\
            agents = [{ agent = \"broken\", context = \"orch/broken\" }]\n";
        let site = Site::with_agents(top, &agents);
        site.forge.add_commit(REPO, &sha(1));
        let world = site.start();
        world.ready().await;
        world.hook(&by_hand(1, "@orch:broken")).await;
        world
            .until("its end", async |world| world.runs().await[0].ended)
            .await;
        let reply = world.hook(&by_hand(2, "@orch:broken")).await;
        assert_eq!(reply.rejected[0].reason, "budget_exhausted");
        let reply = world.hook(&pull("opened", &sha(1))).await;
        assert_eq!(reply.rejected[0].reason, "budget_exhausted");
        world
            .until("its status", async |_| {
                let status = site.forge.status(REPO, &sha(1), "orch/broken");
                status.is_some_and(|status| status.state == "error")
            })
            .await;
        let journal = world.journal().await;
        assert!(
            journal
                .iter()
                .any(|entry| entry.event == "pr.fanout.skipped")
        );
        let runs = world.runs().await;
        let rejected = runs.iter().filter(|run| run.state == "rejected");
        assert_eq!(rejected.count(), 2, "the record says so too");
        world.stop().await;
    });
}

/// Stores a run by hand; it is ended when `ends`.
fn add_run(txn: &mut LedgerTxn<'_, '_>, config: &Config, number: u32, ends: bool) -> RunId {
    let event = event(&by_hand(u64::from(number) + 1, "@orch:broken"));
    let (quarantined, own) = (Default::default(), Default::default());
    let context = IntakeContext {
        config,
        own_logins: &own,
        now: txn.time(),
        quarantined: &quarantined,
        usage: &|_| Default::default(),
        recent: &|_, _| 0,
        queued: 0,
        new_id: &|| format!("run-{number:04}").parse().unwrap(),
    };
    let EventDecision::Dispatch(dispatch) = decide(&event, &context) else {
        panic!("it is a mention");
    };
    let run = &dispatch.runs[0].run;
    ledger::add_run(txn, run, None).unwrap();
    if ends {
        ledger::start_run(txn, &run.id).unwrap().unwrap();
        let end = ledger::RunEnd {
            report: ExitReport {
                class: ExitClass::Success,
                terminal: Terminal::Code(0),
                wall_millis: 1,
                output_bytes: 0,
                cost_cents: None,
                detail: None,
                at: txn.time(),
            },
            verdict: None,
            comment: None,
            worktree: None,
        };
        ledger::end(txn, &run.id, end).unwrap();
    }
    run.id.clone()
}

/// Runs that wait for months do not keep the ended ones behind them from being pruned.
#[test]
fn ended_runs_are_pruned_behind_hundreds_that_wait() {
    test(async || {
        let site = Site::with_agents("keep_runs = 100\n[mentions]\n", BROKEN);
        let config = site.config();
        let paused = "main".parse().unwrap();
        let ids = site.write(move |txn| {
            ledger::set_paused(txn, &paused, true).unwrap();
            for number in 0..201 {
                add_run(txn, &config, number, false);
            }
            let ended = (1000..1110).map(|number| add_run(txn, &config, number, true));
            ended.collect::<Vec<_>>()
        });
        let directory = |run: &RunId| site.folder.path().join("data/runs").join(run.as_str());
        for run in [&ids[0], &ids[109]] {
            std::fs::create_dir_all(directory(run).join("log")).unwrap();
        }
        let world = site.start();
        world.ready().await;
        world.tick().await;
        let runs = world.runs().await;
        let (ended, waiting): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.ended);
        assert_eq!((ended.len(), waiting.len()), (100, 201));
        assert!(!directory(&ids[0]).exists(), "its log goes with it");
        assert!(directory(&ids[109]).exists());
        assert_eq!(ended.last().unwrap().id, ids[10].as_str());
        world.stop().await;
    });
}
