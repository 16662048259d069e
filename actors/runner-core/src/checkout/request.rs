//! The inputs of `actions/checkout` (its `action.yml`), read as it reads them.

use config_core::Secret;
use forge_core::{CommitSha, ObjectFormats, RepoName};

use super::ssh::SshInputs;
use crate::context::WORKSPACE;
use crate::job_folders::below_workspace;

/// What a step asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutRequest {
    /// The repository.
    pub repository: RepoName,
    /// Whether that is the run's own.
    pub own: bool,
    /// A branch, a tag, a full reference or a commit; empty: the event's, or of another repository
    /// its default branch.
    pub reference: String,
    /// Where it is put: an absolute folder of the machine, the workspace or below.
    pub directory: String,
    /// How much of its history.
    pub history: History,
    /// All tags, whatever the history.
    pub tags: bool,
    /// Which submodules.
    pub submodules: Submodules,
    /// Patterns of the files that are laid out; none: all.
    pub sparse: Vec<String>,
    /// Whether the patterns are folders.
    pub cone: bool,
    /// Whether what is in the folder goes first.
    pub clean: bool,
    /// A token of the workflow's own for the forge; empty: none.
    pub token: String,
    /// A key of the workflow's own: everything is fetched by SSH then.
    pub ssh: Option<SshInputs>,
    /// Whether later commands of git may use the token and the key.
    pub persist: bool,
    /// Whether large files come in the place of their pointers.
    pub lfs: bool,
}

/// How much history a checkout has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// All of it, of all branches and tags.
    Full,
    /// So many commits.
    Commits(u32),
}

/// Which submodules come with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submodules {
    /// None: their folders are empty.
    None,
    /// Its own.
    Own,
    /// Theirs too.
    Recursive,
}

/// With whose rights a repository is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBy {
    /// The runner's own token.
    Runner,
    /// The token that the step gives.
    Step,
    /// Nobody's: what everybody may read.
    Everybody,
}

/// `owner/name` or `owner/*`, without regard to case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryPattern(String);

impl CheckoutRequest {
    /// Reads a step's inputs; `own` is the run's repository, `server` the forge's address.
    ///
    /// # Errors
    /// Which input is wrong, and how it is written.
    pub fn parse(inputs: &[(String, String)], own: &str, server: &str) -> Result<Self, String> {
        let input = |name: &str| {
            let mut inputs = inputs.iter();
            let found = inputs.find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map_or("", |(_, value)| value.trim())
        };
        let flag = |name: &str, usual: bool| match input(name) {
            "" => usual,
            value => value.eq_ignore_ascii_case("true"),
        };
        let name = match input("repository") {
            "" => own,
            name => name,
        };
        let repository: RepoName = name.parse().map_err(|_| {
            let name = config_core::quoted(name);
            format!("`repository` is {name}; it is written owner/name")
        })?;
        let elsewhere = input("github-server-url").trim_end_matches('/');
        let is_forge = elsewhere.eq_ignore_ascii_case(server.trim_end_matches('/'));
        let elsewhere = if is_forge { "" } else { elsewhere };
        let key = input("ssh-key");
        if !elsewhere.is_empty() && key.is_empty() {
            let elsewhere = config_core::quoted(elsewhere);
            return Err(format!(
                "`github-server-url` is {elsewhere}: only repositories of the forge that started the run ({server}) are checked out, unless the step gives an `ssh-key`"
            ));
        }
        let ssh = (!key.is_empty()).then(|| SshInputs {
            key: Secret::new(key.to_owned()),
            user: input("ssh-user").to_owned(),
            strict: flag("ssh-strict", true),
            known_hosts: input("ssh-known-hosts").to_owned(),
            forge: server.trim_end_matches('/').to_owned(),
            server: elsewhere.to_owned(),
        });
        let submodules = match input("submodules").to_ascii_lowercase().as_str() {
            "true" => Submodules::Own,
            "recursive" => Submodules::Recursive,
            _ => Submodules::None,
        };
        let sparse = input("sparse-checkout").lines().map(str::trim);
        let sparse: Vec<String> = sparse
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        Ok(Self {
            own: name.eq_ignore_ascii_case(own) && elsewhere.is_empty(),
            repository,
            reference: reference(inputs).to_owned(),
            directory: directory(input("path"))?,
            history: history(input("fetch-depth")),
            tags: flag("fetch-tags", false),
            submodules,
            sparse,
            cone: flag("sparse-checkout-cone-mode", true),
            clean: flag("clean", true),
            token: input("token").to_owned(),
            ssh,
            persist: flag("persist-credentials", true),
            lfs: flag("lfs", false),
        })
    }

