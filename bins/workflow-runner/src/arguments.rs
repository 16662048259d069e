//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use command_line::{CompletionsOptions, ManOptions};
pub(crate) use command_line::{print_note, print_raw as print};
use daemon::log::LogFormat;
use daemon::objects::{ClaimObjectsOptions, MigrateObjectsOptions, ObjectsTask};
use daemon::settings::ConfigOptions;
use daemon::store::{self, BackupOptions, MigrateOptions, RestoreOptions, StoreTask};

use crate::action_arguments::ActionsCommand;
use crate::image_arguments::ImagesCommand;
use crate::label_arguments::{LABELS_HELP, LabelsCommand};
use crate::review_options::{ReviewOptions, WaitingOptions};
use crate::runner_options::{RunnerDrainOptions, RunnerOptions};
use crate::shell_options::{KeptOptions, ReleaseOptions, RerunOptions, ShellOptions};
pub(crate) use crate::store_options::ActionsStoreOptions;
use crate::summaries_options::SummariesOptions;
use crate::vm_host_options::VmHostsCommand;

const AFTER_HELP: &str = "\
Examples:
  workflow-runner check
  workflow-runner exec .github/workflows/test.yml
  FORGE_WEBHOOK_SECRET=... workflow-runner --listen 127.0.0.1:3000";

