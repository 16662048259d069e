//! What reconciliation decides.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{CommitState, RunId};
use orchestrator_core::Millis;
use orchestrator_core::action::ReconcileAction;
use orchestrator_core::config::Config;
use orchestrator_core::health::{AgentUsage, Breaker};
use orchestrator_core::intake::AgentKey;
use orchestrator_core::obligation::Obligation;
use orchestrator_core::reconcile::{ReconcileSnapshot, ScheduleMark, reconcile};
use orchestrator_core::run::{AgentRunState, Hold, Priority, Reason, Run, RunTrigger, Subject};

use crate::fleet::{World, config, config_of, key, pull, run_id};

/// Everything reconciliation looks at, to be changed by a test.
pub(crate) struct Bench {
    pub(crate) config: Config,
    pub(crate) tick: u64,
    pub(crate) open: Vec<Run>,
    pub(crate) active: BTreeSet<RunId>,
    pub(crate) paused: BTreeSet<forge_core::ProjectId>,
    pub(crate) breakers: BTreeMap<String, Breaker>,
    pub(crate) quarantined: BTreeSet<AgentKey>,
    pub(crate) usage: BTreeMap<AgentKey, AgentUsage>,
    pub(crate) schedules: BTreeMap<AgentKey, ScheduleMark>,
    pub(crate) last_started: BTreeMap<forge_core::ProjectId, Millis>,
    pub(crate) obligations: Vec<Obligation>,
    pub(crate) heads: Vec<(forge_core::RepoName, forge_core::CommitSha)>,
}

impl Bench {
    pub(crate) fn new(config: Config) -> Self {
        // No schedule is due unless a test says so.
        let keys = config.agents.keys().cloned();
        let far = ScheduleMark {
            last: 0,
            next: Millis::MAX,
        };
        Self {
            schedules: keys.map(|key| (key, far)).collect(),
            config,
            tick: 0,
            open: Vec::new(),
            active: BTreeSet::new(),
            paused: BTreeSet::new(),
            breakers: BTreeMap::new(),
            quarantined: BTreeSet::new(),
            usage: BTreeMap::new(),
            last_started: BTreeMap::new(),
            obligations: Vec::new(),
            heads: Vec::new(),
        }
    }

    pub(crate) fn decide(&self, now: Millis) -> Vec<ReconcileAction> {
        let state = ReconcileSnapshot {
            config: &self.config,
            tick: self.tick,
            open: &self.open,
            active: &self.active,
            paused: &self.paused,
            breakers: &self.breakers,
            quarantined: &self.quarantined,
            usage: &self.usage,
            schedules: &self.schedules,
            last_started: &self.last_started,
            obligations: &self.obligations,
            heads: &self.heads,
        };
        reconcile(&state, now)
    }

    fn queue(&mut self, project: &str, agent: &str, trigger: RunTrigger) -> RunId {
        let n = self.open.len() as u64 + 1;
        let agent_spec = self
            .config
            .agents
            .values()
            .find(|a| a.name.as_str() == agent);
        let layer = agent_spec.map_or_else(Default::default, |a| a.layer);
        let home = agent_spec.map_or_else(|| key(project, agent).0, |a| a.project.clone());
        let repository = format!("acme/{project}").parse().expect("a repository");
        self.open.push(Run {
            id: run_id(n),
            project: project.parse().expect("a project"),
            agent: agent.parse().expect("an agent"),
            home,
            repository,
            subject: Subject::Schedule { due: n },
            trigger,
            priority: Priority::for_trigger(layer, trigger),
            depth: 1,
            state: AgentRunState::Queued,
            hold: None,
            reason: None,
            status: None,
            ending: None,
            queued_at: n,
            started_at: None,
            ended_at: None,
            process: None,
            worktree: None,
            exit: None,
            provider: None,
            check_author: false,
        });
        run_id(n)
    }
}

