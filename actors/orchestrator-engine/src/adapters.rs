//! How each agent program is started: its arguments, and how the prompt gets in.
//!
//! | `cli` | command line | prompt |
//! |---|---|---|
//! | `claude` | `claude -p --output-format text --dangerously-skip-permissions [--model M]` | standard input |
//! | `codex` | `codex exec --skip-git-repo-check --full-auto [--model M] -` | standard input |
//! | `opencode` | `opencode run [--model M]` | standard input |
//! | `gemini` | `gemini --yolo [--model M]` | standard input |
//! | `aider` | `aider --yes-always --no-check-update --no-stream [--model M] --message-file FILE` | a file |
//! | `sh` | `sh -eu -c SCRIPT agent [ARGS…]` | none: the task is in `ORCH_*` |
//! | `browser` | `node SCRIPT PLAN REPORTS` | none: `scenarios/` |
//! | `command` | the configured list; `{prompt}`, `{prompt_file}`, `{model}`, `{workdir}` as whole arguments | standard input or an argument |
//!
//! The agent's own `args` follow the program's fixed ones. Text of strangers (titles, comments,
//! branch names) is only ever in the prompt or in variables, never in a text that a shell reads.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use orchestrator_core::config::{AgentCli, PromptBy};

use crate::process::AgentInput;
use crate::scenario::BrowserPlan;

/// Longest prompt that can be one argument, in bytes: the kernel takes 128 KiB.
const MAX_ARGUMENT_BYTES: usize = 120_000;

/// What an agent is started for.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// Which program it is.
    pub cli: &'a AgentCli,
    /// Its path, in place of its own name on `PATH`.
    pub program: Option<&'a str>,
    /// The agent's own arguments.
    pub args: &'a [String],
    /// The model, as the program writes it.
    pub model: Option<&'a str>,
    /// The composed prompt.
    pub prompt: &'a str,
    /// A file that holds the same prompt.
    pub prompt_file: &'a Path,
    /// The folder the agent works in.
    pub workdir: &'a Path,
    /// What the browser agent runs.
    pub browser: Option<&'a BrowserPlan>,
}

/// A program, its arguments and its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What it reads on standard input.
    pub input: AgentInput,
}

/// Why there is no command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterError {
    /// The prompt does not fit into one argument.
    #[error(
        "the prompt of {0} bytes does not fit into an argument: set `prompt_by = \"stdin\"` or use `{{prompt_file}}`"
    )]
    PromptTooLong(usize),
    /// The program is not named.
    #[error("`argv` is empty: name the program")]
    NoProgram,
    /// The model is asked for in the arguments, and there is none.
    #[error("the arguments hold `{{model}}`, but the agent has no `model`")]
    NoModel,
    /// The browser agent has nothing to run.
    #[error("the browser agent has no prepared scenarios")]
    NoScenarios,
}

/// The command line of an agent.
///
/// # Errors
/// [`AdapterError`] when the configuration and the prompt do not go together.
pub fn command_line(start: &Start<'_>) -> Result<CommandLine, AdapterError> {
    let (mut arguments, prompt_by_stdin) = match start.cli {
        AgentCli::Command { argv, prompt_by } => return template(start, argv, *prompt_by),
        AgentCli::Claude => (
            words("-p --output-format text --dangerously-skip-permissions"),
            true,
        ),
        AgentCli::Codex => (words("exec --skip-git-repo-check --full-auto"), true),
        AgentCli::Opencode => (words("run"), true),
        AgentCli::Gemini => (words("--yolo"), true),
        AgentCli::Aider => (words("--yes-always --no-check-update --no-stream"), false),
        AgentCli::Sh { script } => (
            vec!["-eu".into(), "-c".into(), script.into(), "agent".into()],
            false,
        ),
        AgentCli::Browser => (
            start.browser.ok_or(AdapterError::NoScenarios)?.arguments(),
            false,
        ),
    };
    if start.cli.takes_prompt()
        && let Some(model) = start.model
    {
        arguments.extend(["--model".into(), model.into()]);
    }
    arguments.extend(start.args.iter().map(OsString::from));
    match start.cli {
        AgentCli::Codex => arguments.push("-".into()),
        AgentCli::Aider => arguments.extend(["--message-file".into(), start.prompt_file.into()]),
        _ => {}
    }
    Ok(CommandLine {
        program: start.program.unwrap_or(start.cli.program()).into(),
        arguments,
        input: if prompt_by_stdin {
            input(start)
        } else {
            AgentInput::Closed
        },
    })
}

fn words(text: &str) -> Vec<OsString> {
    text.split(' ').map(OsString::from).collect()
}

fn input(start: &Start<'_>) -> AgentInput {
    AgentInput::Text(start.prompt.as_bytes().to_vec())
}