/// Runs a repository's workflows in microVMs.
#[derive(Debug, Parser)]
#[command(
    name = "workflow-runner",
    version,
    about,
    after_help = AFTER_HELP,
    // Before a command they would be options of `serve`, and count nothing.
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Options of `serve`, which is what it does without a command
    #[command(flatten)]
    pub(crate) serve: RunnerServeOptions,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Take webhooks and run workflows (the default)
    #[command(after_help = SERVE_HELP)]
    Serve(RunnerServeOptions),
    /// Read and plan workflows without running them; say what is wrong and what is refused
    #[command(
        after_help = "Exit codes: 0 everything would run (with --summary: it was counted), 1 a file is wrong, 3 something is refused.\n\nExamples:\n  workflow-runner check\n  workflow-runner check .github/workflows/test.yml --format json\n  workflow-runner check --hook acme/app\n  workflow-runner check --summary ~/src"
    )]
    Check(CheckOptions),
    /// Run a workflow of a working tree here, with what is not committed, without a forge
    #[command(after_help = EXEC_HELP)]
    Exec(ExecOptions),
    /// The store of actions of other repositories, which jobs get their files from
    #[command(
        subcommand,
        after_help = "Examples:\n  workflow-runner actions add actions/github-script@v7\n  workflow-runner actions verify"
    )]
    Actions(ActionsCommand),
    /// The store of images of containers, which jobs get their containers from
    #[command(
        subcommand,
        after_help = "Examples:\n  workflow-runner images add postgres:16 --from postgres.tar\n  workflow-runner images verify"
    )]
    Images(ImagesCommand),
    /// Labels of the runners of Gitea and Forgejo, as machines of this one
    #[command(subcommand, after_help = LABELS_HELP)]
    Labels(LabelsCommand),
    /// The forge's webhooks that lead here
    #[command(
        subcommand,
        after_help = "Examples:\n  workflow-runner hook add acme/app --url https://ci.example.org/webhook --test"
    )]
    Hook(RunnerHookCommand),
    /// The store of deliveries and runs: check it, move it to PostgreSQL and back, save and restore
    /// it
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done, 1 the store is damaged or it could not be done, 2 usage.\n\nExamples:\n  workflow-runner store check\n  workflow-runner store migrate --from /var/lib/orrery-runner --to config\n  workflow-runner store backup --to /srv/backup/runner-monday\n  workflow-runner store restore --from /srv/backup/runner-monday"
    )]
    Store(RunnerStoreCommand),
    /// Logs, artifacts and caches in object storage: bring them to another one, or back
    #[command(
        subcommand,
        after_help = "Examples:\n  workflow-runner objects migrate --to s3://new/orrery --endpoint https://storage.example:9000\n  workflow-runner objects migrate --to data"
    )]
    Objects(RunnerObjectsCommand),
    /// Approve what a run waits for: a pull request from a fork, or environments
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN. Exit codes: 0 it was taken, 1 it was not, 2 usage.\n\nExamples:\n  workflow-runner approve 0192f3a4-0000-7000-8000-000000000000\n  workflow-runner approve 0192f3a4-0000-7000-8000-000000000000 --environment production --by grace"
    )]
    Approve(ReviewOptions),
    /// Reject what a run waits for: jobs of the environments fail, a pull request is not run
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN. Exit codes: 0 it was taken, 1 it was not, 2 usage.\n\nExamples:\n  workflow-runner reject 0192f3a4-0000-7000-8000-000000000000 --comment later"
    )]
    Reject(ReviewOptions),
    /// Print the runs that wait for an approval or for their time
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN.\n\nExamples:\n  workflow-runner waiting\n  workflow-runner waiting --url https://ci.example.org --json"
    )]
    Waiting(WaitingOptions),
    /// Open a shell in the VM of a failed job that is kept
    #[command(
        after_help = "On a line of its own, `~.` ends the shell, `~?` shows what else there is. Environment: WORKFLOW_RUNNER_API_TOKEN. Exit codes: the shell's own; 255 it could not be opened or broke off, 2 usage.\n\nExamples:\n  workflow-runner shell 0192f3a4-0000-7000-8000-000000000000\n  workflow-runner shell 0192f3a4-0000-7000-8000-000000000000 test --by grace\n  workflow-runner shell 0192f3a4-0000-7000-8000-000000000000 test --before-step 4\n  echo 'cat /etc/os-release' | workflow-runner shell 0192f3a4-0000-7000-8000-000000000000 test"
    )]
    Shell(ShellOptions),
    /// Print the VMs of failed jobs that are kept
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN.\n\nExamples:\n  workflow-runner kept\n  workflow-runner kept --json"
    )]
    Kept(KeptOptions),
    /// Give the VM of a failed job back before its time is over
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN. Exit codes: 0 it is given back, 1 it is not, 2 usage.\n\nExamples:\n  workflow-runner release 0192f3a4-0000-7000-8000-000000000000 test"
    )]
    Release(ReleaseOptions),
    /// Run an ended run again, all of it or a part; prints the new run's id
    #[command(
        after_help = "A job whose VM is kept with snapshots goes on before any of its steps: what came before is not done again. Environment: WORKFLOW_RUNNER_API_TOKEN. Exit codes: 0 the new run is stored, 1 it is not, 2 usage.\n\nExamples:\n  workflow-runner rerun 0192f3a4-0000-7000-8000-000000000000\n  workflow-runner rerun 0192f3a4-0000-7000-8000-000000000000 --failed --snapshots\n  workflow-runner rerun 0192f3a4-0000-7000-8000-000000000000 --job 'test (linux)'\n  workflow-runner rerun 0192f3a4-0000-7000-8000-000000000000 --from-step 4 --job test --snapshots"
    )]
    Rerun(RerunOptions),
    /// The hosts of VMs: which there are, and taking one out of use
    #[command(
        subcommand,
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN. Exit codes: 0 done, 1 it was not (a drain: jobs are left after its time), 2 usage.\n\nExamples:\n  workflow-runner hosts list\n  workflow-runner hosts cordon east\n  workflow-runner hosts drain east --timeout 30m\n  workflow-runner hosts uncordon east"
    )]
    Hosts(VmHostsCommand),
    /// Print what the tests of a run said, or how those of a repository ended in its newest runs
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN. Exit codes: 0 printed, 1 the runner does not say, 2 usage.\n\nExamples:\n  workflow-runner tests 0192f3a4-0000-7000-8000-000000000000\n  workflow-runner tests --repository acme/rocket --flaky\n  workflow-runner tests --repository acme/rocket --history 'tests.test_net > test_timeout'"
    )]
    Tests(TestsOptions),
    /// Print what the steps of a run wrote to their summaries: all of it, as Markdown
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN. Exit codes: 0 printed, 1 the runner does not say, 2 usage.\n\nExamples:\n  workflow-runner summaries 0192f3a4-0000-7000-8000-000000000000\n  workflow-runner summaries 0192f3a4-0000-7000-8000-000000000000 --job test --json"
    )]
    Summaries(SummariesOptions),
    /// Have the runner that leads hand over to one that stands by, whichever of them is asked
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN. Exit codes: 0 it hands over, 1 it does not (nobody stands by, nobody leads, or it was lost while jobs were waited for), 2 usage, 7 it hands over after --wait, and jobs that had not ended are lost.\n\nExamples:\n  workflow-runner drain\n  workflow-runner drain --wait 1h\n  workflow-runner drain --force"
    )]
    Drain(RunnerDrainOptions),
    /// Have the runner read its configuration file again; prints what has changed
    #[command(
        after_help = "Its VM hosts are put in force, for those that stand by as well; of other settings it says that they change at a restart. `systemctl reload` (SIGHUP) does the same for one process, and says so in its log. Environment: WORKFLOW_RUNNER_API_TOKEN. Exit codes: 0 it was read, 1 it was not (the file is wrong: nothing has changed), 2 usage.\n\nExamples:\n  workflow-runner reload\n  workflow-runner reload --url http://ci-1.example:3000"
    )]
    Reload(RunnerOptions),
    /// What may be set, and what is in force
    #[command(
        after_help = "Examples:\n  workflow-runner config --show\n  workflow-runner config --schema"
    )]
    Config(SettingsOptions),
    /// Print completions for a shell
    #[command(
        after_help = "Examples:\n  workflow-runner completions bash > ~/.local/share/bash-completion/completions/workflow-runner\n  workflow-runner completions zsh > ~/.zfunc/_workflow-runner"
    )]
    Completions(CompletionsOptions),
    /// Print the manual page (roff), or write one for each command
    #[command(
        after_help = "Examples:\n  workflow-runner man | man -l -\n  workflow-runner man --out ~/.local/share/man/man1"
    )]
    Man(ManOptions),
}

