//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use command_line::{CompletionsOptions, ManOptions};
use forge_core::{AgentName, ProjectId, RepoName, RunId};
use orchestrator_core::run::AgentRunState;

const AFTER_HELP: &str = "\
Without --ssh the orchestrator of this machine is asked. With --ssh HOST its two addresses there are reached through the
OpenSSH client; nothing is run on that machine, and no secret stands on a command line there.

The webhook secret is looked for in this order: --secret, ORCH_WEBHOOK_SECRET, `[webhook] secret` of the orchestrator.toml
(with --ssh: of the one there). `--secret` can be read by other users of this machine while orchctl runs.

Environment: ORCH_WEBHOOK_SECRET, ORCH_ADMIN_TOKEN, ORCHCTL_HOST (as --ssh), ORCHCTL_SSH (the ssh program), FORGE_TOKEN
(for `hook add`: a token of somebody who administers the repository), NO_COLOR.

Exit codes: 0 ok, 1 failed or refused, 2 wrong usage, 4 nothing found, 5 not allowed, 6 unreachable, 7 timed out,
130 interrupted. `trigger --wait` prints what the agent has printed last, and ends as the run does: 0 for success, else the agent's own exit code (128 + number for a
signal), 1 where it has none.

Examples:
  orchctl trigger reviewer --issue 7 --context 'only the tests' --wait
  orchctl --ssh build.example.org status
  orchctl logs last --follow
  orchctl top";

/// Where the admin bridge is unless said.
pub(crate) const DEFAULT_ADMIN: &str = "127.0.0.1:3201";
/// Where the configuration is unless said.
pub(crate) const DEFAULT_CONFIG: &str = "/etc/orchestrator/orchestrator.toml";

/// Talk to the agent orchestrator.
#[derive(Debug, Parser)]
#[command(name = "orchctl", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) target: OrchestratorTarget,
    /// How answers are printed.
    #[arg(long, value_enum, default_value_t = OutputFormat::Human, global = true)]
    pub(crate) format: OutputFormat,
}

/// Where the orchestrator is.
#[derive(Debug, Args)]
pub(crate) struct OrchestratorTarget {
    /// The machine it runs on, as `ssh` takes it.
    #[arg(
        long,
        value_name = "HOST",
        global = true,
        env = "ORCHCTL_HOST",
        conflicts_with = "local"
    )]
    pub(crate) ssh: Option<String>,
    /// It runs on this machine, whatever ORCHCTL_HOST says.
    #[arg(long, global = true)]
    pub(crate) local: bool,
    /// Its webhook receiver on that machine.
    #[arg(
        long,
        value_name = "HOST:PORT",
        global = true,
        default_value = "127.0.0.1:3200"
    )]
    pub(crate) receiver: String,
    /// Its admin bridge on that machine: an address, or the path of its socket. Unless said, and
    /// without --ssh, the socket of the package where nobody listens at the address.
    #[arg(
        long,
        value_name = "HOST:PORT|PATH",
        global = true,
        default_value = DEFAULT_ADMIN
    )]
    pub(crate) admin: String,
    /// Its configuration file on that machine. Unless said, and where there is none, that of the
    /// package in /etc/orrery/orchestrator.
    #[arg(
        long,
        value_name = "FILE",
        global = true,
        default_value = DEFAULT_CONFIG
    )]
    pub(crate) config: String,
    /// The ssh program.
    #[arg(
        long,
        value_name = "PROGRAM",
        global = true,
        env = "ORCHCTL_SSH",
        default_value = "ssh"
    )]
    pub(crate) ssh_program: PathBuf,
    /// An argument for ssh, such as `-p2222` or `-F/path/config`; may be given several times.
    #[arg(
        long = "ssh-arg",
        value_name = "ARG",
        global = true,
        allow_hyphen_values = true
    )]
    pub(crate) ssh_args: Vec<String>,
}

