//! Fields of the repository.

use serde_json::{Value, json};

use super::commits::{object, reference};
use super::items::{LABEL_ORDERS, issue_or_pull, label};
use super::pulls::owner;
use super::search::{issues, pulls};
use crate::ask::FieldRequest;
use crate::lists::{RestList, nothing, of_items, sort};
use crate::rest::RestFailure;
use crate::session::{RestResult, escaped};

pub(super) async fn resolve(ask: &FieldRequest<'_>) -> Option<RestResult<Value>> {
    let of = ask.of;
    let own = ask
        .session
        .check_repository(of["full_name"].as_str().unwrap_or_default());
    let facts = facts(ask).await;
    if facts.is_some() {
        return facts;
    }
    // Of others, such as the parent of a fork, no more is known than what was said.
    if let Err(failure) = own {
        return Some(Err(failure));
    }
    Some(match ask.field {
        "defaultBranchRef" => Ok(default_branch(of)),
        "ref" => reference(ask.session, ask.text("qualifiedName")).await,
        "refs" => refs(ask).await,
        "object" => {
            let expression = match ask.text("expression") {
                "" => ask.text("oid"),
                expression => expression,
            };
            object(ask.session, expression).await
        }
        "issue" => issue(ask).await,
        "issueOrPullRequest" => {
            let number = ask.args["number"].as_u64().unwrap_or_default();
            named(
                issue_or_pull(ask.session, number).await,
                "issue or pull request",
                number,
            )
        }
        "pullRequest" => {
            let number = ask.args["number"].as_u64().unwrap_or_default();
            let found = ask.session.body(&format!("/pulls/{number}")).await;
            named(found, "PullRequest", number)
        }
        "issues" => issues(ask).await,
        "pullRequests" => pulls(ask).await,
        "label" => label(ask.session, ask.text("name")).await,
        "labels" => labels(ask).await,
        "milestone" => {
            let number = ask.args["number"].as_u64().unwrap_or_default();
            ask.session
                .body_if_there(&format!("/milestones/{number}"))
                .await
        }
        "milestones" => milestones(ask).await,
        "release" => release(ask).await,
        "releases" => releases(ask).await,
        "latestRelease" => ask.session.body_if_there("/releases/latest").await,
        "assignableUsers" | "mentionableUsers" => users(ask, "/assignees").await,
        "collaborators" => users(ask, "/collaborators").await,
        "languages" => languages(ask).await,
        "repositoryTopics" => topics(ask).await,
        _ => return None,
    })
}

/// What the repository's own answer says.
async fn facts(ask: &FieldRequest<'_>) -> Option<RestResult<Value>> {
    let of = ask.of;
    let total = |value: Value| json!({"totalCount": value.as_u64().unwrap_or(0), "nodes": []});
    let unless_denied = |value: Option<bool>| json!(value.unwrap_or(true));
    Some(match ask.field {
        "name" => Ok(name(of)),
        "owner" => Ok(owner(of)),
        "visibility" => Ok(json!(match of["visibility"].as_str() {
            Some(word) => word.to_ascii_uppercase(),
            None if of["private"] == true => "PRIVATE".to_owned(),
            None => "PUBLIC".to_owned(),
        })),
        "isInOrganization" => Ok(json!(of["owner"]["type"] == "Organization")),
        "hasIssuesEnabled" => Ok(unless_denied(of["has_issues"].as_bool())),
        "mergeCommitAllowed" => {
            let allowed = ask.truth("/allow_merge_commit|/allow_merge_commits").await;
            allowed.map(unless_denied)
        }
        "squashMergeAllowed" => ask.truth("/allow_squash_merge").await.map(unless_denied),
        "rebaseMergeAllowed" => {
            let allowed = ask.truth("/allow_rebase_merge|/allow_rebase").await;
            allowed.map(unless_denied)
        }
        "autoMergeAllowed" => {
            // Gitea merges later wherever it merges.
            let github = ask.session.is_github();
            let allowed = ask.truth("/allow_auto_merge").await;
            allowed.map(|allowed| json!(allowed.unwrap_or(!github)))
        }
        "watchers" => ask
            .value("/subscribers_count|/watchers_count")
            .await
            .map(total),
        "stargazers" => ask.value("/stargazers_count|/stars_count").await.map(total),
        "forks" => Ok(nothing()),
        "viewerPermission" => permission(ask).await,
        "licenseInfo" => Ok(license(of)),
        "primaryLanguage" => Ok(match of["language"].as_str() {
            Some(language) if !language.is_empty() => json!({"name": language}),
            _ => Value::Null,
        }),
        _ => return None,
    })
}

fn name(of: &Value) -> Value {
    if of["name"].is_string() {
        return of["name"].clone();
    }
    let full = of["full_name"].as_str().unwrap_or_default();
    json!(full.rsplit('/').next().unwrap_or_default())
}

fn license(of: &Value) -> Value {
    match &of["license"] {
        Value::Object(_) => of["license"].clone(),
        // Gitea lists names.
        _ => match of["licenses"][0].as_str() {
            Some(name) => json!({"key": name.to_ascii_lowercase(), "name": name}),
            None => Value::Null,
        },
    }
}

/// What the job may, not what the runner's own token may.
async fn permission(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let full = ask.of["full_name"].as_str().unwrap_or_default();
    let own = ask.session.check_repository(full).is_ok();
    let writes = own && ask.session.viewer().await?.writes;
    Ok(json!(if writes { "WRITE" } else { "READ" }))
}

