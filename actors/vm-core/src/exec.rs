//! Something to run in a VM, and how it ended.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use vmm_api_core::{ExecReport, ExecState, NewExec, TerminalSize};

/// What is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecProgram {
    /// A program and its arguments, passed as they are; no shell reads them.
    Argv(Vec<String>),
    /// A text that the agent writes to a file of its own, and the command that runs it: `{0}` in it
    /// stands for the file.
    Script {
        /// The script.
        text: String,
        /// The command, one word an item.
        shell: Vec<String>,
    },
}

/// A checked request to run something. It travels to the agent as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecSpec {
    /// What is executed.
    pub program: ExecProgram,
    /// The folder it starts in; absolute.
    pub cwd: String,
    /// Added to the guest's own small environment (`PATH`, `HOME`, `LANG`) and the image's.
    pub env: BTreeMap<String, String>,
    /// After this long its process group is killed.
    pub timeout: Option<Duration>,
    /// It runs on a terminal of this size, which is its only stream, and takes input.
    pub terminal: Option<TerminalSize>,
}

/// How something ended. There is no default: an exit code is either reported or absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecEnd {
    /// It exited by itself.
    Exited {
        /// Its exit code, 0 to 255.
        code: i32,
    },
    /// A signal that nobody of ours sent ended it.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// It ran longer than allowed and was killed.
    TimedOut,
    /// It was killed because somebody asked.
    Killed,
    /// Nobody can say: the VM ended under it, or the agent fell silent.
    Lost {
        /// What is known.
        reason: String,
    },
    /// It could not be started: there is no such program or folder, or it may not be run. The VM is
    /// as well as before.
    NotStarted {
        /// Why.
        reason: String,
    },
}

impl ExecEnd {
    /// As the API shows it: while it runs (`None`), or as it ended.
    pub fn report(end: Option<&Self>, dropped_bytes: u64) -> ExecReport {
        ExecReport {
            state: end.map_or(ExecState::Running, Self::state),
            exit_code: end.and_then(Self::exit_code),
            signal: end.and_then(Self::signal),
            reason: end.and_then(Self::reason).map(str::to_owned),
            dropped_bytes,
        }
    }

    /// The state to show.
    pub fn state(&self) -> ExecState {
        match self {
            Self::Exited { .. } | Self::Signalled { .. } => ExecState::Exited,
            Self::TimedOut => ExecState::TimedOut,
            Self::Killed => ExecState::Killed,
            Self::Lost { .. } => ExecState::Lost,
            Self::NotStarted { .. } => ExecState::NotStarted,
        }
    }

    /// The exit code, where there is one.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Exited { code } => Some(*code),
            _ => None,
        }
    }

    /// The signal, where one ended it.
    pub fn signal(&self) -> Option<i32> {
        match self {
            Self::Signalled { signal } => Some(*signal),
            _ => None,
        }
    }

    /// What is known of something that was lost, or not started.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Lost { reason } | Self::NotStarted { reason } => Some(reason),
            _ => None,
        }
    }
}

/// Why a request to run something is refused; the caller gets 422.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    /// Neither or both of the two ways to say what to run.
    #[error("exactly one of `script` and `argv` must be given")]
    ScriptOrArgv,
    /// `argv` is empty or names no program.
    #[error("`argv` must begin with the program's name")]
    NoProgram,
    /// `shell` beside `argv`, an unknown name, or a command without a place for the script.
    #[error("`shell` {0:?} is neither bash, sh nor python, nor a command with `{{0}}` in it")]
    Shell(String),
    /// The folder is not absolute.
    #[error("`cwd` {0:?} must be an absolute path")]
    Cwd(String),
    /// A name that no environment can hold.
    #[error("`env` has the name {0:?}: names are not empty and hold neither `=` nor NUL")]
    EnvName(String),
    /// A NUL where the system ends a text.
    #[error("`{0}` holds a NUL byte")]
    Nul(&'static str),
    /// More than the agent takes in one message.
    #[error("script, arguments and environment have {bytes} bytes together; {most} are allowed")]
    TooLarge {
        /// What came.
        bytes: usize,
        /// [`ExecSpec::MAX_BYTES`].
        most: usize,
    },
    /// A size that no terminal has.
    #[error("`terminal` must have 1 to {most} columns and rows", most = TerminalSize::MOST)]
    Terminal,
    /// A time of zero, or longer than a VM lives.
    #[error("`timeout_ms` must lie between 1 and {most_ms}")]
    Timeout {
        /// The longest allowed.
        most_ms: u64,
    },
}

