//! What each kind of source is asked, and how its answer is read.

use std::time::Duration;

use config_core::Secret;
use search_core::role::{CommunitySite, Haystack, Source, Tasks};
use search_sources_core::remote::{self, ForgeApiKind, ForgeSearch, RemoteRequest};
use search_sources_core::{ParsedItems, SourceDataError};

use crate::remote::mcp::McpEndpoint;
use crate::remote::names::{NamesKind, documentation};
use crate::remote::signing::{SigningAgent, agent};

/// A kind of server, and where it is.
#[derive(Debug, Clone)]
pub(crate) enum ServerKind {
    Atomic(Option<SigningAgent>),
    Discourse,
    StackExchange(String),
    QueryRs,
    Forge(ForgeApiKind, Option<String>),
    Vikunja,
    ClickUp(String),
    HackerNews,
    /// Name of the index, and the fields.
    Elastic(String, Vec<String>),
    Mcp(Box<McpEndpoint>),
    NameList(NamesKind),
}

/// A source as it is asked.
#[derive(Debug, Clone)]
pub(crate) struct QueryTarget {
    pub(crate) kind: ServerKind,
    /// Base URL, without a slash at the end.
    pub(crate) base: String,
    /// Scheme of the `Authorization` header (`""`: the bare token) and the token.
    pub(crate) token: Option<(&'static str, Secret<String>)>,
    /// Kept so long by default.
    pub(crate) fresh: Duration,
}

/// What an answer held.
pub(crate) struct RemoteResponse {
    pub(crate) parsed: ParsedItems,
    /// For how long the server wants to be left alone.
    pub(crate) pause: Option<Duration>,
}

const MINUTE: Duration = Duration::from_secs(60);

/// How a haystack is asked; `None` for those on this machine.
pub(crate) fn query_target(haystack: &Haystack) -> Option<Result<QueryTarget, String>> {
    let plain = |kind, base: &str| QueryTarget {
        kind,
        base: base.trim_end_matches('/').to_owned(),
        token: None,
        fresh: MINUTE,
    };
    let place = match &haystack.source {
        Source::AtomicData {
            server,
            agent_secret,
        } => {
            let agent = agent_secret.as_ref().map(agent).transpose();
            return Some(agent.map(|agent| plain(ServerKind::Atomic(agent), server.as_str())));
        }
        Source::CommunityDocs(CommunitySite::Discourse(url)) => {
            plain(ServerKind::Discourse, url.as_str())
        }
        // 300 questions a day without a key: keep what it said.
        Source::CommunityDocs(CommunitySite::StackExchange(site)) => QueryTarget {
            fresh: 10 * MINUTE,
            ..plain(
                ServerKind::StackExchange(site.clone()),
                "https://api.stackexchange.com",
            )
        },
        Source::CommunityDocs(CommunitySite::QueryRs) => {
            plain(ServerKind::QueryRs, "https://query.rs")
        }
        Source::CommunityDocs(CommunitySite::HackerNews(url)) => {
            plain(ServerKind::HackerNews, url.as_str())
        }
        Source::CommunityDocs(community) => {
            let (kind, url) = documentation(community)?;
            plain(ServerKind::NameList(kind), url.as_str())
        }
        Source::TaskTracker { tasks, api_token } => {
            return tracker(tasks, api_token.as_ref()).map(Ok);
        }
        Source::Mcp {
            server,
            api_token,
            tool,
            arguments,
        } => {
            let place = McpEndpoint {
                server: server.clone(),
                api_token: api_token.clone(),
                tool: tool.clone(),
                arguments: arguments.clone(),
            };
            plain(ServerKind::Mcp(Box::new(place)), &haystack.location)
        }
        Source::Elastic {
            index,
            fields,
            api_token,
        } => {
            let (base, index) = index_of(index);
            QueryTarget {
                token: api_token.clone().map(|token| ("ApiKey", token)),
                ..plain(ServerKind::Elastic(index, fields.clone()), &base)
            }
        }
        _ => return None,
    };
    Some(Ok(place))
}

fn tracker(tasks: &Tasks, token: Option<&Secret<String>>) -> Option<QueryTarget> {
    let (kind, base, scheme) = match tasks {
        Tasks::Gitea(url) | Tasks::Forgejo(url) => {
            let (base, repository) = repository(url);
            (
                ServerKind::Forge(ForgeApiKind::Gitea, repository),
                base,
                "token",
            )
        }
        Tasks::GitHub(repository) => {
            let kind = ServerKind::Forge(ForgeApiKind::GitHub, Some(repository.clone()));
            (kind, "https://api.github.com".to_owned(), "Bearer")
        }
        Tasks::Vikunja(url) => (ServerKind::Vikunja, url.to_string(), "Bearer"),
        Tasks::ClickUp(team) => (
            ServerKind::ClickUp(team.clone()),
            "https://api.clickup.com".to_owned(),
            "",
        ),
        Tasks::Taskwarrior | Tasks::TodoTxt(_) | Tasks::Beads(_) => return None,
    };
    Some(QueryTarget {
        kind,
        base: base.trim_end_matches('/').to_owned(),
        token: token.map(|token| (scheme, token.clone())),
        fresh: MINUTE,
    })
}

/// The address of an index: its last part is the name, what is before is the server.
fn index_of(url: &url::Url) -> (String, String) {
    let text = url.as_str().trim_end_matches('/');
    let (base, index) = text.rsplit_once('/').unwrap_or((text, ""));
    (base.to_owned(), index.to_owned())
}

/// `https://forge.example/owner/repo` names a repository; with fewer parts the whole server is
/// meant. A forge below a path of its host is not told apart from an owner: it needs a host of its
/// own.
fn repository(url: &url::Url) -> (String, Option<String>) {
    let base = url.origin().ascii_serialization();
    let parts: Vec<&str> = url
        .path()
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    match parts.as_slice() {
        [owner, repo] => (
            base,
            Some(format!("{owner}/{}", repo.trim_end_matches(".git"))),
        ),
        _ => (url.as_str().to_owned(), None),
    }
}

impl QueryTarget {
    /// The requests for these words, each with the words that all of its answer has to do with,
    /// where that is known.
    pub(crate) fn questions(&self, words: &str, limit: usize) -> Vec<ForgeSearch> {
        match &self.kind {
            ServerKind::Forge(api, repository) => {
                remote::forge_issues_questions(*api, repository.as_deref(), words, limit)
            }
            _ => vec![ForgeSearch {
                ask: self.request_for(words, limit),
                words: Vec::new(),
            }],
        }
    }

