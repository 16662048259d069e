//! Issues and pull requests by filters: of the repository's lists, and of a search's words. REST's
//! own search reaches beyond the repository, so lists are looked through.

use serde_json::Value;

use super::states::{is_draft, pull_state};
use crate::ask::FieldRequest;
use crate::ids::plain;
use crate::lists::{RestList, backwards};
use crate::rest::RestFailure;
use crate::session::RestResult;

/// What is looked for.
#[derive(Debug, Default, Clone, PartialEq)]
struct Filter {
    /// States that count; empty: all.
    states: Vec<String>,
    labels: Vec<String>,
    without_labels: Vec<String>,
    author: Option<String>,
    assignee: Option<String>,
    mentioned: Option<String>,
    reviewer: Option<String>,
    milestone: Option<String>,
    /// Its number, and its own number in all of the forge; `*`: any.
    milestone_number: Option<String>,
    milestone_id: Option<String>,
    head: Option<String>,
    base: Option<String>,
    draft: Option<bool>,
    /// Words of title and body.
    words: Vec<String>,
    ascending: bool,
    by_update: bool,
    since: Option<String>,
}

fn equals_text(value: &Value, text: &str) -> bool {
    let own = value.as_str().unwrap_or_default();
    own.eq_ignore_ascii_case(text)
}

impl Filter {
    fn keeps(&self, item: &Value, is_pull: bool) -> bool {
        let state = match item["state"].as_str() {
            _ if is_pull => pull_state(item),
            Some("closed") => "CLOSED",
            _ => "OPEN",
        };
        let has_label = |name: &String| {
            let labels = item["labels"].as_array();
            labels.is_some_and(|all| all.iter().any(|label| equals_text(&label["name"], name)))
        };
        let is = |value: &Value, wanted: &Option<String>| {
            wanted
                .as_ref()
                .is_none_or(|wanted| equals_text(value, wanted))
        };
        let among = |place: &str, wanted: &Option<String>| {
            let all = item[place].as_array();
            let any = |wanted: &String| {
                all.is_some_and(|all| all.iter().any(|one| equals_text(&one["login"], wanted)))
            };
            wanted.as_ref().is_none_or(any)
        };
        // Gitea has but one number.
        let numbered = |name: &str, wanted: &Option<String>| {
            let of = &item["milestone"];
            let own = if of[name].is_null() {
                &of["id"]
            } else {
                &of[name]
            };
            let is_own = |wanted: &String| wanted == "*" || plain(own) == *wanted;
            wanted
                .as_ref()
                .is_none_or(|wanted| of.is_object() && is_own(wanted))
        };
        let has = |name: &str, word: &str| {
            let text = item[name].as_str().unwrap_or_default();
            text.to_lowercase().contains(word)
        };
        let mentions = |login: &String| has("body", &format!("@{}", login.to_lowercase()));
        let draft = self.draft.is_none_or(|draft| is_draft(item) == draft);
        (self.states.is_empty() || self.states.iter().any(|wanted| wanted == state))
            && self.labels.iter().all(has_label)
            && !self.without_labels.iter().any(has_label)
            && is(&item["user"]["login"], &self.author)
            && is(&item["milestone"]["title"], &self.milestone)
            && numbered("number", &self.milestone_number)
            && numbered("id", &self.milestone_id)
            && is(&item["head"]["ref"], &self.head)
            && is(&item["base"]["ref"], &self.base)
            && (among("assignees", &self.assignee)
                || is(&item["assignee"]["login"], &self.assignee))
            && among("requested_reviewers", &self.reviewer)
            && self.mentioned.as_ref().is_none_or(mentions)
            && (!is_pull || draft)
            && self
                .words
                .iter()
                .all(|word| has("title", word) || has("body", word))
    }

    /// REST's word for the states.
    fn state(&self) -> &'static str {
        let open = self.states.iter().any(|state| state == "OPEN");
        let closed = self.states.iter().any(|state| state != "OPEN");
        match (open, closed) {
            (true, false) => "open",
            (false, true) => "closed",
            _ => "all",
        }
    }

    /// Whether REST's list by itself has these, and no others.
    fn is_plain(&self, is_pull: bool) -> bool {
        let plain = Self {
            states: self.states.clone(),
            ascending: self.ascending,
            by_update: self.by_update,
            since: self.since.clone(),
            ..Self::default()
        };
        // What was merged is closed at REST.
        let has = |state: &str| self.states.iter().any(|one| one == state);
        *self == plain && (!is_pull || has("CLOSED") == has("MERGED"))
    }
}

