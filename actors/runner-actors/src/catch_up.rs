//! Catch-up: compares the heads of branches and open pull requests with what was run, and runs what no webhook told of.
//!
//! Webhooks get lost: the runner was down, the forge was, or its deliveries gave up. After a start, at every slow tick, and soon again
//! while a forge cannot be asked, the heads are listed; one that is elsewhere than the runner knows is run once. What was there when a
//! repository was first looked at is not run, and a webhook that comes meanwhile or later counts as the same.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, WrapFuture};
use forge_core::{Forge, RepoName};
use outbound::forge::{ForgeClient, ForgePull};
use outbound::http::{HttpClient, HttpOptions};
use runner_core::event::EventKind;
use store::StoreError;

use crate::desk::received;
use crate::event::StoredEvent;
use crate::heads::{self, Head, How, ReportedHead};
use crate::known::Known;
use crate::rows::{self, NewRun};
use crate::service::Shared;
use crate::settings::RunnerSettings;
use crate::source::remote;

/// Longest wait for a repository's answer.
const ANSWER: Duration = Duration::from_secs(60);
/// A webhook may be on its way: so long it is waited for.
const GRACE: Duration = Duration::from_secs(10);
/// A forge that could not be asked is asked again this soon.
const SOON: Duration = Duration::from_secs(20);
const BRANCHES: &str = "refs/heads/";
const PULLS: &str = "refs/pull/";

/// Looks for what was missed.
pub(crate) struct CatchUp {
    shared: Arc<Shared>,
}

impl CatchUp {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl Actor for CatchUp {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        let looks = async move {
            let every = shared.settings.catch_up_every;
            // Said once for each outage.
            let mut silent: HashMap<String, String> = HashMap::new();
            loop {
                let all_answered = look(&shared, &mut silent).await;
                let pause = if all_answered { every } else { every.min(SOON) };
                tokio::time::sleep(pause).await;
            }
        };
        ctx.spawn(Box::pin(looks).into_actor(self));
    }
}

