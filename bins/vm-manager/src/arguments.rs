//! The command line.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use command_line::{CompletionsOptions, ManOptions, print_note};
use config_core::{Colours, Diagnostics, Environment};
use daemon::log::LogFormat;
use daemon::objects::PlaceOptions;
use daemon::settings::{ConfigOptions, ConfigText, effective};
use vm_core::ImageRef;
use vm_core::token::TokenScope;
use vm_web::config::{ManagerConfig, ManagerFlags, keys};

/// Exit code when the configuration is wrong or what was asked for failed.
pub(crate) const FAILED: u8 = 1;

const AFTER_HELP: &str = "\
Environment: VM_MANAGER_CONFIG, VM_MANAGER_LISTEN, VM_MANAGER_DATA, LOG_LEVEL, LOG_FORMAT,
ORRERY_MAX_CONNECTIONS, ORRERY_MAX_CONNECTIONS_PER_ADDRESS; a flag wins over a variable, that over the file. Without a file everything is as it comes.

Exit codes: 0 ok, 1 the configuration is invalid or what was asked for failed, 2 wrong usage, 6 with --check: the storage of images does not answer.

Examples:
  vm-manager
  vm-manager --config vm-manager.toml --listen 127.0.0.1:3100
  vm-manager token --scope read --lifetime 12h
  vm-manager image build";

/// Virtual machines for jobs, given out over HTTP to whoever has a token.
#[derive(Debug, Parser)]
#[command(name = "vm-manager", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    /// What to do; `serve` unless said.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every subcommand takes.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The configuration file.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where state, images and VMs are kept.
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) data: Option<String>,
    /// Where to listen; 127.0.0.1:3100 unless said.
    #[arg(long, global = true, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// How much is logged: debug, info, warn, error.
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// How the log looks; JSON lines unless said, in the data folder where a terminal shows the
    /// first screen.
    #[arg(long, global = true, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// The agent that VMs run, a static program; found beside this program unless said.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
    /// Check the configuration, and that the agent and the driver's program are there; say
    /// everything that is wrong, and end.
    #[arg(long, global = true)]
    pub(crate) check: bool,
    /// With --check: ask no object storage, so that one that is away for a moment keeps nothing
    /// from starting.
    #[arg(long, global = true, requires = "check")]
    pub(crate) offline: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer requests until SIGINT or SIGTERM.
    #[command(
        after_help = "Examples:\n  vm-manager serve\n  vm-manager serve --data ~/vms --check"
    )]
    Serve,
    /// Print a token; makes the manager's key when there is none yet.
    #[command(
        after_help = "Examples:\n  vm-manager token\n  VMM_AUTH_TOKEN=$(vm-manager token --subject ci --scope write --lifetime 30d )"
    )]
    Token(TokenArguments),
    /// What VMs are made of.
    #[command(
        subcommand,
        after_help = "Examples:\n  vm-manager image build\n  vm-manager image list"
    )]
    Image(ImageCommand),
    /// What may be set, and what is in force.
    #[command(after_help = "Examples:\n  vm-manager config --show\n  vm-manager config --schema")]
    Config(ConfigOptions),
    /// Print completions for a shell.
    #[command(
        after_help = "Examples:\n  vm-manager completions bash > ~/.local/share/bash-completion/completions/vm-manager\n  vm-manager completions zsh > ~/.zfunc/_vm-manager"
    )]
    Completions(CompletionsOptions),
    /// Print the manual page (roff), or write one for each command.
    #[command(
        after_help = "Examples:\n  vm-manager man | man -l -\n  vm-manager man --out ~/.local/share/man/man1"
    )]
    Man(ManOptions),
}

