//! A child's environment: made from nothing, by an allow-list.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

use config_core::{Environment, Secret};

/// Variables of the daemon that every agent inherits.
const INHERITED: [&str; 10] = [
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER",
];

/// Variables that no configuration can pass on: secrets of the daemon, and switches that would make
/// the loader or an interpreter run something else.
const FORBIDDEN: [&str; 8] = [
    "ORCH_WEBHOOK_SECRET",
    "ORCH_ADMIN_TOKEN",
    "CREDENTIALS_DIRECTORY",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
];

/// The variable by which processes of a run are known when everything else about them has changed.
pub(super) const RUN_VARIABLE: &str = "ORCH_RUN_ID";

/// Longest value, in bytes: the kernel takes 128 KiB for one string.
const MAX_VALUE_BYTES: usize = 100_000;

/// Why a child's environment cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// The name cannot be one of a variable.
    #[error("{0:?} is no name of an environment variable: use letters, digits and '_'")]
    Name(String),
    /// The value cannot be one of a variable.
    #[error(
        "the value of {0} is too long or holds a NUL byte: hand long text to the agent as its prompt"
    )]
    Value(String),
    /// The variable is the daemon's own.
    #[error(
        "{0} belongs to the orchestrator and is never handed to an agent: take it out of `pass_env`"
    )]
    Refused(String),
}

/// The `ORCH_*` variables of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunVariables {
    /// `ORCH_RUN_ID`.
    pub run: String,
    /// `ORCH_AGENT`.
    pub agent: String,
    /// `ORCH_PROJECT`.
    pub project: String,
    /// `ORCH_REPO`, `owner/name`.
    pub repo: Option<String>,
    /// `ORCH_ISSUE`: number of the issue or pull request.
    pub issue: Option<u64>,
    /// `ORCH_HEAD_SHA`: the commit the run is about.
    pub head_sha: Option<String>,
    /// `ORCH_BRANCH`: the branch of the worktree.
    pub branch: Option<String>,
    /// `ORCH_STATUS_CONTEXT`: the commit status the run answers for.
    pub status_context: Option<String>,
    /// `ORCH_REPORTS_DIR`: where reports of this run go.
    pub reports: Option<OsString>,
    /// `ORCH_PROMPT_FILE`: the composed prompt.
    pub prompt_file: Option<OsString>,
    /// `ORCH_RESULT_NONCE`: what the block of a script's verdict must hold.
    pub result_nonce: Option<String>,
    /// `ORCH_SEARCH_URL`: the search server.
    pub search_url: Option<String>,
    /// `ORCH_SEARCH_ROLE`: the role the agent's persona searches with.
    pub search_role: Option<String>,
}