fn started(actions: &[ReconcileAction]) -> Vec<RunId> {
    let start = |action: &ReconcileAction| match action {
        ReconcileAction::Start { run } => Some(run.clone()),
        _ => None,
    };
    actions.iter().filter_map(start).collect()
}

fn holds(actions: &[ReconcileAction]) -> BTreeMap<RunId, Hold> {
    let hold = |action: &ReconcileAction| match action {
        ReconcileAction::Hold { run, hold } => Some((run.clone(), *hold)),
        _ => None,
    };
    actions.iter().filter_map(hold).collect()
}

#[test]
fn priority_then_round_robin_then_first_come() {
    let mut bench = Bench::new(config());
    let growth = bench.queue("main", "build-runner", RunTrigger::Schedule);
    let first = bench.queue("main", "reviewer", RunTrigger::Mention);
    let second = bench.queue("main", "reviewer", RunTrigger::Mention);
    let other = bench.queue("tools", "developer", RunTrigger::Mention);
    let check = bench.queue("main", "build-runner", RunTrigger::PullRequest);
    let guard = bench.queue("main", "guard", RunTrigger::Schedule);
    let order = started(&bench.decide(100));
    assert_eq!(
        order,
        [guard, first.clone(), other.clone(), second, check, growth]
    );
    bench
        .last_started
        .insert("main".parse().expect("a project"), 50);
    let order = started(&bench.decide(100));
    assert_eq!(order[1..3], [other, first], "who waited longest goes first");
}

#[test]
fn every_cap_is_named() {
    let mut bench = Bench::new(config());
    let ids: Vec<RunId> = (0..5)
        .map(|_| bench.queue("main", "reviewer", RunTrigger::Mention))
        .collect();
    let actions = bench.decide(100);
    assert_eq!(started(&actions), ids[..3], "three a tick");
    assert_eq!(holds(&actions)[&ids[3]], Hold::MaxDispatchesPerTick);
    let one = |change: &dyn Fn(&mut Bench)| {
        let mut bench = Bench::new(config());
        let run = bench.queue("main", "reviewer", RunTrigger::Mention);
        change(&mut bench);
        holds(&bench.decide(100)).get(&run).copied()
    };
    assert_eq!(one(&|_| ()), None);
    let active = |bench: &mut Bench, agent: &str, trigger, count: u32| {
        for _ in 0..count {
            let run = bench.queue("main", agent, trigger);
            bench.open.last_mut().expect("queued").state = AgentRunState::Running;
            bench.active.insert(run);
        }
    };
    let paused = |bench: &mut Bench| {
        bench.paused.insert("main".parse().expect("a project"));
    };
    assert_eq!(one(&paused), Some(Hold::Paused));
    let broken = |bench: &mut Bench| {
        let open = Breaker::Open { until: 200 };
        bench.breakers.insert("anthropic".into(), open);
    };
    assert_eq!(one(&broken), Some(Hold::BreakerOpen));
    assert_eq!(
        one(&|b| active(b, "reviewer", RunTrigger::Schedule, 4)),
        Some(Hold::AgentCap)
    );
    assert_eq!(
        one(&|b| active(b, "build-runner", RunTrigger::Mention, 8)),
        Some(Hold::MaxConcurrentMentionAgents)
    );
    assert_eq!(
        one(&|b| active(b, "guard", RunTrigger::Schedule, 16)),
        Some(Hold::ProjectCap)
    );
    assert_eq!(one(&|b| b.config.max_running = 0), Some(Hold::TotalCap));
}