    /// The answers to all requests as one.
    pub(crate) fn merge_answers(
        &self,
        mut answers: Vec<(Vec<String>, RemoteResponse)>,
    ) -> RemoteResponse {
        let pause = answers.iter().filter_map(|(_, answer)| answer.pause).max();
        let parsed = match &self.kind {
            ServerKind::Forge(..) => {
                let answers = answers.into_iter();
                let parsed = answers.map(|(words, answer)| (words, answer.parsed));
                remote::forge_issues_together(parsed.collect())
            }
            _ => answers
                .pop()
                .map_or_else(ParsedItems::default, |(_, answer)| answer.parsed),
        };
        RemoteResponse { parsed, pause }
    }

    /// The request for these words.
    fn request_for(&self, words: &str, limit: usize) -> RemoteRequest {
        match &self.kind {
            ServerKind::Atomic(_) => remote::atomic_search_ask(words, limit),
            ServerKind::Discourse => remote::discourse_ask(words),
            ServerKind::StackExchange(site) => remote::stack_exchange_ask(site, words, limit),
            ServerKind::QueryRs => remote::query_rs_ask(words),
            ServerKind::Forge(api, repository) => {
                remote::forge_issues_ask(*api, repository.as_deref(), words, limit)
            }
            ServerKind::Vikunja => remote::vikunja_ask(words, limit),
            // It cannot search: one page of the newest is read, and filtered by the words like
            // everything.
            ServerKind::ClickUp(team) => remote::clickup_ask(team, 0),
            ServerKind::HackerNews => remote::hacker_news_ask(words, limit),
            ServerKind::Elastic(index, fields) => remote::elastic_ask(index, words, fields, limit),
            // They are not asked one question at a time.
            ServerKind::Mcp(_) | ServerKind::NameList(_) => RemoteRequest::default(),
        }
    }

    /// Reads the answer's text.
    pub(crate) fn read(&self, body: &str) -> Result<RemoteResponse, SourceDataError> {
        let mut pause = None;
        let parsed = match &self.kind {
            ServerKind::Atomic(_) => remote::atomic_search(&self.base, body)?,
            ServerKind::Discourse => remote::discourse(&self.base, body)?,
            ServerKind::StackExchange(_) => {
                let (parsed, wait) = remote::stack_exchange(body)?;
                pause = wait.map(Duration::from_secs);
                parsed
            }
            ServerKind::QueryRs => remote::query_rs(body)?,
            ServerKind::Forge(api, _) => remote::forge_issues(*api, body)?,
            ServerKind::Vikunja => remote::vikunja(&self.base, body)?,
            ServerKind::ClickUp(_) => remote::clickup(body)?.0,
            ServerKind::HackerNews => remote::hacker_news(body)?,
            ServerKind::Elastic(_, fields) => remote::elastic(fields, body)?,
            ServerKind::Mcp(_) | ServerKind::NameList(_) => ParsedItems::default(),
        };
        Ok(RemoteResponse { parsed, pause })
    }

    /// Headers beside the token.
    pub(crate) fn accept(&self) -> &'static str {
        match self.kind {
            ServerKind::Atomic(_) => "application/ad+json",
            ServerKind::Forge(ForgeApiKind::GitHub, _) => "application/vnd.github+json",
            _ => "application/json",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forge_s_url_names_a_repository_or_the_server() {
        for (url, base, name) in [
            ("https://f.example/a/b", "https://f.example", Some("a/b")),
            (
                "https://f.example/a/b.git/",
                "https://f.example",
                Some("a/b"),
            ),
            ("http://127.0.0.1:3000/", "http://127.0.0.1:3000/", None),
        ] {
            let (found, repository) = repository(&url.parse().unwrap());
            assert_eq!((found.as_str(), repository.as_deref()), (base, name));
        }
    }
}
