//! git over HTTP with the token of a job: which request asks for what, how git in the machine finds
//! the gateway, and which events its pushes cause.

use std::collections::BTreeSet;

use base64::Engine as _;
use config_core::quoted;

use super::refusal::CallRefusal;
use crate::event::{EventKind, PullRequestCommit};
use crate::workflow::{PermissionLevel, Permissions};

/// How long a delivery about a push may take to come.
pub(super) const CAUSED_FOR_MS: u64 = 24 * 3_600_000;
/// User names that programs write beside a token.
const USERS: [&str; 8] = [
    "x-access-token",
    "oauth2",
    "git",
    "token",
    "x-oauth-basic",
    "github-actions",
    "github-actions[bot]",
    "github-actions%5Bbot%5D",
];

/// What git asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitService {
    /// To read.
    UploadPack,
    /// To push.
    ReceivePack,
}

impl GitService {
    /// Its name, as requests and commands write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "git-upload-pack",
            Self::ReceivePack => "git-receive-pack",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let all = [Self::UploadPack, Self::ReceivePack];
        all.into_iter().find(|service| service.name() == name)
    }
}

/// A request of git's that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitCall {
    /// The references, before the service is used.
    Advertise(GitService),
    /// The service itself.
    Serve(GitService),
    /// Another repository whose name only begins like the job's, so that git was led here: its
    /// path at the forge.
    Elsewhere(String),
}

/// Decides on a request of git's; `path` stands behind the gateway's address for git, as it came.
///
/// # Errors
/// What is missing, or why nobody's token does this; git shows it.
pub fn decide_git(
    (method, path, query): (&str, &str, Option<&str>),
    repository: &str,
    permissions: &Permissions,
) -> Result<GitCall, CallRefusal> {
    let refuse = |reason: String| Err(CallRefusal(reason));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    let mut parts = path.strip_prefix('/').unwrap_or(path).splitn(3, '/');
    let owner = parts.next().unwrap_or_default();
    let name = parts.next().unwrap_or_default();
    let rest = parts.next().unwrap_or_default();
    let inner = [owner, name].into_iter().chain(rest.split('/'));
    let is_odd = |part: &str| matches!(part, "" | "." | ".." | ".git");
    if path.len() > 1024 || !path.bytes().all(plain) || inner.into_iter().any(is_odd) {
        return refuse("the address of the repository cannot be read".to_owned());
    }
    let asked = format!("{owner}/{}", name.strip_suffix(".git").unwrap_or(name));
    if !asked.eq_ignore_ascii_case(repository) {
        let begins = asked.get(..repository.len());
        if begins.is_some_and(|begins| begins.eq_ignore_ascii_case(repository)) {
            return Ok(GitCall::Elsewhere(format!("{owner}/{name}/{rest}")));
        }
        return refuse(format!(
            "the token of the job is of {repository}, not of {}",
            quoted(&asked)
        ));
    }
    let call = match (method, rest) {
        ("GET", "info/refs") => {
            let service = query.and_then(|query| query.strip_prefix("service="));
            service
                .and_then(GitService::parse)
                .map(|service| (service, GitCall::Advertise(service)))
        }
        ("POST", name) => GitService::parse(name).map(|service| (service, GitCall::Serve(service))),
        _ => None,
    };
    let Some((service, call)) = call else {
        return refuse(match rest.starts_with("info/lfs") {
            true => "Git LFS is not served here".to_owned(),
            false => "only git's smart protocol is served here".to_owned(),
        });
    };
    let (level, word) = match service {
        GitService::UploadPack => (PermissionLevel::Read, "read"),
        GitService::ReceivePack => (PermissionLevel::Write, "write"),
    };
    if !permissions.allows("contents", level) {
        return refuse(format!(
            "Permission to {repository} denied to the token of the job: its `permissions` lack `contents: {word}` (pull requests from forks have no more than read; where a workflow names none, `token_permissions` of the runner counts)"
        ));
    }
    Ok(call)
}