    /// Whether it is the event's commit, whole and alone: what lies in the workspace from the
    /// start.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        self.own
            && self.reference.is_empty()
            && self.directory == WORKSPACE
            && self.history == History::Commits(1)
            && !self.tags
            && self.submodules == Submodules::None
            && self.sparse.is_empty()
            && self.token.is_empty()
            && self.ssh.is_none()
            && !self.lfs
    }

    /// The commit, where the reference is one.
    #[must_use]
    pub fn commit(&self) -> Option<CommitSha> {
        let text = self.reference.to_ascii_lowercase();
        CommitSha::parse(&text, ObjectFormats::Sha1AndSha256).ok()
    }
}

/// The input `ref`. Only blanks that no name of a branch can have are taken off: a branch that is
/// called like a commit with another blank before it is not that commit.
fn reference(inputs: &[(String, String)]) -> &str {
    let mut inputs = inputs.iter();
    let found = inputs.find(|(known, _)| known.eq_ignore_ascii_case("ref"));
    let reference = found.map_or("", |(_, value)| value.as_str());
    reference.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}')
}

/// The absolute folder of an input `path`.
fn directory(path: &str) -> Result<String, String> {
    let relative = match below_workspace(path) {
        Some(below) => below,
        None if path.starts_with('/') => return Err(outside(path)),
        None => path,
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or_else(|| outside(path))?;
            }
            part => parts.push(part),
        }
    }
    parts.insert(0, WORKSPACE);
    Ok(parts.join("/"))
}

fn outside(path: &str) -> String {
    let path = config_core::quoted(path);
    format!("`path` is {path}, which is not below {WORKSPACE}")
}

/// What is no number, or less than 0, is all of it, as the action has it.
fn history(depth: &str) -> History {
    if depth.is_empty() {
        return History::Commits(1);
    }
    let number = depth.parse::<f64>().ok().map(f64::floor);
    match number.filter(|number| *number >= 1.0) {
        // Saturates: more than there are commits.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least 1"
        )]
        Some(number) => History::Commits(number as u32),
        None => History::Full,
    }
}

impl RepositoryPattern {
    /// Reads `owner/name` or `owner/*`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.strip_suffix("/*").map(|owner| format!("{owner}/x"));
        let name: Result<RepoName, _> = name.as_deref().unwrap_or(text).parse();
        name.ok().map(|_| Self(text.to_ascii_lowercase()))
    }

    /// Whether it names this repository.
    #[must_use]
    pub fn names(&self, repository: &RepoName) -> bool {
        let name = repository.to_string().to_ascii_lowercase();
        match self.0.strip_suffix('*') {
            Some(owner) => name.starts_with(owner),
            None => name == self.0,
        }
    }
}

