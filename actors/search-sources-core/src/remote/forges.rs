//! Issues of Gitea, Forgejo and GitHub.
//!
//! Gitea takes its `q` as one phrase, so words that do not stand side by side find nothing: it is
//! asked for the phrase and for each word. Both forges also find by comments, whose text is in no
//! answer: an issue says which words it was found for.

use serde::Deserialize;

use super::{RemoteRequest, json, list, parse_entries};
use crate::date;
use crate::item::{ParsedItems, SourceDataError, SourceItem, line};

/// Which API a forge speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgeApiKind {
    /// Gitea and Forgejo, `/api/v1`.
    Gitea,
    /// GitHub, or its enterprise server.
    GitHub,
}

#[derive(Deserialize)]
struct Issue {
    html_url: String,
    number: u64,
    title: String,
    body: Option<String>,
    #[serde(default)]
    state: String,
    #[serde(default)]
    labels: Vec<NamedField>,
    milestone: Option<Milestone>,
    user: Option<User>,
    updated_at: Option<String>,
    repository: Option<Repository>,
    due_date: Option<String>,
}

#[derive(Deserialize)]
struct NamedField {
    name: String,
}

#[derive(Deserialize)]
struct Milestone {
    title: String,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct Repository {
    full_name: Option<String>,
}

/// Asks for issues that match `words`; within `repository` (`owner/name`) when there is one.
pub fn forge_issues_ask(
    api: ForgeApiKind,
    repository: Option<&str>,
    words: &str,
    limit: usize,
) -> RemoteRequest {
    match (api, repository) {
        (ForgeApiKind::Gitea, Some(repository)) => RemoteRequest::get(
            format!("/api/v1/repos/{repository}/issues"),
            vec![
                ("q", words.to_owned()),
                ("type", "issues".to_owned()),
                ("state", "all".to_owned()),
                ("limit", limit.min(50).to_string()),
            ],
        ),
        (ForgeApiKind::Gitea, None) => RemoteRequest::get(
            "/api/v1/repos/issues/search",
            vec![
                ("q", words.to_owned()),
                ("type", "issues".to_owned()),
                ("state", "all".to_owned()),
                ("limit", limit.min(50).to_string()),
            ],
        ),
        (ForgeApiKind::GitHub, repository) => {
            let scope = repository
                .map(|name| format!(" repo:{name}"))
                .unwrap_or_default();
            // Qualifiers of its own search language inside the words would widen the search: taken
            // as words.
            let words = words.replace(':', " ");
            RemoteRequest::get(
                "/search/issues",
                vec![
                    ("q", format!("{words}{scope} is:issue")),
                    ("per_page", limit.min(100).to_string()),
                ],
            )
        }
    }
}

/// A question to a forge, and the words its answers have something to do with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeSearch {
    /// What is asked.
    pub ask: RemoteRequest,
    /// What each issue of the answer holds, in its text or in a comment; empty where that is not
    /// known.
    pub words: Vec<String>,
}

/// Words that are asked for one by one, at most.
const MAX_WORDS: usize = 6;

/// All questions for `words`, the narrowest first.
pub fn forge_issues_questions(
    api: ForgeApiKind,
    repository: Option<&str>,
    words: &str,
    limit: usize,
) -> Vec<ForgeSearch> {
    let mut single: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_known = single
            .iter()
            .any(|known| known.to_lowercase() == word.to_lowercase());
        if !word.is_empty() && !is_known {
            single.push(word.to_owned());
        }
    }
    let question = |text: &str, words: Vec<String>| ForgeSearch {
        ask: forge_issues_ask(api, repository, text, limit),
        words,
    };
    // GitHub wants every word, wherever it stands.
    if api == ForgeApiKind::GitHub || single.len() < 2 {
        return vec![question(words, single)];
    }
    let mut questions = vec![question(words, single.clone())];
    let each = single.into_iter().take(MAX_WORDS);
    questions.extend(each.map(|word| question(&word, vec![word.clone()])));
    questions
}

/// The answers to several questions as one, each issue once. Words of a question that neither
/// title, text nor tags of an issue hold were found elsewhere, in a comment for instance: the
/// issue's text says so, and so it is found here as well.
pub fn forge_issues_together(answers: Vec<(Vec<String>, ParsedItems)>) -> ParsedItems {
    let mut all = ParsedItems::default();
    let mut in_comments: Vec<Vec<String>> = Vec::new();
    for (words, parsed) in answers {
        all.skipped.count = all.skipped.count.max(parsed.skipped.count);
        all.skipped.first = all.skipped.first.or(parsed.skipped.first);
        for item in parsed.items {
            let known = all.items.iter().position(|known| known.key == item.key);
            let place = known.unwrap_or_else(|| {
                all.items.push(item);
                in_comments.push(Vec::new());
                all.items.len() - 1
            });
            let text = text_of(&all.items[place]);
            let found = &mut in_comments[place];
            let missing = words
                .iter()
                .filter(|word| !text.contains(&word.to_lowercase()));
            for word in missing {
                if !found.contains(word) {
                    found.push(word.clone());
                }
            }
        }
    }
    for (item, words) in all.items.iter_mut().zip(in_comments) {
        if !words.is_empty() {
            item.body = format!(
                "{}\n\nThe forge found it for: {}",
                item.body.trim_end(),
                words.join(", ")
            );
        }
    }
    all
}

fn text_of(item: &SourceItem) -> String {
    format!("{} {} {}", item.title, item.body, item.tags.join(" ")).to_lowercase()
}

