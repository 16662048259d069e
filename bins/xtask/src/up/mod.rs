//! `cargo xtask up`: from a fresh clone to a running platform, with one real job of each product, on this machine only.
//!
//! ```text
//! build → settings → start platform ─┬─ search:    index real folders → search once
//!                                    ├─ workflows: VMs prepared → signed push → its run, live → statuses
//!                                    └─ agents:    signed mention → its answer; pull request → six statuses
//!         stay until Ctrl-C ◀────────┘
//! ```
//! A small forge on loopback stands behind the last two: it is what statuses and comments are posted to.

mod agents;
mod files;
mod forge;
mod health;
mod http;
mod ports;
mod sample;
mod search;
mod secrets;
mod server;
mod settings;
mod stage;
mod stop;
mod workflow;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use self::ports::Ports;
use self::server::Server;
use self::settings::Others;
use self::stage::Stage;
use self::stop::Stop;
use crate::project::Project;
use crate::{parts, say, shell};

/// How to start.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The search page's port on the loopback address; 0 takes free ones for all products
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// Folder for the settings, the state and the log
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder to search, instead of this repository and Rust's documentation; may be repeated
    #[arg(long, value_name = "DIR")]
    folder: Vec<PathBuf>,
    /// What the search looks for
    #[arg(
        long,
        default_value = "supervisor restarts a failed actor",
        value_name = "WORDS"
    )]
    query: String,
    /// Start the search server alone: no VMs, no workflows, no agents
    #[arg(long)]
    search_only: bool,
    /// Stop after one job of each product instead of staying up
    #[arg(long)]
    once: bool,
    /// Build without optimisation: quicker to build, slower to index
    #[arg(long)]
    debug: bool,
    /// Folder of programs that are built already (`platform`, `service-agent`, a static `vm-guest`): nothing is built
    #[arg(long, value_name = "DIR", conflicts_with = "debug")]
    programs: Option<PathBuf>,
}

/// How often the state is asked for.
const PULSE: Duration = Duration::from_millis(250);

/// Runs the command.
///
/// # Errors
/// When something cannot be built or started, or a job does not end as it should.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    // Before the build: who has to choose other ports should know at once.
    let ports = Ports::take(options.port)?;
    if !options.search_only {
        parts::prepare_machines()?;
    }
    let (programs, guest) = programs(project, options)?;
    let stop = Stop::listen()?;
    let plan = Plan {
        programs,
        ports,
        data: options
            .data
            .clone()
            .unwrap_or_else(|| project.cache.join("up")),
        sources: sources(project, &options.folder)?,
        query: options.query.clone(),
        guest: (!options.search_only).then_some(guest),
        machines: project.cache.join("vm"),
        sample: project.root.join(SAMPLE),
    };
    plan.run(&stop, options.once)
}

/// The orchestrator's configuration that is started from.
const SAMPLE: &str = "config-samples/orchestrator/quick-start/orchestrator.toml";

/// The quick start over the project's documentation, with the debug programs that are built
/// already, in a folder of its own: what `cargo xtask test` runs.
///
/// # Errors
/// As [`run`].
pub(crate) fn demonstrate(project: &Project) -> Result<()> {
    let data = project.cache.join("up-test");
    if data.exists() {
        std::fs::remove_dir_all(&data)
            .with_context(|| format!("{} cannot be emptied", data.display()))?;
    }
    parts::prepare_machines()?;
    let plan = Plan {
        programs: project.target()?.join("debug"),
        ports: Ports::take(0)?,
        data,
        sources: sources(project, &[project.root.join("docs")])?,
        query: "supervisor".to_owned(),
        guest: Some(parts::vm_guest(project)?),
        machines: project.cache.join("vm"),
        sample: project.root.join(SAMPLE),
    };
    let code = plan.run(&Stop::never(), true)?;
    if code != ExitCode::SUCCESS {
        bail!("the quick start did not end with exit code 0");
    }
    Ok(())
}

