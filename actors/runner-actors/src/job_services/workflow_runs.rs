//! Workflows and runs as the forge's REST API has them, of the job's repository: they are the
//! runner's, so it answers itself. What it does not know is for the forge.
//!
//! ```text
//! gh run …, octokit ─▶ permitted (`actions`) ─┬─▶ GET: rows of the store, logs ─▶ run_views
//!                                             └─▶ POST: RunControl ─▶ the coordinator
//! ```

use std::collections::HashMap;

use forge_core::{CommitSha, ObjectFormats};
use git_engine::CommitFacts;
use runner_core::gateway::{CreatedFilter, WorkflowCall};
use runner_core::state::RunState;
use serde_json::{Value, json};
use store::{ReadTxn, StoreError};

use super::artifact_api::artifacts_of_runs;
use super::forge::{ForgeApi, ForgeGrant, GatewayRefusal, refusal};
use super::gateway_request::{GatewayAnswer, GatewayRequest};
use super::listing::{ListQuery, empty, json_answer};
use super::run_logs::LoggedJob;
use super::run_views::{RunBeside, RunViews, is_meant, own_number};
use super::runs_backend::RunsBackend;
use super::{BASE, JobServices, JobSession};
use crate::clock::now_ms;
use crate::event::StoredEvent;
use crate::records::{JobRecord, RunRecord};
use crate::rows;
use crate::rows::attempts::{self, RunListQuery};
use crate::run_list::RunFilter;
use crate::run_shape::run_number;

/// Said where the store does not answer.
const UNREADABLE: &str = "the runs cannot be read now; try again";
const NO_SWITCH: &str =
    "Not Found: workflows are not switched on and off here; change their `on`, or remove the file";

/// `None`: it is for the forge.
pub(super) type RunsResponse = Result<Option<GatewayAnswer>, GatewayRefusal>;

/// A job that asks, and what is asked.
pub(super) struct ForgeRunsQuery<'a> {
    services: &'a JobServices,
    forge: &'a ForgeApi,
    grant: &'a ForgeGrant,
    pub(super) runs: &'a RunsBackend,
    pub(super) session: JobSession,
    pub(super) views: RunViews,
    query: ListQuery,
}

impl JobServices {
    /// The answer to a call that is about workflows and runs of this runner; `None`: it is for the
    /// forge. That the job may make it is known already.
    pub(super) async fn answer_of_runs(
        &self,
        forge: &ForgeApi,
        grant: &ForgeGrant,
        asked: &GatewayRequest,
        body: &Value,
    ) -> RunsResponse {
        let Some(call) = WorkflowCall::parse(&asked.method, &asked.path) else {
            return Ok(None);
        };
        let job = self.shared.jobs.lock().get(&grant.job).cloned();
        let (Some(runs), Some(job)) = (self.shared.runs.get(), job) else {
            return Ok(None);
        };
        let repository = grant.may.repository.clone();
        let api = forge.address(BASE).gateway;
        let asking = ForgeRunsQuery {
            services: self,
            forge,
            grant,
            runs,
            session: JobSession {
                services: self.clone(),
                key: grant.job,
                grant: job,
            },
            views: RunViews {
                api: format!("{api}/repos/{repository}"),
                repository,
            },
            query: ListQuery::parse(asked.query.as_deref()),
        };
        if call.starts() {
            runs.count(&asking.views.repository, now_ms())?;
        }
        asking.answer(call, body).await
    }
}

