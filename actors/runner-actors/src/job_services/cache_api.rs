//! Caches as the forge's REST API has them: they are the runner's, so it answers itself.
//!
//! Page "REST API endpoints for GitHub Actions cache".

use runner_core::event::EventKind;
use serde_json::{Value, json};

use super::JobServices;
use super::forge::{ForgeGrant, GatewayRefusal, refusal};
use super::gateway_request::{GatewayAnswer, GatewayRequest};
use super::listing::{ListQuery, below_actions, empty, json_answer, timestamp};
use crate::caches::{CacheStore, ListedCache};

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
enum CacheCall {
    List,
    Usage,
    /// Those of a key.
    DeleteKey,
    Delete(u64),
}

impl CacheCall {
    fn parse(method: &str, path: &str) -> Option<Self> {
        let reads = matches!(method, "GET" | "HEAD");
        match below_actions(path)?.as_slice() {
            ["caches"] if reads => Some(Self::List),
            ["caches"] if method == "DELETE" => Some(Self::DeleteKey),
            ["cache", "usage"] if reads => Some(Self::Usage),
            ["caches", id] if method == "DELETE" => Some(Self::Delete(id.parse().ok()?)),
            _ => None,
        }
    }
}

impl JobServices {
    /// The answer to a call that is about caches; `None`: it is another. That the job may make it
    /// is known already.
    pub(super) async fn answer_of_caches(
        &self,
        grant: &ForgeGrant,
        asked: &GatewayRequest,
    ) -> Result<Option<GatewayAnswer>, GatewayRefusal> {
        let Some(call) = CacheCall::parse(&asked.method, &asked.path) else {
            return Ok(None);
        };
        let (caches, repository) = (self.shared.caches.clone(), grant.may.repository.clone());
        let query = CacheQuery(ListQuery::parse(asked.query.as_deref()));
        let work = move || answer(&caches, &repository, &call, &query);
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err(refusal(503, UNREADABLE)))
            .map(Some)
    }
}

const UNREADABLE: &str = "the caches cannot be read";

fn answer(
    caches: &CacheStore,
    repository: &str,
    call: &CacheCall,
    query: &CacheQuery,
) -> Result<GatewayAnswer, GatewayRefusal> {
    let unread = |error: std::io::Error| {
        tracing::warn!(event = "run.caches_unread", %error, "caches cannot be read for a job");
        refusal(503, UNREADABLE)
    };
    match call {
        CacheCall::List => {
            let all = caches.list(repository).map_err(unread)?;
            Ok(query.page(all))
        }
        CacheCall::Usage => {
            let all = caches.list(repository).map_err(unread)?;
            let bytes: u64 = all.iter().map(|cache| cache.bytes).sum();
            Ok(json_answer(&json!({
                "full_name": repository,
                "active_caches_size_in_bytes": bytes,
                "active_caches_count": all.len(),
            })))
        }
        CacheCall::DeleteKey => {
            let key = query.0.get("key");
            let key = key.ok_or_else(|| refusal(422, "the parameter `key` is missing"))?;
            let is_meant = |cache: &ListedCache| cache.key == *key && query.is_of_reference(cache);
            let removed = caches.remove(repository, is_meant).map_err(unread)?;
            match removed.as_slice() {
                [] => Err(refusal(404, "Not Found")),
                removed => Ok(json_answer(&render_caches(removed.len(), removed.iter()))),
            }
        }
        CacheCall::Delete(id) => {
            let removed = caches.remove(repository, |cache| cache.id == *id);
            match removed.map_err(unread)?.as_slice() {
                [] => Err(refusal(404, "Not Found")),
                _ => Ok(empty(204, Vec::new())),
            }
        }
    }
}

/// What of them is asked for.
#[derive(Debug)]
struct CacheQuery(ListQuery);

impl CacheQuery {
    fn is_of_reference(&self, cache: &ListedCache) -> bool {
        let wanted = self.0.get("ref");
        wanted.is_none_or(|wanted| public_reference(wanted) == public_reference(&cache.reference))
    }

    /// A part of them, in the order that is wanted.
    fn page(&self, mut all: Vec<ListedCache>) -> GatewayAnswer {
        let begins = |cache: &ListedCache| {
            let key = self.0.get("key");
            key.is_none_or(|key| cache.key.starts_with(key))
        };
        all.retain(|cache| begins(cache) && self.is_of_reference(cache));
        all.sort_by_key(|cache| match self.0.get("sort") {
            Some("created_at") => cache.at,
            Some("size_in_bytes") => cache.bytes,
            _ => cache.used,
        });
        if self.0.get("direction") != Some("asc") {
            all.reverse();
        }
        json_answer(&render_caches(all.len(), self.0.page(&all)))
    }
}

