//! Comments, and the times on them.

use serde_json::{Value, json};

use super::call::{Answer, Call, page};
use super::model::{Comment, Model, now};

pub(super) fn post_comment(model: &mut Model, call: &Call<'_>, repo: &str, issue: u64) -> Answer {
    let of = model.repo(repo);
    if !of.issues.contains_key(&issue) && !of.pulls.contains_key(&issue) {
        return Answer::refused(404, "issue does not exist");
    }
    let comment = model.comment(repo, issue, &call.login, &call.text("body"));
    Answer::new(201, comment_json(model, call, repo, &comment))
}

pub(super) fn delete_comment(model: &mut Model, call: &Call<'_>, repo: &str, id: u64) -> Answer {
    let comments = &mut model.repo(repo).comments;
    let Some(place) = comments.iter().position(|comment| comment.id == id) else {
        return Answer::refused(404, "not found");
    };
    if comments[place].author != call.login {
        return Answer::refused(403, "not your comment");
    }
    comments.remove(place);
    Answer::new(204, Value::Null)
}

pub(super) fn comments(
    model: &mut Model,
    call: &Call<'_>,
    repo: &str,
    issue: Option<u64>,
) -> Answer {
    let since = call.parameter("since").map(str::to_owned);
    let mut all: Vec<Comment> = model
        .repo(repo)
        .comments
        .iter()
        .filter(|comment| issue.is_none_or(|issue| comment.issue == issue))
        .filter(|comment| {
            since
                .as_ref()
                .is_none_or(|since| *since <= time(comment.updated))
        })
        .cloned()
        .collect();
    // As both kinds do when asked for comments by the time they were written.
    all.sort_by_key(|comment| (comment.at, comment.id));
    let json = all
        .iter()
        .map(|comment| comment_json(model, call, repo, comment));
    let json = json.collect();
    page(call, json)
}

pub(super) fn edit_comment(model: &mut Model, call: &Call<'_>, repo: &str, id: u64) -> Answer {
    let text = call.text("body");
    let mut comments = model.repo(repo).comments.iter_mut();
    let Some(comment) = comments.find(|comment| comment.id == id) else {
        return Answer::refused(404, "not found");
    };
    comment.body = text;
    comment.updated = now();
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
        "updated_at": time(comment.updated),
        "author_association": (!call.gitea).then_some("NONE"),
    })
}

/// A time in seconds as RFC 3339, by the civil calendar.
pub(super) fn time(at: u64) -> String {
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
