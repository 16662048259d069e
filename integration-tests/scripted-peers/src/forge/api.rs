//! The forge's answers.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::call::{Answer, Call, page};
use super::changes::changes;
use super::comments::{comments, delete_comment, edit_comment, post_comment};
use super::hooks::hooks;
use super::model::{Failure, ForgeState, Issue, Model, Status};
use super::releases::{download, releases};
use super::shapes::{issue_json, pull_json};
use crate::server::{Recorded, broken};

pub(super) async fn serve(
    request: HttpRequest,
    body: Bytes,
    state: web::Data<ForgeState>,
) -> HttpResponse {
    let (method, path) = (request.method().as_str(), request.path());
    let (planned, written) = {
        let mut model = state.model.lock();
        model.requests.push(Recorded::from_request(&request, &body));
        let mut answers = model.answers.iter().rev();
        let written = answers.find(|answer| answer.is_of(method, path)).cloned();
        (model.planned(method, path), written)
    };
    if let (Some(written), None) = (written, &planned) {
        let answer = web::block(move || written.answer(&body)).await;
        return answer.map_or_else(|_| failed(500, None), |answer| finished(&answer));
    }
    let answer = match &planned {
        Some(Failure::Status(status, after)) => {
            state.changed.notify_waiters();
            return failed(*status, *after);
        }
        Some(Failure::Hang(time)) => {
            state.changed.notify_waiters();
            actix_rt::time::sleep(*time).await;
            return failed(500, None);
        }
        Some(Failure::DoneAfter(time)) => return done_after(request, body, state, *time).await,
        _ => route(&request, &body, &state),
    };
    state.changed.notify_waiters();
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

/// What a forge does that was stopped by a signal: the request waits in its socket, and is carried
/// out when it goes on, whether or not anybody still waits for the answer.
async fn done_after(
    request: HttpRequest,
    body: Bytes,
    state: web::Data<ForgeState>,
    time: std::time::Duration,
) -> HttpResponse {
    let late = actix_rt::spawn(async move {
        actix_rt::time::sleep(time).await;
        let answer = route(&request, &body, &state);
        state.changed.notify_waiters();
        finished(&answer)
    });
    late.await.unwrap_or_else(|_| failed(500, None))
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

fn route(request: &HttpRequest, body: &Bytes, state: &ForgeState) -> Answer {
    let path = request.path();
    let gitea = path.starts_with("/api/v1/");
    let rest = path.strip_prefix("/api/v1").unwrap_or(path);
    let mut model = state.model.lock();
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
        raw: body.clone(),
        login,
        gitea,
        base: format!("http://{}", request.connection_info().host()),
    };
    match (call.method, call.segments.as_slice()) {
        ("GET", ["user"]) => Answer::ok(json!({"login": call.login, "id": 1})),
        ("GET", ["version"]) if gitea => {
            let version = if model.is_old { "1.15.11" } else { "1.22.6" };
            Answer::ok(json!({"version": version}))
        }
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
            if let Some(answer) = changes(&mut model, &call, &repo, rest) {
                return answer;
            }
            let mut answer = of_repo(&mut model, &call, &repo, rest);
            if matches!(rest, ["issues" | "pulls"] | ["issues" | "pulls", _]) {
                model.complete(&repo, &mut answer.body);
            }
            answer
        }
        ("GET", [owner, name, "releases", "download", tag, file]) => {
            download(&mut model, &format!("{owner}/{name}"), tag, file)
        }
        _ => Answer::refused(404, "not found"),
    }
}

fn of_repo(model: &mut Model, call: &Call<'_>, repo: &str, rest: &[&str]) -> Answer {
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    match (call.method, rest) {
        ("GET", []) => Answer::ok(json!({
            "full_name": repo, "default_branch": "main", "html_url": format!("{}/{repo}", call.base),
        })),
        ("POST", ["statuses", sha]) => post_status(model, call, repo, sha),
        ("GET", ["commits", sha, "statuses"]) => statuses(model, call, repo, sha),
        ("GET", ["git", "commits", sha]) => match model.repo(repo).commits.contains(*sha) {
            true => {
                let message = model.repo(repo).messages.get(*sha).cloned();
                Answer::ok(match call.gitea {
                    true => json!({"sha": sha, "commit": {"message": message}}),
                    false => json!({"sha": sha, "message": message}),
                })
            }
            false => Answer::refused(404, "not found"),
        },
        ("GET", ["issues", "comments"]) => comments(model, call, repo, None),
        ("GET", ["issues", issue, "comments"]) => comments(model, call, repo, Some(number(issue))),
        ("POST", ["issues", issue, "comments"]) => post_comment(model, call, repo, number(issue)),
        ("PATCH", ["issues", "comments", id]) => edit_comment(model, call, repo, number(id)),
        ("DELETE", ["issues", "comments", id]) => delete_comment(model, call, repo, number(id)),
        ("GET", ["issues"]) => issues(model, call, repo),
        ("GET", ["issues", issue]) => one_issue(model, call, repo, number(issue)),
        (_, ["releases", rest @ ..]) => releases(model, call, repo, rest),
        (_, ["hooks", rest @ ..]) => hooks(model, call, repo, rest),
        ("GET", ["pulls"]) => pulls(model, call, repo),
        ("GET", ["pulls", pull]) => match model.repo(repo).pulls.get(&number(pull)) {
            Some(pull) => Answer::ok(pull_json(call, repo, pull)),
            None => Answer::refused(404, "not found"),
        },
        ("GET", ["collaborators", user, "permission"]) => {
            if model.is_old {
                return Answer::refused(404, "");
            }
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
    Answer::new(201, json)
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
                closed_at: None,
            };
            let mut json = issue_json(call, repo, pull.number, &issue);
            json["pull_request"] = json!({"url": ""});
            json
        }));
    }
    page(call, found)
}

/// One issue; a pull request is one, too.
fn one_issue(model: &mut Model, call: &Call<'_>, repo: &str, number: u64) -> Answer {
    let of = model.repo(repo);
    if let Some(issue) = of.issues.get(&number) {
        return Answer::ok(issue_json(call, repo, number, issue));
    }
    let Some(pull) = of.pulls.get(&number) else {
        return Answer::refused(404, "issue does not exist");
    };
    let issue = Issue {
        title: pull.title.clone(),
        body: String::new(),
        open: pull.open,
        closed_at: None,
    };
    let mut json = issue_json(call, repo, number, &issue);
    json["pull_request"] = json!({"merged": pull.merged});
    Answer::ok(json)
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

fn pulls(model: &mut Model, call: &Call<'_>, repo: &str) -> Answer {
    let all = model.repo(repo).pulls.values();
    let found: Vec<Value> = all
        .filter(|pull| is_wanted(call, pull.open))
        .map(|pull| pull_json(call, repo, pull))
        .collect();
    page(call, found)
}