#[derive(Debug, Args)]
pub(crate) struct TokenArguments {
    /// Who it is for; VMs ordered with it are seen by this subject alone.
    #[arg(long, default_value = "runner", value_parser = subject)]
    pub(crate) subject: String,
    /// What it allows; each includes those before it.
    #[arg(long, value_enum, default_value_t = ScopeName::Write)]
    pub(crate) scope: ScopeName,
    /// How long it holds, for example `12h` or `30d`.
    #[arg(long, default_value = "30d", value_parser = lifetime)]
    pub(crate) lifetime: Duration,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScopeName {
    /// See VMs and what runs in them.
    Read,
    /// Give out VMs and work in them.
    Write,
    /// See and release VMs of all subjects.
    Admin,
}

impl From<ScopeName> for TokenScope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::Read => Self::Read,
            ScopeName::Write => Self::Write,
            ScopeName::Admin => Self::Admin,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImageCommand {
    /// Build an image by a recipe; the image `default` without one.
    #[command(
        after_help = "Name and digest go to standard output, how long it took and how large it is to standard error; with --json all of it as one line.\n\nExamples:\n  vm-manager image build\n  vm-manager image build full --json\n  vm-manager image build recipe.toml --data ~/vms\n  vm-manager image build redis.toml --oci redis"
    )]
    Build {
        /// The recipe file, or `full` for the image of that name.
        recipe: Option<PathBuf>,
        /// Make an image of containers instead, as an OCI layout in this new folder.
        #[arg(long, value_name = "FOLDER")]
        oci: Option<PathBuf>,
        /// Print one line of JSON: `name` (or `folder`), `digest`, `seconds`, `stored_bytes` and
        /// `virtual_bytes`.
        #[arg(long)]
        json: bool,
    },
    /// Take over what was made elsewhere: an ext4 file system, a qcow2 file, the folder of an OCI
    /// layout.
    #[command(after_help = "Examples:\n  vm-manager image import debian.qcow2 debian")]
    Import {
        /// The disk, or the folder.
        disk: PathBuf,
        /// The name it gets.
        name: ImageRef,
    },
    /// List the images there are.
    #[command(after_help = "Examples:\n  vm-manager image list\n  vm-manager image list --remote")]
    List {
        /// Those in the object storage of `[objects]` instead.
        #[arg(long)]
        remote: bool,
    },
    /// Forget an image: a name, and what nothing else names. Here only while no manager runs on the
    /// folder.
    #[command(
        after_help = "Examples:\n  vm-manager image remove debian\n  vm-manager image remove --remote debian"
    )]
    Remove {
        /// Its name or digest.
        image: ImageRef,
        /// In the object storage of `[objects]` instead; what it consisted of goes with the next
        /// sweep after the grace.
        #[arg(long)]
        remote: bool,
    },
    /// Store an image in the object storage of `[objects]`, for the managers of other hosts; what
    /// is there already is not sent again.
    #[command(
        after_help = "Examples:\n  vm-manager image push full\n  vm-manager image push full --again"
    )]
    Push {
        /// Its name, which means it there from then on, or its digest.
        image: ImageRef,
        /// Send all of it, whatever is there: something of it is damaged.
        #[arg(long)]
        again: bool,
    },
    /// Fetch an image from the object storage of `[objects]`; a manager that is asked for one does
    /// it by itself.
    #[command(after_help = "Examples:\n  vm-manager image pull full")]
    Pull {
        /// Its name or digest there.
        image: ImageRef,
    },
    /// Copy all images from the object storage of `[objects]` to another one, and compare them;
    /// what is there already is not copied again. Managers may go on meanwhile.
    #[command(
        after_help = "Exit codes: 0 all images are there, 1 they are not, 2 wrong usage.\n\nExamples:\n  vm-manager image migrate --to s3://new/vms --endpoint https://storage.example:9000\n  vm-manager image migrate --to file:///srv/shared/vms"
    )]
    Migrate(PlaceOptions),
    /// Remove from the object storage what no image there consists of any more; managers do it by
    /// themselves every `sweep` of `[objects]`.
    #[command(after_help = "Examples:\n  vm-manager image sweep")]
    Sweep,
    /// Fetch Debian's kernel, when there is none yet.
    #[command(after_help = "Examples:\n  vm-manager image kernel\n  vm-manager image kernel --own")]
    Kernel {
        /// Build one from Debian's sources instead: minutes of work, and VMs start in half the
        /// time.
        #[arg(long)]
        own: bool,
    },
}

fn subject(text: &str) -> Result<String, String> {
    let visible = text.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
    if text.is_empty() || text.len() > 100 || !visible {
        return Err("it must have 1 to 100 visible ASCII characters".to_owned());
    }
    Ok(text.to_owned())
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = config_core::parse_duration(text).map_err(|error| error.to_string())?;
    if lifetime < Duration::from_secs(1) {
        return Err("it must be at least one second".to_owned());
    }
    Ok(lifetime)
}

impl Common {
    /// The configuration file.
    pub(crate) fn file(&self, environment: &Environment) -> Result<ConfigText, ConfigError> {
        ConfigText::read(self.config.as_deref(), "VM_MANAGER_CONFIG", environment)
            .map_err(ConfigError::File)
    }

    /// What flags say about settings.
    pub(crate) fn flags(&self) -> ManagerFlags {
        ManagerFlags {
            listen: self.listen.clone(),
            data: self.data.clone(),
            log_level: self.log_level.clone(),
        }
    }

    /// The configuration in force.
    pub(crate) fn config(&self, environment: &Environment) -> Result<ManagerConfig, ConfigError> {
        let file = self.file(environment)?;
        ManagerConfig::parse(
            &file.name,
            &file.text,
            &file.base,
            &self.flags(),
            environment,
        )
        .map_err(ConfigError::Wrong)
    }

    /// The settings in force, for people.
    pub(crate) fn settings(&self, environment: &Environment) -> Result<String, ConfigError> {
        self.config(environment)?;
        let (file, flags) = (self.file(environment)?, self.flags());
        effective(&keys(), &file, &flags.values(), environment).map_err(ConfigError::Wrong)
    }
}

/// Why there is no configuration.
pub(crate) enum ConfigError {
    /// The file cannot be read.
    File(String),
    /// There are mistakes.
    Wrong(Diagnostics),
}

impl ConfigError {
    /// Says what is wrong.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::File(error) => print_note(error),
            Self::Wrong(diagnostics) => {
                let terminal = std::io::stderr().is_terminal();
                let colours = if terminal { Colours::On } else { Colours::Off };
                print_note(&diagnostics.render(colours));
            }
        }
        ExitCode::from(FAILED)
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    #[test]
    fn every_help_ends_with_examples_that_are_understood() {
        scripted_peers::assert_understood::<Arguments>();
    }
}