#[test]
fn deciding_twice_holds_once() {
    let mut bench = Bench::new(config());
    for _ in 0..5 {
        bench.queue("main", "reviewer", RunTrigger::Mention);
    }
    let first = bench.decide(100);
    assert_eq!(bench.decide(100), first, "nothing was carried out");
    for (run, hold) in holds(&first) {
        bench
            .open
            .iter_mut()
            .find(|r| r.id == run)
            .expect("open")
            .hold = Some(hold);
    }
    for run in started(&first) {
        bench
            .open
            .iter_mut()
            .find(|r| r.id == run)
            .expect("open")
            .state = AgentRunState::Running;
        bench.active.insert(run);
    }
    for run in bench
        .open
        .iter_mut()
        .filter(|run| run.state == AgentRunState::Queued)
    {
        run.hold = Some(Hold::AgentCap);
    }
    assert!(
        holds(&bench.decide(100))
            .values()
            .all(|hold| *hold != Hold::AgentCap)
    );
}

#[test]
fn an_open_circuit_lets_one_run_try() {
    let mut bench = Bench::new(config());
    bench.queue("main", "reviewer", RunTrigger::Mention);
    bench.queue("main", "reviewer", RunTrigger::Mention);
    bench
        .breakers
        .insert("anthropic".into(), Breaker::Open { until: 100 });
    assert_eq!(started(&bench.decide(99)).len(), 0);
    assert_eq!(started(&bench.decide(100)).len(), 1);
}

#[test]
fn a_budget_is_not_overdrawn_within_one_tick() {
    let mut bench = Bench::new(config());
    for _ in 0..3 {
        bench.queue("main", "miser", RunTrigger::PullRequest);
    }
    let actions = bench.decide(100);
    assert_eq!(started(&actions).len(), 2);
    let last = ReconcileAction::Reject {
        run: run_id(3),
        reason: Reason::BudgetExhausted,
    };
    assert!(actions.contains(&last), "{actions:?}");
}

#[test]
fn o18_active_runs_that_nobody_keeps_are_lost() {
    let mut bench = Bench::new(config());
    for state in [AgentRunState::Starting, AgentRunState::Running] {
        bench.queue("main", "reviewer", RunTrigger::Mention);
        bench.open.last_mut().expect("queued").state = state;
    }
    let lost = |n| ReconcileAction::Lost { run: run_id(n) };
    assert_eq!(bench.decide(100), [lost(1), lost(2)]);
    bench.active.insert(run_id(1));
    bench.open[0].ending = Some(Reason::Superseded);
    let kill = ReconcileAction::Kill {
        run: run_id(1),
        reason: Reason::Superseded,
    };
    assert_eq!(bench.decide(100), [kill, lost(2)]);
}