/// What is asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start an agent, by a signed webhook as a forge would send it.
    #[command(
        after_help = "Examples:\n  orchctl trigger greeter\n  orchctl trigger reviewer --issue 7 --context 'look at the tests' --wait --timeout 600"
    )]
    Trigger(TriggerArguments),
    /// The queue, running agents, statuses that are owed.
    #[command(after_help = "Examples:\n  orchctl status\n  orchctl status --format json")]
    Status,
    /// The configured agents.
    #[command(after_help = "Examples:\n  orchctl list\n  orchctl list --project tools")]
    List {
        /// Of this project only.
        #[arg(long, value_name = "ID")]
        project: Option<ProjectId>,
    },
    /// Runs, the newest first.
    #[command(
        after_help = "Examples:\n  orchctl runs --limit 5\n  orchctl runs --agent reviewer --state running"
    )]
    Runs(RunsArguments),
    /// One run.
    #[command(after_help = "Examples:\n  orchctl show last\n  orchctl show 0192f3")]
    Show {
        /// Its id, the beginning of it, or `last`.
        run: RunName,
    },
    /// What a run has printed.
    #[command(
        after_help = "Examples:\n  orchctl logs last --follow\n  orchctl logs 0192f3 --tail 100"
    )]
    Logs {
        /// Its id, the beginning of it, or `last`.
        run: RunName,
        /// Go on until it ends.
        #[arg(short, long)]
        follow: bool,
        /// Only so many lines from the end.
        #[arg(long, value_name = "LINES")]
        tail: Option<u32>,
    },
    /// What happened: the journal.
    #[command(
        after_help = "Examples:\n  orchctl events --limit 20\n  orchctl events --follow --format json"
    )]
    Events {
        /// Go on with what comes.
        #[arg(short, long)]
        follow: bool,
        /// Entries after the one of this number; the newest unless said.
        #[arg(long, value_name = "NUMBER")]
        after: Option<u64>,
        /// Most entries of what is there already.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=100_000))]
        limit: u32,
    },
    /// End a run, or take it from the queue.
    #[command(after_help = "Examples:\n  orchctl cancel last\n  orchctl cancel greeter")]
    Cancel {
        /// Its id, the beginning of it, `last`, or the name of an agent with one open run.
        run: RunName,
    },
    /// Ask for the same again.
    #[command(after_help = "Examples:\n  orchctl retry 0192f3")]
    Retry {
        /// The id of a run that is over, the beginning of it, or `last`.
        run: RunName,
    },
    /// Start no more runs of a project.
    #[command(after_help = "Examples:\n  orchctl pause tools")]
    Pause {
        /// Its id.
        project: ProjectId,
    },
    /// Start its runs again.
    #[command(after_help = "Examples:\n  orchctl resume tools")]
    Resume {
        /// Its id.
        project: ProjectId,
    },
    /// The prompt an agent would get; nothing runs.
    #[command(after_help = "Examples:\n  orchctl prompt reviewer --project tools")]
    Prompt {
        /// The agent.
        agent: AgentName,
        /// Its project; the main project unless said.
        #[arg(long, value_name = "ID")]
        project: Option<ProjectId>,
    },
    /// Check the configuration files as they are now; nothing changes.
    #[command(after_help = "Examples:\n  orchctl check")]
    Check,
    /// Read the configuration again.
    #[command(after_help = "Examples:\n  orchctl reload")]
    Reload,
    /// Have the orchestrator that leads hand over to one that stands by, whichever is asked.
    #[command(after_help = "Examples:\n  orchctl drain\n  orchctl drain --force")]
    Drain {
        /// Also where no other one stands by: nobody leads until one comes, or for half a minute.
        #[arg(long)]
        force: bool,
    },
    /// The hosts that agents with `isolation = "vm"` get their VMs from.
    #[command(after_help = "Examples:\n  orchctl hosts list\n  orchctl hosts cordon east")]
    Hosts {
        #[command(subcommand)]
        command: HostsCommand,
    },
    /// The forge's webhooks that bring events to the orchestrator.
    #[command(
        after_help = "Examples:\n  orchctl hook add --url https://orch.example.org/webhook --forge gitea --forge-url https://gitea.example.org"
    )]
    Hook {
        #[command(subcommand)]
        command: HookCommand,
    },
    /// A live screen of queue, runs and actors; choose a run to read, cancel or retry it.
    #[command(after_help = TOP_HELP)]
    Top(TopOptions),
    /// Print completions for a shell.
    #[command(
        after_help = "Examples:\n  orchctl completions bash > ~/.local/share/bash-completion/completions/orchctl\n  orchctl completions zsh > ~/.zfunc/_orchctl"
    )]
    Completions(CompletionsOptions),
    /// Print the manual page (roff), or write one for each command.
    #[command(
        after_help = "Examples:\n  orchctl man | man -l -\n  orchctl man --out ~/.local/share/man/man1"
    )]
    Man(ManOptions),
}

