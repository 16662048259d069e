//! Documents as programs write them, against REST answers as forges give them.

#![allow(clippy::unwrap_used)]

mod bounds;
mod changes;
mod lists;
mod reads;

use std::cell::RefCell;

use forge_core::Forge;
use forge_graphql_core::{GraphQl, QueryScope, Rest, RestAnswer, RestCall, RestFailure, Viewer};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};

/// Answers to calls, `GET /pulls/7` below the repository; what is not there is 404.
#[derive(Default)]
struct Script {
    answers: Vec<(String, Value)>,
    /// What is refused, as a job without the permission.
    refused: Option<&'static str>,
    /// The calls, each with its query and body.
    calls: RefCell<Vec<String>>,
}

impl Script {
    fn new(answers: &[(&str, Value)]) -> Self {
        let answers = answers.iter();
        Self {
            answers: answers
                .map(|(call, answer)| ((*call).to_owned(), answer.clone()))
                .collect(),
            ..Self::default()
        }
    }

    fn answer(&self, call: &RestCall) -> Result<RestAnswer, RestFailure> {
        let path = call.path.strip_prefix("/repos/acme/rocket");
        let path = path.expect("only the own repository is asked");
        let short = format!("{} {path}", call.method);
        let query = call.query.as_ref().map(|query| format!("?{query}"));
        let body = call.body.as_ref().map(|body| format!(" {body}"));
        let shown = format!(
            "{short}{}{}",
            query.unwrap_or_default(),
            body.unwrap_or_default()
        );
        self.calls.borrow_mut().push(shown);
        let failure = |status, message: &str| RestFailure {
            status,
            message: message.to_owned(),
        };
        if self.refused.is_some_and(|part| short.contains(part)) {
            return Err(failure(403, "Resource not accessible by integration"));
        }
        let found = self.answers.iter().find(|(known, _)| *known == short);
        let (_, answer) = found.ok_or_else(|| failure(404, "Not Found"))?;
        let within = answer["statuses"].as_array();
        let Some(all) = answer.as_array().or(within) else {
            return Ok(RestAnswer::new(answer.clone(), None, None));
        };
        // A page of it, as both forges cut them.
        let query = call.query.as_deref().unwrap_or_default();
        let number = |names: [&str; 2], other: usize| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let found = pairs.find(|(name, _)| names.contains(name));
            found.map_or(other, |(_, value)| value.parse().unwrap())
        };
        let (page, size) = (number(["page", ""], 1), number(["limit", "per_page"], 30));
        let items: Vec<Value> = all
            .iter()
            .skip((page - 1) * size)
            .take(size)
            .cloned()
            .collect();
        if within.is_some() {
            let page = json!({"state": answer["state"], "statuses": Value::Array(items)});
            return Ok(RestAnswer::new(page, None, None));
        }
        let total = all.len().to_string();
        Ok(RestAnswer::new(items.into(), None, Some(&total)))
    }
}

impl Rest for Script {
    fn call(&self, call: RestCall) -> LocalBoxFuture<'_, Result<RestAnswer, RestFailure>> {
        async move { self.answer(&call) }.boxed_local()
    }

    fn viewer(&self) -> LocalBoxFuture<'_, Result<Viewer, RestFailure>> {
        let viewer = Viewer {
            login: "runner".to_owned(),
            id: Some(1),
            writes: true,
        };
        async move { Ok(viewer) }.boxed_local()
    }
}

/// Asks, and gives the whole answer.
fn ask(forge: Forge, script: &Script, query: &str, variables: &Value) -> Value {
    let body = json!({"query": query, "variables": variables}).to_string();
    answer(forge, script, body.as_bytes())
}

fn answer(forge: Forge, script: &Script, body: &[u8]) -> Value {
    let job = QueryScope {
        repository: "acme/rocket".to_owned(),
        forge,
    };
    actix_rt::System::new().block_on(GraphQl::new().answer(job, script, body))
}

/// Asks below the repository, where nothing may fail.
fn data(forge: Forge, script: &Script, fields: &str) -> Value {
    let query = format!("{{ repository(owner: \"acme\", name: \"rocket\") {{ {fields} }} }}");
    let answer = ask(forge, script, &query, &json!({}));
    assert_eq!(answer.get("errors"), None, "{answer:#}");
    answer["data"]["repository"].clone()
}

/// The id of this number's issue or pull request.
fn id(forge: Forge, script: &Script, number: u64) -> Value {
    let item = "... on Issue { id } ... on PullRequest { id }";
    let fields = format!("item: issueOrPullRequest(number: {number}) {{ {item} }}");
    let id = data(forge, script, &fields)["item"]["id"].clone();
    script.calls.borrow_mut().clear();
    id
}

fn repository() -> Value {
    json!({"full_name": "acme/rocket", "name": "rocket", "default_branch": "main", "node_id": "R_x",
        "html_url": "https://forge.example/acme/rocket", "owner": {"login": "acme"}})
}

/// A pull request as GitHub gives it by itself.
fn github_pull() -> Value {
    json!({"number": 7, "id": 70, "node_id": "PR_x", "title": "A change", "body": null, "state": "closed",
        "merged": true, "merged_at": "2026-01-02T03:04:05Z", "draft": false, "mergeable": null,
        "mergeable_state": "unknown", "merge_commit_sha": "c0ffee", "additions": 3, "commits": 2,
        "user": {"login": "ada", "type": "User"}, "merged_by": {"login": "hook[bot]", "type": "Bot"},
        "requested_reviewers": [], "requested_teams": [{"slug": "crew", "name": "Crew"}],
        "labels": [{"id": 1, "name": "bug", "color": "ff0000"}], "comments": 1,
        "html_url": "https://forge.example/acme/rocket/pull/7",
        "head": {"ref": "change", "sha": "abc", "repo": {"full_name": "ada/rocket", "owner": {"login": "ada"}}},
        "base": {"ref": "main", "sha": "def", "repo": repository()}})
}

/// One as Gitea gives it.
fn gitea_pull() -> Value {
    json!({"number": 7, "id": 70, "title": "WIP: A change", "body": "Why", "state": "open", "merged": false,
        "mergeable": true, "user": {"login": "ada", "id": 3}, "labels": [], "assignees": null,
        "requested_reviewers": [{"login": "bob"}], "comments": 0, "milestone": {"id": 4, "title": "one"},
        "html_url": "https://forge.example/acme/rocket/pulls/7", "closed_at": null,
        "head": {"ref": "change", "sha": "abc", "repo": {"full_name": "acme/rocket", "owner": {"login": "acme"}}},
        "base": {"ref": "main", "sha": "def", "repo": repository()}})
}