fn render_caches<'c>(total: usize, caches: impl Iterator<Item = &'c ListedCache>) -> Value {
    let one = |cache: &ListedCache| {
        json!({
            "id": cache.id,
            "ref": public_reference(&cache.reference),
            "key": cache.key,
            "version": cache.version,
            "last_accessed_at": timestamp(cache.used),
            "created_at": timestamp(cache.at),
            "size_in_bytes": cache.bytes,
        })
    };
    json!({"total_count": total, "actions_caches": caches.map(one).collect::<Vec<_>>()})
}

/// As the forge calls it: of a pull request the merge, of events of strangers the branch.
fn public_reference(reference: &str) -> String {
    let apart = reference.rsplit_once('@');
    let apart = apart.filter(|(_, kind)| EventKind::ALL.iter().any(|it| it.as_str() == *kind));
    let reference = apart.map_or(reference, |(reference, _)| reference);
    let pull = reference.strip_prefix("refs/pull/");
    match pull.and_then(|rest| rest.strip_suffix("/head")) {
        Some(number) => format!("refs/pull/{number}/merge"),
        None => reference.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use runner_core::cache_scope::CacheScope;

    use super::*;
    use crate::tar_guard::tar_of;

    fn put(caches: &CacheStore, reference: &str, untrusted: bool, key: &str) {
        let scope = CacheScope {
            repository: "a/b".to_owned(),
            reference: reference.to_owned(),
            untrusted,
        };
        let mut pending = caches.create(&scope, key).unwrap();
        pending.write(&tar_of("x", 100)).unwrap();
        caches.keep(&scope, pending).unwrap();
    }

    #[test]
    fn i17_caches_are_listed_and_deleted_as_by_the_forge() {
        let folder = tempfile::tempdir().unwrap();
        let caches = CacheStore::open(folder.path(), 1 << 20, None);
        put(&caches, "refs/heads/main", false, "v1\ndeps-1");
        put(&caches, "refs/heads/main", false, "v1\nother");
        put(&caches, "refs/pull/7/head", true, "v1\ndeps-1");
        let call = |call: &str| {
            let (method, address) = call.split_once(' ').unwrap();
            let (path, query) = address.split_once('?').unwrap_or((address, ""));
            let call = CacheCall::parse(method, path).expect("it is about caches");
            let answer = answer(
                &caches,
                "A/b",
                &call,
                &CacheQuery(ListQuery::parse(Some(query))),
            );
            answer.map(|answer| {
                let body = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
                (answer.status, body)
            })
        };
        let (_, all) = call("GET /repos/a/b/actions/caches?sort=created_at&direction=asc").unwrap();
        assert_eq!(all["total_count"], 3, "{all}");
        let (_, of_pull) =
            call("GET /repos/a/b/actions/caches?ref=refs/pull/7/merge&key=deps").unwrap();
        assert_eq!(of_pull["total_count"], 1, "{of_pull}");
        let one = &of_pull["actions_caches"][0];
        assert_eq!(
            (&one["ref"], &one["key"], &one["version"]),
            (&json!("refs/pull/7/merge"), &json!("deps-1"), &json!("v1"))
        );
        let (_, usage) = call("GET /repos/a/b/actions/cache/usage").unwrap();
        assert_eq!(usage["active_caches_count"], 3);
        let delete = format!("DELETE /repos/a/b/actions/caches/{}", one["id"]);
        assert_eq!(call(&delete).unwrap().0, 204);
        assert_eq!(call(&delete).unwrap_err().status, 404);
        let (_, gone) = call("DELETE /repos/a/b/actions/caches?key=deps-1").unwrap();
        assert_eq!(gone["total_count"], 1, "{gone}");
        let (_, left) = call("GET /repos/a/b/actions/caches?per_page=1").unwrap();
        assert_eq!(left["actions_caches"][0]["key"], "other", "{left}");
        assert_eq!(
            call("DELETE /repos/a/b/actions/caches").unwrap_err().status,
            422
        );
        assert_eq!(CacheCall::parse("GET", "/repos/a/b/actions/runs/1"), None);
        assert_eq!(public_reference("refs/heads/a@b"), "refs/heads/a@b");
        assert_eq!(
            public_reference("refs/heads/a@issue_comment"),
            "refs/heads/a"
        );
    }
}
