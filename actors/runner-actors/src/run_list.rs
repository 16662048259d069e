//! Which runs a list shows: filters, a page at a time from the newest to the oldest.

use runner_core::state::RunState;
use serde::{Deserialize, Serialize};

use crate::records::RunRecord;

/// Which runs. What is not given filters nothing; upper and lower case are alike but in branches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// `owner/repo`.
    pub repository: Option<String>,
    /// A branch or tag; a pull request's is `pull/7`.
    pub branch: Option<String>,
    /// Any of these.
    pub states: Vec<RunState>,
    /// `push`, `pull_request`, `workflow_dispatch`, `schedule`.
    pub event: Option<String>,
    /// Who caused it.
    pub actor: Option<String>,
    /// The workflow's file, or its last part.
    pub workflow: Option<String>,
    /// In the run's name, workflow, repository, branch, actor or reason; or how its commit or id
    /// begins.
    pub text: Option<String>,
    /// The events that started nothing, in place of the runs.
    pub ignored: bool,
}

/// A page of a list.
#[derive(Debug, Clone, Default)]
pub struct RunListPage {
    /// The newest first.
    pub runs: Vec<RunRecord>,
    /// Where the next page begins, if there may be one. A page may be short and not the last: so
    /// many runs were looked at.
    pub next: Option<String>,
}

/// What of a run is looked at to filter it: its jobs are passed over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunHead {
    pub(crate) id: String,
    state: RunState,
    #[serde(default)]
    reason: Option<String>,
    repository: String,
    event: String,
    reference: String,
    sha: String,
    actor: String,
    #[serde(default)]
    workflow_file: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    started_at: Option<u64>,
    #[serde(default)]
    jobs: Vec<JobHead>,
}

/// What of a job is looked at.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct JobHead {
    #[serde(default)]
    reason: Option<String>,
}

/// A reference as people call it: `main`, `v1.0`, `pull/7`.
#[must_use]
pub fn short_reference(reference: &str) -> &str {
    let prefixes = ["refs/heads/", "refs/tags/"];
    let named = prefixes
        .iter()
        .find_map(|prefix| reference.strip_prefix(prefix));
    named.unwrap_or_else(|| {
        let pull = reference.strip_prefix("refs/").unwrap_or(reference);
        let pull = pull
            .strip_suffix("/head")
            .or_else(|| pull.strip_suffix("/merge"));
        pull.filter(|pull| pull.starts_with("pull/"))
            .unwrap_or(reference)
    })
}

impl RunFilter {
    /// Whether a run is shown.
    pub(crate) fn shows(&self, run: &RunHead) -> bool {
        let same = |wanted: &Option<String>, is: &str| {
            wanted
                .as_ref()
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(is))
        };
        let branch = short_reference(&run.reference);
        (run.state == RunState::Ignored) == self.ignored
            && (self.states.is_empty() || self.states.contains(&run.display_state()))
            && same(&self.repository, &run.repository)
            && same(&self.event, &run.event)
            && same(&self.actor, &run.actor)
            && self
                .branch
                .as_ref()
                .is_none_or(|wanted| wanted == branch || *wanted == run.reference)
            && self.workflow.as_ref().is_none_or(|wanted| {
                let file = run.workflow_file.as_deref().unwrap_or_default();
                let last = file.rsplit('/').next().unwrap_or_default();
                wanted.eq_ignore_ascii_case(file) || wanted.eq_ignore_ascii_case(last)
            })
            && self
                .text
                .as_ref()
                .is_none_or(|text| run.matches(text, branch))
    }
}

impl RunHead {
    /// Whether it is of this repository.
    pub(crate) fn is_of(&self, repository: &str) -> bool {
        self.repository.eq_ignore_ascii_case(repository)
    }

    /// As [`RunRecord::for_display`] has it.
    fn display_state(&self) -> RunState {
        let may_wait = matches!(self.state, RunState::Planned | RunState::Allocating);
        let waits = may_wait && self.started_at.is_none();
        match waits && self.jobs.iter().any(|job| job.reason.is_some()) {
            true => RunState::Waiting,
            false => self.state,
        }
    }

