//! What exists, as the admin bridge shows it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use forge_actors::outbox;
use forge_core::RunId;
use jiff::Timestamp;
use orchestrator_core::Millis;
use orchestrator_core::admin::{
    AgentList, AgentView, ExitView, JournalEntry, JournalPage, ProjectView, QueueView, RunList,
    RunView, StatusObligationView, StatusView,
};
use orchestrator_core::config::{Config, routes};
use orchestrator_core::intake::AgentKey;
use orchestrator_core::run::{AgentRunState, Run, Subject, Terminal};
use store::{ReadRows, StoreError};

use super::open_runs::OpenRunCache;
use super::rows::{JOURNAL, OWED, RUNS, RunRow};
use super::tick_input::{breakers, counts, paused, quarantined, schedules, usage};
use crate::ticks::TickStats;

/// Most runs of one page.
const MAX_PAGE: usize = 500;
/// Most rows read for one page.
const MAX_SCANNED_ROWS: usize = 20_000;

/// Which runs are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Of this project.
    pub project: Option<String>,
    /// Of this agent.
    pub agent: Option<String>,
    /// In this state.
    pub state: Option<AgentRunState>,
    /// At most so many.
    pub limit: usize,
    /// Older than this run.
    pub before: Option<String>,
}

/// What the process itself knows, for the status.
#[derive(Debug, Clone, Default)]
pub struct ProcessStatus {
    /// The program's version.
    pub version: String,
    /// When it started.
    pub started_at: Millis,
    /// When the configuration was read.
    pub configured_at: Millis,
    /// The ticks so far.
    pub ticks: TickStats,
    /// What is odd about the configuration.
    pub warnings: Vec<String>,
}