#[test]
fn f09_schedules_survive_clocks() {
    const HOUR: Millis = 3_600_000;
    let start = 1_795_255_200_000 / HOUR * HOUR + 60_000;
    let guard = key("main", "guard");
    let mut bench = Bench::new(config());
    bench.schedules.remove(&guard);
    let mut runs: Vec<Millis> = Vec::new();
    let mut at = |bench: &mut Bench, now: Millis| {
        let mut due = 0;
        for action in bench.decide(now) {
            match action {
                ReconcileAction::MarkSchedule { agent, mark } => {
                    bench.schedules.insert(agent, mark);
                }
                ReconcileAction::Schedule { due: time, .. } => {
                    runs.push(time);
                    due += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        due
    };
    assert_eq!(
        at(&mut bench, start),
        0,
        "a new schedule waits for its time"
    );
    assert_eq!(at(&mut bench, start), 0);
    assert_eq!(at(&mut bench, start + HOUR), 1);
    assert_eq!(at(&mut bench, start + HOUR), 0, "not twice");
    assert_eq!(
        at(&mut bench, start + HOUR - 3 * 60_000),
        0,
        "the clock went back"
    );
    assert_eq!(at(&mut bench, start), 0, "an hour back");
    assert_eq!(at(&mut bench, start + HOUR + 1000), 0, "and forth again");
    assert_eq!(
        at(&mut bench, start + 9 * HOUR),
        1,
        "a suspend: one catch-up"
    );
    let year = 365 * 24 * HOUR;
    assert_eq!(
        at(&mut bench, start + year),
        1,
        "a year forward: one catch-up"
    );
    assert_eq!(
        at(&mut bench, start + 10 * HOUR),
        0,
        "and back: it begins anew"
    );
    assert_eq!(at(&mut bench, start + 11 * HOUR), 1);
    let distinct: BTreeSet<&Millis> = runs.iter().collect();
    assert_eq!(
        distinct.len(),
        runs.len(),
        "no due time was scheduled twice"
    );
}

#[test]
fn a_schedule_does_not_pile_up() {
    let mut bench = Bench::new(config());
    bench
        .schedules
        .insert(key("main", "guard"), ScheduleMark { last: 0, next: 10 });
    bench.queue("main", "guard", RunTrigger::Schedule);
    bench.active.insert(run_id(1));
    bench.open[0].state = AgentRunState::Running;
    let actions = bench.decide(7_200_000);
    assert!(
        matches!(actions.as_slice(), [ReconcileAction::MarkSchedule { .. }]),
        "{actions:?}"
    );
}

#[test]
fn no_status_stays_pending_without_a_run() {
    let mut bench = Bench::new(config());
    let world = World::new();
    let run = world.dispatch(&pull("opened", 3, 5)).runs.remove(0).run;
    let status = run.status.clone().expect("a status");
    bench
        .obligations
        .push(Obligation::pending(status.clone(), run.id.clone(), 0));
    let close = ReconcileAction::CloseStatus {
        status: status.clone(),
        run: run.id.clone(),
    };
    assert_eq!(bench.decide(100), [close]);
    bench.active.insert(run.id.clone());
    bench.open.push(Run {
        state: AgentRunState::Running,
        ..run
    });
    assert_eq!(bench.decide(100), []);
    bench.obligations[0].state = CommitState::Success;
    assert_eq!(bench.decide(100), []);
    bench.tick = 3;
    let (repository, sha) = (status.repository, status.sha);
    bench.heads = vec![(repository.clone(), sha.clone())];
    assert_eq!(
        bench.decide(100),
        [ReconcileAction::VerifyStatuses { repository, sha }]
    );
}

#[test]
fn polls_come_with_the_first_and_every_second_tick() {
    let mut bench = Bench::new(config());
    let polls: Vec<bool> = (0..6)
        .map(|tick| {
            bench.tick = tick;
            !bench.decide(100).is_empty()
        })
        .collect();
    assert_eq!(polls, [false, true, true, false, true, false]);
}

/// T8: a run that was put back for lack of descriptors or memory waits as long as its keeper
/// pauses, with a reason.
#[test]
fn t8_a_run_whose_keeper_pauses_waits_with_a_reason() {
    let mut bench = Bench::new(config());
    let run = bench.queue("main", "reviewer", RunTrigger::Mention);
    bench.active.insert(run.clone());
    let hold = Hold::Resources;
    let expected = ReconcileAction::Hold {
        run: run.clone(),
        hold,
    };
    assert_eq!(bench.decide(100), [expected]);
    bench.active.clear();
    assert_eq!(started(&bench.decide(100)), [run]);
}

/// Linear cost is asserted by what is looked at, not by a clock: ten times the queue gives ten
/// times the actions, and nothing but one decision for each run.
#[test]
fn one_decision_for_each_run_however_many_there_are() {
    let agents: String = (0..1000)
        .map(|n| format!("[[agents]]\nproject = \"main\"\nname = \"agent-{n}\"\ncli = \"sh\"\nscript = \"true\"\n"))
        .collect();
    let mut bench = Bench::new(config_of(&format!("{}{agents}", crate::fleet::MAIN)));
    for n in 0..10_000 {
        bench.queue(
            "main",
            &format!("agent-{}", n % 1000),
            RunTrigger::PullRequest,
        );
    }
    let actions = bench.decide(100);
    assert_eq!(actions.len(), 10_000);
    assert_eq!(started(&actions).len(), 12, "pr_dispatch.max_concurrent");
}