/// What to print of the settings.
#[derive(Debug, Args)]
pub(crate) struct SettingsOptions {
    /// What
    #[command(flatten)]
    pub(crate) what: ConfigOptions,
    /// Of which server
    #[command(flatten)]
    pub(crate) serve: RunnerServeOptions,
}

/// What to do with the store.
#[derive(Debug, Subcommand)]
pub(crate) enum RunnerStoreCommand {
    /// Read every row, and compare checksums and counts
    #[command(
        after_help = "A store in a folder must not be in use, one in PostgreSQL may be. Exit codes: 0 it is whole, 1 it is damaged or cannot be read, 2 usage.\n\nExamples:\n  workflow-runner store check\n  workflow-runner store check /srv/backup/monday"
    )]
    Check(store::StoreCheckOptions),
    /// Copy the store into an empty one, in a folder or in PostgreSQL, and compare both
    #[command(
        after_help = "Neither may be in use. Exit codes: 0 done, 1 it could not be done, 2 usage.\n\nExamples:\n  workflow-runner store migrate --from /var/lib/orrery-runner --to config\n  workflow-runner store migrate --from config --to /srv/back"
    )]
    Migrate(MigrateOptions),
    /// Copy the configured store into an empty folder, and compare both; one in PostgreSQL may be
    /// in use meanwhile
    #[command(
        after_help = "Exit codes: 0 done, 1 it could not be done, 2 usage.\n\nExamples:\n  workflow-runner store backup --to /srv/backup/monday"
    )]
    Backup(BackupOptions),
    /// Copy a backup into the configured store, which has to be empty, and compare both
    #[command(
        after_help = "Exit codes: 0 done, 1 it could not be done, 2 usage.\n\nExamples:\n  workflow-runner store restore --from /srv/backup/monday"
    )]
    Restore(RestoreOptions),
}