/// Looks at every repository; says whether all could be asked.
async fn look(shared: &Arc<Shared>, silent: &mut HashMap<String, String>) -> bool {
    let known = match shared.store.read(|rows| rows::all_known(rows)).await {
        Ok(known) => known,
        Err(error) => {
            tracing::warn!(event = "run.store_failed", %error, "the known repositories cannot be read");
            return false;
        }
    };
    let mut all_answered = true;
    for known in with_watched(&shared.settings, known) {
        let name = known.repository.clone();
        match look_at(shared, &Arc::new(known)).await {
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

/// Those that have pushed, and those the operator names.
fn with_watched(settings: &RunnerSettings, mut known: Vec<Known>) -> Vec<Known> {
    let Some(forge) = &settings.forge_url else {
        return known;
    };
    for repository in &settings.watched {
        let is_known = known
            .iter()
            .any(|known| known.repository.eq_ignore_ascii_case(repository));
        if is_known {
            continue;
        }
        let base = forge.as_str().trim_end_matches('/');
        known.push(Known {
            repository: repository.clone(),
            clone_url: format!("{base}/{repository}.git"),
            html_url: Some(format!("{base}/{repository}")),
            ..Known::default()
        });
    }
    known
}

async fn look_at(shared: &Arc<Shared>, known: &Arc<Known>) -> Result<(), String> {
    let repo: RepoName = known
        .repository
        .parse()
        .map_err(|_| "no repository's name")?;
    let stored = |error: StoreError| error.to_string();
    // Before the forge is asked: what a webhook changes meanwhile is newer than the answer.
    let name = known.repository.clone();
    let before = shared.store.read(move |rows| {
        Ok::<_, StoreError>((
            heads::all(rows, &name, BRANCHES)?,
            heads::all(rows, &name, PULLS)?,
        ))
    });
    let (branches_before, pulls_before) = before.await.map_err(stored)?;
    let branches = branches(shared, known, repo.clone()).await?;
    missed(shared, known, (BRANCHES, true), branches, branches_before)
        .await
        .map_err(stored)?;
    let Some(forge) = forge_client(&shared.settings) else {
        return Ok(());
    };
    let pulls = forge
        .open_pulls(&repo)
        .await
        .map_err(|error| error.to_string())?;
    let kind = (PULLS, !pulls.more);
    let pulls = pulls.items.iter().map(pull_now);
    missed(shared, known, kind, pulls.collect(), pulls_before)
        .await
        .map_err(stored)
}

/// A reference as the forge has it.
struct Now {
    reference: String,
    sha: String,
    pull: Option<Box<ForgePull>>,
}

async fn branches(
    shared: &Arc<Shared>,
    known: &Arc<Known>,
    repo: RepoName,
) -> Result<Vec<Now>, String> {
    let (shared, known) = (Arc::clone(shared), Arc::clone(known));
    let listed = tokio::task::spawn_blocking(move || {
        let remote =
            remote(&shared.settings, &known.clone_url).map_err(|error| error.to_string())?;
        let mirror = shared
            .mirrors
            .open(&repo)
            .map_err(|error| error.to_string())?;
        let heads = mirror.remote_heads(&remote, ANSWER);
        heads.map_err(|error| error.to_string())
    });
    let heads = listed.await.map_err(|error| error.to_string())??;
    let now = heads.branches.into_iter().map(|(branch, sha)| Now {
        reference: format!("{BRANCHES}{branch}"),
        sha: sha.to_string(),
        pull: None,
    });
    Ok(now.collect())
}

fn pull_now(pull: &ForgePull) -> Now {
    Now {
        reference: format!("{PULLS}{}/head", pull.number),
        sha: pull.head_sha.to_string(),
        pull: Some(Box::new(pull.clone())),
    }
}

/// Runs what is elsewhere than it was known to be. References that are not listed any more are gone, where all of them were listed.
async fn missed(
    shared: &Arc<Shared>,
    known: &Arc<Known>,
    (kind, all_listed): (&'static str, bool),
    now: Vec<Now>,
    before: HashMap<String, Head>,
) -> Result<(), StoreError> {
    let elsewhere = |now: &&Now| {
        before
            .get(&now.reference)
            .is_none_or(|head| head.sha != now.sha)
    };
    if now.iter().any(|one| elsewhere(&one)) {
        tokio::time::sleep(GRACE.min(shared.settings.catch_up_every / 4)).await;
    }
    let (known, room) = (
        Arc::clone(known),
        shared.settings.max_waiting.saturating_sub(shared.waiting()),
    );
    let runs = shared.store.write(move |rows| {
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
                heads::note_first(rows, repository, &one.reference, &one.sha)?;
                continue;
            }
            if runs.len() >= room {
                break;
            }
            let event = event_of(&known, one, last.as_deref());
            let record = received(&event, "catch-up".to_owned());
            NewRun::of(&record, &event).put(rows)?;
            if let Some(told) = ReportedHead::of(&event) {
                heads::note(rows, &told, &record.id, How::CaughtUp)?;
            }
            runs.push((record.id, one.reference.clone(), one.sha.clone()));
        }
        for gone in before.keys() {
            if all_listed && !now.iter().any(|one| one.reference == *gone) {
                heads::forget(rows, repository, gone)?;
            }
        }
        if !was_listed {
            heads::note_listed(rows, repository, kind)?;
        }
        Ok::<_, StoreError>((repository.clone(), runs))
    });
    let (repository, runs) = runs.await?;
    for (run, reference, sha) in runs {
        tracing::info!(event = "run.caught_up", %run, repository, reference, sha, "no webhook told of this commit; it is run now");
        shared.start(run);
    }
    Ok(())
}

/// What the last push of a branch told, from before heads were noted.
fn known_head(known: &Known, now: &Now) -> Option<String> {
    let branch = now.reference.strip_prefix(BRANCHES)?;
    known.head(Some(branch)).map(|(_, sha)| sha.to_owned())
}

fn event_of(known: &Known, now: &Now, last: Option<&str>) -> StoredEvent {
    match &now.pull {
        None => known
            .of(EventKind::Push, &now.reference, &now.sha)
            .missed_push(last),
        Some(pull) => {
            let action = if last.is_some() {
                "synchronize"
            } else {
                "opened"
            };
            known
                .of(EventKind::PullRequest, &now.reference, &now.sha)
                .missed_pull(pull, action)
        }
    }
}

/// The forge's API, where it is known.
pub(crate) fn forge_client(settings: &RunnerSettings) -> Option<ForgeClient> {
    let base = match (&settings.forge_url, settings.forge) {
        (Some(url), _) => url.clone(),
        (None, Forge::GitHub) => url::Url::parse("https://api.github.com").ok()?,
        (None, _) => return None,
    };
    let http = HttpClient::new(HttpOptions::default());
    Some(ForgeClient::new(
        http,
        settings.forge,
        base,
        settings.forge_token.clone(),
    ))
}
