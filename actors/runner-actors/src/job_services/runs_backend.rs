//! What starts, repeats and ends runs for jobs, and where their logs are.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use url::Url;

use super::forge::{GatewayRefusal, refusal};
use crate::log::Logs;

/// Runs that the jobs of a repository start in an hour: as many calls as GitHub lets its token
/// make.
const MAX_STARTS: u32 = 1_000;
const HOUR_MS: u64 = 3_600_000;
/// How long the workflows of a repository are taken for those that there are.
const LISTED_FOR_MS: u64 = 15_000;
/// Repositories whose workflows are remembered.
const MAX_LISTED: usize = 256;

/// What is to come, of whoever handles runs.
pub(crate) type BackendAnswer<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, GatewayRefusal>> + Send + 'a>>;

/// A workflow that a job starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobDispatch {
    /// `owner/repo`
    pub(crate) repository: String,
    /// The branch or tag.
    pub(crate) reference: String,
    /// The workflow's file.
    pub(crate) file: String,
    pub(crate) inputs: Vec<(String, String)>,
}

/// A run that a job runs again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobRepeat {
    /// Any of its attempts.
    pub(crate) run: String,
    pub(crate) failed_only: bool,
    /// Only this job, by its name, and what needs it.
    pub(crate) job: Option<String>,
}

/// A workflow of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkflowFile {
    /// Its path.
    pub(crate) file: String,
    /// What it calls itself.
    pub(crate) name: String,
    /// Its page at the forge.
    pub(crate) page: Option<String>,
}

/// Who handles runs.
pub(crate) trait RunControl: Send + Sync {
    /// Starts a workflow; gives the run's id.
    fn dispatch(&self, asked: JobDispatch) -> BackendAnswer<'_, String>;
    /// Runs again; gives the id of the new attempt.
    fn repeat(&self, asked: JobRepeat) -> BackendAnswer<'_, String>;
    /// Ends a run, and says why in its record; whether it was under way.
    fn cancel(&self, run: String, reason: String) -> BackendAnswer<'_, bool>;
    /// The workflows of the newest commit of the default branch.
    fn workflows(&self, repository: String) -> BackendAnswer<'_, Vec<WorkflowFile>>;
}

/// Workflows, and when they were asked for.
type WorkflowList = (u64, Arc<Vec<WorkflowFile>>);

/// Runs as jobs reach them.
pub(crate) struct RunsBackend {
    pub(super) control: Box<dyn RunControl>,
    pub(super) logs: Logs,
    /// Where people read runs.
    public_url: Option<Url>,
    /// When the hour of a repository began, and runs since then.
    starts: Mutex<HashMap<String, (u64, u32)>>,
    listed: Mutex<HashMap<String, WorkflowList>>,
}

impl RunsBackend {
    pub(crate) fn new(control: Box<dyn RunControl>, logs: Logs, public_url: Option<Url>) -> Self {
        Self {
            control,
            logs,
            public_url,
            starts: Mutex::default(),
            listed: Mutex::default(),
        }
    }

    /// A run's page.
    pub(super) fn page(&self, run: &str) -> Option<String> {
        let page = self.public_url.as_ref()?.join(&format!("runs/{run}"));
        page.ok().map(String::from)
    }

    /// Counts a run that a job of the repository starts.
    pub(super) fn count(&self, repository: &str, now: u64) -> Result<(), GatewayRefusal> {
        let mut starts = self.starts.lock();
        starts.retain(|_, (began, _)| now.saturating_sub(*began) < HOUR_MS);
        let (_, count) = starts.entry(repository.to_lowercase()).or_insert((now, 0));
        if *count >= MAX_STARTS {
            let message = format!(
                "API rate limit exceeded: jobs of a repository start {MAX_STARTS} runs in an hour"
            );
            return Err(refusal(429, message));
        }
        *count += 1;
        Ok(())
    }

    /// The workflows of a repository, which are remembered for a while.
    pub(super) async fn workflows(
        &self,
        repository: &str,
        now: u64,
    ) -> Result<Arc<Vec<WorkflowFile>>, GatewayRefusal> {
        let key = repository.to_lowercase();
        let known = self.listed.lock().get(&key).cloned();
        if let Some((at, files)) = known
            && now.saturating_sub(at) < LISTED_FOR_MS
        {
            return Ok(files);
        }
        let files = Arc::new(self.control.workflows(repository.to_owned()).await?);
        let mut listed = self.listed.lock();
        if listed.len() >= MAX_LISTED {
            listed.clear();
        }
        listed.insert(key, (now, Arc::clone(&files)));
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody is asked.
    struct Nobody;

    impl RunControl for Nobody {
        fn dispatch(&self, _: JobDispatch) -> BackendAnswer<'_, String> {
            Box::pin(std::future::ready(Err(refusal(404, ""))))
        }

        fn repeat(&self, _: JobRepeat) -> BackendAnswer<'_, String> {
            Box::pin(std::future::ready(Err(refusal(404, ""))))
        }

        fn cancel(&self, _: String, _: String) -> BackendAnswer<'_, bool> {
            Box::pin(std::future::ready(Ok(false)))
        }

        fn workflows(&self, _: String) -> BackendAnswer<'_, Vec<WorkflowFile>> {
            Box::pin(std::future::ready(Ok(Vec::new())))
        }
    }

    #[test]
    fn i17_jobs_of_a_repository_start_so_many_runs_in_an_hour() {
        let folder = tempfile::tempdir().unwrap();
        let logs = Logs::open(folder.path()).unwrap();
        let runs = RunsBackend::new(Box::new(Nobody), logs, None);
        for _ in 0..MAX_STARTS {
            assert_eq!(runs.count("acme/rocket", 5 * HOUR_MS), Ok(()));
        }
        let refused = runs.count("Acme/Rocket", 6 * HOUR_MS - 1).unwrap_err();
        assert_eq!(refused.status, 429);
        assert_eq!(runs.count("acme/other", 6 * HOUR_MS - 1), Ok(()));
        assert_eq!(runs.count("acme/rocket", 6 * HOUR_MS), Ok(()));
    }
}