/// Everything decided before anything is started.
struct Plan {
    /// Where the built programs are.
    programs: PathBuf,
    /// Where the products listen.
    ports: Ports,
    /// Settings, state, log.
    data: PathBuf,
    /// Folders to search.
    sources: Vec<settings::Source>,
    /// The search that is shown.
    query: String,
    /// The agent of VMs; without it the search server is started alone.
    guest: Option<PathBuf>,
    /// Where images and kernels are kept over all starts.
    machines: PathBuf,
    /// The orchestrator's configuration.
    sample: PathBuf,
}

impl Plan {
    fn run(&self, stop: &Stop, once: bool) -> Result<ExitCode> {
        std::fs::create_dir_all(&self.data)
            .with_context(|| format!("{} cannot be made", self.data.display()))?;
        let data = self.data.canonicalize()?;
        let stage = match &self.guest {
            Some(_) => {
                forget_samples(&data)?;
                Some(Stage::new(&data.join("sample"), self.ports)?)
            }
            None => None,
        };
        let mut server = self.start(&data, stage.as_ref())?;
        let demonstrated = self.demonstrate(&mut server, stage.as_ref(), stop);
        if matches!(demonstrated, Ok(true)) {
            self.show_addresses(stage.as_ref());
            if !once {
                say::line("\nCtrl-C stops it.");
                self.stay(&mut server, stop)?;
            }
        }
        let stopped = server.stop();
        demonstrated?;
        stopped?;
        say::line("stopped cleanly");
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the settings and starts the platform.
    fn start(&self, data: &Path, stage: Option<&Stage>) -> Result<Server> {
        let forge = stage.map(|stage| stage.forge.url());
        let others = match (&self.guest, &forge) {
            (Some(guest), Some(forge)) => Some(Others {
                guest,
                forge,
                orchestrator: &self.sample,
            }),
            _ => None,
        };
        let configuration = settings::write(data, &self.ports, &self.sources, others.as_ref())?;
        let mut variables = Vec::new();
        let checkout = stage.map(|stage| stage.sample.checkout());
        let checkout = checkout.map(|path| path.to_string_lossy().into_owned());
        if let (Some(stage), Some(checkout)) = (stage, &checkout) {
            self.share_machines(data)?;
            variables.extend(stage.secrets.variables());
            variables.push(("ORCH_PROJECT_DIR", checkout.as_str()));
        }
        say::heading(&format!(
            "starting the platform on http://{}/",
            self.ports.search
        ));
        say::line(&format!("data, settings and log: {}", data.display()));
        let platform = self.programs.join("platform");
        Server::start(&platform, &configuration, data, &variables)
    }

    /// Images and kernels take minutes to make: all starts, and the tests, share them.
    fn share_machines(&self, data: &Path) -> Result<()> {
        let own = data.join("state/vm-manager");
        for name in ["images", "kernels"] {
            let (kept, link) = (self.machines.join(name), own.join(name));
            std::fs::create_dir_all(&kept)
                .and_then(|()| std::fs::create_dir_all(&own))
                .with_context(|| format!("{} cannot be made", kept.display()))?;
            if link.symlink_metadata().is_err() {
                std::os::unix::fs::symlink(&kept, &link)
                    .with_context(|| format!("{} cannot be made", link.display()))?;
            }
        }
        Ok(())
    }

    /// Until one job of each product was shown; false when it was interrupted before.
    fn demonstrate(&self, server: &mut Server, stage: Option<&Stage>, stop: &Stop) -> Result<bool> {
        let address = self.ports.search;
        let searched = search::wait_until_ready(address, server, stop)?
            && search::wait_until_indexed(address, self.sources.len(), server, stop)?;
        if !searched {
            return Ok(false);
        }
        search::once(&self.programs, &self.data, address, &self.query)?;
        let Some(stage) = stage else { return Ok(true) };
        say::heading("VMs: what they are made of");
        say::line(if self.has_machines() {
            "image and kernel are there from a former start"
        } else {
            "the first start makes an image and fetches a kernel: some minutes"
        });
        Ok(self.machines_ready(server, stop)?
            && workflow::show(stage, stop)?
            && agents::show(stage, stop)?)
    }

    /// Whether the image and a kernel were made before.
    fn has_machines(&self) -> bool {
        let kernels = std::fs::read_dir(self.machines.join("kernels"));
        self.machines.join("images/names/default").exists()
            && kernels.is_ok_and(|mut kernels| kernels.next().is_some())
    }

    /// One process at a time makes the shared image.
    fn machines_ready(&self, server: &mut Server, stop: &Stop) -> Result<bool> {
        let lock = File::create(self.machines.join("lock"))?;
        lock.lock()
            .context("the folder of images cannot be locked")?;
        workflow::wait_for_machines(self.ports.machines, server, stop)
    }

    fn show_addresses(&self, stage: Option<&Stage>) {
        let page = format!("http://{}/", self.ports.search);
        say::heading("the pages");
        say::line(&format!("search      {page}"));
        say::line(&format!(
            "            {page}?q={}",
            http::encoded(&self.query)
        ));
        if let Some(stage) = stage {
            say::line(&format!("workflows   http://{}/runs", self.ports.runner));
            say::line(&format!("operations  http://{}/", self.ports.operations));
            say::line(&format!(
                "            its token, of this start: {}",
                stage.secrets.admin
            ));
        }
    }

    /// Until a signal asks to stop, or the server ends by itself, which is an error.
    fn stay(&self, server: &mut Server, stop: &Stop) -> Result<()> {
        while !stop.within(PULSE) {
            server.check_alive()?;
        }
        say::line("\nstopping");
        Ok(())
    }
}

/// The sample's forge is new at each start and counts from one again. What a former start knew of it has to go: its
/// first comment would be one that was answered already.
fn forget_samples(data: &Path) -> Result<()> {
    for name in [
        "orchestrator",
        "state/orchestrator",
        "state/workflow-runner",
    ] {
        let folder = data.join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("{} cannot be removed", folder.display()))?;
        }
    }
    Ok(())
}

