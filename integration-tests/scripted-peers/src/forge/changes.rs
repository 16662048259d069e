//! Changes of issues and pull requests: new ones, labels, reviews, merging, branches that go.

use serde_json::{Value, json};

use super::call::{Answer, Call, page};
use super::model::{Issue, Model, Pull};
use super::shapes::{issue_json, pull_json};

/// Answers a call, or says that it is none of these.
pub(super) fn changes(
    model: &mut Model,
    call: &Call<'_>,
    repo: &str,
    rest: &[&str],
) -> Option<Answer> {
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    let merges = if call.gitea { "POST" } else { "PUT" };
    Some(match (call.method, rest) {
        ("POST", ["issues"]) => create_issue(model, call, repo),
        ("PATCH", ["issues" | "pulls", n]) => edit(model, call, repo, number(n)),
        ("POST", ["pulls"]) => create_pull(model, call, repo),
        (method, ["pulls", n, "merge"]) if method == merges => {
            let pull = model.repo(repo).pulls.get_mut(&number(n))?;
            (pull.open, pull.merged) = (false, true);
            Answer::ok(json!({"merged": true}))
        }
        ("GET", ["pulls", n, "reviews"]) => {
            let reviews = &model.repo(repo).reviews;
            let own = reviews.iter().filter(|(pull, _)| *pull == number(n));
            page(call, own.map(|(_, review)| review.clone()).collect())
        }
        ("POST", ["pulls", n, "reviews"]) => review(model, call, repo, number(n)),
        ("GET", ["labels"]) => {
            let labels = model.repo(repo).labels.clone();
            page(call, labels)
        }
        ("GET", ["labels", name]) if !call.gitea => {
            let mut labels = model.repo(repo).labels.iter();
            let found = labels.find(|label| label["name"] == *name).cloned();
            found.map_or_else(|| Answer::refused(404, "not found"), Answer::ok)
        }
        ("POST", ["labels"]) => {
            let label = json!({
                "id": model.next_id(), "name": call.body["name"], "color": call.body["color"],
                "description": call.body["description"],
            });
            model.repo(repo).labels.push(label.clone());
            Answer::new(201, label)
        }
        ("POST", ["issues", n, "labels"]) => add_labels(model, call, repo, number(n)),
        ("DELETE", ["issues", n, "labels", label]) => {
            let labels = model.extra(repo, number(n));
            let labels = labels["labels"].as_array_mut()?;
            let id = label.parse::<u64>().ok();
            labels.retain(|own| own["name"] != **label && own["id"].as_u64() != id);
            Answer::new(204, Value::Null)
        }
        ("GET", ["assignees"]) => page(call, vec![json!({"login": "ada", "id": 1})]),
        ("GET", ["commits", sha, "status"]) => {
            let statuses = model.repo(repo).statuses.iter();
            let own = statuses.filter(|status| status.sha == *sha);
            let own = own.map(|it| json!({"context": it.context, "status": it.state}));
            Answer::ok(json!({"statuses": own.collect::<Vec<_>>()}))
        }
        ("GET", ["commits", _, "check-runs"]) if !call.gitea => {
            Answer::ok(json!({"total_count": 0, "check_runs": []}))
        }
        ("DELETE", ["branches", name]) if call.gitea => delete_branch(model, repo, name),
        ("DELETE", ["git", "refs", "heads", name]) if !call.gitea => {
            delete_branch(model, repo, name)
        }
        ("GET", ["releases", "latest"]) => Answer::refused(404, "not found"),
        _ => return reads(model, call, repo, rest),
    })
}

/// What is read only.
fn reads(model: &mut Model, call: &Call<'_>, repo: &str, rest: &[&str]) -> Option<Answer> {
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    Some(match (call.method, rest) {
        ("GET", ["pulls", n]) if n.ends_with(".diff") => Answer::ok(json!("a diff")),
        ("GET", ["pulls", _, "files"]) => {
            page(call, vec![json!({"filename": "a.txt", "additions": 1})])
        }
        ("POST" | "DELETE", ["pulls", _, "requested_reviewers"]) => Answer::new(201, json!([])),
        ("GET", ["languages"]) => Answer::ok(json!({"Rust": 7})),
        ("GET", ["milestones"]) => page(call, Vec::new()),
        ("GET", ["actions", "runs"]) => {
            let run = json!({"id": 5, "status": "completed", "conclusion": "success",
                "head_branch": "main", "event": "push", "display_title": "a run", "workflow_id": 1,
                "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z"});
            Answer::ok(json!({"total_count": 1, "workflow_runs": [run]}))
        }
        ("GET", ["actions", "workflows"]) => {
            let workflow = json!({"id": 1, "name": "CI", "state": "active", "path": "ci.yml"});
            Answer::ok(json!({"total_count": 1, "workflows": [workflow]}))
        }
        ("GET", ["pulls", n, "commits"]) => {
            let sha = model.repo(repo).pulls.get(&number(n))?.head_sha.clone();
            let who =
                json!({"name": "Ada", "email": "a@example.org", "date": "2026-01-02T03:04:05Z"});
            let commit = json!({"message": "a commit", "author": who, "committer": who});
            let author = json!({"login": "ada", "id": 1});
            page(
                call,
                vec![json!({"sha": sha, "author": author, "commit": commit})],
            )
        }
        _ => return None,
    })
}

