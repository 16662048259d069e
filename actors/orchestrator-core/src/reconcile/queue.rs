//! Which queued runs start: by priority, round robin by project, then first come first served,
//! within caps.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use forge_core::{AgentName, ProjectId};

use super::snapshot::ReconcileSnapshot;
use crate::Millis;
use crate::action::ReconcileAction;
use crate::config::AgentSpec;
use crate::health::BudgetState;
use crate::run::{AgentRunState, Hold, Priority, Reason, Run, RunTrigger};

/// Starts, holds and rejects queued runs.
pub(super) fn start(
    snapshot: &ReconcileSnapshot<'_>,
    now: Millis,
    actions: &mut Vec<ReconcileAction>,
) {
    let mut counts = Counts::from_snapshot(snapshot);
    let mut queues: BTreeMap<Priority, BTreeMap<&ProjectId, Vec<&Run>>> = BTreeMap::new();
    for run in snapshot
        .open
        .iter()
        .filter(|run| run.state == AgentRunState::Queued)
    {
        let queue = queues.entry(run.priority).or_default();
        queue.entry(&run.project).or_default().push(run);
    }
    for (_, projects) in queues {
        for run in round_robin(snapshot, projects) {
            if run.check_author {
                actions.push(ReconcileAction::CheckAuthor {
                    run: run.id.clone(),
                });
            }
            actions.extend(counts.decide(snapshot, run, now));
        }
    }
}

/// One run of each project in turn; the project that waited longest for a start begins.
fn round_robin<'r>(
    snapshot: &ReconcileSnapshot<'_>,
    projects: BTreeMap<&ProjectId, Vec<&'r Run>>,
) -> Vec<&'r Run> {
    let mut queues: Vec<(Millis, &ProjectId, VecDeque<&Run>)> = projects
        .into_iter()
        .map(|(project, mut runs)| {
            runs.sort_by(|a, b| (a.queued_at, &a.id).cmp(&(b.queued_at, &b.id)));
            let last = snapshot.last_started.get(project).copied().unwrap_or(0);
            (last, project, runs.into())
        })
        .collect();
    queues.sort_by_key(|(last, project, _)| (*last, *project));
    let mut order = Vec::new();
    while !queues.is_empty() {
        queues.retain_mut(|(_, _, runs)| {
            order.extend(runs.pop_front());
            !runs.is_empty()
        });
    }
    order
}

/// What is active already, and what this tick adds to it.
struct Counts<'a> {
    total: usize,
    mentions: u32,
    pulls: u32,
    projects: HashMap<&'a ProjectId, u32>,
    agents: HashMap<(&'a ProjectId, &'a AgentName), u32>,
    /// Mentions started by this tick.
    dispatched: u32,
    /// Runs of agents with a budget started by this tick, which the usage does not know yet.
    started: HashMap<(&'a ProjectId, &'a AgentName), u64>,
    /// Providers whose trial was given away by this tick.
    trials: BTreeSet<&'a str>,
}

impl<'a> Counts<'a> {
    fn from_snapshot(snapshot: &ReconcileSnapshot<'a>) -> Self {
        let mut counts = Self {
            total: 0,
            mentions: 0,
            pulls: 0,
            projects: HashMap::new(),
            agents: HashMap::new(),
            dispatched: 0,
            started: HashMap::new(),
            trials: BTreeSet::new(),
        };
        for run in snapshot.open.iter().filter(|run| run.state.is_active()) {
            counts.add(run);
        }
        counts
    }

    fn add(&mut self, run: &'a Run) {
        self.total += 1;
        self.mentions += u32::from(run.trigger.is_mention());
        self.pulls += u32::from(run.trigger == RunTrigger::PullRequest);
        *self.projects.entry(&run.project).or_default() += 1;
        *self.agents.entry((&run.home, &run.agent)).or_default() += 1;
    }

