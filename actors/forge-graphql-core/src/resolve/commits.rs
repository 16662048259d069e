//! Branches, tags, commits, what is in them, and what was checked of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::states::{pull_state, status_state};
use crate::ask::{FieldRequest, commit, id};
use crate::ids::plain;
use crate::lists::{RestList, of_items};
use crate::session::{QuerySession, RestResult, escaped, escaped_path};

pub(super) async fn resolve(ask: &FieldRequest<'_>) -> Option<RestResult<Value>> {
    let sha = || plain(&ask.of["sha"]);
    Some(match (ask.kind, ask.field) {
        ("Ref", "id") => Ok(id(ask.session, "Ref", plain(&ask.of["ref"]))),
        ("Ref", "name") => Ok(json!(split(&plain(&ask.of["ref"])).1)),
        ("Ref", "prefix") => Ok(json!(split(&plain(&ask.of["ref"])).0)),
        ("Ref", "target") => target(ask).await,
        ("Ref", "associatedPullRequests") => pulls_of_branch(ask).await,
        (_, "abbreviatedOid") => Ok(json!(sha().get(..7))),
        ("Commit", "messageHeadline") => message(ask).await.map(|it| json!(headline(&it).0)),
        ("Commit", "messageBody") => message(ask).await.map(|it| json!(headline(&it).1)),
        ("Commit", "author") => person(ask, "author").await,
        ("Commit", "committer") => person(ask, "committer").await,
        ("Commit", "authors") => authors(ask).await,
        ("Commit", "parents") => parents(ask).await,
        ("Commit", "history") => history(ask).await,
        ("Commit", "associatedPullRequests") => pulls_of_commit(ask).await,
        ("Commit", "statusCheckRollup") => rollup(ask.session, &sha()).await,
        ("Commit", "status") => statuses(ask.session, &sha()).await,
        ("Commit", "tree") => ask.value("/commit/tree").await,
        ("Tree", "entries") => entries(ask).await,
        ("Blob", "text") => Ok(text(ask.of)),
        ("Blob", "isBinary") => Ok(json!(text(ask.of).is_null())),
        ("StatusCheckRollup", "contexts") => {
            let contexts = ask.of["all"].as_array().cloned().unwrap_or_default();
            ask.part().map(|part| of_items(contexts, &part))
        }
        ("Status" | "StatusContext", "state") => Ok(json!(status_state(ask.of))),
        // Which workflow a check is of stands in no answer.
        ("CheckRun", "checkSuite") => Ok(json!({
            "workflowRun": {"workflow": {"name": ""}}, "app": ask.of["app"],
        })),
        _ => return None,
    })
}

/// `refs/heads/` and what follows.
fn split(name: &str) -> (&str, &str) {
    for prefix in ["refs/heads/", "refs/tags/"] {
        if let Some(rest) = name.strip_prefix(prefix) {
            return (prefix, rest);
        }
    }
    ("refs/", name.strip_prefix("refs/").unwrap_or(name))
}

/// A branch or tag by its name; null: there is none. Gitea answers with all that begin so.
pub(crate) async fn reference(session: &QuerySession, name: &str) -> RestResult<Value> {
    let full = match name.strip_prefix("refs/") {
        Some(_) => name.to_owned(),
        None => format!("refs/heads/{name}"),
    };
    let rest = escaped_path(full.trim_start_matches("refs/"));
    let word = if session.is_github() { "ref" } else { "refs" };
    let found = session
        .body_if_there(&format!("/git/{word}/{rest}"))
        .await?;
    Ok(match found {
        Value::Array(all) => {
            let same = |one: &Value| one["ref"] == full.as_str();
            all.into_iter().find(same).unwrap_or_default()
        }
        other => other,
    })
}

async fn target(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let mut of = ask.of.clone();
    if of["object"].is_null() {
        of = reference(ask.session, &plain(&of["ref"])).await?;
    }
    let kind = match of["object"]["type"].as_str() {
        Some("tag") => "Tag",
        Some("tree") => "Tree",
        Some("blob") => "Blob",
        _ => "Commit",
    };
    Ok(match &of["object"]["sha"] {
        Value::Null => Value::Null,
        sha => json!({"sha": sha, "__typename": kind}),
    })
}

/// What `revision`, or `revision:path`, is.
pub(super) async fn object(session: &QuerySession, expression: &str) -> RestResult<Value> {
    let Some((revision, path)) = expression.split_once(':') else {
        let found = commit(session, expression).await;
        return match found {
            Err(failure) if matches!(failure.status, 404 | 409 | 422) => Ok(Value::Null),
            found => found.map(|commit| typed(commit, "Commit")),
        };
    };
    let query = match revision {
        "" | "HEAD" => Vec::new(),
        revision => vec![("ref", revision.to_owned())],
    };
    let path = format!("/contents/{}", escaped_path(path));
    let found = match session.read(path.trim_end_matches('/'), &query).await {
        Err(failure) if failure.status == 404 => return Ok(Value::Null),
        found => found?,
    };
    Ok(match &found.body {
        Value::Array(entries) => json!({"__typename": "Tree", "entries": entries}),
        file => typed(file.clone(), "Blob"),
    })
}

fn typed(mut value: Value, kind: &str) -> Value {
    value["__typename"] = json!(kind);
    value
}