impl RunnerStoreCommand {
    /// The same for all programs.
    pub(crate) fn task(&self) -> StoreTask<'_> {
        match self {
            Self::Check(options) => StoreTask::Check(options),
            Self::Migrate(options) => StoreTask::Migrate(options),
            Self::Backup(options) => StoreTask::Backup(options),
            Self::Restore(options) => StoreTask::Restore(options),
        }
    }
}

/// What to do with files in object storage.
#[derive(Debug, Subcommand)]
pub(crate) enum RunnerObjectsCommand {
    /// Copy logs, artifacts and caches from the storage of `[objects]` to another one, or back into
    /// the data folder (`--to data`), and compare each; what is there already is not copied again
    #[command(
        after_help = "Copies from storage to storage while the runner goes on, and once more when it is stopped; into the data folder when it is stopped. Exit codes: 0 all is there, 1 it is not, 2 usage, 3 all but what the running service stores meanwhile.\n\nExamples:\n  workflow-runner objects migrate --to s3://new/orrery --endpoint https://storage.example:9000\n  workflow-runner objects migrate --to file:///srv/shared/orrery --config workflow-runner.toml\n  workflow-runner objects migrate --to data --leave-damaged"
    )]
    Migrate(MigrateObjectsOptions),
    /// Make the place of `[objects]` that of the configured store, where another one of the same
    /// installation had it: after a backup was restored for good, and the former store is over
    #[command(
        after_help = "No service may run on the configured store, and none ever again on the former one. Exit codes: 0 done, 1 it could not be done, 2 usage.\n\nExamples:\n  workflow-runner objects claim"
    )]
    Claim(ClaimObjectsOptions),
}

impl RunnerObjectsCommand {
    /// The same for all programs.
    pub(crate) fn task(&self) -> ObjectsTask<'_> {
        match self {
            Self::Migrate(options) => ObjectsTask::Migrate(options),
            Self::Claim(options) => ObjectsTask::Claim(options),
        }
    }
}

/// Which tests to print, and how.
#[derive(Debug, Args)]
pub(crate) struct TestsOptions {
    /// The run's id
    #[arg(required_unless_present = "repository")]
    pub(crate) run: Option<String>,
    /// How the tests of this repository ended in its newest runs, in place of those of one run
    #[arg(long, value_name = "OWNER/REPO", conflicts_with = "run")]
    pub(crate) repository: Option<String>,
    /// Only those that both passed and failed on one commit
    #[arg(long, conflicts_with_all = ["quarantined", "failed"])]
    pub(crate) flaky: bool,
    /// Only those in quarantine
    #[arg(long, conflicts_with = "failed")]
    pub(crate) quarantined: bool,
    /// Only those that failed, of a repository: in the newest run that has them
    #[arg(long)]
    pub(crate) failed: bool,
    /// Those that took longest first
    #[arg(long)]
    pub(crate) slowest: bool,
    /// Only those with this text in their name
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// How this one test ended, run by run: `suite > name`
    #[arg(long, value_name = "TEST", requires = "repository")]
    pub(crate) history: Option<String>,
    /// How many of the newest runs to look at
    #[arg(long, value_name = "N", requires = "repository")]
    pub(crate) runs: Option<usize>,
    /// At most so many tests
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    /// What the API answers
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}

