//! Transitions of runs, each in a transaction of its own; no actors.

use forge_core::RunId;
use orchestrator_actors::ledger::{self, EventSource, LedgerTxn, OpenRunCache};
use orchestrator_core::run::{AgentRunState, ProcessIdentity, Reason, Run};

use crate::world::{Site, by_hand, event, test};

fn queued(site: &Site, number: u64) -> RunId {
    let deliveries = site.deliveries();
    let reply = site.write(move |txn| {
        let event = event(&by_hand(number, "@orch:ops"));
        let source = EventSource::Found {
            event: &event,
            asked_at: txn.time(),
        };
        ledger::admit(txn, &deliveries, &source, &Default::default()).unwrap()
    });
    reply.reply.dispatches[0].run.parse().unwrap()
}

fn run(site: &Site, id: &RunId) -> Run {
    let run = site
        .store
        .read_blocking(|rows| ledger::run_record(rows, id));
    run.unwrap().unwrap()
}

fn with_id<T: Send + 'static>(
    site: &Site,
    id: &RunId,
    work: impl FnOnce(&mut LedgerTxn<'_, '_>, &RunId) -> T + Send + 'static,
) -> T {
    let id = id.clone();
    site.write(move |txn| work(txn, &id))
}

fn month_runs(site: &Site) -> u64 {
    let (config, now) = (site.config(), site.now());
    let list = site.store.read_blocking(|rows| {
        ledger::agents(rows, &mut OpenRunCache::default(), &config, None, now)
    });
    let agents = list.unwrap().agents;
    agents.iter().map(|agent| agent.month_runs).sum()
}

fn process() -> ProcessIdentity {
    ProcessIdentity {
        pid: 7,
        start_ticks: 1,
        boot_id: "b".into(),
        isolation: None,
    }
}

#[test]
fn a_run_is_begun_once_and_ends_once() {
    test(async || {
        let site = Site::new("[mentions]\n");
        let id = queued(&site, 1);
        let begin = |txn: &mut LedgerTxn<'_, '_>, id: &RunId| ledger::start_run(txn, id).unwrap();
        assert_eq!(
            with_id(&site, &id, begin).unwrap().run.state,
            AgentRunState::Starting
        );
        assert!(with_id(&site, &id, begin).is_none());
        let end = |txn: &mut LedgerTxn<'_, '_>, id: &RunId| {
            let end = ledger::start_failure("no program", txn.time());
            ledger::end(txn, id, end).unwrap()
        };
        assert!(with_id(&site, &id, end));
        assert!(!with_id(&site, &id, end));
        assert_eq!(run(&site, &id).reason, Some(Reason::StartFailed));
        assert_eq!(month_runs(&site), 1);
    });
}

#[test]
fn a_process_that_appears_after_a_cancel_is_to_be_ended() {
    test(async || {
        let site = Site::new("[mentions]\n");
        let id = queued(&site, 1);
        with_id(&site, &id, |txn, id| {
            ledger::start_run(txn, id).unwrap().unwrap()
        });
        let (before, kill) = with_id(&site, &id, |txn, id| {
            ledger::cancel(txn, id).unwrap().unwrap()
        });
        assert_eq!((before.state, kill), (AgentRunState::Starting, true));
        let wanted = with_id(&site, &id, |txn, id| {
            ledger::running(txn, id, ledger::RunPlace::Process(process()), None, None).unwrap()
        });
        assert!(!wanted);
        assert_eq!(run(&site, &id).ending, Some(Reason::CancelledByOperator));
    });
}

#[test]
fn a_start_that_was_delayed_is_not_counted_and_a_cancelled_one_does_not_come_back() {
    test(async || {
        let site = Site::new("[mentions]\n");
        let id = queued(&site, 1);
        with_id(&site, &id, |txn, id| {
            ledger::start_run(txn, id).unwrap().unwrap()
        });
        assert_eq!(month_runs(&site), 1);
        let back =
            |txn: &mut LedgerTxn<'_, '_>, id: &RunId| ledger::return_to_queue(txn, id).unwrap();
        assert!(with_id(&site, &id, back));
        assert_eq!(
            (run(&site, &id).state, month_runs(&site)),
            (AgentRunState::Queued, 0)
        );
        with_id(&site, &id, |txn, id| {
            ledger::start_run(txn, id).unwrap().unwrap()
        });
        with_id(&site, &id, |txn, id| {
            ledger::cancel(txn, id).unwrap().unwrap()
        });
        assert!(!with_id(&site, &id, back));
        assert_eq!(run(&site, &id).state, AgentRunState::Cancelled);
    });
}

#[test]
fn a_repetition_is_a_run_of_its_own_and_only_of_an_ended_one() {
    test(async || {
        let site = Site::new("[mentions]\n");
        let id = queued(&site, 1);
        let retry = |txn: &mut LedgerTxn<'_, '_>, id: &RunId| ledger::retry(txn, id).unwrap();
        assert!(with_id(&site, &id, retry).is_none());
        with_id(&site, &id, |txn, id| {
            ledger::cancel(txn, id).unwrap().unwrap()
        });
        let again = with_id(&site, &id, retry).unwrap();
        assert_ne!(again.id, id);
        assert_eq!(
            (again.state, again.agent.as_str()),
            (AgentRunState::Queued, "ops")
        );
        let request = with_id(&site, &again.id, |txn, id| {
            ledger::start_run(txn, id).unwrap()
        });
        let context = request.unwrap().context;
        assert_eq!(context.comment, "@orch:ops", "its agent is told the same");
    });
}

#[test]
fn a_lost_run_ends_with_the_restart_and_a_cursor_never_goes_back() {
    test(async || {
        let site = Site::new("[mentions]\n");
        let id = queued(&site, 1);
        let lost = |txn: &mut LedgerTxn<'_, '_>, id: &RunId| ledger::lost(txn, id).unwrap();
        assert!(!with_id(&site, &id, lost), "it waits only");
        with_id(&site, &id, |txn, id| {
            ledger::start_run(txn, id).unwrap().unwrap()
        });
        assert!(with_id(&site, &id, lost));
        assert_eq!(run(&site, &id).reason, Some(Reason::OrchestratorRestart));
        let project = "main".parse().unwrap();
        let cursor = site.write(move |txn| {
            for at in [7, 5, 9, 8] {
                ledger::advance_cursor(txn, &project, at).unwrap();
            }
            project
        });
        let at = site
            .store
            .read_blocking(|rows| ledger::cursor(rows, &cursor));
        assert_eq!(at.unwrap(), Some(9));
    });
}
