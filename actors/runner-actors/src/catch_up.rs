//! Catch-up: compares the heads of branches and open pull requests with what was run, and runs what
//! no webhook told of.
//!
//! Webhooks get lost: the runner was down, the forge was, or its deliveries gave up. After a start,
//! at every slow tick, and soon again while a forge cannot be asked, the heads are listed; one that
//! is elsewhere than the runner knows is run once. What was there when a repository was first
//! looked at is not run, and a webhook that comes meanwhile or later counts as the same.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use actix::{Actor, Context};
use forge_core::RepoName;
use http_clients::forge::ForgePull;
use runner_core::event::EventKind;
use store::{Store, StoreError};
use supervision::start_paced_rounds;

use crate::event::StoredEvent;
use crate::heads::{self, Head, HeadSource, ReportedHead};
use crate::known_repository::KnownRepository;
use crate::own_forge::OwnForge;
use crate::records::RunRecord;
use crate::repositories::Repositories;
use crate::rows::{self, NewRunRows};
use crate::run_queue::RunQueue;
use crate::settings::RunnerSettings;

/// The delivery of what no webhook told of.
pub(crate) const CATCH_UP: &str = "catch-up";
/// Longest wait for a repository's answer.
const GIT_TIMEOUT: Duration = Duration::from_secs(60);
/// A webhook may be on its way: so long it is waited for.
const WEBHOOK_GRACE: Duration = Duration::from_secs(10);
/// A forge that could not be asked is asked again after this.
const RETRY_INTERVAL: Duration = Duration::from_secs(20);
const BRANCHES: &str = "refs/heads/";
const PULLS: &str = "refs/pull/";

/// Looks for what was missed.
#[derive(Clone)]
pub(crate) struct CatchUp {
    pub(crate) settings: Arc<RunnerSettings>,
    pub(crate) store: Store,
    pub(crate) repositories: Repositories,
    pub(crate) queue: RunQueue,
}

impl Actor for CatchUp {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let catch_up = self.clone();
        let interval = self.settings.catch_up_every;
        // Said once for each outage.
        let mut silent: HashMap<String, String> = HashMap::new();
        start_paced_rounds(ctx, async move || {
            match Box::pin(catch_up.compare_all(&mut silent)).await {
                true => interval,
                false => interval.min(RETRY_INTERVAL),
            }
        });
    }
}

impl CatchUp {
    /// Compares every repository; says whether all could be asked.
    async fn compare_all(&self, silent: &mut HashMap<String, String>) -> bool {
        let known = match self.store.read(|rows| rows::all_known(rows)).await {
            Ok(known) => known,
            Err(error) => {
                tracing::warn!(event = "run.store_failed", %error, "the known repositories cannot be read");
                return false;
            }
        };
        let mut all_answered = true;
        for known in with_watched(&self.settings, known) {
            let name = known.repository.clone();
            self.tidy_mirror(&name).await;
            match self.compare(&Arc::new(known)).await {
                Ok(()) => {
                    if silent.remove(&name).is_some() {
                        tracing::info!(event = "run.catch_up_again", repository = %name, "a repository can be compared again");
                    }
                }
                Err(error) => {
                    all_answered = false;
                    if silent.insert(name.clone(), error.clone()).is_none() {
                        tracing::warn!(event = "run.catch_up_failed", repository = %name, error, "a repository cannot be compared with what was run; tried again");
                    }
                }
            }
        }
        all_answered
    }

    /// Tidies the mirror of a repository where that is worth it.
    async fn tidy_mirror(&self, repository: &str) {
        let Ok(repo) = repository.parse::<RepoName>() else {
            return;
        };
        let repositories = self.repositories.clone();
        let tidied = tokio::task::spawn_blocking(move || {
            repositories.mirror(&repo)?.housekeep(SystemTime::now())
        });
        match tidied.await {
            Ok(Ok(true)) => {
                tracing::info!(
                    event = "run.mirror_tidied",
                    repository,
                    "a mirror was packed anew"
                );
            }
            Ok(Err(error)) => {
                tracing::warn!(event = "run.mirror_not_tidied", repository, %error, "a mirror could not be tidied; it is tried again after a day");
            }
            // Nothing was to be done, or the program ends.
            Ok(Ok(false)) | Err(_) => {}
        }
    }

    async fn compare(&self, known: &Arc<KnownRepository>) -> Result<(), String> {
        let repo: RepoName = known
            .repository
            .parse()
            .map_err(|_| "no repository's name")?;
        let stored = |error: StoreError| error.to_string();
        // Before the forge is asked: what a webhook changes meanwhile is newer than the answer.
        let name = known.repository.clone();
        let before = self.store.read(move |rows| {
            Ok::<_, StoreError>((
                heads::all(rows, &name, BRANCHES)?,
                heads::all(rows, &name, PULLS)?,
            ))
        });
        let (branches_before, pulls_before) = before.await.map_err(stored)?;
        let branches = self.branches(known, repo.clone()).await?;
        self.run_missed(known, (BRANCHES, true), branches, branches_before)
            .await
            .map_err(stored)?;
        let Some(forge) = self.repositories.forge_client() else {
            return Ok(());
        };
        let pulls = forge
            .open_pulls(&repo)
            .await
            .map_err(|error| error.to_string())?;
        let kind = (PULLS, !pulls.more);
        let pulls = pulls.items.iter().map(pull_now);
        self.run_missed(known, kind, pulls.collect(), pulls_before)
            .await
            .map_err(stored)
    }

