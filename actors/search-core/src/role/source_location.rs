//! The `location` of the services that are not plain folders: a kind, a colon, an address.

use std::path::PathBuf;

use config_core::{Environment, ValueError, parse_http_url, quoted, suggestion};
use url::Url;

use super::paths;

/// A folder on this machine or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderOrUrl {
    /// A folder; a relative one is meant from the role file's folder.
    Folder(PathBuf),
    /// An address.
    Url(Url),
}

/// Where community posts and language documentation come from (`CommunityDocs`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommunitySite {
    /// `discourse:URL`: a Discourse forum.
    Discourse(Url),
    /// `stackexchange:SITE`: a site of the Stack Exchange network, by its API name.
    StackExchange(String),
    /// `devdocs:FOLDER-OR-URL`: a DevDocs documentation.
    DevDocs(FolderOrUrl),
    /// `rustdoc:FOLDER-OR-URL`: pages made by rustdoc.
    Rustdoc(FolderOrUrl),
    /// `sphinx:FOLDER-OR-URL`: pages made by Sphinx.
    Sphinx(FolderOrUrl),
    /// `query.rs`: the search over Rust documentation of that name.
    QueryRs,
    /// `hackernews`: the search over Hacker News; `hackernews:URL`: another server with the same
    /// API.
    HackerNews(Url),
}

impl CommunitySite {
    /// The folder, where there is one.
    pub(super) fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Self::DevDocs(FolderOrUrl::Folder(path))
            | Self::Rustdoc(FolderOrUrl::Folder(path))
            | Self::Sphinx(FolderOrUrl::Folder(path)) => Some(path),
            _ => None,
        }
    }
}

/// Where tasks come from (`TaskTracker`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tasks {
    /// `taskwarrior`: the `task export` of this machine.
    Taskwarrior,
    /// `todo.txt:FILE`: a todo.txt file; a relative one is meant from the role file's folder.
    TodoTxt(PathBuf),
    /// `beads:FILE-OR-FOLDER`: the `issues.jsonl` of a Beads tracker, or the folder that holds
    /// `.beads`.
    Beads(PathBuf),
    /// `gitea:URL`: the issues of a repository on a Gitea server.
    Gitea(Url),
    /// `forgejo:URL`: the issues of a repository on a Forgejo server.
    Forgejo(Url),
    /// `github:OWNER/REPOSITORY`: the issues of a repository on GitHub.
    GitHub(String),
    /// `vikunja:URL`: a Vikunja server.
    Vikunja(Url),
    /// `clickup:TEAM`: a ClickUp workspace by its number.
    ClickUp(String),
}

/// How a server of the Model Context Protocol is reached (`MCP`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mcp {
    /// `stdio:COMMAND ARGUMENTS`: a program that talks over its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments, split at blanks.
        arguments: Vec<String>,
    },
    /// `http://…` or `https://…`: the streamable HTTP transport.
    Http(Url),
}

/// Where Hacker News is searched.
const HACKER_NEWS: &str = "https://hn.algolia.com";

const COMMUNITY: [&str; 7] = [
    "discourse",
    "stackexchange",
    "devdocs",
    "rustdoc",
    "sphinx",
    "query.rs",
    "hackernews",
];
const TASKS: [&str; 8] = [
    "taskwarrior",
    "todo.txt",
    "beads",
    "gitea",
    "forgejo",
    "github",
    "vikunja",
    "clickup",
];

/// Reads the location of a `CommunityDocs` haystack.
pub(super) fn community(
    location: &str,
    environment: &Environment,
) -> Result<CommunitySite, ValueError> {
    let (kind, rest) = split(location);
    match kind {
        "discourse" => Ok(CommunitySite::Discourse(parse_http_url(rest)?)),
        "stackexchange" => Ok(CommunitySite::StackExchange(site(rest)?)),
        "devdocs" => Ok(CommunitySite::DevDocs(folder_or_url(rest, environment)?)),
        "rustdoc" => Ok(CommunitySite::Rustdoc(folder_or_url(rest, environment)?)),
        "sphinx" => Ok(CommunitySite::Sphinx(folder_or_url(rest, environment)?)),
        "query.rs" if rest.is_empty() => Ok(CommunitySite::QueryRs),
        "hackernews" if rest.is_empty() => {
            parse_http_url(HACKER_NEWS).map(CommunitySite::HackerNews)
        }
        "hackernews" => Ok(CommunitySite::HackerNews(parse_http_url(rest)?)),
        _ => Err(unknown_kind(location, kind, &COMMUNITY)),
    }
}