fn default_branch(of: &Value) -> Value {
    match of["default_branch"].as_str() {
        Some(branch) if !branch.is_empty() => json!({"ref": format!("refs/heads/{branch}")}),
        _ => Value::Null,
    }
}

fn named(found: RestResult<Value>, what: &str, number: u64) -> RestResult<Value> {
    found.map_err(|failure| match failure.status {
        404 | 410 => RestFailure::not_found(format!(
            "Could not resolve to a {what} with the number of {number}."
        )),
        _ => failure,
    })
}

async fn issue(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let number = ask.args["number"].as_u64().unwrap_or_default();
    let found = ask.session.body(&format!("/issues/{number}")).await;
    let found = named(found, "Issue", number)?;
    if found["pull_request"].is_object() {
        let gone = RestFailure::not_found("");
        return named(Err(gone), "Issue", number);
    }
    Ok(found)
}

/// As both forges list them: the newest first.
async fn releases(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let mut list = RestList::new("/releases");
    match ask.order(&[("CREATED_AT", "/created_at"), ("NAME", "/name")])? {
        None | Some(("/created_at", true)) => {}
        Some((places, largest_first)) => list = list.order(places, largest_first),
    }
    list.connection(ask.session, &ask.part()?).await
}

async fn users(ask: &FieldRequest<'_>, path: &str) -> RestResult<Value> {
    let mut list = RestList::new(path);
    if let Some(words) = ask.words() {
        list = list.keep(move |user| {
            let has = |name: &str| {
                let text = user[name].as_str().unwrap_or_default();
                text.to_lowercase().contains(&words)
            };
            has("login") || has("name") || has("full_name")
        });
    }
    list.connection(ask.session, &ask.part()?).await
}

async fn labels(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let mut list = RestList::new("/labels");
    if let Some(words) = ask.words() {
        list = list.keep(move |label| {
            let text = format!("{} {}", label["name"], label["description"]);
            text.to_lowercase().contains(&words)
        });
    }
    if let Some((places, largest_first)) = ask.order(&LABEL_ORDERS)? {
        list = list.order(places, largest_first);
    }
    list.connection(ask.session, &ask.part()?).await
}

async fn milestones(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let states = ask.args["states"].as_array().cloned().unwrap_or_default();
    let state = match states.as_slice() {
        [one] => one.as_str().unwrap_or("all").to_ascii_lowercase(),
        _ => "all".to_owned(),
    };
    let mut list = RestList::new("/milestones").query("state", state);
    if let Some(words) = ask.words() {
        list = list.keep(move |one| {
            let title = one["title"].as_str().unwrap_or_default();
            title.to_lowercase().contains(&words)
        });
    }
    let orders = [
        ("CREATED_AT", "/created_at"),
        ("DUE_DATE", "/due_on"),
        ("NUMBER", "/number|/id"),
        ("UPDATED_AT", "/updated_at"),
    ];
    if let Some((places, largest_first)) = ask.order(&orders)? {
        list = list.order(places, largest_first);
    }
    list.connection(ask.session, &ask.part()?).await
}

/// A release by its tag; that of a draft is found in the list only.
async fn release(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let tag = ask.text("tagName");
    let found = ask
        .session
        .body_if_there(&format!("/releases/tags/{}", escaped(tag)))
        .await?;
    if !found.is_null() {
        return Ok(found);
    }
    let all = ask.session.read("/releases", &[]).await?;
    let mut all = all.body.as_array().cloned().unwrap_or_default().into_iter();
    Ok(all.find(|one| one["tag_name"] == tag).unwrap_or_default())
}

async fn refs(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let (path, prefix) = match ask.text("refPrefix").trim_end_matches('/') {
        "refs/tags" => ("/tags", "refs/tags"),
        "refs/heads" => ("/branches", "refs/heads"),
        other => {
            let what = format!("`refs` with the prefix `{other}`");
            return Err(RestFailure::not_answered(&what));
        }
    };
    let mut list = RestList::new(path);
    if let Some(words) = ask.words() {
        list = list.keep(move |one| {
            let name = one["name"].as_str().unwrap_or_default();
            name.to_lowercase().contains(&words)
        });
    }
    let order = match ask.text("direction") {
        "" => ask.order(&[("ALPHABETICAL", "/name")])?,
        direction => Some(("/name", direction == "DESC")),
    };
    if let Some((places, largest_first)) = order {
        list = list.order(places, largest_first);
    }
    let mut found = list.connection(ask.session, &ask.part()?).await?;
    for node in found["nodes"].as_array_mut().into_iter().flatten() {
        let name = node["name"].as_str().unwrap_or_default();
        let sha = node.pointer("/commit/sha").or(node.pointer("/commit/id"));
        let sha = sha.cloned().unwrap_or_default();
        *node = json!({
            "ref": format!("{prefix}/{name}"), "object": {"sha": sha, "type": "commit"},
        });
    }
    Ok(found)
}

async fn languages(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    let sizes = ask.session.body("/languages").await?;
    let sizes = sizes.as_object().cloned().unwrap_or_default();
    let languages = sizes.into_iter();
    let languages = languages.map(|(name, size)| json!({"name": name, "size": size}));
    let mut languages: Vec<Value> = languages.collect();
    if let Some((places, largest_first)) = ask.order(&[("SIZE", "/size")])? {
        sort(&mut languages, places, largest_first);
    }
    Ok(of_items(languages, &part))
}

async fn topics(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    let topics = ask.value("/topics").await?;
    let topics = topics.as_array().into_iter().flatten();
    let topics = topics.map(|topic| json!({"topic": {"name": topic}}));
    Ok(of_items(topics.collect(), &part))
}
