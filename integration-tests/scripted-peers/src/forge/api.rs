//! The forge's answers.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::Shared;
use super::model::{Comment, Failure, Issue, Model, Pull, Status};
use crate::server::{Recorded, broken};

/// Items a page.
const PAGE: usize = 50;

/// An answer before it is HTTP.
struct Answer {
    status: u16,
    body: Value,
    total: Option<usize>,
}

impl Answer {
    fn ok(body: Value) -> Self {
        Self::of(200, body)
    }

    fn of(status: u16, body: Value) -> Self {
        Self {
            status,
            body,
            total: None,
        }
    }

    fn refused(status: u16, message: &str) -> Self {
        Self::of(status, json!({"message": message}))
    }
}

/// One request, with what is needed to answer it.
struct Call<'a> {
    method: &'a str,
    segments: Vec<&'a str>,
    query: Vec<(String, String)>,
    body: Value,
    login: String,
    /// Gitea's API was asked, not GitHub's.
    gitea: bool,
    /// The forge's own address.
    base: String,
}

impl Call<'_> {
    fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name)?;
        Some(&found.1)
    }

    fn text(&self, name: &str) -> String {
        self.body[name].as_str().unwrap_or_default().to_owned()
    }
}

pub(super) async fn serve(
    request: HttpRequest,
    body: Bytes,
    shared: web::Data<Shared>,
) -> HttpResponse {
    let planned = {
        let mut model = shared.model.lock();
        model.requests.push(Recorded::of(&request, &body));
        model.planned(request.method().as_str(), request.path())
    };
    let answer = match &planned {
        Some(Failure::Status(status, after)) => {
            shared.changed.notify_waiters();
            return failed(*status, *after);
        }
        Some(Failure::Hang(time)) => {
            shared.changed.notify_waiters();
            actix_rt::time::sleep(*time).await;
            return failed(500, None);
        }
        _ => route(&request, &body, &shared),
    };
    shared.changed.notify_waiters();
    match planned {
        Some(Failure::DoneBut(status)) => failed(status, None),
        Some(Failure::DoneThenHang(time)) => {
            actix_rt::time::sleep(time).await;
            failed(500, None)
        }
        Some(Failure::DoneThenCut) => cut(&answer),
        _ => finished(&answer),
    }
}

fn failed(status: u16, after: Option<u64>) -> HttpResponse {
    let status = StatusCode::from_u16(status).expect("a planned status is one");
    let mut response = HttpResponse::build(status);
    if let Some(after) = after {
        response.insert_header(("retry-after", after.to_string()));
    }
    response.json(json!({"message": "as planned"}))
}

fn finished(answer: &Answer) -> HttpResponse {
    let status = StatusCode::from_u16(answer.status).expect("the status is one");
    let mut response = HttpResponse::build(status);
    if let Some(total) = answer.total {
        response.insert_header(("x-total-count", total.to_string()));
    }
    match &answer.body {
        Value::Null => response.finish(),
        body => response.json(body),
    }
}

/// Half of the answer, then the connection breaks.
fn cut(answer: &Answer) -> HttpResponse {
    let body = answer.body.to_string().into_bytes();
    let half = Bytes::copy_from_slice(&body[..body.len() / 2]);
    let parts = stream::iter([Ok(half)]).chain(stream::once(async { Err(broken().await) }));
    let status = StatusCode::from_u16(answer.status).expect("the status is one");
    HttpResponse::build(status).streaming(parts)
}