async fn connection(
    ask: &FieldRequest<'_>,
    mut filter: Filter,
    is_pull: bool,
) -> RestResult<Value> {
    let github = ask.session.is_github();
    let (part, from_end) = ask.part()?.forwards()?;
    if from_end {
        // The last ones are the first ones of the other order.
        filter.ascending = !filter.ascending;
    }
    let path = if is_pull { "/pulls" } else { "/issues" };
    let mut list = RestList::new(path).query("state", filter.state());
    if github {
        let sort = if filter.by_update {
            "updated"
        } else {
            "created"
        };
        let direction = if filter.ascending { "asc" } else { "desc" };
        list = list.query("sort", sort).query("direction", direction);
        if let (true, Some(head)) = (is_pull, &filter.head) {
            // Branches of forks are left out: GitHub finds those by their owner only.
            let owner = ask
                .session
                .job
                .repository
                .split('/')
                .next()
                .unwrap_or_default();
            list = list.query("head", format!("{owner}:{head}"));
        }
    } else if is_pull {
        // The newest come first where nothing is said.
        let sort = match (filter.by_update, filter.ascending) {
            (true, true) => Some("leastupdate"),
            (true, false) => Some("recentupdate"),
            (false, true) => Some("oldest"),
            (false, false) => None,
        };
        if let Some(sort) = sort {
            list = list.query("sort", sort);
        }
    } else {
        list = list.query("type", "issues");
        // Its list of issues has one order, the newest first.
        if filter.by_update || filter.ascending {
            let by = if filter.by_update {
                "/updated_at"
            } else {
                "/created_at"
            };
            list = list.order(by, !filter.ascending);
        }
    }
    if !is_pull {
        let known = [("creator", &filter.author, "created_by")];
        for (github_name, value, gitea_name) in known {
            if let Some(value) = value {
                list = list.query(if github { github_name } else { gitea_name }, value);
            }
        }
        if let Some(since) = &filter.since {
            list = list.query("since", since);
        }
        list = list.query_labels(&filter.labels);
    }
    // GitHub's list of issues has pull requests in it.
    if !filter.is_plain(is_pull) || (github && !is_pull) {
        list = list.keep(move |item| {
            (is_pull || !item["pull_request"].is_object()) && filter.keeps(item, is_pull)
        });
    }
    let kind = if is_pull { "PullRequest" } else { "Issue" };
    let list = list.mark("__typename", kind);
    let found = list.connection(ask.session, &part).await?;
    match from_end {
        true => backwards(found, &part),
        false => Ok(found),
    }
}

impl RestList {
    fn query_labels(self, labels: &[String]) -> Self {
        if labels.is_empty() {
            return self;
        }
        self.query("labels", labels.join(","))
    }
}

fn texts(value: &Value) -> Vec<String> {
    let many = value.as_array().cloned().unwrap_or_default();
    let texts = many.iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    Some(text.to_owned())
}

fn ordered(ask: &FieldRequest<'_>, filter: &mut Filter) -> RestResult<()> {
    let order = ask.order(&[("CREATED_AT", "created"), ("UPDATED_AT", "updated")])?;
    // GitHub's own order, where none is asked for.
    let (field, largest_first) = order.unwrap_or(("created", false));
    filter.by_update = field == "updated";
    filter.ascending = !largest_first;
    Ok(())
}

/// The repository's issues.
pub(super) async fn issues(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let by = &ask.args["filterBy"];
    let mut states = texts(&ask.args["states"]);
    states.extend(texts(&by["states"]));
    if let Some(one) = text(&by["states"]) {
        states.push(one);
    }
    let mut labels = texts(&ask.args["labels"]);
    labels.extend(texts(&by["labels"]));
    let mut filter = Filter {
        states,
        labels,
        author: text(&by["createdBy"]),
        assignee: text(&by["assignee"]),
        mentioned: text(&by["mentioned"]),
        since: text(&by["since"]),
        milestone_number: text(&by["milestoneNumber"]),
        milestone_id: text(&by["milestone"]),
        ..Filter::default()
    };
    if by["viewerSubscribed"] == true {
        return Err(RestFailure::not_answered("`viewerSubscribed`"));
    }
    ordered(ask, &mut filter)?;
    connection(ask, filter, false).await
}

/// The repository's pull requests.
pub(super) async fn pulls(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let mut filter = Filter {
        states: texts(&ask.args["states"]),
        labels: texts(&ask.args["labels"]),
        head: text(&ask.args["headRefName"]),
        base: text(&ask.args["baseRefName"]),
        ..Filter::default()
    };
    ordered(ask, &mut filter)?;
    connection(ask, filter, true).await
}

