//! Artifacts as the forge's REST API has them, of all runs of the job's repository that are kept:
//! runs and artifacts are the runner's, so it answers itself.
//!
//! Page "REST API endpoints for GitHub Actions artifacts".

use serde_json::{Value, json};

use super::artifacts::ListedArtifact;
use super::forge::{ForgeApi, ForgeGrant, GatewayRefusal, refusal};
use super::gateway_request::{GatewayAnswer, GatewayRequest};
use super::listing::{ListQuery, below_actions, empty, json_answer, timestamp};
use super::{JobServices, JobSession};
use crate::artifacts::ArtifactStore;

/// Artifacts that a job is told of; beyond, those before are asked for again.
const MAX_KNOWN: usize = 10_000;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
enum ArtifactCall {
    /// All of a run, by its number.
    OfRun(String),
    /// One.
    One(u64),
    /// Where its files are.
    Zip(u64),
    /// Its end.
    Delete(u64),
}

impl ArtifactCall {
    fn parse(method: &str, path: &str) -> Option<Self> {
        let reads = matches!(method, "GET" | "HEAD");
        match below_actions(path)?.as_slice() {
            ["runs", run, "artifacts"] if reads => Some(Self::OfRun((*run).to_owned())),
            ["artifacts", id] if reads => Some(Self::One(id.parse().ok()?)),
            ["artifacts", id, "zip"] if reads => Some(Self::Zip(id.parse().ok()?)),
            ["artifacts", id] if method == "DELETE" => Some(Self::Delete(id.parse().ok()?)),
            _ => None,
        }
    }
}

impl JobServices {
    /// The answer to a call that is about artifacts of this runner; `None`: it is for the forge.
    /// That the job may make it is known already.
    pub(super) async fn answer_of_artifacts(
        &self,
        forge: &ForgeApi,
        grant: &ForgeGrant,
        asked: &GatewayRequest,
    ) -> Result<Option<GatewayAnswer>, GatewayRefusal> {
        let Some(call) = ArtifactCall::parse(&asked.method, &asked.path) else {
            return Ok(None);
        };
        let Some(grant_of_job) = self.shared.jobs.lock().get(&grant.job).cloned() else {
            return Ok(None);
        };
        let session = JobSession {
            services: self.clone(),
            key: grant.job,
            grant: grant_of_job,
        };
        let repository = grant.may.repository.clone();
        let api = forge.address(super::BASE).gateway;
        let view = ArtifactView {
            base: format!("{api}/repos/{repository}/actions"),
        };
        if let ArtifactCall::OfRun(number) = &call {
            let found = forge.runs.find(number, &repository).await;
            let found = found.map_err(|_| refusal(503, "the runs cannot be read"))?;
            let Some(run) = found else { return Ok(None) };
            let artifacts = session.artifacts().clone();
            let all = list(artifacts, run.clone()).await?;
            grant_runs(grant, &run, &all);
            return Ok(Some(view.page(&all, number, asked.query.as_deref())));
        }
        let (ArtifactCall::One(id) | ArtifactCall::Zip(id) | ArtifactCall::Delete(id)) = call
        else {
            return Ok(None);
        };
        let own = session.grant.run.clone();
        let known = grant.artifacts.lock().get(&id).cloned();
        let place = match known {
            Some(place) => Some(place),
            None => {
                let all = list(session.artifacts().clone(), own.clone()).await?;
                let found = all.into_iter().find(|artifact| artifact.id == id);
                found.map(|artifact| (own, artifact.name))
            }
        };
        let Some((run, name)) = place else {
            return Ok(None);
        };
        let answer = blocking(move || match call {
            ArtifactCall::Zip(_) => {
                let address = session.address_of(&run, &name);
                let address = address.map_err(|fault| refusal(404, fault.to_string()))?;
                Ok(empty(302, vec![("location", address)]))
            }
            ArtifactCall::Delete(_) => {
                session
                    .artifacts()
                    .remove(&run, &name)
                    .map_err(|error| unreadable(&error))?;
                Ok(empty(204, Vec::new()))
            }
            ArtifactCall::One(_) | ArtifactCall::OfRun(_) => {
                let listed = session.artifacts().listed(&run, &name);
                let listed = listed
                    .map_err(|error| unreadable(&error))?
                    .map(ListedArtifact::from);
                let number = runner_core::context::run_number_id(&run);
                let found = listed.ok_or_else(|| refusal(404, "Not Found"))?;
                Ok(json_answer(&view.render(&found, &number)))
            }
        });
        answer.await.map(Some)
    }
}

fn unreadable(error: &std::io::Error) -> GatewayRefusal {
    tracing::warn!(event = "run.artifacts_unread", %error, "artifacts cannot be read for a job");
    refusal(503, "the artifacts cannot be read")
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GatewayRefusal> + Send + 'static,
) -> Result<T, GatewayRefusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(refusal(503, "the artifacts cannot be read")))
}

async fn list(
    artifacts: ArtifactStore,
    run: String,
) -> Result<Vec<ListedArtifact>, GatewayRefusal> {
    let all = blocking(move || artifacts.list(&run).map_err(|error| unreadable(&error))).await?;
    Ok(all.into_iter().map(ListedArtifact::from).collect())
}