impl TryFrom<NewExec> for ExecSpec {
    type Error = ExecError;

    fn try_from(request: NewExec) -> Result<Self, ExecError> {
        let program = match (request.script, request.argv, &request.shell) {
            (Some(text), None, shell) => {
                let shell = Self::shell(shell.as_deref().unwrap_or("bash"))?;
                ExecProgram::Script { text, shell }
            }
            (None, Some(argv), None) => ExecProgram::Argv(argv),
            (None, Some(_), Some(shell)) => return Err(ExecError::Shell(shell.clone())),
            _ => return Err(ExecError::ScriptOrArgv),
        };
        let spec = Self {
            program,
            cwd: request.cwd.unwrap_or_else(|| Self::WORKSPACE.to_owned()),
            env: request.env,
            timeout: request.timeout_ms.map(Duration::from_millis),
            terminal: request.terminal,
        };
        spec.check()?;
        Ok(spec)
    }
}

impl ExecSpec {
    /// Most bytes of script, arguments and environment together.
    pub const MAX_BYTES: usize = 1 << 20;
    /// Where things start unless told otherwise.
    pub const WORKSPACE: &str = "/workspace";
    /// The longest time-out.
    pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

    /// What runs a script: `bash`, `sh`, `python`, or a command of words with `{0}` for the
    /// script's file.
    ///
    /// # Errors
    /// [`ExecError::Shell`] for anything else.
    pub fn shell(name: &str) -> Result<Vec<String>, ExecError> {
        let words = match name {
            "bash" => "bash --noprofile --norc -e -o pipefail {0}",
            "sh" => "sh -e {0}",
            "python" => "python3 {0}",
            custom if custom.contains("{0}") && !custom.contains('\0') => custom,
            _ => return Err(ExecError::Shell(name.chars().take(80).collect())),
        };
        Ok(words.split_whitespace().map(str::to_owned).collect())
    }