/// A configured program: placeholders are whole arguments, so nothing of a value is ever parsed.
fn template(
    start: &Start<'_>,
    argv: &[String],
    prompt_by: PromptBy,
) -> Result<CommandLine, AdapterError> {
    let (program, rest) = argv.split_first().ok_or(AdapterError::NoProgram)?;
    let mut arguments = Vec::new();
    let mut prompted = false;
    for word in rest.iter().chain(start.args) {
        arguments.push(match word.as_str() {
            "{prompt}" => {
                prompted = true;
                as_argument(start.prompt)?
            }
            "{prompt_file}" => start.prompt_file.into(),
            "{workdir}" => start.workdir.into(),
            "{model}" => start.model.ok_or(AdapterError::NoModel)?.into(),
            word => word.into(),
        });
    }
    if prompt_by == PromptBy::Argv && !prompted {
        arguments.push(as_argument(start.prompt)?);
    }
    Ok(CommandLine {
        program: start.program.unwrap_or(program).into(),
        arguments,
        input: match prompt_by {
            PromptBy::Stdin => input(start),
            PromptBy::Argv => AgentInput::Closed,
        },
    })
}

/// A prompt as one argument: it cannot be taken for an option, and holds no NUL byte.
fn as_argument(prompt: &str) -> Result<OsString, AdapterError> {
    if prompt.len() > MAX_ARGUMENT_BYTES {
        return Err(AdapterError::PromptTooLong(prompt.len()));
    }
    let text = prompt.replace('\0', "\u{fffd}");
    let shield = if text.starts_with('-') { "\n" } else { "" };
    Ok(format!("{shield}{text}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cli: &AgentCli, args: &[&str], prompt: &str) -> Result<CommandLine, AdapterError> {
        let args: Vec<String> = args.iter().map(|text| (*text).to_owned()).collect();
        command_line(&Start {
            cli,
            program: None,
            args: &args,
            model: Some("m-1"),
            prompt,
            prompt_file: Path::new("/run/prompt.md"),
            workdir: Path::new("/tree"),
            browser: None,
        })
    }

    fn shown(line: &CommandLine) -> String {
        let words = line
            .arguments
            .iter()
            .map(|word| word.to_str().expect("tests use UTF-8").to_owned());
        std::iter::once(line.program.display().to_string())
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn each_program_gets_its_flags_and_its_prompt() {
        for (cli, expected, by_stdin) in [
            (
                AgentCli::Claude,
                "claude -p --output-format text --dangerously-skip-permissions --model m-1 -x",
                true,
            ),
            (
                AgentCli::Codex,
                "codex exec --skip-git-repo-check --full-auto --model m-1 -x -",
                true,
            ),
            (AgentCli::Opencode, "opencode run --model m-1 -x", true),
            (AgentCli::Gemini, "gemini --yolo --model m-1 -x", true),
            (
                AgentCli::Aider,
                "aider --yes-always --no-check-update --no-stream --model m-1 -x --message-file /run/prompt.md",
                false,
            ),
            (
                AgentCli::Sh {
                    script: "echo $1".into(),
                },
                "sh -eu -c echo $1 agent -x",
                false,
            ),
        ] {
            let line = line(&cli, &["-x"], "do $(it)").unwrap();
            assert_eq!(shown(&line), expected);
            assert_eq!(line.input != AgentInput::Closed, by_stdin, "{expected}");
            assert!(
                !shown(&line).contains("$(it)"),
                "text of strangers is no argument here"
            );
        }
    }

    #[test]
    fn placeholders_are_whole_arguments() {
        let argv = [
            "tool",
            "--in",
            "{workdir}",
            "--model={model}",
            "{model}",
            "{prompt}",
        ]
        .map(str::to_owned)
        .to_vec();
        let cli = AgentCli::Command {
            argv,
            prompt_by: PromptBy::Argv,
        };
        let line = line(&cli, &["{prompt_file}"], "--rm -rf \0 {model}").unwrap();
        assert_eq!(
            shown(&line),
            "tool --in /tree --model={model} m-1 \n--rm -rf \u{fffd} {model} /run/prompt.md"
        );
        assert_eq!(line.input, AgentInput::Closed);
    }

    #[test]
    fn what_does_not_go_together_is_said() {
        let by = |argv: &[&str], prompt_by| AgentCli::Command {
            argv: argv.iter().map(|text| (*text).to_owned()).collect(),
            prompt_by,
        };
        let long = "x".repeat(MAX_ARGUMENT_BYTES + 1);
        let refused = line(&by(&["tool"], PromptBy::Argv), &[], &long);
        assert_eq!(
            refused,
            Err(AdapterError::PromptTooLong(MAX_ARGUMENT_BYTES + 1))
        );
        assert!(line(&by(&["tool"], PromptBy::Stdin), &[], &long).is_ok());
        assert_eq!(
            line(&by(&[], PromptBy::Stdin), &[], ""),
            Err(AdapterError::NoProgram)
        );
        assert_eq!(
            line(&AgentCli::Browser, &[], ""),
            Err(AdapterError::NoScenarios)
        );
    }
}