const TOP_HELP: &str = "\
F1 or ? shows the keys; q leaves. Where standard output is no terminal, and with --once, one frame is printed as text.

Examples:
  orchctl top
  orchctl --ssh build.example.org top --interval 5
  orchctl top --once | head -20";

/// `top …`
#[derive(Debug, Args)]
pub(crate) struct TopOptions {
    /// Print one frame as text, and end.
    #[arg(long)]
    pub(crate) once: bool,
    /// Seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=3600))]
    pub(crate) interval: u16,
}

/// A run as it is named on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunName {
    /// The newest.
    Last,
    /// The one whose id is this, or begins so.
    Id(RunId),
}

impl std::str::FromStr for RunName {
    type Err = forge_core::ForgeIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "last" => Ok(Self::Last),
            id => id.parse().map(Self::Id),
        }
    }
}

/// `hosts …`
#[derive(Debug, Subcommand)]
pub(crate) enum HostsCommand {
    /// The hosts, how they are, and what is free there.
    #[command(after_help = "Examples:\n  orchctl hosts list\n  orchctl hosts list --format json")]
    List,
    /// Give a host no new runs; those that have a VM there go on.
    #[command(after_help = "Examples:\n  orchctl hosts cordon east")]
    Cordon {
        /// Its name.
        name: String,
    },
    /// Give a host no new runs, and wait until none has a VM there.
    #[command(after_help = "Examples:\n  orchctl hosts drain east --timeout 1h")]
    Drain {
        /// Its name.
        name: String,
        /// The longest that it waits, as `30m`; 0s: it does not wait; then it ends with 7
        #[arg(long, value_name = "TIME", default_value = "6h", value_parser = time)]
        timeout: std::time::Duration,
    },
    /// Give a host new runs again.
    #[command(after_help = "Examples:\n  orchctl hosts uncordon east")]
    Uncordon {
        /// Its name.
        name: String,
    },
}

fn time(text: &str) -> Result<std::time::Duration, String> {
    config_core::parse_duration(text).map_err(|error| error.to_string())
}

/// `hook …`
#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Register the webhook of a project's repository by the forge's API, or bring the one that is
    /// there up to date: JSON, signed, certificates verified. Doing it again changes nothing else.
    #[command(
        after_help = "Examples:\n  orchctl hook add --url https://orch.example.org/webhook --forge github --test\n  orchctl hook add --url https://orch.example.org/webhook --forge gitea --forge-url https://gitea.example.org --project tools"
    )]
    Add(Box<HookAdd>),
}