impl ForgeRunsQuery<'_> {
    async fn answer(self, call: WorkflowCall, body: &Value) -> RunsResponse {
        match call {
            WorkflowCall::Workflows => self.workflows().await,
            WorkflowCall::Workflow(named) => self.workflow(&named).await,
            WorkflowCall::RunsOf(named) => self.list(Some(&named)).await,
            WorkflowCall::Runs => self.list(None).await,
            WorkflowCall::Dispatch(named) => self.dispatch(&named, body).await,
            WorkflowCall::Switch => Err(refusal(404, NO_SWITCH)),
            WorkflowCall::Run(run, attempt) => self.run(&run, attempt).await,
            WorkflowCall::Jobs(run, attempt) => self.jobs(&run, attempt).await,
            WorkflowCall::Logs(run, attempt) => self.logs(&run, attempt).await,
            WorkflowCall::Cancel(run) => self.cancel(&run).await,
            WorkflowCall::Rerun(run, failed_only) => match self.newest(&run).await? {
                None => Ok(None),
                Some(run) => self.repeat(&run, failed_only, None).await,
            },
            WorkflowCall::Job(number) => self.job(number).await,
            WorkflowCall::JobLogs(number) => self.job_logs(number).await,
            WorkflowCall::RerunJob(number) => match self.with_job(number).await? {
                None => Ok(None),
                Some((run, job)) => self.repeat(&run, false, Some(job.name)).await,
            },
            WorkflowCall::Artifacts => self.artifacts().await,
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnMut(&mut ReadTxn<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, GatewayRefusal> {
        let read = self.forge.runs.store().read(read).await;
        read.map_err(|error| {
            tracing::warn!(event = "run.runs_unread", %error, "runs cannot be read for a job");
            refusal(503, UNREADABLE)
        })
    }

    /// The id of a run of the job's repository.
    async fn found(&self, named: &str) -> Result<Option<String>, GatewayRefusal> {
        let found = self.forge.runs.find(named, &self.views.repository).await;
        found.map_err(|_| refusal(503, UNREADABLE))
    }

    /// The newest attempt of a run.
    pub(super) async fn newest(&self, named: &str) -> Result<Option<RunRecord>, GatewayRefusal> {
        let Some(id) = self.found(named).await? else {
            return Ok(None);
        };
        let newest = self.read(move |rows| attempts::newest(rows, &id)).await?;
        // What started nothing is in no list.
        Ok(newest.filter(|run| run.state != RunState::Ignored))
    }

    /// That attempt of a run, or the newest one.
    async fn attempt(
        &self,
        named: &str,
        attempt: Option<u64>,
    ) -> Result<Option<RunRecord>, GatewayRefusal> {
        let newest = self.newest(named).await?;
        let (Some(run), Some(attempt)) = (&newest, attempt) else {
            return Ok(newest);
        };
        let id = run.id.clone();
        let all = self.read(move |rows| attempts::attempts(rows, &id)).await?;
        let found = all.into_iter().find(|run| run.attempt == attempt);
        found.ok_or_else(|| refusal(404, "Not Found")).map(Some)
    }

    async fn with_job(
        &self,
        number: u64,
    ) -> Result<Option<(RunRecord, JobRecord)>, GatewayRefusal> {
        let own = self.session.grant.run.clone();
        let repository = self.views.repository.clone();
        let found = self.read(move |rows| {
            let places = (Some(own.as_str()), repository.as_str());
            attempts::with_job(rows, places, number)
        });
        let found = found.await?;
        Ok(found.and_then(|(run, at)| {
            let job = run.jobs.get(at).cloned()?;
            Some((run, job))
        }))
    }

    async fn workflows(&self) -> RunsResponse {
        let all = self.runs.workflows(&self.views.repository, now_ms());
        let all = all.await?;
        let shown = self.query.page(&all).map(|one| self.views.workflow(one));
        let shown: Vec<Value> = shown.collect();
        let list = json!({"total_count": all.len(), "workflows": shown});
        Ok(Some(self.page("workflows", all.len(), &list)))
    }

    async fn workflow(&self, named: &str) -> RunsResponse {
        let found = self.workflow_file(named).await?;
        Ok(found.map(|found| json_answer(&self.views.workflow(&found))))
    }

    /// A workflow of the default branch, or one of which a run is known.
    pub(super) async fn workflow_file(
        &self,
        named: &str,
    ) -> Result<Option<super::WorkflowFile>, GatewayRefusal> {
        let repository = &self.views.repository;
        let all = self.runs.workflows(repository, now_ms()).await?;
        let found = all
            .iter()
            .find(|one| is_meant(repository, &one.file, named));
        if let Some(found) = found {
            return Ok(Some(found.clone()));
        }
        let (of, meant) = (repository.clone(), named.to_owned());
        let run = self.read(move |rows| {
            let filter = RunFilter {
                repository: Some(of.clone()),
                ..RunFilter::default()
            };
            let runs = rows::page(rows, &filter, None, 200)?.runs;
            let is = |run: &RunRecord| {
                let file = run.workflow_file.as_deref();
                file.is_some_and(|file| is_meant(&of, file, &meant))
            };
            Ok(runs.into_iter().find(is))
        });
        Ok(run.await?.and_then(|run| {
            let file = run.workflow_file?;
            Some(super::WorkflowFile {
                name: run.workflow.unwrap_or_else(|| file.clone()),
                file,
                page: None,
            })
        }))
    }

    async fn list(&self, workflow: Option<&str>) -> RunsResponse {
        let mut filter = RunFilter {
            repository: Some(self.views.repository.clone()),
            event: self.query.get("event").map(str::to_owned),
            actor: self.query.get("actor").map(str::to_owned),
            ..RunFilter::default()
        };
        let mut rest = "runs".to_owned();
        if let Some(named) = workflow {
            let Some(found) = self.workflow_file(named).await? else {
                return Ok(None);
            };
            let last = found.file.rsplit('/').next().unwrap_or_default();
            rest = format!("workflows/{last}/runs");
            filter.workflow = Some(found.file);
        }
        let given = |name| self.query.get(name).filter(|value| !value.is_empty());
        let created = given("created").map(|text| {
            let found = CreatedFilter::parse(text);
            found.ok_or_else(|| refusal(422, "`created` is no date, time or range of them"))
        });
        let asked = RunListQuery {
            filter,
            branch: given("branch").map(str::to_owned),
            head_sha: given("head_sha").map(str::to_owned),
            status: given("status").map(str::to_owned),
            created: created.transpose()?,
        };
        let bounds = self.query.bounds();
        let listed = self.read(move |rows| attempts::listed(rows, &asked, bounds));
        let listed = listed.await?;
        let shown: Vec<&RunRecord> = listed.runs.iter().map(|(run, _)| run).collect();
        let commits = self.commits(&shown).await;
        let shown = listed.runs.iter().map(|(run, event)| {
            let beside = self.with_event(run, event.as_ref(), &commits);
            self.views.run(run, &own_number(run), &beside)
        });
        let shown: Vec<Value> = shown.collect();
        let list = json!({"total_count": listed.total, "workflow_runs": shown});
        Ok(Some(self.page(&rest, listed.total, &list)))
    }

    /// A page of a list, with the way to the others.
    fn page(&self, rest: &str, total: usize, list: &Value) -> GatewayAnswer {
        let mut answer = json_answer(list);
        let link = self.query.link(&self.views.url(rest), total);
        answer.headers.extend(link);
        answer
    }

    fn with_event<'b>(
        &self,
        run: &RunRecord,
        event: Option<&'b StoredEvent>,
        commits: &'b HashMap<String, CommitFacts>,
    ) -> RunBeside<'b> {
        RunBeside {
            event,
            commits: Some(commits),
            page: self.runs.page(&run.id),
        }
    }

    /// What the mirror knows of the runs' commits; nothing where git is not served.
    async fn commits(&self, runs: &[&RunRecord]) -> HashMap<String, CommitFacts> {
        let formats = ObjectFormats::Sha1AndSha256;
        let ids = runs.iter().map(|run| CommitSha::parse(&run.sha, formats));
        let mut ids: Vec<CommitSha> = ids.filter_map(Result::ok).collect();
        ids.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        ids.dedup();
        let Ok((_, mirror, _)) = self.forge.git_places(&self.grant.may) else {
            return HashMap::new();
        };
        let facts = tokio::task::spawn_blocking(move || mirror.commits(&ids)).await;
        let facts = facts.ok().and_then(Result::ok).unwrap_or_default();
        let facts = facts.into_iter().map(|facts| (facts.id.clone(), facts));
        facts.collect()
    }

    async fn event(&self, run: &RunRecord) -> Result<Option<StoredEvent>, GatewayRefusal> {
        let id = run.id.clone();
        self.read(move |rows| rows::event(rows, &id)).await
    }

    async fn run(&self, named: &str, attempt: Option<u64>) -> RunsResponse {
        let Some(run) = self.attempt(named, attempt).await? else {
            return Ok(None);
        };
        let event = self.event(&run).await?;
        let commits = self.commits(&[&run]).await;
        let beside = self.with_event(&run, event.as_ref(), &commits);
        let shown = self.views.run(&run, &number_of(named), &beside);
        Ok(Some(json_answer(&shown)))
    }

    async fn jobs(&self, named: &str, attempt: Option<u64>) -> RunsResponse {
        let Some(run) = self.attempt(named, attempt).await? else {
            return Ok(None);
        };
        let event = self.event(&run).await?;
        let branch = event.as_ref().and_then(StoredEvent::head_branch);
        let rest = match attempt {
            Some(attempt) => format!("runs/{named}/attempts/{attempt}/jobs"),
            None => format!("runs/{named}/jobs"),
        };
        let all = attempt.is_none() && self.query.get("filter") == Some("all");
        let runs = if all {
            let id = run.id.clone();
            self.read(move |rows| attempts::attempts(rows, &id)).await?
        } else {
            vec![run]
        };
        let jobs = runs.iter().flat_map(|run| {
            // What was kept of an earlier attempt is told once.
            let jobs = run.jobs.iter();
            let jobs = jobs.filter(move |job| !all || job.kept_from.is_none());
            jobs.map(move |job| (run, job))
        });
        let jobs: Vec<(&RunRecord, &JobRecord)> = jobs.collect();
        let shown = self.query.page(&jobs).map(|(run, job)| {
            let page = self.runs.page(&run.id);
            let beside = (&number_of(named), branch, page.as_deref());
            self.views.job(run, job, beside)
        });
        let shown: Vec<Value> = shown.collect();
        let list = json!({"total_count": jobs.len(), "jobs": shown});
        Ok(Some(self.page(&rest, jobs.len(), &list)))
    }

    async fn job(&self, number: u64) -> RunsResponse {
        let Some((run, job)) = self.with_job(number).await? else {
            return Ok(None);
        };
        let event = self.event(&run).await?;
        let branch = event.as_ref().and_then(StoredEvent::head_branch);
        let page = self.runs.page(&run.id);
        let beside = (&run_number(&run.id), branch, page.as_deref());
        Ok(Some(json_answer(&self.views.job(&run, &job, beside))))
    }

    async fn job_logs(&self, number: u64) -> RunsResponse {
        let Some((run, job)) = self.with_job(number).await? else {
            return Ok(None);
        };
        let (logs, job) = (self.runs.logs.clone(), logged(&run, &job));
        let session = self.session.clone();
        self.redirect(move || session.job_log(&logs, &job)).await
    }

    async fn logs(&self, named: &str, attempt: Option<u64>) -> RunsResponse {
        let Some(run) = self.attempt(named, attempt).await? else {
            return Ok(None);
        };
        let jobs: Vec<LoggedJob> = run.jobs.iter().map(|job| logged(&run, job)).collect();
        let (logs, session) = (self.runs.logs.clone(), self.session.clone());
        self.redirect(move || session.run_logs(&logs, &jobs)).await
    }

    /// Leads to what is written for the job.
    async fn redirect(
        &self,
        write: impl FnOnce() -> Result<String, super::ServiceFault> + Send + 'static,
    ) -> RunsResponse {
        // What was printed until now is in the files then.
        self.runs.logs.flush().await;
        let written = tokio::task::spawn_blocking(write).await;
        let address = match written {
            Ok(Ok(address)) => address,
            Ok(Err(fault)) => return Err(refusal(503, fault.to_string())),
            Err(_) => return Err(refusal(503, UNREADABLE)),
        };
        Ok(Some(empty(302, vec![("location", address)])))
    }

    async fn artifacts(&self) -> RunsResponse {
        let filter = RunFilter {
            repository: Some(self.views.repository.clone()),
            ..RunFilter::default()
        };
        let runs = self.read(move |rows| rows::page(rows, &filter, None, 300));
        let runs = runs.await?.runs.into_iter();
        // A newer attempt has those of the ones before it; what has not begun has none.
        let runs = runs.filter(|run| run.repeated_by.is_none() && run.started_at.is_some());
        let runs: Vec<String> = runs.map(|run| run.id).collect();
        let store = self.services.shared.artifacts.clone();
        let base = self.views.url("").trim_end_matches('/').to_owned();
        let answer = artifacts_of_runs(store, self.grant, (&base, &self.query), runs).await?;
        Ok(Some(answer))
    }
}

/// Whose lines are a job's log.
fn logged(run: &RunRecord, job: &JobRecord) -> LoggedJob {
    let steps = job.steps.iter();
    LoggedJob {
        run: job.kept_from.clone().unwrap_or_else(|| run.id.clone()),
        name: job.name.clone(),
        steps: steps.map(|step| (step.number, step.name.clone())).collect(),
    }
}

/// The number that a run was asked for by.
fn number_of(named: &str) -> Value {
    named
        .parse::<u64>()
        .map_or_else(|_| run_number(named), |number| json!(number))
}