    fn decide(
        &mut self,
        snapshot: &ReconcileSnapshot<'a>,
        run: &'a Run,
        now: Millis,
    ) -> Option<ReconcileAction> {
        let id = run.id.clone();
        let agent = match may_start(snapshot, run, self.started_of(run)) {
            Ok(agent) => agent,
            Err(reason) => return Some(ReconcileAction::Reject { run: id, reason }),
        };
        if let Some(hold) = self.hold(snapshot, run, agent, now) {
            let is_new = run.hold != Some(hold);
            return is_new.then_some(ReconcileAction::Hold { run: id, hold });
        }
        self.add(run);
        self.dispatched += u32::from(run.trigger.is_mention());
        *self.started.entry((&run.home, &run.agent)).or_default() += 1;
        if let Some(provider) = agent.provider.as_deref()
            && snapshot.breakers.contains_key(provider)
        {
            self.trials.insert(provider);
        }
        Some(ReconcileAction::Start { run: id })
    }

    fn started_of(&self, run: &Run) -> u64 {
        self.started
            .get(&(&run.home, &run.agent))
            .copied()
            .unwrap_or(0)
    }

    /// The first cap that is in the way.
    fn hold(
        &self,
        snapshot: &ReconcileSnapshot<'_>,
        run: &Run,
        agent: &AgentSpec,
        now: Millis,
    ) -> Option<Hold> {
        let config = snapshot.config;
        let active = |id: &ProjectId| self.projects.get(id).copied().unwrap_or(0);
        let of_agent = self
            .agents
            .get(&(&run.home, &run.agent))
            .copied()
            .unwrap_or(0);
        let project_cap = config
            .projects
            .get(&run.project)
            .map_or(0, |p| p.max_concurrent_agents);
        let mentions = config.mentions.as_ref();
        let pulls = config.pr_dispatch.as_ref();
        let holds = [
            // Its start is delayed: it lacked descriptors, threads, memory or disk.
            (snapshot.active.contains(&run.id), Hold::Resources),
            (run.check_author, Hold::AuthorCheck),
            (snapshot.paused.contains(&run.project), Hold::Paused),
            (
                !self.provider_allows(snapshot, agent, now),
                Hold::BreakerOpen,
            ),
            (of_agent >= agent.max_parallel, Hold::AgentCap),
            (active(&run.project) >= project_cap, Hold::ProjectCap),
            (
                run.trigger.is_mention()
                    && mentions.is_some_and(|m| self.mentions >= m.max_concurrent_mention_agents),
                Hold::MaxConcurrentMentionAgents,
            ),
            (
                run.trigger.is_mention()
                    && mentions.is_some_and(|m| self.dispatched >= m.max_dispatches_per_tick),
                Hold::MaxDispatchesPerTick,
            ),
            (
                run.trigger == RunTrigger::PullRequest
                    && pulls.is_some_and(|p| self.pulls >= p.max_concurrent),
                Hold::MaxConcurrentPrAgents,
            ),
            (self.total >= config.max_running, Hold::TotalCap),
        ];
        holds
            .into_iter()
            .find_map(|(holds, hold)| holds.then_some(hold))
    }

    fn provider_allows(
        &self,
        snapshot: &ReconcileSnapshot<'_>,
        agent: &AgentSpec,
        now: Millis,
    ) -> bool {
        let Some(provider) = agent.provider.as_deref() else {
            return true;
        };
        let Some(breaker) = snapshot.breakers.get(provider) else {
            return true;
        };
        let settings = snapshot
            .config
            .providers
            .get(provider)
            .copied()
            .unwrap_or_default();
        breaker.allows(settings, now) && !self.trials.contains(provider)
    }
}

/// Whether the run may start at all, by today's configuration and budgets.
fn may_start<'c>(
    snapshot: &ReconcileSnapshot<'c>,
    run: &Run,
    started: u64,
) -> Result<&'c AgentSpec, Reason> {
    let agent = snapshot
        .config
        .agent(&run.home, &run.agent)
        .ok_or(Reason::AgentRemoved)?;
    if !snapshot.config.projects.contains_key(&run.project) {
        return Err(Reason::UnknownProject);
    }
    if !agent.enabled {
        return Err(Reason::Disabled);
    }
    let key = (agent.project.clone(), agent.name.clone());
    if snapshot.quarantined.contains(&key) {
        return Err(Reason::Quarantined);
    }
    if agent.budget.is_limited() {
        let mut usage = snapshot.usage.get(&key).copied().unwrap_or_default();
        usage.runs += started;
        usage.cents += started * agent.budget.cents_per_run;
        if agent.budget.state(usage) == BudgetState::Exhausted {
            return Err(Reason::BudgetExhausted);
        }
    }
    Ok(agent)
}