/// The folder of programs, and the agent of VMs: built now, or as they are.
fn programs(project: &Project, options: &Options) -> Result<(PathBuf, PathBuf)> {
    if let Some(folder) = &options.programs {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("{} cannot be opened", folder.display()))?;
        let guest = folder.join("vm-guest");
        return Ok((folder, guest));
    }
    let guest = if options.search_only {
        PathBuf::new()
    } else {
        parts::vm_guest(project)?
    };
    build(project, options.debug)?;
    let profile = if options.debug { "debug" } else { "release" };
    Ok((project.target()?.join(profile), guest))
}

fn build(project: &Project, debug: bool) -> Result<()> {
    say::heading("building the platform and its terminal client");
    let mut build = shell::cargo(
        &project.root,
        &["build", "-p", "platform", "-p", "service-agent"],
    );
    if !debug {
        build.arg("--release");
    }
    shell::run(&mut build)
}

/// The folders given, else this repository and the toolchain's documentation where it is installed.
fn sources(project: &Project, folders: &[PathBuf]) -> Result<Vec<settings::Source>> {
    if !folders.is_empty() {
        return folders
            .iter()
            .map(|folder| settings::Source::folder(folder))
            .collect();
    }
    let mut sources = vec![settings::Source::new(
        "This repository",
        &project.root,
        None,
    )];
    match rust_documentation() {
        Some(folder) => sources.push(settings::Source::new(
            "Rust documentation",
            &folder,
            Some("**/*.html"),
        )),
        None => say::line(
            "Rust's own documentation is not installed (`rustup component add rust-docs`): without it",
        ),
    }
    Ok(sources)
}

fn rust_documentation() -> Option<PathBuf> {
    let sysroot = shell::first_line("rustc", &["--print", "sysroot"])?;
    let folder = Path::new(&sysroot).join("share/doc/rust/html");
    folder.is_dir().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_former_start_knew_of_the_samples_is_forgotten_and_nothing_else() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let made = |name: &str| {
            let folder = home.path().join(name);
            std::fs::create_dir_all(&folder).expect("it is new");
            folder
        };
        let kept = [made("state/search"), made("state/vm-manager")];
        let gone = [made("state/orchestrator"), made("state/workflow-runner")];
        forget_samples(home.path()).expect("they are ours");
        forget_samples(home.path()).expect("there is nothing left to do");
        assert!(kept.iter().all(|folder| folder.exists()));
        assert!(!gone.iter().any(|folder| folder.exists()));
    }
}