/// How git in a job's machine finds the gateway.
#[derive(Debug, Clone, Copy)]
pub struct GitAccess<'a> {
    /// The gateway's address for git, with a slash at its end.
    pub gateway: &'a str,
    /// The run's repository.
    pub repository: &'a str,
    /// Where it is cloned from.
    pub clone_url: &'a str,
    /// The forge's address for people.
    pub server_url: &'a str,
    /// Who caused the run: programs write the name beside the token.
    pub actor: &'a str,
    /// The job's token.
    pub token: &'a str,
}

impl GitAccess<'_> {
    /// The settings of git: with `kept`, as a checkout leaves its credentials for all steps after
    /// it; else for addresses alone in which the token itself stands.
    #[must_use]
    pub fn settings(&self, kept: bool) -> Vec<(String, String)> {
        let own = format!("{}{}", self.gateway, self.repository);
        let instead = format!("url.{own}.insteadOf");
        let cloned = self.clone_url.strip_suffix(".git");
        let mut bases = vec![cloned.unwrap_or(self.clone_url).to_owned()];
        let server = format!("{}/{}", self.server_url, self.repository);
        if !self.server_url.is_empty() && server != bases[0] {
            bases.push(server);
        }
        let authorization = format!("http.{}.extraheader", self.gateway);
        let mut settings = vec![(
            authorization,
            format!("AUTHORIZATION: basic {}", basic_credentials(self.token)),
        )];
        for base in bases {
            if kept {
                settings.push((instead.clone(), base.clone()));
            }
            let Some((scheme, place)) = base.split_once("://") else {
                continue;
            };
            if !matches!(scheme, "http" | "https") {
                continue;
            }
            let token = self.token;
            let beside = USERS.iter().chain([&self.actor]);
            let users = beside.map(|user| format!("{user}:{token}"));
            let alone = ["", ":", ":x-oauth-basic"].map(|rest| format!("{token}{rest}"));
            let written = users.chain(alone);
            settings.extend(
                written.map(|user| (instead.clone(), format!("{scheme}://{user}@{place}"))),
            );
        }
        settings
    }
}

/// How a token stands in a header.
#[must_use]
pub fn basic_credentials(token: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{token}"))
}

/// Settings as git reads them from a process's variables, behind those that `count` says there are.
#[must_use]
pub fn git_variables(settings: &[(String, String)], count: Option<&str>) -> Vec<(String, String)> {
    let first = count
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0_usize);
    let numbered = settings.iter().zip(first..).flat_map(|((key, value), at)| {
        [
            (format!("GIT_CONFIG_KEY_{at}"), key.clone()),
            (format!("GIT_CONFIG_VALUE_{at}"), value.clone()),
        ]
    });
    let count = (first + settings.len()).to_string();
    numbered
        .chain([("GIT_CONFIG_COUNT".to_owned(), count)])
        .collect()
}

/// Pull requests whose heads or merges a client asks for, of those that one request may name.
#[must_use]
pub fn asked_pulls(request: &[u8]) -> Vec<(u64, PullRequestCommit)> {
    const MOST: usize = 16;
    let text = String::from_utf8_lossy(request);
    let named = text.split("refs/pull/").skip(1).filter_map(|rest| {
        let (number, rest) = rest.split_once('/')?;
        let both = [PullRequestCommit::Head, PullRequestCommit::Merge];
        let which = both.into_iter().find(|it| rest.starts_with(it.word()))?;
        Some((number.parse().ok()?, which))
    });
    // git names one reference by each name that it may have there.
    let asked: BTreeSet<(u64, PullRequestCommit)> = named.collect();
    asked.into_iter().take(MOST).collect()
}

/// A reference that the token of a job moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedReference {
    /// Where it was; zeros: it was made.
    pub old: String,
    /// Where it is; zeros: it was removed.
    pub new: String,
    /// When, in milliseconds since the epoch.
    pub at_ms: u64,
}