/// What to do with webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum RunnerHookCommand {
    /// Register the webhook of repositories at the forge, or bring it up to date
    #[command(
        after_help = "Environment: FORGE_URL, FORGE_TOKEN, FORGE_WEBHOOK_SECRET. Exit codes: 0 all have the hook, 1 one has not, 2 usage.\n\nExamples:\n  workflow-runner hook add acme/app acme/tools\n  workflow-runner hook add acme/app --url https://ci.example.org/webhook --test"
    )]
    Add(HookAddOptions),
}

/// Which hooks to register.
#[derive(Debug, Args)]
pub(crate) struct HookAddOptions {
    /// Repositories, as `owner/repo`
    #[arg(required = true, value_name = "OWNER/REPO")]
    pub(crate) repositories: Vec<String>,
    /// Where the forge reaches the runner; `public_url` with `/webhook` without it
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Have the forge send a test delivery
    #[arg(long)]
    pub(crate) test: bool,
    /// The runner's configuration file
    #[arg(long)]
    pub(crate) config: Option<PathBuf>,
}

/// What `exec` ends with.
const EXEC_HELP: &str = "Machines come from the VM manager of --vmm or VMM_API_URL (with VMM_AUTH_TOKEN), else from one in this process.\n\
Exit codes: 0 the run succeeded, 1 it failed or could not be started, 2 usage, 3 it is refused, 4 its machine was lost, 130 it was ended.\n\n\
Examples:\n  workflow-runner exec .github/workflows/test.yml\n  workflow-runner exec . --job test --secret TOKEN=x --verbose\n  \
workflow-runner exec deploy.yml --event workflow_dispatch --input target=staging";

/// The contract's variables, for `--help`.
const SERVE_HELP: &str = "Environment: PORT, HOST, FORGE_WEBHOOK_SECRET (needed), FORGE_TOKEN, FORGE_URL, VMM_API_URL, VMM_AUTH_TOKEN, USE_LLM_PARSER, \
LOCALLLM_BASE_URL, LOCALLLM_MODEL, CLOUDLLM_API_KEY, CLOUDLLM_MODEL, REPOSITORY_PATH, LOG_LEVEL, LOG_FORMAT, WORKFLOW_RUNNER_CONFIG, WORKFLOW_RUNNER_DATA, WORKFLOW_RUNNER_STORE_URL, \
WORKFLOW_RUNNER_API_TOKEN, WORKFLOW_RUNNER_PUBLIC_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, ORRERY_MAX_CONNECTIONS, ORRERY_MAX_CONNECTIONS_PER_ADDRESS; see docs/CONFIG.md.\nExit codes: 0 ended as asked, 1 failed or the configuration is invalid, 2 usage, 6 with --check: the database, the object storage or a VM host does not answer.\n\n\
Examples:\n  workflow-runner serve --config runner.toml\n  workflow-runner serve --check --config runner.toml";

/// How to serve.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunnerServeOptions {
    /// The configuration file; all of it can be left out
    #[arg(long)]
    pub(crate) config: Option<PathBuf>,
    /// Address and port; PORT and HOST without it
    #[arg(long)]
    pub(crate) listen: Option<String>,
    /// Folder of runs, logs and artifacts
    #[arg(long)]
    pub(crate) data: Option<String>,
    /// How the log looks; JSON lines unless said, in the data folder where a terminal shows the
    /// first screen
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// Check the configuration, the database and the object storage, and end
    #[arg(long)]
    pub(crate) check: bool,
    /// With --check: ask no database, no object storage and no VM host, so that one that is away
    /// for a moment keeps nothing from starting
    #[arg(long, requires = "check")]
    pub(crate) offline: bool,
}

/// What to check, and how to say it.
#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// A workflow file, a folder of them, or a repository
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// For people or for programs
    #[arg(long, value_enum, default_value_t = OutputFormat::Human)]
    pub(crate) format: OutputFormat,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Count over all repositories below the folder: accepted, refused by reason, and what would
    /// make most files acceptable
    #[arg(long)]
    pub(crate) summary: bool,
    /// Ask the forge which of the events that start them the repository's webhook does not send
    /// (FORGE_TOKEN of somebody who administers it)
    #[arg(long, value_name = "OWNER/REPO", conflicts_with = "summary")]
    pub(crate) hook: Option<String>,
    /// Whose actions count as there
    #[command(flatten)]
    pub(crate) store: ActionsStoreOptions,
}

