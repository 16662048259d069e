//! What is known of repositories that have pushed: enough to start runs that no webhook starts.

use forge_core::Forge;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use runner_core::event::EventKind;
use runner_core::schedule::Schedule;
use serde::{Deserialize, Serialize};

use crate::event::StoredEvent;

/// Branches whose heads are remembered.
const MAX_HEADS: usize = 64;
/// Schedules of one repository that are looked at.
pub(crate) const MAX_SCHEDULES: usize = 100;
/// A clock that was set back by more than this is followed.
const CLOCK_TOLERANCE_MS: u64 = 3_600_000;

/// A repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownRepository {
    /// `owner/repo`, as last sent.
    pub(crate) repository: String,
    pub(crate) clone_url: String,
    pub(crate) html_url: Option<String>,
    pub(crate) default_branch: Option<String>,
    /// Branches and their heads, the one that was pushed last at the end.
    pub(crate) heads: Vec<(String, String)>,
    /// Branches and the runs that told of their heads; later ones have greater ids.
    #[serde(default)]
    pub(crate) reported_by: Vec<(String, String)>,
    /// Of the default branch.
    pub(crate) schedules: Vec<WorkflowSchedule>,
    /// Names of workflows whose runs start others (`workflow_run`), of the default branch.
    #[serde(default)]
    pub(crate) followed: Vec<String>,
    /// What its workflows are started by beside pushes and new commits of pull requests: `issues`,
    /// `pull_request.closed`.
    #[serde(default)]
    pub(crate) started_by: Vec<String>,
    /// Up to here the schedules were looked at: milliseconds since the Unix epoch.
    pub(crate) looked_at: u64,
    /// The kind of forge that sent it, as far as its headers said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forge: Option<Forge>,
}

/// A schedule of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkflowSchedule {
    pub(crate) file: String,
    pub(crate) cron: String,
    pub(crate) timezone: Option<String>,
}

/// A run that the clock starts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DueRun {
    pub(crate) file: String,
    pub(crate) event: StoredEvent,
}

impl KnownRepository {
    /// Learns from a push that started `run`; `schedules` are those of the pushed commit. Pushes
    /// are fetched side by side, so that an older one can come after a newer one: nothing is learnt
    /// from it.
    pub(crate) fn record_push(
        &mut self,
        event: &StoredEvent,
        run: &str,
        schedules: Vec<WorkflowSchedule>,
        now: u64,
    ) {
        let Some(branch) = event.reference.strip_prefix("refs/heads/") else {
            return;
        };
        let newer = |(known, by): &(String, String)| known == branch && by.as_str() > run;
        if self.reported_by.iter().any(newer) {
            return;
        }
        self.reported_by.retain(|(known, _)| known != branch);
        self.reported_by.push((branch.to_owned(), run.to_owned()));
        self.repository.clone_from(&event.repository);
        self.clone_url.clone_from(&event.clone_url);
        self.html_url.clone_from(&event.html_url);
        self.default_branch.clone_from(&event.default_branch);
        self.forge = event.forge.or(self.forge);
        self.heads.retain(|(known, _)| known != branch);
        self.heads.push((branch.to_owned(), event.sha.clone()));
        let excess = self.heads.len().saturating_sub(MAX_HEADS);
        let default = self.default_branch.clone().unwrap_or_default();
        let mut left = excess;
        self.heads.retain(|(known, _)| {
            let goes = left > 0 && *known != default;
            left -= usize::from(goes);
            !goes
        });
        let heads = &self.heads;
        self.reported_by
            .retain(|(known, _)| heads.iter().any(|(head, _)| head == known));
        if branch == default {
            if self.schedules.is_empty() {
                // Nothing is caught up on for the time before it was known.
                self.looked_at = now;
            }
            self.schedules = schedules;
            self.schedules.truncate(MAX_SCHEDULES);
        }
    }

    /// What else starts its workflows, as the default branch has it since this push.
    pub(crate) fn record_triggers(
        &mut self,
        event: &StoredEvent,
        followed: Vec<String>,
        started_by: Vec<String>,
    ) {
        if self.head(None).is_some_and(|(branch, sha)| {
            event.sha == sha && event.reference == format!("refs/heads/{branch}")
        }) {
            (self.followed, self.started_by) = (followed, started_by);
            self.followed.truncate(MAX_SCHEDULES);
            self.started_by.sort_unstable();
            self.started_by.dedup();
        }
    }

    /// The head of a branch, or of the default branch.
    pub(crate) fn head(&self, branch: Option<&str>) -> Option<(&str, &str)> {
        let branch = branch.or(self.default_branch.as_deref())?;
        let found = self.heads.iter().find(|(known, _)| known == branch);
        found.map(|(branch, sha)| (branch.as_str(), sha.as_str()))
    }

    /// An event of this kind at a branch's head.
    pub(crate) fn event_at_head(
        &self,
        kind: EventKind,
        branch: Option<&str>,
    ) -> Option<StoredEvent> {
        let (branch, sha) = self.head(branch)?;
        Some(self.event_at_branch(kind, branch, sha))
    }