/// A time as people and programs read it.
pub(super) fn time(at: Millis) -> String {
    let at = i64::try_from(at).unwrap_or(i64::MAX);
    let at = Timestamp::from_millisecond(at).unwrap_or(Timestamp::MAX);
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The whole status.
///
/// # Errors
/// The store's.
pub fn status(
    rows: &mut impl ReadRows,
    open_runs: &mut OpenRunCache,
    config: &Config,
    process: ProcessStatus,
    now: Millis,
) -> Result<StatusView, StoreError> {
    let open = open_runs.refresh(rows)?;
    let in_numbers = counts(open);
    let overview = outbox::overview(rows)?;
    let active = open.iter().filter(|run| run.state.is_active());
    let (ticks, interval) = (process.ticks, millis(config.tick_interval));
    let names = |(project, agent): (forge_core::ProjectId, forge_core::AgentName)| {
        format!("{project}/{agent}")
    };
    Ok(StatusView {
        version: process.version,
        started_at: time(process.started_at),
        configured_at: time(process.configured_at),
        tick_interval_secs: config.tick_interval.as_secs(),
        last_tick_at: ticks.last_at.map(time),
        last_tick_ms: ticks.last_at.map(|_| millis(ticks.last_took)),
        ticks: ticks.count,
        next_tick_at: ticks.last_at.map(|at| time(at.saturating_add(interval))),
        main_project: config.main_project.to_string(),
        mentions: config.mentions.is_some(),
        queue: QueueView {
            queued: in_numbers.queued,
            starting: in_numbers.starting,
            running: in_numbers.running,
            oldest_secs: in_numbers
                .oldest
                .map_or(0, |at| now.saturating_sub(at) / 1000),
        },
        projects: projects(rows, config)?,
        running: active.map(run_view).collect(),
        statuses: owed(rows)?,
        outbox: overview.waiting,
        parked: overview.parked,
        breakers: breakers(rows)?
            .into_iter()
            .map(|(provider, breaker)| format!("{provider} {}", breaker.as_str()))
            .collect(),
        quarantined: quarantined(rows, config)?.into_iter().map(names).collect(),
        warnings: process.warnings,
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn owed(rows: &mut impl ReadRows) -> Result<Vec<StatusObligationView>, StoreError> {
    let found = rows.range(&OWED, .., MAX_PAGE)?;
    let view = |(run, row): (String, super::rows::OwedRow)| StatusObligationView {
        repository: row.0.repository.to_string(),
        sha: row.0.sha.to_string(),
        context: row.0.context.to_string(),
        state: "pending".to_owned(),
        run: Some(run),
    };
    Ok(found.into_iter().map(view).collect())
}

/// The projects.
///
/// # Errors
/// The store's.
pub fn projects(rows: &mut impl ReadRows, config: &Config) -> Result<Vec<ProjectView>, StoreError> {
    let paused = paused(rows)?;
    let view = |project: &orchestrator_core::config::Project| ProjectView {
        id: project.id.to_string(),
        repository: project.repository.to_string(),
        paused: paused.contains(&project.id),
        agents: config
            .agents
            .keys()
            .filter(|(of, _)| *of == project.id)
            .count() as u64,
    };
    Ok(config.projects.values().map(view).collect())
}

/// The agents, of one project or of all.
///
/// # Errors
/// The store's.
pub fn agents(
    rows: &mut impl ReadRows,
    open_runs: &mut OpenRunCache,
    config: &Config,
    project: Option<&str>,
    now: Millis,
) -> Result<AgentList, StoreError> {
    // Waiting, and under way.
    let mut open: BTreeMap<AgentKey, (u64, u64)> = BTreeMap::new();
    for run in open_runs.refresh(rows)? {
        let (waiting, active) = open
            .entry((run.home.clone(), run.agent.clone()))
            .or_default();
        *if run.state.is_active() {
            active
        } else {
            waiting
        } += 1;
    }
    let quarantined = quarantined(rows, config)?;
    let usage = usage(rows, now)?;
    let schedules = schedules(rows)?;
    let last = last_runs(rows)?;
    let mut list = AgentList::default();
    for (route, (key, agent)) in routes(config).into_iter().zip(&config.agents) {
        if project.is_some_and(|project| project != route.project) {
            continue;
        }
        let (queued, running) = open.get(key).copied().unwrap_or_default();
        let used = usage.get(key).copied().unwrap_or_default();
        let ended = last.get(&(key.0.to_string(), key.1.to_string()));
        list.agents.push(AgentView {
            description: agent.description.clone(),
            queued,
            running,
            last_run: ended.map(|run| run.id.to_string()),
            last_class: ended.and_then(|run| Some(run.exit.as_ref()?.class.to_string())),
            month_runs: used.runs,
            month_cents: used.cents,
            budget_runs: agent.budget.runs,
            budget_cents: agent.budget.cents,
            quarantined: quarantined.contains(key),
            next_due: schedules
                .get(key)
                .filter(|_| agent.schedule.is_some())
                .map(|mark| time(mark.next)),
            route,
        });
    }
    Ok(list)
}

/// The last ended run of each agent, among the newest.
fn last_runs(rows: &mut impl ReadRows) -> Result<BTreeMap<(String, String), Run>, StoreError> {
    let mut last = BTreeMap::new();
    for (_, RunRow(run)) in rows.range_back(&RUNS, .., 2_000)? {
        if run.state == AgentRunState::Exited {
            let key = (run.home.to_string(), run.agent.to_string());
            last.entry(key).or_insert(run);
        }
    }
    Ok(last)
}

/// A page of runs, newest first.
///
/// # Errors
/// The store's.
pub fn runs(rows: &mut impl ReadRows, query: &RunQuery) -> Result<RunList, StoreError> {
    let limit = query.limit.clamp(1, MAX_PAGE);
    let to = query
        .before
        .clone()
        .map_or(Bound::Unbounded, Bound::Excluded);
    let wanted = |run: &Run| {
        let same =
            |asked: &Option<String>, is: &str| asked.as_deref().is_none_or(|asked| asked == is);
        same(&query.project, run.project.as_str())
            && same(&query.agent, run.agent.as_str())
            && query.state.is_none_or(|state| state == run.state)
    };
    let mut list = RunList::default();
    let mut last = None;
    let mut upper = to;
    let mut scanned = 0;
    while scanned < MAX_SCANNED_ROWS {
        let found = rows.range_back(&RUNS, (Bound::Unbounded, upper.clone()), MAX_PAGE)?;
        let more = found.len() == MAX_PAGE;
        scanned += found.len();
        for (id, RunRow(run)) in found {
            upper = Bound::Excluded(id.clone());
            if wanted(&run) {
                if list.runs.len() == limit {
                    list.next = last;
                    return Ok(list);
                }
                list.runs.push(run_view(&run));
            }
            last = Some(id);
        }
        if !more {
            return Ok(list);
        }
    }
    // Enough read for one answer; the next page goes on from here.
    list.next = last;
    Ok(list)
}

/// A run as it is stored.
///
/// # Errors
/// The store's.
pub fn run_record(rows: &mut impl ReadRows, id: &RunId) -> Result<Option<Run>, StoreError> {
    Ok(rows.get(&RUNS, &id.to_string())?.map(|RunRow(run)| run))
}

/// A run for people and programs.
pub fn run_view(run: &Run) -> RunView {
    let exit = run.exit.as_ref().map(|exit| ExitView {
        class: exit.class.to_string(),
        code: match exit.terminal {
            Terminal::Code(code) => Some(code),
            _ => None,
        },
        signal: match exit.terminal {
            Terminal::Signal(signal) => Some(signal),
            _ => None,
        },
        wall_ms: exit.wall_millis,
        output_bytes: exit.output_bytes,
        cost_cents: exit.cost_cents,
        detail: exit.detail.clone(),
    });
    RunView {
        id: run.id.to_string(),
        project: run.project.to_string(),
        agent: run.agent.to_string(),
        repository: run.repository.to_string(),
        trigger: run.trigger.as_str().to_owned(),
        subject: subject(run),
        issue: run.issue().map(u64::from),
        state: run.state.to_string(),
        ended: run.state.is_terminal(),
        hold: run.hold.map(|hold| hold.to_string()),
        reason: run.reason.map(|reason| reason.to_string()),
        detail: run.reason.map(|reason| reason.detail().to_owned()),
        context: run.status.as_ref().map(|status| status.context.to_string()),
        sha: run.status.as_ref().map(|status| status.sha.to_string()),
        queued_at: time(run.queued_at),
        started_at: run.started_at.map(time),
        ended_at: run.ended_at.map(time),
        pid: run
            .process
            .as_ref()
            // A process in a VM has none here.
            .filter(|process| run.state.is_active() && process.pid != 0)
            .map(|process| process.pid),
        isolation: run
            .process
            .as_ref()
            .and_then(|process| process.isolation.clone()),
        worktree: run
            .worktree
            .as_ref()
            .filter(|worktree| worktree.present)
            .map(|worktree| worktree.path.clone()),
        branch: run
            .worktree
            .as_ref()
            .map(|worktree| worktree.branch.to_string()),
        exit,
    }
}

fn subject(run: &Run) -> String {
    match &run.subject {
        Subject::Comment { issue, .. } if issue.is_cli() => "command line".to_owned(),
        Subject::Comment { issue, .. } => format!("issue {issue}"),
        Subject::PullRequest { number, sha } => format!("pull request {number} at {}", sha.short()),
        Subject::Schedule { due } => format!("schedule {}", time(*due)),
    }
}

/// A page of the journal, oldest first.
///
/// # Errors
/// The store's.
pub fn journal(
    rows: &mut impl ReadRows,
    after: u64,
    limit: usize,
) -> Result<JournalPage, StoreError> {
    let limit = limit.clamp(1, 1000);
    let found = rows.range(&JOURNAL, after.saturating_add(1).., limit)?;
    let next = (found.len() == limit)
        .then(|| found.last().map(|(seq, _)| *seq))
        .flatten();
    let entry = |(seq, row): (u64, super::rows::JournalRow)| JournalEntry {
        seq,
        at: time(row.at),
        event: row.event,
        run: row.run,
        agent: row.agent,
        project: row.project,
        detail: row.detail,
    };
    let last = rows.last(&JOURNAL)?.map(|(seq, _)| seq);
    Ok(JournalPage {
        last,
        entries: found.into_iter().map(entry).collect(),
        next,
    })
}