impl CheckOptions {
    /// For people or for programs.
    pub(crate) fn format(&self) -> OutputFormat {
        let json = self.json.then_some(OutputFormat::Json);
        json.unwrap_or(self.format)
    }
}

/// What to run.
#[derive(Debug, Args)]
pub(crate) struct ExecOptions {
    /// The workflow's file, or a repository with one
    pub(crate) workflow: PathBuf,
    /// The event it is run for
    #[arg(long, value_enum, default_value_t = EventName::Push)]
    pub(crate) event: EventName,
    /// An input of `workflow_dispatch`
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) input: Vec<String>,
    /// A file with the event as the forge would send it: a JSON object, `github.event`
    #[arg(long, short = 'e', value_name = "FILE")]
    pub(crate) event_path: Option<PathBuf>,
    /// Only this job and those it needs
    #[arg(long)]
    pub(crate) job: Option<String>,
    /// A secret: NAME=VALUE, or NAME of a variable of the environment
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) secret: Vec<String>,
    /// A runner's configuration file: its machines, vars and secrets count
    #[arg(long)]
    pub(crate) config: Option<PathBuf>,
    /// The address of a VM manager that runs
    #[arg(long, value_name = "URL")]
    pub(crate) vmm: Option<String>,
    /// Where the VM manager of this process keeps its images
    #[arg(long, value_name = "FOLDER")]
    pub(crate) vm_data: Option<String>,
    /// Say what is done, on standard error
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// Events a workflow can be run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventName {
    /// A push to the branch the tree is on.
    #[value(name = "push")]
    Push,
    /// A pull request into `main`.
    #[value(name = "pull_request")]
    PullRequest,
    /// The same with the repository's own rights; `--event-path` says from where it comes.
    #[value(name = "pull_request_target")]
    PullRequestTarget,
    /// By hand, with `--input`.
    #[value(name = "workflow_dispatch")]
    WorkflowDispatch,
    /// The clock.
    #[value(name = "schedule")]
    Schedule,
    /// A comment was made; `--event-path` says on what, and which.
    #[value(name = "issue_comment")]
    IssueComment,
    /// An issue was opened.
    #[value(name = "issues")]
    Issues,
    /// A release was published, of the branch or tag that the tree is on.
    #[value(name = "release")]
    Release,
    /// A program sent it; `--event-path` has its `action` and `client_payload`.
    #[value(name = "repository_dispatch")]
    RepositoryDispatch,
    /// Pull requests are to be merged together.
    #[value(name = "merge_group")]
    MergeGroup,
}

/// How to say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text.
    Human,
    /// A JSON list, one element per file.
    Json,
}

/// The exit code of a command that did all of it, or not.
pub(crate) fn exit_code(done: anyhow::Result<bool>) -> ExitCode {
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            print_note(&daemon::error_chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::Arguments;

    #[test]
    fn every_help_ends_with_examples_that_are_understood() {
        scripted_peers::assert_understood::<Arguments>();
    }

    #[test]
    fn i18_an_option_that_would_be_ignored_before_a_command_is_refused() {
        let parsed = |text: &str| Arguments::try_parse_from(text.split(' '));
        for command in ["store check", "hosts list", "objects migrate --to data"] {
            let wrong = parsed(&format!("workflow-runner --config a.toml {command}"));
            let wrong = wrong.expect_err(command).to_string();
            assert!(wrong.contains("--config"), "{wrong}");
            parsed(&format!("workflow-runner {command} --config a.toml")).expect(command);
        }
        parsed("workflow-runner --config a.toml --check").expect("it serves");
    }
}
