//! Everything but the queue: lost runs, requested ends, schedules, statuses, polls, worktrees.

use std::collections::HashSet;

use forge_core::{CommitSha, RepoName, RunId};

use super::snapshot::{ReconcileSnapshot, ScheduleMark};
use crate::Millis;
use crate::action::ReconcileAction;
use crate::intake::AgentKey;
use crate::run::RunTrigger;

/// A schedule that was followed further into the future than any time zone or correction explains
/// was followed by a wrong clock.
const MAX_PLAUSIBLE_LEAD: Millis = 25 * 3600 * 1000;

/// Runs that are active by the record but have no actor, and runs whose end was requested.
pub(super) fn lost_and_ending(
    snapshot: &ReconcileSnapshot<'_>,
    actions: &mut Vec<ReconcileAction>,
) {
    for run in snapshot.open.iter().filter(|run| run.state.is_active()) {
        if !snapshot.active.contains(&run.id) {
            actions.push(ReconcileAction::Lost {
                run: run.id.clone(),
            });
        } else if let Some(reason) = run.ending {
            actions.push(ReconcileAction::Kill {
                run: run.id.clone(),
                reason,
            });
        }
    }
}

/// Agents that are due. However many due times were missed, there is one run; and none while the
/// previous scheduled run of the agent is still open.
pub(super) fn schedules(
    snapshot: &ReconcileSnapshot<'_>,
    now: Millis,
    actions: &mut Vec<ReconcileAction>,
) {
    let busy: HashSet<_> = snapshot
        .open
        .iter()
        .filter(|run| run.trigger == RunTrigger::Schedule)
        .map(|run| (&run.home, &run.agent))
        .collect();
    for (key, agent) in &snapshot.config.agents {
        let Some(schedule) = agent.schedule.as_ref().filter(|_| agent.enabled) else {
            continue;
        };
        let mark = |last| ReconcileAction::MarkSchedule {
            agent: key.clone(),
            mark: ScheduleMark {
                last,
                next: schedule.due.next_after(last).unwrap_or(Millis::MAX),
            },
        };
        match snapshot.schedules.get(key) {
            None => actions.push(mark(now)),
            Some(seen) if seen.last > now.saturating_add(MAX_PLAUSIBLE_LEAD) => {
                actions.push(mark(now));
            }
            Some(seen) if now < seen.next => {}
            Some(_) => {
                let due = schedule.due.last_until(now).unwrap_or(now);
                actions.push(mark(due));
                if !busy.contains(&(&key.0, &key.1)) {
                    actions.push(due_action(key, due));
                }
            }
        }
    }
}

fn due_action(key: &AgentKey, due: Millis) -> ReconcileAction {
    ReconcileAction::Schedule {
        project: key.0.clone(),
        agent: key.1.clone(),
        due,
    }
}

/// Pending statuses whose run has ended or is gone; and at each tick the comparison with the forge.
pub(super) fn statuses(snapshot: &ReconcileSnapshot<'_>, actions: &mut Vec<ReconcileAction>) {
    let open: HashSet<&RunId> = snapshot.open.iter().map(|run| &run.id).collect();
    for owed in snapshot.obligations {
        if !owed.state.is_terminal() && !open.contains(&owed.run) {
            actions.push(ReconcileAction::CloseStatus {
                status: owed.key.clone(),
                run: owed.run.clone(),
            });
        }
    }
    if snapshot.tick > 0 && snapshot.config.forge.is_some() {
        let verify = |(repository, sha): &(RepoName, CommitSha)| ReconcileAction::VerifyStatuses {
            repository: repository.clone(),
            sha: sha.clone(),
        };
        actions.extend(snapshot.heads.iter().map(verify));
    }
}

/// Every `poll_modulo`-th tick, and the first, the forge is asked for what was missed.
pub(super) fn polls(snapshot: &ReconcileSnapshot<'_>, actions: &mut Vec<ReconcileAction>) {
    let Some(mentions) = &snapshot.config.mentions else {
        return;
    };
    let due = snapshot.tick == 1
        || snapshot
            .tick
            .is_multiple_of(u64::from(mentions.poll_modulo));
    if snapshot.config.forge.is_some() && due {
        let projects = snapshot.config.projects.keys();
        actions.extend(projects.map(|project| ReconcileAction::Poll {
            project: project.clone(),
        }));
    }
}