async fn entries(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let mut entries = ask.of["entries"].clone();
    if entries.is_null() {
        let sha = plain(&ask.of["sha"]);
        let tree = ask
            .session
            .body(&format!("/git/trees/{}", escaped(&sha)))
            .await?;
        entries = tree["tree"].clone();
    }
    for entry in entries.as_array_mut().into_iter().flatten() {
        let kind = match entry["type"].as_str() {
            Some("dir" | "tree") => "tree",
            Some("submodule" | "commit") => "commit",
            _ => "blob",
        };
        entry["type"] = json!(kind);
        if entry["name"].is_null() {
            entry["name"] = entry["path"].clone();
        }
    }
    Ok(entries)
}

/// A file's text; null: it is none.
fn text(file: &Value) -> Value {
    let packed = file["content"].as_str().unwrap_or_default();
    let packed: String = packed.split_whitespace().collect();
    let bytes = STANDARD.decode(packed).unwrap_or_default();
    String::from_utf8(bytes).map_or(Value::Null, Value::from)
}

async fn message(ask: &FieldRequest<'_>) -> RestResult<String> {
    Ok(plain(&ask.value("/commit/message").await?))
}

fn headline(message: &str) -> (&str, &str) {
    let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
    (first, rest.trim_start_matches('\n'))
}

async fn person(ask: &FieldRequest<'_>, role: &str) -> RestResult<Value> {
    let mut person = ask.value(&format!("/commit/{role}")).await?;
    if person.is_object() {
        person["user"] = ask.value(&format!("/{role}")).await?;
    }
    Ok(person)
}

async fn authors(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    let author = person(ask, "author").await?;
    Ok(of_items(vec![author], &part))
}

async fn parents(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    let parents = ask.value("/parents").await?;
    Ok(of_items(
        parents.as_array().cloned().unwrap_or_default(),
        &part,
    ))
}

async fn history(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let mut list = RestList::new("/commits").query("sha", plain(&ask.of["sha"]));
    for name in ["path", "since", "until"] {
        if let Some(value) = ask.args[name].as_str() {
            list = list.query(name, value);
        }
    }
    list.connection(ask.session, &ask.part()?).await
}

async fn pulls_of_commit(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    let sha = plain(&ask.of["sha"]);
    if ask.session.is_github() {
        let list = RestList::new(format!("/commits/{}/pulls", escaped(&sha)));
        return list.connection(ask.session, &part).await;
    }
    let one = ask
        .session
        .body_if_there(&format!("/commits/{}/pull", escaped(&sha)))
        .await?;
    let one: Vec<Value> = one.is_object().then_some(one).into_iter().collect();
    Ok(of_items(one, &part))
}

async fn pulls_of_branch(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let name = plain(&ask.of["ref"]);
    let branch = split(&name).1.to_owned();
    let own = ask.session.job.repository.clone();
    let states = ask.args["states"].as_array().cloned().unwrap_or_default();
    let state = if states == ["OPEN"] { "open" } else { "all" };
    let mut list = RestList::new("/pulls").query("state", state);
    if let (true, Some((owner, _))) = (ask.session.is_github(), own.split_once('/')) {
        list = list.query("head", format!("{owner}:{branch}"));
    }
    // Branches of forks may have the same name.
    let list = list.keep(move |pull| {
        let from = pull["head"]["repo"]["full_name"].as_str();
        pull["head"]["ref"] == branch.as_str()
            && from.is_some_and(|from| from.eq_ignore_ascii_case(&own))
            && (states.is_empty() || states.contains(&json!(pull_state(pull))))
    });
    list.connection(ask.session, &ask.part()?).await
}

/// The statuses of a commit, the last of each name; null: none.
async fn statuses(session: &QuerySession, sha: &str) -> RestResult<Value> {
    let all = all_statuses(session, sha).await?;
    if all.is_empty() {
        return Ok(Value::Null);
    }
    let is = |state: &str| all.iter().any(|one| status_state(one) == state);
    let state = match () {
        () if is("FAILURE") || is("ERROR") => "failure",
        () if is("PENDING") => "pending",
        () => "success",
    };
    Ok(json!({"state": state, "statuses": all}))
}

async fn all_statuses(session: &QuerySession, sha: &str) -> RestResult<Vec<Value>> {
    let list = RestList::new(format!("/commits/{}/status", escaped(sha))).with_pointer("/statuses");
    match list.mark("__typename", "StatusContext").all(session).await {
        Err(failure) if failure.status == 404 => Ok(Vec::new()),
        all => all,
    }
}

/// All that was checked of a commit: statuses, and at GitHub checks. What may not be read is an
/// error, not a part that is left out: a failure could be in it.
pub(super) async fn rollup(session: &QuerySession, sha: &str) -> RestResult<Value> {
    let mut all = all_statuses(session, sha).await?;
    if session.is_github() {
        let list = RestList::new(format!("/commits/{}/check-runs", escaped(sha)))
            .with_pointer("/check_runs");
        let list = list.mark("__typename", "CheckRun");
        all.extend(list.all(session).await?);
    }
    if all.is_empty() {
        return Ok(Value::Null);
    }
    let of = |one: &Value| match one["conclusion"].as_str() {
        _ if one["__typename"] == "StatusContext" => status_state(one),
        Some("success" | "neutral" | "skipped") => "SUCCESS",
        Some(_) => "FAILURE",
        None => "PENDING",
    };
    let worst = ["FAILURE", "ERROR", "PENDING"];
    let worst = worst
        .into_iter()
        .find(|state| all.iter().any(|one| of(one) == *state));
    Ok(json!({"state": worst.unwrap_or("SUCCESS"), "all": all}))
}