/// Whether an event tells of one of these moves of its reference: such events start nothing, as on
/// GitHub. `before` is where a push says that it was.
#[must_use]
pub fn is_caused_by_token(
    pushed: &[PushedReference],
    (kind, sha, before): (EventKind, &str, Option<&str>),
    now_ms: u64,
) -> bool {
    let zeros = |id: &str| id.bytes().all(|byte| byte == b'0');
    pushed.iter().any(|one| {
        let recent = now_ms.saturating_sub(one.at_ms) <= CAUSED_FOR_MS;
        recent
            && match kind {
                EventKind::Push => {
                    let same = match before {
                        Some(before) if !zeros(before) => before == one.old,
                        _ => true,
                    };
                    one.new == sha && same
                }
                // Of new commits on its branch: whoever asks has looked at the action.
                EventKind::PullRequest | EventKind::PullRequestTarget => one.new == sha,
                EventKind::Create => zeros(&one.old),
                EventKind::Delete => zeros(&one.new),
                _ => false,
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_heads_and_merges_of_pull_requests_are_found_in_what_git_asks_for() {
        use PullRequestCommit::{Head, Merge};
        let asked = b"0014command=ls-refs\n0001001bref-prefix refs/pull/7/head\n001bref-prefix refs/pull/9/merge\n001bref-prefix refs/pull/7/head0000";
        assert_eq!(asked_pulls(asked), [(7, Head), (9, Merge)]);
        // By six names each, as git has it: none of three is left out.
        let six = "refs/pull/8/head refs/refs/pull/8/head ".repeat(3);
        let many = format!("{six}{six}{six}refs/pull/9/head");
        assert_eq!(asked_pulls(many.as_bytes()), [(8, Head), (9, Head)]);
        for none in [
            "0032want 0123\n",
            "refs/pull/x/head refs/pull/",
            "refs/pull/7/x",
        ] {
            assert!(asked_pulls(none.as_bytes()).is_empty(), "{none}");
        }
    }
    use PermissionLevel::{Read, Write};

    fn ask(call: &str, level: PermissionLevel) -> Result<GitCall, CallRefusal> {
        let (method, path) = call.split_once(' ').unwrap();
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        let permissions = Permissions {
            all: None,
            scopes: vec![("contents".to_owned(), level)],
            ..Permissions::default()
        };
        decide_git((method, path, query), "acme/rocket", &permissions)
    }

    #[test]
    fn i17_git_reads_with_read_and_pushes_with_write() {
        use GitService::{ReceivePack, UploadPack};
        for (call, needs, expected) in [
            (
                "GET /acme/rocket/info/refs?service=git-upload-pack",
                Read,
                GitCall::Advertise(UploadPack),
            ),
            (
                "GET /Acme/Rocket.git/info/refs?service=git-upload-pack",
                Read,
                GitCall::Advertise(UploadPack),
            ),
            (
                "POST /acme/rocket.git/git-upload-pack",
                Read,
                GitCall::Serve(UploadPack),
            ),
            (
                "GET /acme/rocket.git/info/refs?service=git-receive-pack",
                Write,
                GitCall::Advertise(ReceivePack),
            ),
            (
                "POST /acme/rocket/git-receive-pack",
                Write,
                GitCall::Serve(ReceivePack),
            ),
        ] {
            assert_eq!(ask(call, needs), Ok(expected), "{call}");
            let less = if needs == Write {
                Read
            } else {
                PermissionLevel::None
            };
            let refused = ask(call, less).unwrap_err().to_string();
            assert!(refused.contains("`contents: "), "{call}: {refused}");
        }
    }

    #[test]
    fn i17_git_reaches_no_other_repository_and_no_odd_path() {
        for (call, why) in [
            (
                "GET /acme/other/info/refs?service=git-upload-pack",
                "not of `acme/other`",
            ),
            (
                "GET /acme/rocket/../other/info/refs?service=git-upload-pack",
                "cannot be read",
            ),
            (
                "GET /acme/rocket/%2e%2e/info/refs?service=git-upload-pack",
                "cannot be read",
            ),
            (
                "GET /acme//rocket/info/refs?service=git-upload-pack",
                "cannot be read",
            ),
            (
                "GET /acme/.git/info/refs?service=git-upload-pack",
                "cannot be read",
            ),
            ("GET /acme/rocket/info/refs", "smart protocol"),
            (
                "GET /acme/rocket/info/refs?service=git-upload-archive",
                "smart protocol",
            ),
            ("GET /acme/rocket/HEAD", "smart protocol"),
            ("GET /acme/rocket/objects/info/packs", "smart protocol"),
            ("PUT /acme/rocket/git-receive-pack", "smart protocol"),
            ("POST /acme/rocket/info/lfs/objects/batch", "Git LFS"),
            ("GET /acme/rocket", "cannot be read"),
            ("GET /", "cannot be read"),
        ] {
            let refused = ask(call, Write).unwrap_err().to_string();
            assert!(refused.contains(why), "{call}: {refused}");
        }
        let longer = ask(
            "GET /acme/rocket-docs.git/info/refs?service=git-upload-pack",
            Write,
        );
        let at_the_forge = "acme/rocket-docs.git/info/refs".to_owned();
        assert_eq!(longer, Ok(GitCall::Elsewhere(at_the_forge)));
    }

    #[test]
    fn i17_git_s_settings_name_one_repository_and_every_way_to_write_the_token() {
        let access = GitAccess {
            gateway: "http://127.0.0.1:3128/",
            repository: "acme/rocket",
            clone_url: "https://forge.example/acme/rocket.git",
            server_url: "https://forge.example",
            actor: "ada",
            token: "t0",
        };
        let instead: Vec<String> = access
            .settings(true)
            .into_iter()
            .filter(|(key, _)| key == "url.http://127.0.0.1:3128/acme/rocket.insteadOf")
            .map(|(_, value)| value)
            .collect();
        for expected in [
            "https://forge.example/acme/rocket",
            "https://x-access-token:t0@forge.example/acme/rocket",
            "https://ada:t0@forge.example/acme/rocket",
            "https://t0@forge.example/acme/rocket",
        ] {
            let found = instead.iter().filter(|one| *one == expected).count();
            assert_eq!(found, 1, "{expected} in {instead:#?}");
        }
        // Without a kept credential only addresses with the token lead to the gateway.
        let others = access.settings(false);
        let urls = others.iter().filter(|(key, _)| key.starts_with("url."));
        assert!(urls.clone().count() > 3);
        assert!(
            urls.into_iter()
                .all(|(_, url)| url.contains("t0@") || url.contains("t0:"))
        );
        let variables = git_variables(&[("a.b".into(), "c".into())], Some("2"));
        let expected = [
            ("GIT_CONFIG_KEY_2", "a.b"),
            ("GIT_CONFIG_VALUE_2", "c"),
            ("GIT_CONFIG_COUNT", "3"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(variables, expected);
    }

    #[test]
    fn i17_events_of_the_token_s_pushes_are_told_from_those_of_others() {
        let (a, b, zeros) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let one = |old: &str, new: &str| PushedReference {
            old: old.to_owned(),
            new: new.to_owned(),
            at_ms: 1_000,
        };
        let (moved, made, removed) = (one(&a, &b), one(&zeros, &b), one(&b, &zeros));
        for (pushed, kind, sha, before, now, expected) in [
            (&moved, EventKind::Push, &b, Some(&a), 2_000, true),
            (&moved, EventKind::Push, &b, None, 2_000, true),
            (&moved, EventKind::Push, &b, Some(&zeros), 2_000, true),
            // Somebody goes back to the same commit from elsewhere.
            (&moved, EventKind::Push, &b, Some(&b), 2_000, false),
            (&moved, EventKind::Push, &a, Some(&b), 2_000, false),
            (
                &moved,
                EventKind::Push,
                &b,
                Some(&a),
                1_001 + CAUSED_FOR_MS,
                false,
            ),
            (&moved, EventKind::Create, &b, None, 2_000, false),
            (&made, EventKind::Push, &b, None, 2_000, true),
            (&made, EventKind::Create, &b, None, 2_000, true),
            (&made, EventKind::Delete, &b, None, 2_000, false),
            (&removed, EventKind::Delete, &b, None, 2_000, true),
            (&moved, EventKind::PullRequest, &b, None, 2_000, true),
            (&moved, EventKind::WorkflowDispatch, &b, None, 2_000, false),
            (
                &moved,
                EventKind::RepositoryDispatch,
                &b,
                None,
                2_000,
                false,
            ),
        ] {
            let before = before.map(String::as_str);
            let caused = is_caused_by_token(std::slice::from_ref(pushed), (kind, sha, before), now);
            assert_eq!(caused, expected, "{pushed:?} {kind:?} {before:?} {now}");
        }
    }
}