impl RunVariables {
    fn list(&self) -> Vec<(&'static str, OsString)> {
        let text = |text: &Option<String>| text.as_ref().map(OsString::from);
        let variables = [
            (RUN_VARIABLE, Some(OsString::from(&self.run))),
            ("ORCH_AGENT", Some(OsString::from(&self.agent))),
            ("ORCH_PROJECT", Some(OsString::from(&self.project))),
            ("ORCH_REPO", text(&self.repo)),
            (
                "ORCH_ISSUE",
                self.issue.map(|number| number.to_string().into()),
            ),
            ("ORCH_HEAD_SHA", text(&self.head_sha)),
            ("ORCH_BRANCH", text(&self.branch)),
            ("ORCH_STATUS_CONTEXT", text(&self.status_context)),
            ("ORCH_RESULT_NONCE", text(&self.result_nonce)),
            ("ORCH_REPORTS_DIR", self.reports.clone()),
            ("ORCH_PROMPT_FILE", self.prompt_file.clone()),
            ("ORCH_SEARCH_URL", text(&self.search_url)),
            ("ORCH_SEARCH_ROLE", text(&self.search_role)),
        ];
        variables
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

/// Everything a child gets of the environment. `Debug` shows the names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ChildEnvironment(BTreeMap<OsString, OsString>);

impl ChildEnvironment {
    /// The variables of `daemon` on the allow-list, those named in `passed` (an agent's
    /// `pass_env`), and what the run is told. Later ones win.
    ///
    /// # Errors
    /// [`EnvironmentError`] for a name or value that cannot be passed on.
    pub fn new(
        daemon: &Environment,
        passed: &[String],
        run: &RunVariables,
    ) -> Result<Self, EnvironmentError> {
        let mut environment = Self::default();
        for name in INHERITED {
            if let Ok(Some(value)) = daemon.get(name) {
                environment.put(name, value.into())?;
            }
        }
        environment.with_run(daemon, passed, run)
    }

    /// The same in a VM, which has its own programs, home and language: only what is `passed`, and
    /// what the run is told.
    ///
    /// # Errors
    /// [`EnvironmentError`] for a name or value that cannot be passed on.
    pub fn in_vm(
        daemon: &Environment,
        passed: &[String],
        run: &RunVariables,
    ) -> Result<Self, EnvironmentError> {
        Self::default().with_run(daemon, passed, run)
    }

    fn with_run(
        mut self,
        daemon: &Environment,
        passed: &[String],
        run: &RunVariables,
    ) -> Result<Self, EnvironmentError> {
        for name in passed {
            if FORBIDDEN.contains(&name.as_str()) {
                return Err(EnvironmentError::Refused(name.clone()));
            }
            if let Ok(Some(value)) = daemon.get(name) {
                self.put(name, value.into())?;
            }
        }
        for (name, value) in run.list() {
            self.put(name, value)?;
        }
        Ok(self)
    }

    /// Sets a variable of the agent's own configuration.
    ///
    /// # Errors
    /// [`EnvironmentError`] for a name or value that cannot be passed on.
    pub fn with(
        mut self,
        name: &str,
        value: impl Into<OsString>,
    ) -> Result<Self, EnvironmentError> {
        if FORBIDDEN.contains(&name) {
            return Err(EnvironmentError::Refused(name.to_owned()));
        }
        self.put(name, value.into())?;
        Ok(self)
    }

    /// The agent's own forge token, as `ORCH_FORGE_TOKEN`.
    ///
    /// # Errors
    /// [`EnvironmentError::Value`] for a token that cannot be a value.
    pub fn with_forge_token(self, token: &Secret<String>) -> Result<Self, EnvironmentError> {
        self.with("ORCH_FORGE_TOKEN", token.expose())
    }

    fn put(&mut self, name: &str, value: OsString) -> Result<(), EnvironmentError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let starts = name
            .bytes()
            .next()
            .is_some_and(|byte| !byte.is_ascii_digit());
        if !starts || !name.bytes().all(allowed) {
            return Err(EnvironmentError::Name(name.to_owned()));
        }
        if value.len() > MAX_VALUE_BYTES || value.as_encoded_bytes().contains(&0) {
            return Err(EnvironmentError::Value(name.to_owned()));
        }
        self.0.insert(name.into(), value);
        Ok(())
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The value of one variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }
}

impl fmt::Debug for ChildEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn daemon() -> Environment {
        Environment::from_iter([
            ("PATH", "/usr/bin"),
            ("HOME", "/home/o"),
            ("ORCH_WEBHOOK_SECRET", "whsec"),
            ("FORGE_TOKEN", "admin"),
            ("AWS_SECRET_ACCESS_KEY", "aws"),
            ("LD_PRELOAD", "/x.so"),
            ("EDITOR", "vi"),
        ])
    }

    fn run() -> RunVariables {
        RunVariables {
            run: "r-1".into(),
            agent: "dev".into(),
            project: "main".into(),
            ..RunVariables::default()
        }
    }

    #[test]
    fn o01_a_child_gets_what_is_listed_and_nothing_else() {
        let environment = ChildEnvironment::new(&daemon(), &["EDITOR".into()], &run()).unwrap();
        let environment = environment
            .with_forge_token(&Secret::new("mine".into()))
            .unwrap();
        let names: Vec<_> = environment
            .iter()
            .map(|(name, _)| name.to_str().unwrap())
            .collect();
        let expected = [
            "EDITOR",
            "HOME",
            "ORCH_AGENT",
            "ORCH_FORGE_TOKEN",
            "ORCH_PROJECT",
            "ORCH_RUN_ID",
            "PATH",
        ];
        assert_eq!(names, expected);
        assert!(!format!("{environment:?}").contains("mine"));
    }

    #[test]
    fn i18_a_vm_gets_no_paths_of_this_machine() {
        let environment = ChildEnvironment::in_vm(&daemon(), &["EDITOR".into()], &run()).unwrap();
        let names = environment.iter().map(|(name, _)| name.to_str().unwrap());
        let names: Vec<_> = names.collect();
        let expected = ["EDITOR", "ORCH_AGENT", "ORCH_PROJECT", "ORCH_RUN_ID"];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_daemon_s_secrets_cannot_be_passed_on_by_configuration() {
        for name in FORBIDDEN {
            let wanted = ChildEnvironment::new(&daemon(), &[name.to_owned()], &run());
            assert_eq!(wanted, Err(EnvironmentError::Refused(name.to_owned())));
            assert!(ChildEnvironment::default().with(name, "x").is_err());
        }
    }

    #[test]
    fn names_and_values_are_checked() {
        for name in ["", "1A", "A=B", "A B", "A\0"] {
            let wanted = ChildEnvironment::default().with(name, "x");
            assert_eq!(wanted, Err(EnvironmentError::Name(name.to_owned())));
        }
        for value in ["a\0b".to_owned(), "x".repeat(MAX_VALUE_BYTES + 1)] {
            let wanted = ChildEnvironment::default().with("A", value);
            assert_eq!(wanted, Err(EnvironmentError::Value("A".into())));
        }
    }
}