    /// An event of this kind at a commit of a branch.
    pub(crate) fn event_at_branch(&self, kind: EventKind, branch: &str, sha: &str) -> StoredEvent {
        self.event_at_reference(kind, &format!("refs/heads/{branch}"), sha)
    }

    /// An event of this kind at a commit that a reference has.
    pub(crate) fn event_at_reference(
        &self,
        kind: EventKind,
        reference: &str,
        sha: &str,
    ) -> StoredEvent {
        let event =
            StoredEvent::without_webhook(kind, &self.repository, reference, sha, &self.clone_url);
        let event = event.with_page(self.html_url.clone(), self.default_branch.clone());
        event.sent_by(self.forge)
    }

    /// What the clock starts now; each schedule at most once, however long nobody looked.
    pub(crate) fn due(&mut self, now: u64) -> Vec<DueRun> {
        if self.looked_at > now.saturating_add(CLOCK_TOLERANCE_MS) {
            self.looked_at = now;
        }
        if self.looked_at >= now {
            return Vec::new();
        }
        let mut due = Vec::new();
        for schedule in &self.schedules {
            if schedule.is_due(self.looked_at, now)
                && let Some(event) = self.event_at_head(EventKind::Schedule, None)
            {
                due.push(DueRun {
                    file: schedule.file.clone(),
                    event: event.scheduled(&schedule.cron),
                });
            }
        }
        self.looked_at = now;
        due
    }
}

impl WorkflowSchedule {
    /// Whether a time of the schedule lies after `from` and not after `to` (milliseconds since the
    /// Unix epoch).
    fn is_due(&self, from: u64, to: u64) -> bool {
        let zone = self.timezone.as_deref().unwrap_or("UTC");
        let Ok(zone) = TimeZone::get(zone) else {
            return false;
        };
        let Ok(schedule) = Schedule::parse(&self.cron, self.timezone.clone()) else {
            return false;
        };
        let local = |at: u64| {
            let at = Timestamp::from_millisecond(i64::try_from(at).ok()?).ok()?;
            Some(at.to_zoned(zone.clone()))
        };
        let (Some(from), Some(to)) = (local(from), local(to)) else {
            return false;
        };
        schedule.next_after(&from).is_some_and(|next| next <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;
    /// 2026-11-21 16:00 UTC.
    const NOON: u64 = 1_795_276_800_000;

    fn push(branch: &str, sha: &str) -> StoredEvent {
        let reference = format!("refs/heads/{branch}");
        let url = "https://forge.example/a/b.git";
        StoredEvent::without_webhook(EventKind::Push, "a/b", &reference, sha, url)
            .with_page(None, Some("main".to_owned()))
    }

    fn hourly() -> Vec<WorkflowSchedule> {
        vec![WorkflowSchedule {
            file: "nightly.yml".to_owned(),
            cron: "30 * * * *".to_owned(),
            timezone: None,
        }]
    }

    #[test]
    fn a_schedule_starts_once_at_its_time_whatever_the_clock_does() {
        let mut known = KnownRepository::default();
        known.record_push(&push("main", "1"), "1", hourly(), NOON);
        assert_eq!(known.due(NOON + 29 * MINUTE), []);
        let due = known.due(NOON + 31 * MINUTE);
        assert_eq!(due.len(), 1);
        assert_eq!(
            (
                due[0].file.as_str(),
                due[0].event.sha.as_str(),
                due[0].event.name()
            ),
            ("nightly.yml", "1", "schedule")
        );
        assert_eq!(known.due(NOON + 32 * MINUTE), [], "once");
        assert_eq!(known.due(NOON + 20 * MINUTE), [], "a clock that went back");
        assert_eq!(known.due(NOON + 33 * MINUTE), [], "and forth");
        assert_eq!(
            known.due(NOON + 26 * 60 * MINUTE).len(),
            1,
            "a day of sleep is caught up on once"
        );
    }

    #[test]
    fn heads_are_bounded_and_only_the_default_branch_has_schedules() {
        let mut known = KnownRepository::default();
        known.record_push(&push("main", "1"), "1", hourly(), NOON);
        for number in 0..2 * MAX_HEADS {
            known.record_push(&push(&format!("b{number}"), "2"), "2", Vec::new(), NOON);
        }
        assert_eq!(
            (known.heads.len(), known.reported_by.len()),
            (MAX_HEADS, MAX_HEADS)
        );
        assert_eq!(known.head(None), Some(("main", "1")));
        assert_eq!(known.schedules.len(), 1);
        assert_eq!(known.head(Some("b127")), Some(("b127", "2")));
        assert_eq!(known.head(Some("b0")), None);
    }

    #[test]
    fn an_older_push_that_is_fetched_later_changes_nothing() {
        let mut known = KnownRepository::default();
        known.record_push(&push("main", "new"), "run-2", hourly(), NOON);
        known.record_push(&push("main", "old"), "run-1", Vec::new(), NOON);
        assert_eq!(known.head(None), Some(("main", "new")));
        assert_eq!(known.schedules.len(), 1);
        known.record_push(&push("main", "newest"), "run-3", Vec::new(), NOON);
        assert_eq!(known.head(None), Some(("main", "newest")));
        assert_eq!(known.schedules, []);
    }
}