fn route(request: &HttpRequest, body: &Bytes, shared: &Shared) -> Answer {
    let path = request.path();
    let gitea = path.starts_with("/api/v1/");
    let rest = path.strip_prefix("/api/v1").unwrap_or(path);
    let mut model = shared.model.lock();
    let token = request.headers().get("authorization");
    let token = token
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let token = token.rsplit(' ').next().unwrap_or_default();
    let login = match model.users.get(token) {
        Some(login) => login.clone(),
        None if model.users.is_empty() => "someone".to_owned(),
        None => return Answer::refused(401, "invalid username, password or token"),
    };
    if !gitea && request.headers().get("user-agent").is_none() {
        return Answer::refused(
            403,
            "request forbidden by administrative rules: no user agent",
        );
    }
    let query = web::Query::<Vec<(String, String)>>::from_query(request.query_string());
    let call = Call {
        method: request.method().as_str(),
        segments: rest.trim_matches('/').split('/').collect(),
        query: query.map(web::Query::into_inner).unwrap_or_default(),
        body: serde_json::from_slice(body).unwrap_or_default(),
        login,
        gitea,
        base: format!("http://{}", request.connection_info().host()),
    };
    match (call.method, call.segments.as_slice()) {
        ("GET", ["user"]) => Answer::ok(json!({"login": call.login, "id": 1})),
        ("GET", ["repos", "issues", "search"]) if gitea => search(&mut model, &call),
        ("GET", ["search", "issues"]) => {
            let found = search(&mut model, &call);
            let total = found.total.unwrap_or_default();
            Answer::ok(json!({"total_count": total, "items": found.body}))
        }
        (_, ["repos", owner, name, rest @ ..]) => {
            let repo = format!("{owner}/{name}");
            if model.known_repo(&repo).is_none() {
                return Answer::refused(404, "the target couldn't be found");
            }
            of_repo(&mut model, &call, &repo, rest)
        }
        _ => Answer::refused(404, "not found"),
    }
}

fn of_repo(model: &mut Model, call: &Call<'_>, repo: &str, rest: &[&str]) -> Answer {
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    match (call.method, rest) {
        ("POST", ["statuses", sha]) => post_status(model, call, repo, sha),
        ("GET", ["commits", sha, "statuses"]) => statuses(model, call, repo, sha),
        ("GET", ["git", "commits", sha]) => match model.repo(repo).commits.contains(*sha) {
            true => Answer::ok(json!({"sha": sha})),
            false => Answer::refused(404, "not found"),
        },
        ("GET", ["issues", "comments"]) => comments(model, call, repo, None),
        ("GET", ["issues", issue, "comments"]) => comments(model, call, repo, Some(number(issue))),
        ("POST", ["issues", issue, "comments"]) => {
            let issue = number(issue);
            let of = model.repo(repo);
            if !of.issues.contains_key(&issue) && !of.pulls.contains_key(&issue) {
                return Answer::refused(404, "issue does not exist");
            }
            let comment = model.comment(repo, issue, &call.login, &call.text("body"));
            Answer::of(201, comment_json(model, call, repo, &comment))
        }
        ("PATCH", ["issues", "comments", id]) => edit_comment(model, call, repo, number(id)),
        ("GET", ["issues"]) => issues(model, call, repo),
        ("GET", ["pulls"]) => pulls(model, call, repo),
        ("GET", ["pulls", pull]) => match model.repo(repo).pulls.get(&number(pull)) {
            Some(pull) => Answer::ok(pull_json(call, repo, pull)),
            None => Answer::refused(404, "not found"),
        },
        ("PATCH", ["pulls", pull]) => change_pull(model, call, repo, number(pull)),
        ("GET", ["collaborators", user, "permission"]) => {
            match model.repo(repo).permissions.get(*user) {
                Some(word) => Answer::ok(json!({"permission": word, "role_name": word})),
                None => Answer::refused(404, "user does not exist"),
            }
        }
        _ => Answer::refused(404, "not found"),
    }
}

fn post_status(model: &mut Model, call: &Call<'_>, repo: &str, sha: &str) -> Answer {
    if !model.repo(repo).commits.contains(sha) {
        // As Gitea has it; GitHub says 422.
        return match call.gitea {
            true => Answer::refused(500, "object does not exist"),
            false => Answer::refused(422, "No commit found for SHA"),
        };
    }
    let status = Status {
        id: model.next_id(),
        sha: sha.to_owned(),
        context: call.text("context"),
        state: call.text("state"),
        description: call.text("description"),
        target_url: call.text("target_url"),
        creator: call.login.clone(),
    };
    let json = status_json(call, &status);
    model.repo(repo).statuses.push(status);
    Answer::of(201, json)
}