/// `hook add …`
#[derive(Debug, Args)]
pub(crate) struct HookAdd {
    /// Where the forge reaches the orchestrator's receiver, for example
    /// `https://orch.example.org/webhook`
    #[arg(long, value_name = "URL")]
    pub(crate) url: url::Url,
    /// The project; the main project unless said.
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<ProjectId>,
    /// The repository, `owner/name`; that of the project unless said.
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repository: Option<RepoName>,
    /// What kind of forge it is.
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) forge: ForgeKind,
    /// Base of the forge's API: `https://gitea.example.org`; for GitHub `https://api.github.com`
    /// unless said
    #[arg(long, value_name = "URL")]
    pub(crate) forge_url: Option<url::Url>,
    /// Have the forge send a delivery afterwards.
    #[arg(long)]
    pub(crate) test: bool,
    /// The webhook secret.
    #[arg(long, value_name = "SECRET", hide_env_values = true)]
    pub(crate) secret: Option<HiddenText>,
}

/// A kind of forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForgeKind {
    /// Gitea.
    Gitea,
    /// Forgejo.
    Forgejo,
    /// GitHub.
    Github,
}

/// `trigger …`
#[derive(Debug, Args)]
pub(crate) struct TriggerArguments {
    /// The agent.
    pub(crate) agent: AgentName,
    /// The project it is named in; the main project unless said.
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<ProjectId>,
    /// The issue or pull request it is about; its answer is posted there.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) issue: u32,
    /// What to tell it.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        allow_hyphen_values = true
    )]
    pub(crate) context: String,
    /// Wait until the run has ended, and end as it did.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Longest time to wait, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "1200", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// The webhook secret.
    #[arg(long, value_name = "SECRET", hide_env_values = true)]
    pub(crate) secret: Option<HiddenText>,
}

/// `runs …`
#[derive(Debug, Args)]
pub(crate) struct RunsArguments {
    /// Of this project only.
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<ProjectId>,
    /// Of this agent only.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<AgentName>,
    /// In this state only.
    #[arg(long, value_name = "STATE", value_parser = PossibleValuesParser::new(AgentRunState::ALL.map(AgentRunState::as_str)))]
    pub(crate) state: Option<String>,
    /// Most to show.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
}

/// How answers are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    Human,
    /// One JSON document, as the orchestrator answers it; logs and events as one document a line.
    /// Failures, on standard error, as `{"error","code"}`.
    Json,
}

/// A secret of the command line: it does not print.
#[derive(Clone)]
pub(crate) struct HiddenText(pub(crate) String);

impl std::fmt::Debug for HiddenText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl std::str::FromStr for HiddenText {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: u64 = text.parse().map_err(|_| "use whole seconds".to_owned())?;
    (1..=86_400)
        .contains(&seconds)
        .then(|| Duration::from_secs(seconds))
        .ok_or_else(|| "use 1 to 86400 seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_help_ends_with_examples_that_are_understood() {
        scripted_peers::assert_understood::<Arguments>();
    }

    #[test]
    fn o10_names_are_checked_before_anything_happens() {
        for name in [
            "x; touch pwned",
            "-rf",
            "a\nb",
            "../x",
            "",
            "X",
            "a b",
            "$(id)",
        ] {
            let parsed = Arguments::try_parse_from(["orchctl", "trigger", "--", name]);
            assert_eq!(parsed.expect_err(name).exit_code(), 2, "{name:?}");
        }
        assert!(Arguments::try_parse_from(["orchctl", "cancel", "../x"]).is_err());
    }

    #[test]
    fn y3_a_run_is_named_by_its_id_or_last() {
        let of = |name: &str| {
            let parsed = Arguments::try_parse_from(["orchctl", "show", name]);
            match parsed.expect(name).command {
                Command::Show { run } => run,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(of("last"), RunName::Last);
        assert_eq!(of("0192"), RunName::Id("0192".parse().expect("an id")));
    }

    #[test]
    fn o08_a_secret_does_not_show_in_debug_output() {
        let line = ["orchctl", "trigger", "dev", "--secret", "hunter2"];
        let arguments = Arguments::parse_from(line);
        assert!(!format!("{arguments:?}").contains("hunter2"));
    }
}