    async fn branches(
        &self,
        known: &Arc<KnownRepository>,
        repo: RepoName,
    ) -> Result<Vec<ForgeHead>, String> {
        let (repositories, known) = (self.repositories.clone(), Arc::clone(known));
        let listed = tokio::task::spawn_blocking(move || {
            let remote = repositories.remote(&known.clone_url, &known.repository);
            let remote = remote.map_err(|error| error.to_string())?;
            let mirror = repositories.mirror(&repo);
            let mirror = mirror.map_err(|error| error.to_string())?;
            let heads = mirror.remote_heads(&remote, GIT_TIMEOUT);
            heads.map_err(|error| error.to_string())
        });
        let heads = listed.await.map_err(|error| error.to_string())??;
        let now = heads.branches.into_iter().map(|(branch, sha)| ForgeHead {
            reference: format!("{BRANCHES}{branch}"),
            sha: sha.to_string(),
            pull: None,
        });
        Ok(now.collect())
    }

    /// Runs what is elsewhere than it was known to be. References that are not listed any more are
    /// gone, where all of them were listed.
    async fn run_missed(
        &self,
        known: &Arc<KnownRepository>,
        (kind, all_listed): (&'static str, bool),
        now: Vec<ForgeHead>,
        before: HashMap<String, Head>,
    ) -> Result<(), StoreError> {
        let elsewhere = |now: &&ForgeHead| {
            before
                .get(&now.reference)
                .is_none_or(|head| head.sha != now.sha)
        };
        if now.iter().any(|one| elsewhere(&one)) {
            tokio::time::sleep(WEBHOOK_GRACE.min(self.settings.catch_up_every / 4)).await;
        }
        let (known, room) = (
            Arc::clone(known),
            self.settings
                .max_waiting
                .saturating_sub(self.queue.waiting()),
        );
        let runs = self.store.write(move |rows| {
            let repository = &known.repository;
            let was_listed = heads::was_listed(rows, repository, kind)?;
            let mut runs = Vec::new();
            for one in &now {
                let stored = heads::get(rows, repository, &one.reference)?;
                let same = stored.as_ref().is_some_and(|head| head.sha == one.sha);
                // A webhook came while the forge was asked: it knows better.
                if same || stored.as_ref() != before.get(&one.reference) {
                    continue;
                }
                let last = stored
                    .map(|head| head.sha)
                    .or_else(|| known_head(&known, one));
                if last.is_none() && !was_listed || last.as_ref() == Some(&one.sha) {
                    heads::record_first(rows, repository, &one.reference, &one.sha)?;
                    continue;
                }
                if runs.len() >= room {
                    break;
                }
                let event = event_of(&known, one, last.as_deref());
                let record = RunRecord::received(&event, CATCH_UP.to_owned());
                NewRunRows::new(&record, &event).put(rows)?;
                if let Some(reported) = ReportedHead::from_event(&event) {
                    heads::record_head(rows, &reported, &record.id, HeadSource::CatchUp)?;
                }
                runs.push((record.id, one.reference.clone(), one.sha.clone()));
            }
            for removed in before.keys() {
                if all_listed && !now.iter().any(|one| one.reference == *removed) {
                    heads::forget(rows, repository, removed)?;
                }
            }
            if !was_listed {
                heads::record_listed(rows, repository, kind)?;
            }
            Ok::<_, StoreError>((repository.clone(), runs))
        });
        let (repository, runs) = runs.await?;
        for (run, reference, sha) in runs {
            tracing::info!(event = "run.caught_up", %run, repository, reference, sha, "no webhook told of this commit; it is run now");
            self.queue.push(run);
        }
        Ok(())
    }
}

/// Those that have pushed, and those the operator names.
fn with_watched(
    settings: &RunnerSettings,
    mut known: Vec<KnownRepository>,
) -> Vec<KnownRepository> {
    let Some(base) = OwnForge::from_settings(settings).web_base() else {
        return known;
    };
    for repository in &settings.watched {
        let is_known = known
            .iter()
            .any(|known| known.repository.eq_ignore_ascii_case(repository));
        if is_known {
            continue;
        }
        known.push(KnownRepository {
            repository: repository.clone(),
            clone_url: format!("{base}/{repository}.git"),
            html_url: Some(format!("{base}/{repository}")),
            ..KnownRepository::default()
        });
    }
    known
}

/// A reference as the forge has it.
struct ForgeHead {
    reference: String,
    sha: String,
    pull: Option<Box<ForgePull>>,
}

fn pull_now(pull: &ForgePull) -> ForgeHead {
    ForgeHead {
        reference: format!("{PULLS}{}/head", pull.number),
        sha: pull.head_sha.to_string(),
        pull: Some(Box::new(pull.clone())),
    }
}

/// What the last push of a branch told, from before heads were noted.
fn known_head(known: &KnownRepository, now: &ForgeHead) -> Option<String> {
    let branch = now.reference.strip_prefix(BRANCHES)?;
    known.head(Some(branch)).map(|(_, sha)| sha.to_owned())
}

fn event_of(known: &KnownRepository, now: &ForgeHead, last: Option<&str>) -> StoredEvent {
    match &now.pull {
        None => known
            .event_at_reference(EventKind::Push, &now.reference, &now.sha)
            .missed_push(last),
        Some(pull) => {
            let action = if last.is_some() {
                "synchronize"
            } else {
                "opened"
            };
            known
                .event_at_reference(EventKind::PullRequest, &now.reference, &now.sha)
                .missed_pull(pull, action)
        }
    }
}