fn statuses(model: &mut Model, call: &Call<'_>, repo: &str, sha: &str) -> Answer {
    let all = model.repo(repo).statuses.iter();
    // The latest first.
    let found: Vec<Value> = all
        .rev()
        .filter(|status| status.sha == sha)
        .map(|status| status_json(call, status))
        .collect();
    page(call, found)
}

fn status_json(call: &Call<'_>, status: &Status) -> Value {
    let word = if call.gitea { "status" } else { "state" };
    json!({
        "id": status.id,
        word: status.state,
        "context": status.context,
        "description": status.description,
        "target_url": status.target_url,
        "creator": {"login": status.creator},
    })
}

fn comments(model: &mut Model, call: &Call<'_>, repo: &str, issue: Option<u64>) -> Answer {
    let since = call.parameter("since").map(str::to_owned);
    let all: Vec<Comment> = model
        .repo(repo)
        .comments
        .iter()
        .filter(|comment| issue.is_none_or(|issue| comment.issue == issue))
        .filter(|comment| {
            since
                .as_ref()
                .is_none_or(|since| *since <= time(comment.at))
        })
        .cloned()
        .collect();
    let json = all
        .iter()
        .map(|comment| comment_json(model, call, repo, comment));
    let json = json.collect();
    page(call, json)
}

fn edit_comment(model: &mut Model, call: &Call<'_>, repo: &str, id: u64) -> Answer {
    let text = call.text("body");
    let mut comments = model.repo(repo).comments.iter_mut();
    let Some(comment) = comments.find(|comment| comment.id == id) else {
        return Answer::refused(404, "not found");
    };
    comment.body = text;
    let comment = comment.clone();
    Answer::ok(comment_json(model, call, repo, &comment))
}

fn comment_json(model: &mut Model, call: &Call<'_>, repo: &str, comment: &Comment) -> Value {
    let is_pull = model.repo(repo).pulls.contains_key(&comment.issue);
    let page = |kind: &str| format!("{}/{repo}/{kind}/{}", call.base, comment.issue);
    let (issue_url, pull_url) = match (call.gitea, is_pull) {
        (true, true) => (String::new(), page("pulls")),
        (true, false) => (page("issues"), String::new()),
        (false, _) => (
            format!("{}/repos/{repo}/issues/{}", call.base, comment.issue),
            String::new(),
        ),
    };
    let kind = match (call.gitea, is_pull) {
        (_, false) => "issues",
        (true, true) => "pulls",
        (false, true) => "pull",
    };
    json!({
        "id": comment.id,
        "body": comment.body,
        "user": {"login": comment.author},
        "html_url": format!("{}#issuecomment-{}", page(kind), comment.id),
        "issue_url": issue_url,
        "pull_request_url": pull_url,
        "created_at": time(comment.at),
        "updated_at": time(comment.at),
    })
}