fn delete_branch(model: &mut Model, repo: &str, branch: &str) -> Answer {
    model.repo(repo).deleted.push(branch.to_owned());
    Answer::new(204, Value::Null)
}

fn next_number(model: &mut Model, repo: &str) -> u64 {
    let of = model.repo(repo);
    let last = of.issues.keys().chain(of.pulls.keys()).max();
    last.copied().unwrap_or_default() + 1
}

fn create_issue(model: &mut Model, call: &Call<'_>, repo: &str) -> Answer {
    let number = next_number(model, repo);
    let issue = Issue {
        title: call.text("title"),
        body: call.text("body"),
        open: true,
        closed_at: None,
    };
    let json = issue_json(call, repo, number, &issue);
    model.repo(repo).issues.insert(number, issue);
    Answer::new(201, json)
}

fn create_pull(model: &mut Model, call: &Call<'_>, repo: &str) -> Answer {
    let number = next_number(model, repo);
    let head = call.text("head");
    let branch = head.rsplit(':').next().unwrap_or_default();
    let sha = "1".repeat(40);
    let pull = Pull {
        title: call.text("title"),
        head_branch: branch.to_owned(),
        base_branch: call.text("base"),
        ..Pull::new(number, &call.login, &sha, &sha)
    };
    model.extra(repo, number)["body"] = call.body["body"].clone();
    let mut json = pull_json(call, repo, &pull);
    model.repo(repo).pulls.insert(number, pull);
    model.complete(repo, &mut json);
    Answer::new(201, json)
}

fn edit(model: &mut Model, call: &Call<'_>, repo: &str, number: u64) -> Answer {
    let of = model.repo(repo);
    let (text, state) = (|name: &str| call.body[name].as_str(), call.text("state"));
    if let Some(issue) = of.issues.get_mut(&number) {
        issue.title = text("title").unwrap_or(&issue.title).to_owned();
        issue.body = text("body").unwrap_or(&issue.body).to_owned();
        issue.open = if state.is_empty() {
            issue.open
        } else {
            state == "open"
        };
        return Answer::ok(issue_json(call, repo, number, issue));
    }
    let Some(pull) = of.pulls.get_mut(&number) else {
        return Answer::refused(404, "not found");
    };
    if state == "open" && pull.merged {
        return Answer::refused(422, "cannot change state of this pull request");
    }
    pull.title = text("title").unwrap_or(&pull.title).to_owned();
    pull.base_branch = text("base").unwrap_or(&pull.base_branch).to_owned();
    pull.open = if state.is_empty() {
        pull.open
    } else {
        state == "open"
    };
    let mut json = pull_json(call, repo, pull);
    for name in ["body", "assignees"] {
        if !call.body[name].is_null() {
            model.extra(repo, number)[name] = call.body[name].clone();
        }
    }
    model.complete(repo, &mut json);
    Answer::new(if call.gitea { 201 } else { 200 }, json)
}

fn add_labels(model: &mut Model, call: &Call<'_>, repo: &str, number: u64) -> Answer {
    let key = if call.gitea { "id" } else { "name" };
    for wanted in call.body["labels"].as_array().cloned().unwrap_or_default() {
        let mut known = model.repo(repo).labels.iter();
        let Some(label) = known.find(|label| label[key] == wanted).cloned() else {
            return Answer::refused(404, "not found");
        };
        let extra = model.extra(repo, number);
        match extra["labels"].as_array_mut() {
            Some(labels) => labels.push(label),
            None => extra["labels"] = json!([label]),
        }
    }
    Answer::ok(model.extra(repo, number)["labels"].clone())
}

fn review(model: &mut Model, call: &Call<'_>, repo: &str, number: u64) -> Answer {
    let state = match call.text("event").as_str() {
        "APPROVE" if !call.gitea => "APPROVED".to_owned(),
        event => event.to_owned(),
    };
    let review = json!({
        "id": model.next_id(), "user": {"login": call.login}, "state": state,
        "body": call.body["body"], "submitted_at": "2026-01-02T03:04:05Z",
    });
    model.repo(repo).reviews.push((number, review.clone()));
    Answer::ok(review)
}