    /// Whether the agent will take it.
    ///
    /// # Errors
    /// The first [`ExecError`] found.
    pub fn check(&self) -> Result<(), ExecError> {
        match &self.program {
            ExecProgram::Argv(words) => check_words("argv", words)?,
            ExecProgram::Script { text, shell } => {
                check_words("shell", shell)?;
                if !shell.iter().any(|word| word.contains("{0}")) {
                    return Err(ExecError::Shell(shell.join(" ")));
                }
                // A script may hold any byte; only the command line cannot.
                let _ = text;
            }
        }
        if !self.cwd.starts_with('/') || self.cwd.contains('\0') {
            return Err(ExecError::Cwd(self.cwd.chars().take(200).collect()));
        }
        for (name, value) in &self.env {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(ExecError::EnvName(name.chars().take(80).collect()));
            }
            if value.contains('\0') {
                return Err(ExecError::Nul("env"));
            }
        }
        if self
            .timeout
            .is_some_and(|time| time.is_zero() || time > Self::MAX_TIMEOUT)
        {
            let most_ms = u64::try_from(Self::MAX_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
            return Err(ExecError::Timeout { most_ms });
        }
        if self.terminal.is_some_and(|size| !size.is_valid()) {
            return Err(ExecError::Terminal);
        }
        let bytes = self.bytes();
        if bytes > Self::MAX_BYTES {
            return Err(ExecError::TooLarge {
                bytes,
                most: Self::MAX_BYTES,
            });
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let words = |words: &[String]| words.iter().map(|word| word.len() + 1).sum::<usize>();
        let program = match &self.program {
            ExecProgram::Argv(argv) => words(argv),
            ExecProgram::Script { text, shell } => text.len() + words(shell),
        };
        let env: usize = self
            .env
            .iter()
            .map(|(name, value)| name.len() + value.len() + 2)
            .sum();
        program + env + self.cwd.len()
    }
}

fn check_words(field: &'static str, words: &[String]) -> Result<(), ExecError> {
    if words.first().is_none_or(String::is_empty) {
        return Err(ExecError::NoProgram);
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err(ExecError::Nul(field));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(words: &[&str]) -> ExecSpec {
        ExecSpec {
            program: ExecProgram::Argv(words.iter().map(|word| (*word).to_owned()).collect()),
            cwd: ExecSpec::WORKSPACE.to_owned(),
            env: BTreeMap::new(),
            timeout: None,
            terminal: None,
        }
    }

    #[test]
    fn an_exit_code_is_reported_or_absent_never_made_up() {
        let ends = [
            (
                ExecEnd::Exited { code: 7 },
                ExecState::Exited,
                Some(7),
                None,
            ),
            (
                ExecEnd::Signalled { signal: 9 },
                ExecState::Exited,
                None,
                Some(9),
            ),
            (ExecEnd::TimedOut, ExecState::TimedOut, None, None),
            (ExecEnd::Killed, ExecState::Killed, None, None),
            (
                ExecEnd::Lost {
                    reason: "gone".to_owned(),
                },
                ExecState::Lost,
                None,
                None,
            ),
            (
                ExecEnd::NotStarted {
                    reason: "no such program".to_owned(),
                },
                ExecState::NotStarted,
                None,
                None,
            ),
        ];
        for (end, state, code, signal) in ends {
            assert_eq!(
                (end.state(), end.exit_code(), end.signal()),
                (state, code, signal)
            );
        }
    }

    #[test]
    fn shells() {
        assert_eq!(ExecSpec::shell("sh").unwrap(), ["sh", "-e", "{0}"]);
        assert_eq!(ExecSpec::shell("perl {0}").unwrap(), ["perl", "{0}"]);
        for name in ["", "zsh", "bash -e"] {
            assert!(
                matches!(ExecSpec::shell(name), Err(ExecError::Shell(_))),
                "{name}"
            );
        }
    }

    #[test]
    fn what_no_system_can_run_is_refused() {
        assert_eq!(argv(&["true"]).check(), Ok(()));
        assert_eq!(argv(&[]).check(), Err(ExecError::NoProgram));
        assert_eq!(argv(&["a", "b\0c"]).check(), Err(ExecError::Nul("argv")));
        assert_eq!(
            ExecSpec {
                cwd: "x".to_owned(),
                ..argv(&["true"])
            }
            .check(),
            Err(ExecError::Cwd("x".to_owned()))
        );
        let env = BTreeMap::from([("A=B".to_owned(), String::new())]);
        assert!(matches!(
            ExecSpec {
                env,
                ..argv(&["true"])
            }
            .check(),
            Err(ExecError::EnvName(_))
        ));
        let timeout = Some(Duration::ZERO);
        assert!(matches!(
            ExecSpec {
                timeout,
                ..argv(&["true"])
            }
            .check(),
            Err(ExecError::Timeout { .. })
        ));
        for (columns, rows) in [(0, 24), (80, 0), (1001, 24)] {
            let terminal = Some(TerminalSize { columns, rows });
            let spec = ExecSpec {
                terminal,
                ..argv(&["true"])
            };
            assert_eq!(spec.check(), Err(ExecError::Terminal), "{columns}x{rows}");
        }
        let long = "x".repeat(ExecSpec::MAX_BYTES);
        assert!(matches!(
            argv(&["echo", &long]).check(),
            Err(ExecError::TooLarge { .. })
        ));
    }

    #[test]
    fn what_to_run_is_said_in_exactly_one_way() {
        let start = |json: &str| ExecSpec::try_from(serde_json::from_str::<NewExec>(json).unwrap());
        let spec = start(r#"{"script":"make\n","timeout_ms":5}"#).unwrap();
        assert_eq!(
            (spec.cwd.as_str(), spec.timeout),
            ("/workspace", Some(Duration::from_millis(5)))
        );
        let ExecProgram::Script { text, shell } = spec.program else {
            panic!("it is a script")
        };
        assert_eq!((text.as_str(), shell[0].as_str()), ("make\n", "bash"));
        assert_eq!(
            start(r#"{"argv":["ls"]}"#).unwrap().program,
            ExecProgram::Argv(vec!["ls".to_owned()])
        );
        assert_eq!(start("{}"), Err(ExecError::ScriptOrArgv));
        assert_eq!(
            start(r#"{"argv":["ls"],"script":"ls"}"#),
            Err(ExecError::ScriptOrArgv)
        );
        assert_eq!(
            start(r#"{"argv":["ls"],"shell":"sh"}"#),
            Err(ExecError::Shell("sh".to_owned()))
        );
        assert!(serde_json::from_str::<NewExec>(r#"{"cmd":"x"}"#).is_err());
    }

    /// Title, branch and author of a pull request reach a program as arguments; no shell reads
    /// them.
    #[test]
    fn r03_arguments_stay_arguments() {
        let hostile = "$(id) `id`; curl x\n\"'";
        let request = NewExec {
            argv: Some(vec!["echo".to_owned(), hostile.to_owned()]),
            ..NewExec::default()
        };
        let ExecProgram::Argv(argv) = ExecSpec::try_from(request).unwrap().program else {
            panic!("it is argv")
        };
        assert_eq!(argv, ["echo", hostile]);
    }
}