impl std::fmt::Display for RepositoryPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// With whose rights a run reads a repository of its forge. The runner's token sees more than the
/// people who write workflows: beside the run's own repository it reads only what the operator
/// lists, and nothing of that for a stranger's pull request.
#[must_use]
pub fn read_by(own: bool, listed: bool, untrusted: bool, has_token: bool) -> ReadBy {
    match (own, listed && !untrusted, has_token) {
        (true, ..) => ReadBy::Runner,
        (false, _, true) => ReadBy::Step,
        (false, true, false) => ReadBy::Runner,
        (false, false, false) => ReadBy::Everybody,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(inputs: &[(&str, &str)]) -> Result<CheckoutRequest, String> {
        let inputs: Vec<(String, String)> = inputs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        CheckoutRequest::parse(&inputs, "acme/rocket", "https://forge.example")
    }

    #[test]
    fn i17_inputs_of_checkout_are_read_as_the_action_reads_them() {
        let usual = parse(&[]).unwrap();
        assert!(usual.own && usual.clean && usual.cone && usual.persist);
        assert!(usual.is_usual());
        assert_eq!(usual.directory, "/workspace");
        for (text, history) in [
            ("1", History::Commits(1)),
            ("2.9", History::Commits(2)),
            ("0", History::Full),
            ("-1", History::Full),
            ("all", History::Full),
            ("99999999999", History::Commits(u32::MAX)),
        ] {
            assert_eq!(
                parse(&[("fetch-depth", text)]).unwrap().history,
                history,
                "{text}"
            );
        }
        for (text, submodules) in [
            ("true", Submodules::Own),
            ("Recursive", Submodules::Recursive),
            ("false", Submodules::None),
        ] {
            let found = parse(&[("submodules", text)]).unwrap();
            assert_eq!(found.submodules, submodules, "{text}");
        }
        let sparse = parse(&[("sparse-checkout", "src\n\n docs \n"), ("Clean", "FALSE")]).unwrap();
        assert_eq!(sparse.sparse, ["src", "docs"]);
        assert!(!sparse.clean);
        for not_usual in [
            ("ref", "main"),
            ("path", "x"),
            ("fetch-depth", "0"),
            ("fetch-tags", "true"),
            ("submodules", "true"),
            ("sparse-checkout", "src"),
            ("lfs", "true"),
            ("ssh-key", "a key"),
            ("repository", "acme/other"),
        ] {
            let asked = parse(&[not_usual]).unwrap();
            assert!(!asked.is_usual(), "{not_usual:?}");
        }
        assert!(parse(&[("repository", "ACME/Rocket")]).unwrap().own);
    }

    #[test]
    fn i17_paths_stay_in_the_workspace() {
        for (path, directory) in [
            ("", "/workspace"),
            (".", "/workspace"),
            ("./a//b/", "/workspace/a/b"),
            ("a/../b", "/workspace/b"),
            ("/workspace/c", "/workspace/c"),
            ("/workspace", "/workspace"),
        ] {
            assert_eq!(
                parse(&[("path", path)]).unwrap().directory,
                directory,
                "{path}"
            );
        }
        for path in ["..", "a/../../b", "/etc", "/workspacex", "/workspace/../x"] {
            assert!(
                parse(&[("path", path)]).unwrap_err().contains("not below"),
                "{path}"
            );
        }
    }

    #[test]
    fn i17_wrong_repositories_and_servers_are_named() {
        for name in ["rocket", "a/b/c", "../x", "a/..", "a b/c"] {
            let error = parse(&[("repository", name)]).unwrap_err();
            assert!(error.contains("owner/name"), "{name}: {error}");
        }
        let error = parse(&[("github-server-url", "https://other.example")]).unwrap_err();
        assert!(error.contains("only repositories of the forge"), "{error}");
        assert!(parse(&[("github-server-url", "https://forge.example/")]).is_ok());
    }

    #[test]
    fn i17_a_key_of_ssh_brings_its_other_inputs() {
        // A secret that a pull request from a fork has not is none.
        assert_eq!(parse(&[("ssh-key", "  ")]).unwrap().ssh, None);
        let given = parse(&[("ssh-key", " a key\n")]).unwrap().ssh.unwrap();
        assert_eq!(given.key.expose(), "a key");
        assert!(given.strict && given.user.is_empty() && given.server.is_empty());
        let given = parse(&[
            ("ssh-key", "k"),
            ("ssh-strict", "false"),
            ("ssh-user", "deploy"),
            ("ssh-known-hosts", "host ssh-ed25519 AAAA"),
            ("github-server-url", "https://other.example/"),
        ]);
        let given = given.unwrap();
        assert!(
            !given.own,
            "the same name at another forge is another repository"
        );
        let given = given.ssh.unwrap();
        assert!(!given.strict);
        assert_eq!(given.user, "deploy");
        assert_eq!(given.known_hosts, "host ssh-ed25519 AAAA");
        assert_eq!(given.server, "https://other.example");
    }

    #[test]
    fn i17_strangers_read_no_more_than_everybody() {
        for (own, listed, untrusted, token, by) in [
            (true, false, true, false, ReadBy::Runner),
            (true, false, false, true, ReadBy::Runner),
            (false, true, false, false, ReadBy::Runner),
            (false, true, true, false, ReadBy::Everybody),
            (false, false, false, false, ReadBy::Everybody),
            (false, false, false, true, ReadBy::Step),
            (false, true, false, true, ReadBy::Step),
        ] {
            assert_eq!(read_by(own, listed, untrusted, token), by);
        }
        let names = |pattern: &str, name: &str| {
            RepositoryPattern::parse(pattern)
                .unwrap()
                .names(&name.parse().unwrap())
        };
        assert!(names("Acme/*", "acme/lib") && names("acme/Lib", "Acme/lib"));
        assert!(!names("acme/*", "acmes/lib") && !names("acme/lib", "acme/library"));
        assert!(
            RepositoryPattern::parse("*").is_none() && RepositoryPattern::parse("a/b*").is_none()
        );
    }
}