/// A search of the repository's issues or pull requests.
pub(super) async fn search(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let kind = ask.text("type");
    if !kind.starts_with("ISSUE") {
        return Err(RestFailure::not_answered(&format!(
            "a search of the type {kind}"
        )));
    }
    let viewer = if ask.text("query").contains("@me") {
        ask.session.viewer().await?.login
    } else {
        String::new()
    };
    let words = words(ask.text("query"));
    let repositories: Vec<&String> = words
        .iter()
        .filter(|(name, _)| name == "repo")
        .map(|(_, value)| value)
        .collect();
    if repositories.is_empty() {
        return Err(RestFailure::new(
            403,
            format!(
                "a search names its repository: add `repo:{}`",
                ask.session.job.repository
            ),
        ));
    }
    for repository in repositories {
        ask.session.check_repository(repository)?;
    }
    let (filter, is_pull) = parsed(&words, &viewer)?;
    connection(ask, filter, is_pull).await
}

/// The words of a search: `name:value`, or a plain word without a name.
fn words(query: &str) -> Vec<(String, String)> {
    let mut words = Vec::new();
    let (mut word, mut quoted) = (String::new(), false);
    for c in query.chars().chain([' ']) {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                let taken = std::mem::take(&mut word);
                match taken.split_once(':') {
                    Some((name, value)) => words.push((name.to_lowercase(), value.to_owned())),
                    None if taken.is_empty() => {}
                    None => words.push((String::new(), taken.to_lowercase())),
                }
            }
            c => word.push(c),
        }
    }
    words
}

fn parsed(words: &[(String, String)], viewer: &str) -> RestResult<(Filter, bool)> {
    let mut filter = Filter::default();
    let mut is_pull = None;
    for (name, value) in words {
        let who = || Some(if value == "@me" { viewer } else { value }.to_owned());
        match (name.as_str(), value.as_str()) {
            ("repo" | "in" | "archived", _) => {}
            ("is" | "type", "pr" | "pull-request") => is_pull = Some(true),
            ("is" | "type", "issue") => is_pull = Some(false),
            ("is" | "state", "open") => filter.states = vec!["OPEN".to_owned()],
            ("is" | "state", "closed") => {
                filter.states = vec!["CLOSED".to_owned(), "MERGED".to_owned()];
            }
            ("is", "merged") => filter.states = vec!["MERGED".to_owned()],
            ("is", "unmerged") => filter.states = vec!["OPEN".to_owned(), "CLOSED".to_owned()],
            ("is", "draft") | ("draft", "true") => filter.draft = Some(true),
            ("draft", "false") => filter.draft = Some(false),
            ("label", _) => filter.labels.push(value.clone()),
            ("-label", _) => filter.without_labels.push(value.clone()),
            ("author", _) => filter.author = who(),
            ("assignee", _) => filter.assignee = who(),
            ("mentions", _) => filter.mentioned = who(),
            ("review-requested", _) => filter.reviewer = who(),
            ("milestone", _) => filter.milestone = Some(value.clone()),
            ("head", _) => filter.head = Some(value.clone()),
            ("base", _) => filter.base = Some(value.clone()),
            ("sort", order) => {
                filter.ascending = order.ends_with("-asc");
                filter.by_update = order.starts_with("updated");
            }
            ("", word) => filter.words.push(word.to_owned()),
            (name, value) => {
                let what = format!("`{name}:{value}` of a search");
                return Err(RestFailure::not_answered(&what));
            }
        }
    }
    let by_pulls = filter.head.is_some() || filter.base.is_some() || filter.draft.is_some();
    Ok((filter, is_pull.unwrap_or(by_pulls)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i17_words_of_a_search_become_a_filter() {
        let query = "repo:acme/rocket state:open is:pr author:@me label:\"good first\" sort:created-asc Engine";
        let (filter, is_pull) = parsed(&words(query), "ada").unwrap();
        assert!(is_pull && filter.ascending);
        assert_eq!(filter.author.as_deref(), Some("ada"));
        assert_eq!(filter.labels, ["good first"]);
        assert_eq!((filter.state(), filter.words.len()), ("open", 1));
        let item = json!({
            "state": "open", "title": "The engine", "body": null, "user": {"login": "Ada"},
            "labels": [{"name": "Good first"}],
        });
        assert!(filter.keeps(&item, true));
        assert!(!filter.keeps(&json!({"state": "closed"}), true));
        let odd = parsed(&words("repo:a/b involves:me"), "").unwrap_err();
        assert!(odd.message.contains("`involves:me`"), "{odd}");
    }
}