/// A time in seconds as RFC 3339, by the civil calendar.
fn time(at: u64) -> String {
    let (days, rest) = (at / 86_400, at % 86_400);
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn is_wanted(call: &Call<'_>, open: bool) -> bool {
    match call.parameter("state") {
        Some("all") => true,
        Some("closed") => !open,
        _ => open,
    }
}

fn issues(model: &mut Model, call: &Call<'_>, repo: &str) -> Answer {
    let words = call.parameter("q").unwrap_or_default().to_lowercase();
    let all = model.repo(repo).issues.iter();
    let mut found: Vec<Value> = all
        .filter(|(_, issue)| is_wanted(call, issue.open))
        .filter(|(_, issue)| issue.title.to_lowercase().contains(&words))
        .map(|(number, issue)| issue_json(call, repo, *number, issue))
        .collect();
    if !call.gitea {
        // GitHub's list holds pull requests as well.
        found.extend(model.repo(repo).pulls.values().map(|pull| {
            let issue = Issue {
                title: pull.title.clone(),
                body: String::new(),
                open: pull.open,
            };
            let mut json = issue_json(call, repo, pull.number, &issue);
            json["pull_request"] = json!({"url": ""});
            json
        }));
    }
    page(call, found)
}

fn search(model: &mut Model, call: &Call<'_>) -> Answer {
    let words = call.parameter("q").unwrap_or_default().to_lowercase();
    let words: Vec<&str> = words
        .split(' ')
        .filter(|word| !word.contains(':'))
        .collect();
    let mut found = Vec::new();
    for repo in model.repo_names() {
        for (number, issue) in &model.repo(&repo).issues {
            let text = format!("{} {}", issue.title, issue.body).to_lowercase();
            let open = call.parameter("state").is_none() || is_wanted(call, issue.open);
            if open && words.iter().all(|word| text.contains(word)) {
                found.push(issue_json(call, &repo, *number, issue));
            }
        }
    }
    page(call, found)
}

fn issue_json(call: &Call<'_>, repo: &str, number: u64, issue: &Issue) -> Value {
    json!({
        "number": number,
        "title": issue.title,
        "body": issue.body,
        "state": if issue.open { "open" } else { "closed" },
        "html_url": format!("{}/{repo}/issues/{number}", call.base),
        "user": {"login": "someone"},
        "labels": [{"name": "bug"}],
        "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02T03:04:05Z",
        "pull_request": null,
        "repository": call.gitea.then(|| json!({"full_name": repo})),
        "repository_url": (!call.gitea).then(|| format!("{}/repos/{repo}", call.base)),
    })
}

fn pulls(model: &mut Model, call: &Call<'_>, repo: &str) -> Answer {
    let all = model.repo(repo).pulls.values();
    let found: Vec<Value> = all
        .filter(|pull| is_wanted(call, pull.open))
        .map(|pull| pull_json(call, repo, pull))
        .collect();
    page(call, found)
}

fn change_pull(model: &mut Model, call: &Call<'_>, repo: &str, number: u64) -> Answer {
    let Some(pull) = model.repo(repo).pulls.get_mut(&number) else {
        return Answer::refused(404, "not found");
    };
    let open = call.text("state") == "open";
    if open && pull.merged {
        return Answer::refused(422, "cannot change state of this pull request");
    }
    pull.open = open;
    let status = if call.gitea { 201 } else { 200 };
    Answer::of(status, pull_json(call, repo, pull))
}

fn pull_json(call: &Call<'_>, repo: &str, pull: &Pull) -> Value {
    let head = pull.head_repo.as_deref().unwrap_or(repo);
    json!({
        "number": pull.number,
        "title": pull.title,
        "body": "",
        "state": if pull.open { "open" } else { "closed" },
        "draft": false,
        "merged": pull.merged,
        "html_url": format!("{}/{repo}/pulls/{}", call.base, pull.number),
        "user": {"login": pull.author},
        "head": {
            "ref": pull.head_branch, "sha": pull.head_sha, "repo": {"full_name": head},
        },
        "base": {
            "ref": pull.base_branch, "sha": pull.base_sha, "repo": {"full_name": repo},
        },
        "updated_at": "2026-01-02T03:04:05Z",
    })
}

/// One page of a list.
fn page(call: &Call<'_>, items: Vec<Value>) -> Answer {
    let number = |name: &str| {
        call.parameter(name)
            .and_then(|text| text.parse::<usize>().ok())
    };
    let size = number(if call.gitea { "limit" } else { "per_page" });
    let size = size.unwrap_or(30).clamp(1, PAGE);
    let page = number("page").unwrap_or(1).max(1);
    let total = items.len();
    let items: Vec<Value> = items
        .into_iter()
        .skip((page - 1) * size)
        .take(size)
        .collect();
    Answer {
        total: Some(total),
        ..Answer::ok(items.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let table = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_262_399, "2026-11-21T11:59:59Z"),
        ];
        for (at, expected) in table {
            assert_eq!(time(at), expected);
        }
    }
}