    fn matches(&self, text: &str, branch: &str) -> bool {
        let text = text.trim().to_lowercase();
        let fields = [
            self.name.as_deref(),
            self.workflow_file.as_deref(),
            Some(self.repository.as_str()),
            Some(branch),
            Some(self.actor.as_str()),
            self.reason.as_deref(),
        ];
        let mut fields = fields.iter().flatten();
        fields.any(|field| field.to_lowercase().contains(&text))
            || (text.len() >= 4 && (self.sha.starts_with(&text) || self.id.starts_with(&text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> RunHead {
        RunHead {
            id: "0192-aa".to_owned(),
            state: RunState::Failed,
            reason: Some("build: exit code 1".to_owned()),
            repository: "Acme/Rocket".to_owned(),
            event: "push".to_owned(),
            reference: "refs/heads/Feature/x".to_owned(),
            sha: "abcdef0123".to_owned(),
            actor: "Ada".to_owned(),
            workflow_file: Some(".github/workflows/ci.yml".to_owned()),
            name: Some("CI".to_owned()),
            started_at: None,
            jobs: Vec::new(),
        }
    }

    #[test]
    fn i17_a_run_that_waits_for_its_turn_is_listed_as_waiting() {
        let waits = JobHead {
            reason: Some("waits for its turn".to_owned()),
        };
        let of = |state, started_at, jobs: &[JobHead]| RunHead {
            state,
            started_at,
            jobs: jobs.to_vec(),
            ..head()
        };
        let waiting = RunFilter {
            states: vec![RunState::Waiting],
            ..RunFilter::default()
        };
        for (run, shown) in [
            (
                of(RunState::Allocating, None, std::slice::from_ref(&waits)),
                true,
            ),
            (
                of(RunState::Planned, None, std::slice::from_ref(&waits)),
                true,
            ),
            (of(RunState::Planned, None, &[]), false),
            (
                of(RunState::Allocating, Some(7), std::slice::from_ref(&waits)),
                false,
            ),
            (of(RunState::Running, None, &[waits]), false),
        ] {
            assert_eq!(waiting.shows(&run), shown, "{run:?}");
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn each_filter_keeps_what_it_names() {
        let given = |value: &str| Some(value.to_owned());
        let none = RunFilter::default;
        for (filter, shown) in [
            (none(), true),
            (
                RunFilter {
                    repository: given("acme/rocket"),
                    ..none()
                },
                true,
            ),
            (
                RunFilter {
                    repository: given("acme/rock"),
                    ..none()
                },
                false,
            ),
            (
                RunFilter {
                    branch: given("Feature/x"),
                    ..none()
                },
                true,
            ),
            (
                RunFilter {
                    branch: given("feature/x"),
                    ..none()
                },
                false,
            ),
            (
                RunFilter {
                    states: vec![RunState::Lost, RunState::Failed],
                    ..none()
                },
                true,
            ),
            (
                RunFilter {
                    states: vec![RunState::Running],
                    ..none()
                },
                false,
            ),
            (
                RunFilter {
                    event: given("schedule"),
                    ..none()
                },
                false,
            ),
            (
                RunFilter {
                    actor: given("ada"),
                    ..none()
                },
                true,
            ),
            (
                RunFilter {
                    workflow: given("ci.yml"),
                    ..none()
                },
                true,
            ),
            (
                RunFilter {
                    workflow: given(".github/workflows/ci.yml"),
                    ..none()
                },
                true,
            ),
            (
                RunFilter {
                    workflow: given("i.yml"),
                    ..none()
                },
                false,
            ),
            (
                RunFilter {
                    text: given(" EXIT CODE"),
                    ..none()
                },
                true,
            ),
            (
                RunFilter {
                    text: given("abcdef"),
                    ..none()
                },
                true,
            ),
            (
                RunFilter {
                    text: given("def0"),
                    ..none()
                },
                false,
            ),
            (
                RunFilter {
                    ignored: true,
                    ..none()
                },
                false,
            ),
        ] {
            assert_eq!(filter.shows(&head()), shown, "{filter:?}");
        }
    }

    #[test]
    fn references_are_called_as_people_call_them() {
        for (reference, called) in [
            ("refs/heads/a/b", "a/b"),
            ("refs/tags/v1", "v1"),
            ("refs/pull/7/head", "pull/7"),
            ("refs/pull/7/merge", "pull/7"),
            ("refs/heads/pull/7/head", "pull/7/head"),
            ("main", "main"),
        ] {
            assert_eq!(short_reference(reference), called);
        }
    }
}