/// The artifacts of these runs, a page of them: of the one with this `name`, where the query says
/// one. `base` is `…/repos/owner/name/actions`.
pub(super) async fn artifacts_of_runs(
    artifacts: ArtifactStore,
    grant: &ForgeGrant,
    (base, query): (&str, &ListQuery),
    runs: Vec<String>,
) -> Result<GatewayAnswer, GatewayRefusal> {
    let name = query.get("name").map(str::to_owned);
    let found = blocking(move || {
        let mut found = Vec::new();
        for run in runs {
            let all = artifacts.list(&run).map_err(|error| unreadable(&error))?;
            let all = all.into_iter().map(ListedArtifact::from);
            let named = all.filter(|one| name.as_ref().is_none_or(|name| *name == one.name));
            found.extend(named.map(|one| (run.clone(), one)));
        }
        // The newest first.
        found.sort_by_key(|(_, one)| std::cmp::Reverse(one.at));
        Ok(found)
    });
    let found = found.await?;
    let view = ArtifactView {
        base: base.to_owned(),
    };
    let shown = query.page(&found).map(|(run, one)| {
        grant_runs(grant, run, std::slice::from_ref(one));
        view.render(one, &runner_core::context::run_number_id(run))
    });
    let shown: Vec<Value> = shown.collect();
    let mut answer = json_answer(&json!({"total_count": found.len(), "artifacts": shown}));
    let link = query.link(&format!("{base}/artifacts"), found.len());
    answer.headers.extend(link);
    Ok(answer)
}

fn grant_runs(grant: &ForgeGrant, run: &str, all: &[ListedArtifact]) {
    let mut known = grant.artifacts.lock();
    if known.len() + all.len() > MAX_KNOWN {
        known.clear();
    }
    let places = all.iter().take(MAX_KNOWN);
    known.extend(places.map(|artifact| (artifact.id, (run.to_owned(), artifact.name.clone()))));
}

/// How artifacts are shown.
struct ArtifactView {
    /// `…/repos/owner/name/actions`
    base: String,
}

impl ArtifactView {
    fn render(&self, artifact: &ListedArtifact, run: &str) -> Value {
        let at = timestamp(artifact.at);
        let url = format!("{}/artifacts/{}", self.base, artifact.id);
        let run: Value = run
            .parse::<u64>()
            .map_or_else(|_| json!(run), |run| json!(run));
        let mut shown = json!({
            "id": artifact.id,
            "name": artifact.name,
            "size_in_bytes": artifact.bytes,
            "url": url,
            "archive_download_url": format!("{url}/zip"),
            "expired": false,
            "created_at": at,
            "updated_at": at,
            "workflow_run": {"id": run},
        });
        if let Some(digest) = &artifact.digest {
            shown["digest"] = json!(digest);
        }
        shown
    }

    /// A page, as the query asks for it.
    fn page(&self, all: &[ListedArtifact], run: &str, query: Option<&str>) -> GatewayAnswer {
        let query = ListQuery::parse(query);
        let name = query.get("name");
        let named = |artifact: &&ListedArtifact| name.is_none_or(|name| *name == artifact.name);
        let named: Vec<&ListedArtifact> = all.iter().filter(named).collect();
        let shown = query.page(&named);
        let shown: Vec<Value> = shown.map(|artifact| self.render(artifact, run)).collect();
        json_answer(&json!({"total_count": named.len(), "artifacts": shown}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_calls_about_artifacts_are_told_from_others() {
        let of = |call: &str| {
            let (method, path) = call.split_once(' ').unwrap();
            ArtifactCall::parse(method, path)
        };
        for (call, found) in [
            (
                "GET /repos/a/b/actions/runs/7/artifacts",
                Some(ArtifactCall::OfRun("7".to_owned())),
            ),
            (
                "GET /repos/a/b/actions/artifacts/9",
                Some(ArtifactCall::One(9)),
            ),
            (
                "GET /repos/a/b/actions/artifacts/9/zip",
                Some(ArtifactCall::Zip(9)),
            ),
            (
                "DELETE /repos/a/b/actions/artifacts/9",
                Some(ArtifactCall::Delete(9)),
            ),
            ("POST /repos/a/b/actions/artifacts/9", None),
            ("GET /repos/a/b/actions/artifacts/x", None),
            ("GET /repos/a/b/actions/runs/7", None),
            ("GET /repos/a/b/contents/actions/artifacts/9", None),
        ] {
            assert_eq!(of(call), found, "{call}");
        }
    }

    #[test]
    fn i17_artifacts_are_given_by_name_and_a_page_at_a_time() {
        let all: Vec<ListedArtifact> = (0..45u64)
            .map(|id| ListedArtifact {
                id,
                name: format!("a{id}"),
                bytes: 3,
                at: 0,
                digest: None,
            })
            .collect();
        let view = ArtifactView {
            base: "http://x/repos/a/b/actions".to_owned(),
        };
        let names = |query: Option<&str>| {
            let answer: Value = serde_json::from_slice(&view.page(&all, "7", query).body).unwrap();
            let artifacts = answer["artifacts"].as_array().unwrap();
            let first = artifacts
                .first()
                .map_or(Value::Null, |one| one["name"].clone());
            (answer["total_count"].clone(), artifacts.len(), first)
        };
        assert_eq!(names(None), (json!(45), 30, json!("a0")));
        assert_eq!(names(Some("page=2")), (json!(45), 15, json!("a30")));
        assert_eq!(
            names(Some("per_page=1000&page=1")),
            (json!(45), 45, json!("a0"))
        );
        assert_eq!(names(Some("name=a7")), (json!(1), 1, json!("a7")));
        assert_eq!(names(Some("name=none&page=3")), (json!(0), 0, Value::Null));
    }
}
