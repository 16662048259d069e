//! Calls about workflows, their runs and the runs' jobs: which are the runner's to answer, since
//! the forge knows none of its runs.
//!
//! Pages "REST API endpoints for workflows", "… for workflow runs", "… for workflow jobs".

use super::path::decoded;

/// A call that is about workflows or runs. Runs are named by `github.run_id`, workflows by their
/// file's name, its path or their number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowCall {
    /// The repository's workflows.
    Workflows,
    /// One.
    Workflow(String),
    /// Its runs.
    RunsOf(String),
    /// It is to be started.
    Dispatch(String),
    /// It is to be switched on or off.
    Switch,
    /// The repository's runs.
    Runs,
    /// One, or one of its attempts.
    Run(String, Option<u64>),
    /// Its jobs.
    Jobs(String, Option<u64>),
    /// What they printed.
    Logs(String, Option<u64>),
    /// It is to end.
    Cancel(String),
    /// It is to run again; `true`: only what failed of it.
    Rerun(String, bool),
    /// A job.
    Job(u64),
    /// What it printed.
    JobLogs(u64),
    /// It, and what needs it, is to run again.
    RerunJob(u64),
    /// The artifacts of all runs.
    Artifacts,
}

impl WorkflowCall {
    /// `None`: it is about something else.
    #[must_use]
    pub fn parse(method: &str, path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let ["repos", _, _, "actions", rest @ ..] = parts.as_slice() else {
            return None;
        };
        let run = |run: &str| run.to_owned();
        match method {
            "GET" | "HEAD" => match rest {
                ["workflows"] => Some(Self::Workflows),
                ["workflows", named] => Some(Self::Workflow(decoded(named))),
                ["workflows", named, "runs"] => Some(Self::RunsOf(decoded(named))),
                ["runs"] => Some(Self::Runs),
                ["runs", id] => Some(Self::Run(run(id), None)),
                ["runs", id, "jobs"] => Some(Self::Jobs(run(id), None)),
                ["runs", id, "logs"] => Some(Self::Logs(run(id), None)),
                ["runs", id, "attempts", attempt, rest @ ..] => {
                    let attempt = Some(attempt.parse().ok()?);
                    match rest {
                        [] => Some(Self::Run(run(id), attempt)),
                        ["jobs"] => Some(Self::Jobs(run(id), attempt)),
                        ["logs"] => Some(Self::Logs(run(id), attempt)),
                        _ => None,
                    }
                }
                ["jobs", id] => Some(Self::Job(id.parse().ok()?)),
                ["jobs", id, "logs"] => Some(Self::JobLogs(id.parse().ok()?)),
                ["artifacts"] => Some(Self::Artifacts),
                _ => None,
            },
            "POST" => match rest {
                ["workflows", named, "dispatches"] => Some(Self::Dispatch(decoded(named))),
                ["runs", id, "cancel" | "force-cancel"] => Some(Self::Cancel(run(id))),
                ["runs", id, "rerun"] => Some(Self::Rerun(run(id), false)),
                ["runs", id, "rerun-failed-jobs"] => Some(Self::Rerun(run(id), true)),
                ["jobs", id, "rerun"] => Some(Self::RerunJob(id.parse().ok()?)),
                _ => None,
            },
            "PUT" => match rest {
                ["workflows", _, "enable" | "disable"] => Some(Self::Switch),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it makes a run: those are counted.
    #[must_use]
    pub fn starts(&self) -> bool {
        matches!(
            self,
            Self::Dispatch(_) | Self::Rerun(..) | Self::RerunJob(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::decide;
    use crate::workflow::{PermissionLevel, Permissions};

    #[test]
    fn i17_calls_about_runs_are_told_from_others() {
        use WorkflowCall as Call;
        let seven = || "7".to_owned();
        let ship = || "ship.yml".to_owned();
        for (call, found) in [
            ("GET workflows", Some(Call::Workflows)),
            ("GET workflows/ship.yml", Some(Call::Workflow(ship()))),
            ("GET workflows/7", Some(Call::Workflow(seven()))),
            (
                "GET workflows/.github%2Fworkflows%2Fship.yml",
                Some(Call::Workflow(".github/workflows/ship.yml".to_owned())),
            ),
            ("GET workflows/ship.yml/runs", Some(Call::RunsOf(ship()))),
            (
                "POST workflows/ship.yml/dispatches",
                Some(Call::Dispatch(ship())),
            ),
            ("PUT workflows/ship.yml/disable", Some(Call::Switch)),
            ("PUT workflows/ship.yml/enable", Some(Call::Switch)),
            ("GET workflows/ship.yml/timing", None),
            ("GET runs", Some(Call::Runs)),
            ("HEAD runs/7", Some(Call::Run(seven(), None))),
            ("GET runs/7/attempts/2", Some(Call::Run(seven(), Some(2)))),
            ("GET runs/7/jobs", Some(Call::Jobs(seven(), None))),
            (
                "GET runs/7/attempts/2/jobs",
                Some(Call::Jobs(seven(), Some(2))),
            ),
            ("GET runs/7/logs", Some(Call::Logs(seven(), None))),
            (
                "GET runs/7/attempts/1/logs",
                Some(Call::Logs(seven(), Some(1))),
            ),
            ("GET runs/7/attempts/x", None),
            ("GET runs/7/artifacts", None),
            ("DELETE runs/7", None),
            ("DELETE runs/7/logs", None),
            ("POST runs/7/cancel", Some(Call::Cancel(seven()))),
            ("POST runs/7/force-cancel", Some(Call::Cancel(seven()))),
            ("POST runs/7/rerun", Some(Call::Rerun(seven(), false))),
            (
                "POST runs/7/rerun-failed-jobs",
                Some(Call::Rerun(seven(), true)),
            ),
            ("POST runs/7/approve", None),
            ("GET jobs/9", Some(Call::Job(9))),
            ("GET jobs/9/logs", Some(Call::JobLogs(9))),
            ("POST jobs/9/rerun", Some(Call::RerunJob(9))),
            ("GET jobs/-9", None),
            ("GET jobs/99999999999999999999", None),
            ("GET artifacts", Some(Call::Artifacts)),
            ("POST artifacts", None),
            ("GET caches", None),
        ] {
            let (method, path) = call.split_once(' ').unwrap();
            let path = format!("/repos/a/b/actions/{path}");
            assert_eq!(Call::parse(method, &path), found, "{call}");
        }
        let other = "/repos/a/b/contents/actions/runs";
        assert_eq!(Call::parse("GET", other), None);
    }

    #[test]
    fn i17_runs_are_read_and_started_by_the_permission_actions() {
        let with = |level| Permissions {
            scopes: vec![("actions".to_owned(), level)],
            ..Permissions::default()
        };
        let reads = [
            "workflows",
            "workflows/ship.yml",
            "workflows/ship.yml/runs",
            "runs",
            "runs/7",
            "runs/7/jobs",
            "runs/7/attempts/1/logs",
            "jobs/9/logs",
            "artifacts",
        ];
        let writes = [
            "POST workflows/ship.yml/dispatches",
            "PUT workflows/ship.yml/disable",
            "POST runs/7/cancel",
            "POST runs/7/force-cancel",
            "POST runs/7/rerun",
            "POST runs/7/rerun-failed-jobs",
            "POST jobs/9/rerun",
        ];
        let may = |call: &str, permissions: &Permissions| {
            let (method, path) = call.split_once(' ').unwrap_or(("GET", call));
            let path = format!("/repos/acme/rocket/actions/{path}");
            decide(method, &path, "acme/rocket", permissions).is_ok()
        };
        let (none, read, write) = (
            with(PermissionLevel::None),
            with(PermissionLevel::Read),
            with(PermissionLevel::Write),
        );
        for call in reads {
            assert!(!may(call, &none), "{call}");
            assert!(may(call, &read), "{call}");
        }
        for call in writes {
            assert!(!may(call, &read), "{call}");
            assert!(may(call, &write), "{call}");
        }
        // Nobody approves by a job's token, and no path leads out of the repository.
        for call in [
            "POST runs/7/approve",
            "POST runs/7/pending_deployments",
            "POST runs/7/deployment_protection_rule",
            "POST workflows/../../../secret/dispatches",
            "POST workflows/..%2fship.yml/dispatches",
            "POST workflows/%2e%2e/dispatches",
            "POST workflows//dispatches",
        ] {
            assert!(!may(call, &write), "{call}");
        }
        let other = "/repos/acme/secret/actions/runs";
        assert!(decide("GET", other, "acme/rocket", &write).is_err());
    }
}