/// Reads the location of a `TaskTracker` haystack.
pub(super) fn tasks(location: &str, environment: &Environment) -> Result<Tasks, ValueError> {
    let (kind, rest) = split(location);
    match kind {
        "taskwarrior" if rest.is_empty() => Ok(Tasks::Taskwarrior),
        "todo.txt" => Ok(Tasks::TodoTxt(path(rest, environment)?)),
        "beads" => Ok(Tasks::Beads(path(rest, environment)?)),
        "gitea" => Ok(Tasks::Gitea(parse_http_url(rest)?)),
        "forgejo" => Ok(Tasks::Forgejo(parse_http_url(rest)?)),
        "github" => Ok(Tasks::GitHub(repository(rest)?)),
        "vikunja" => Ok(Tasks::Vikunja(parse_http_url(rest)?)),
        "clickup" => Ok(Tasks::ClickUp(number(rest)?)),
        _ => Err(unknown_kind(location, kind, &TASKS)),
    }
}

/// Reads the location of an `MCP` haystack.
pub(super) fn mcp(location: &str) -> Result<Mcp, ValueError> {
    let Some(command_line) = location.strip_prefix("stdio:") else {
        return parse_http_url(location)
            .map(Mcp::Http)
            .map_err(|error| error.help("write `stdio:` and a command, or an http or https URL"));
    };
    let mut words = command_line.split_whitespace().map(str::to_owned);
    match words.next() {
        Some(command) => Ok(Mcp::Stdio {
            command,
            arguments: words.collect(),
        }),
        None => Err(ValueError::new("`stdio:` needs a command")
            .help("for example `stdio:notes-server --read-only`")),
    }
}

/// Reads the location of an `Elastic` haystack: a server and, last, the name of an index.
pub(super) fn elastic(location: &str) -> Result<Url, ValueError> {
    let url = parse_http_url(location)?;
    let index = url.path().rsplit('/').find(|part| !part.is_empty());
    if index.is_none() {
        let error = ValueError::new(format!("{} names no index", quoted(location)));
        return Err(error.help("for example `http://127.0.0.1:9200/notes`"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(ValueError::new(
            "the address of an index ends with its name",
        ));
    }
    Ok(url)
}

fn split(location: &str) -> (&str, &str) {
    location.split_once(':').unwrap_or((location, ""))
}

fn unknown_kind(location: &str, kind: &str, known: &[&'static str]) -> ValueError {
    let error = ValueError::new(format!("unknown location {}", quoted(location)));
    match suggestion(kind, known.iter().copied()).filter(|near| *near != kind) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("it begins with one of: {}", known.join(", "))),
    }
}

fn folder_or_url(text: &str, environment: &Environment) -> Result<FolderOrUrl, ValueError> {
    if text.starts_with("http:") || text.starts_with("https:") {
        return parse_http_url(text).map(FolderOrUrl::Url);
    }
    path(text, environment).map(FolderOrUrl::Folder)
}

fn path(text: &str, environment: &Environment) -> Result<PathBuf, ValueError> {
    if text.trim().is_empty() {
        return Err(ValueError::new("a path is missing after `:`"));
    }
    paths::folder(text, environment)
}

fn site(text: &str) -> Result<String, ValueError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    if text.is_empty() || !text.chars().all(plain) {
        let error = ValueError::new(format!("{} is not the name of a site", quoted(text)));
        return Err(error.help("for example `stackexchange:unix`"));
    }
    Ok(text.to_owned())
}