/// Reads a list of issues, or GitHub's search answer.
///
/// # Errors
/// When it is neither.
pub fn forge_issues(api: ForgeApiKind, body: &str) -> Result<ParsedItems, SourceDataError> {
    let value = json("the forge", body)?;
    let field = if api == ForgeApiKind::GitHub && value.is_object() {
        "items"
    } else {
        ""
    };
    let entries = list("the forge", value, field)?;
    Ok(parse_entries(entries, |issue: Issue| Some(item(issue))))
}

fn item(issue: Issue) -> SourceItem {
    let mut tags: Vec<String> = issue.labels.into_iter().map(|label| label.name).collect();
    if !issue.state.is_empty() {
        tags.push(format!("status:{}", issue.state));
    }
    tags.extend(
        issue
            .milestone
            .map(|milestone| format!("milestone:{}", milestone.title)),
    );
    tags.extend(issue.user.map(|user| format!("author:{}", user.login)));
    let repository = issue
        .repository
        .and_then(|repository| repository.full_name)
        .unwrap_or_default();
    let due = issue
        .due_date
        .map(|due| format!("Due: {}\n", due.get(..10).unwrap_or(&due)));
    SourceItem {
        title: line(
            &format!("{repository}#{} {}", issue.number, issue.title),
            300,
        ),
        body: format!(
            "{}{}",
            due.unwrap_or_default(),
            issue.body.unwrap_or_default()
        ),
        tags,
        modified: issue.updated_at.as_deref().and_then(date::rfc3339),
        url: Some(issue.html_url.clone()),
        key: issue.html_url,
        ..SourceItem::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_of_both_forges() {
        let gitea = r#"[{"id":1,"html_url":"https://f.example/a/b/issues/3","number":3,"title":"Valve","body":"leaks","state":"open","labels":[{"name":"bug"}],
            "milestone":{"title":"v1"},"user":{"login":"ada"},"updated_at":"2026-11-21T10:00:00Z","due_date":"2026-12-01T00:00:00Z","repository":{"full_name":"a/b"}},{"number":4}]"#;
        let parsed = forge_issues(ForgeApiKind::Gitea, gitea).unwrap();
        let item = &parsed.items[0];
        assert_eq!(
            (item.title.as_str(), item.body.as_str()),
            ("a/b#3 Valve", "Due: 2026-12-01\nleaks")
        );
        assert_eq!(
            item.tags,
            ["bug", "status:open", "milestone:v1", "author:ada"]
        );
        assert_eq!(
            (item.modified, parsed.skipped.count),
            (Some(1_795_255_200), 1)
        );
        let github = r#"{"total_count":1,"items":[{"html_url":"https://github.com/a/b/issues/9","number":9,"title":"T","body":null,"state":"closed","labels":[],"repository_url":"x"}]}"#;
        assert_eq!(
            forge_issues(ForgeApiKind::GitHub, github).unwrap().items[0].title,
            "#9 T"
        );
        assert!(forge_issues(ForgeApiKind::Gitea, r#"{"message":"token is required"}"#).is_err());
    }

    #[test]
    fn v8_gitea_is_asked_for_the_phrase_and_for_each_word() {
        let of = |api, words| {
            let questions = forge_issues_questions(api, Some("a/b"), words, 10);
            let asked = questions.iter().map(|one| one.ask.query[0].1.clone());
            asked.collect::<Vec<_>>()
        };
        assert_eq!(
            of(ForgeApiKind::Gitea, "valve & leaks Valve"),
            ["valve & leaks Valve", "valve", "leaks"]
        );
        assert_eq!(of(ForgeApiKind::Gitea, "valve"), ["valve"]);
        assert_eq!(of(ForgeApiKind::Gitea, "a b c d e f g h").len(), 7);
        assert_eq!(
            of(ForgeApiKind::GitHub, "valve leaks"),
            ["valve leaks repo:a/b is:issue"]
        );
    }

    #[test]
    fn v8_an_issue_found_by_a_comment_says_so_and_is_there_once() {
        let issue = |number: u64, title: &str| SourceItem {
            key: format!("https://f.example/a/b/issues/{number}"),
            title: format!("#{number} {title}"),
            body: "text\n".to_owned(),
            ..SourceItem::default()
        };
        let words = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let parsed = |items| ParsedItems {
            items,
            ..ParsedItems::default()
        };
        let all = forge_issues_together(vec![
            (words("valve gasket"), parsed(vec![])),
            (
                words("valve"),
                parsed(vec![issue(3, "Valve"), issue(4, "Pump")]),
            ),
            (words("gasket"), parsed(vec![issue(3, "Valve")])),
        ]);
        let bodies: Vec<&str> = all.items.iter().map(|item| item.body.as_str()).collect();
        assert_eq!(
            bodies,
            [
                "text\n\nThe forge found it for: gasket",
                "text\n\nThe forge found it for: valve"
            ]
        );
    }

    #[test]
    fn what_is_asked() {
        let url = forge_issues_ask(ForgeApiKind::Gitea, Some("a/b"), "x & y", 10)
            .url("https://f.example/")
            .unwrap();
        assert_eq!(
            url.as_str(),
            "https://f.example/api/v1/repos/a/b/issues?q=x+%26+y&type=issues&state=all&limit=10"
        );
        let ask = forge_issues_ask(ForgeApiKind::GitHub, Some("a/b"), "x user:evil", 10);
        assert_eq!(ask.query[0].1, "x user evil repo:a/b is:issue");
    }
}