fn repository(text: &str) -> Result<String, ValueError> {
    let plain = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
    };
    match text.split_once('/') {
        Some((owner, name)) if plain(owner) && plain(name) => Ok(text.to_owned()),
        _ => Err(ValueError::new(format!(
            "{} is not `<owner>/<repo>`",
            quoted(text)
        ))),
    }
}

fn number(text: &str) -> Result<String, ValueError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ValueError::new(format!(
            "{} is not the number of a workspace",
            quoted(text)
        )));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn community(location: &str) -> Result<CommunitySite, ValueError> {
        super::community(location, &Environment::from_iter([("HOME", "/home/me")]))
    }

    fn tasks(location: &str) -> Result<Tasks, ValueError> {
        super::tasks(location, &Environment::from_iter([("HOME", "/home/me")]))
    }

    #[test]
    fn right_locations() {
        let url = |text: &str| Url::parse(text).unwrap();
        let folder = |text: &str| FolderOrUrl::Folder(text.into());
        assert_eq!(community("query.rs"), Ok(CommunitySite::QueryRs));
        assert_eq!(
            community("discourse:https://a.org"),
            Ok(CommunitySite::Discourse(url("https://a.org")))
        );
        assert_eq!(
            community("rustdoc:/usr/doc"),
            Ok(CommunitySite::Rustdoc(folder("/usr/doc")))
        );
        assert_eq!(
            community("sphinx:https://a.org/x"),
            Ok(CommunitySite::Sphinx(FolderOrUrl::Url(url(
                "https://a.org/x"
            ))))
        );
        assert_eq!(tasks("github:a/b.c"), Ok(Tasks::GitHub("a/b.c".into())));
        assert_eq!(
            tasks("todo.txt:~/todo.txt"),
            Ok(Tasks::TodoTxt("/home/me/todo.txt".into()))
        );
        assert_eq!(tasks("taskwarrior"), Ok(Tasks::Taskwarrior));
        assert_eq!(
            tasks("beads:~/project"),
            Ok(Tasks::Beads("/home/me/project".into()))
        );
        assert_eq!(
            community("hackernews"),
            Ok(CommunitySite::HackerNews(url("https://hn.algolia.com")))
        );
        assert_eq!(
            elastic("http://a:9200/logs/"),
            Ok(url("http://a:9200/logs/"))
        );
        let arguments = vec!["--a".to_owned(), "b".to_owned()];
        assert_eq!(
            mcp("stdio:s --a  b"),
            Ok(Mcp::Stdio {
                command: "s".into(),
                arguments
            })
        );
        assert_eq!(mcp("http://a"), Ok(Mcp::Http(url("http://a"))));
    }

    #[test]
    fn wrong_locations() {
        for (error, message) in [
            (
                community("discurse:http://a").err(),
                "unknown location `discurse:http://a` (did you mean `discourse`?)",
            ),
            (
                community("discourse:").err(),
                "`` is not a URL: it does not begin with `http://` or `https://` (for example `http://127.0.0.1:8000`)",
            ),
            (
                community("query.rs:x").err(),
                "unknown location `query.rs:x` (it begins with one of: discourse, stackexchange, devdocs, rustdoc, sphinx, query.rs, hackernews)",
            ),
            (community("sphinx:").err(), "a path is missing after `:`"),
            (
                tasks("github:a/../b").err(),
                "`a/../b` is not `<owner>/<repo>`",
            ),
            (
                tasks("clickup:x").err(),
                "`x` is not the number of a workspace",
            ),
            (
                mcp("stdio: ").err(),
                "`stdio:` needs a command (for example `stdio:notes-server --read-only`)",
            ),
            (
                elastic("http://a:9200/").err(),
                "`http://a:9200/` names no index (for example `http://127.0.0.1:9200/notes`)",
            ),
            (
                elastic("http://a:9200/x?pretty").err(),
                "the address of an index ends with its name",
            ),
            (
                mcp("notes").err(),
                "`notes` is not a URL: it does not begin with `http://` or `https://` (write `stdio:` and a command, or an http or https URL)",
            ),
        ] {
            assert_eq!(error.unwrap().to_string(), message);
        }
    }
}
