//! `platform demo`: a running platform with one real job of each product, on this machine only.
//!
//! ```text
//! settings → start platform ─┬─ search:    index real folders → search once
//!                            ├─ workflows: VMs prepared → signed push → its run, live → statuses
//!                            └─ agents:    signed mention → its answer; pull request → six statuses
//! stay until Ctrl-C ◀────────┘
//! ```
//! A small forge on loopback stands behind the last two: it is what statuses and comments are
//! posted to.

mod agents;
mod cluster;
mod documentation;
mod environment;
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
mod stop_signal;
mod terminal;
mod workflow;

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use url::form_urlencoded::byte_serialize;
use vm_engine::image::agent;

use self::environment::SampleEnvironment;
use self::ports::Ports;
use self::server::Server;
use self::settings::{DemoSource, OtherProducts};
use self::stop_signal::{DemoStopSignal, POLL_INTERVAL};

/// How to start.
#[derive(Debug, Args)]
pub(crate) struct DemoOptions {
    /// The search page's port on the loopback address; 0 takes free ones for all products
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// Folder for the settings, the state and the log [default: `demo` in the cache folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder to search, instead of Orrery's own documentation; may be repeated
    #[arg(long, value_name = "DIR")]
    folder: Vec<PathBuf>,
    /// Folder to search by another name, and the files wanted of it; an empty pattern takes all
    #[arg(long, num_args = 3, value_names = ["NAME", "DIR", "GLOB"], hide = true)]
    source: Vec<String>,
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
    /// Instead: runners, orchestrators, VM managers, indexers and searchers, two of each, on one
    /// PostgreSQL; the leaders are killed, what was accepted is counted, and answers are compared.
    /// It needs PostgreSQL 15 or newer, and the programs `workflow-runner`, `orchestrator`,
    /// `vm-manager`, `search-server` and `vm-guest` beside this one
    #[arg(long, conflicts_with_all = ["search_only", "folder", "source", "query", "images"])]
    cluster: bool,
    /// Stop after one job of each product instead of staying up
    #[arg(long)]
    once: bool,
    /// The static agent of VMs, where it is not beside this program
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
    /// Folder of VM images and kernels, which all starts share [default: `vm` in the cache folder]
    #[arg(long, value_name = "DIR")]
    images: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// When something cannot be started, or a job does not end as it should.
pub(crate) fn run(options: &DemoOptions) -> Result<()> {
    if options.cluster {
        return run_cluster(options);
    }
    let ports = Ports::take(options.port)?;
    let program = std::env::current_exe().context("where this program is")?;
    let stop = DemoStopSignal::listen()?;
    let data = match &options.data {
        Some(data) => data.clone(),
        None => cache_folder()?.join("demo"),
    };
    let images = match &options.images {
        Some(images) => std::path::absolute(images)?,
        None => cache_folder()?.join("vm"),
    };
    let guest = match options.search_only {
        true => None,
        false => Some(agent_of_vms(options, &program)?),
    };
    let demonstration = Demonstration {
        program,
        ports,
        sources: sources(options, &data)?,
        data,
        query: options.query.clone(),
        guest,
        machines: images,
    };
    demonstration.run(&stop, options.once)
}

/// Several processes of each kind.
fn run_cluster(options: &DemoOptions) -> Result<()> {
    let program = std::env::current_exe().context("where this program is")?;
    let stop = DemoStopSignal::listen()?;
    let data = match &options.data {
        Some(data) => data.clone(),
        None => cache_folder()?.join("demo-cluster"),
    };
    let programs = program.parent().unwrap_or(Path::new("/")).to_owned();
    let agent = agent::find(options.agent.as_deref(), &program);
    cluster::check_programs(&programs, agent.is_none())?;
    let settings = cluster::ClusterSettings {
        guest: agent_of_vms(options, &program)?,
        programs,
        // Where `cargo xtask` installs what it needs.
        tools: cache_folder().ok().map(|cache| cache.join("tools/bin")),
        data: std::path::absolute(data)?,
        port: options.port,
    };
    cluster::run(&settings, &stop, options.once)
}

fn agent_of_vms(options: &DemoOptions, program: &Path) -> Result<PathBuf> {
    let agent = agent::find(options.agent.as_deref(), program).context(NO_AGENT)?;
    Ok(std::path::absolute(agent)?)
}

const NO_AGENT: &str = "there is no static agent for VMs beside this program: install vm-guest there, name it with \
     `--agent`, or start the search server alone with `--search-only`";

/// Everything decided before anything is started.
struct Demonstration {
    /// This program; the terminal client is beside it.
    program: PathBuf,
    /// Where the products listen.
    ports: Ports,
    /// Settings, state, log.
    data: PathBuf,
    /// Folders to search.
    sources: Vec<DemoSource>,
    /// The search that is shown.
    query: String,
    /// The agent of VMs; without it the search server is started alone.
    guest: Option<PathBuf>,
    /// Where images and kernels are kept over all starts.
    machines: PathBuf,
}

impl Demonstration {
    fn run(&self, stop: &DemoStopSignal, once: bool) -> Result<()> {
        std::fs::create_dir_all(&self.data)
            .with_context(|| format!("{} cannot be made", self.data.display()))?;
        let data = self.data.canonicalize()?;
        let samples = match &self.guest {
            Some(_) => {
                forget_samples(&data)?;
                Some(SampleEnvironment::new(&data.join("sample"), self.ports)?)
            }
            None => None,
        };
        let mut server = self.start(&data, samples.as_ref())?;
        let demonstrated = self.demonstrate(&mut server, samples.as_ref(), stop);
        if matches!(demonstrated, Ok(true)) {
            self.show_addresses(samples.as_ref());
            if !once {
                terminal::line("\nCtrl-C stops it.");
                self.stay(&mut server, stop)?;
            }
        }
        let stopped = server.stop();
        demonstrated?;
        stopped?;
        terminal::line("stopped cleanly");
        Ok(())
    }

    /// Writes the settings and starts the platform.
    fn start(&self, data: &Path, samples: Option<&SampleEnvironment>) -> Result<Server> {
        let forge = samples.map(|samples| samples.forge.url());
        let others = match (&self.guest, &forge) {
            (Some(guest), Some(forge)) => Some(OtherProducts { guest, forge }),
            _ => None,
        };
        let configuration = settings::write(data, &self.ports, &self.sources, others.as_ref())?;
        let mut variables = Vec::new();
        let checkout = samples.map(|samples| samples.sample.checkout());
        let checkout = checkout.map(|path| path.to_string_lossy().into_owned());
        if let (Some(samples), Some(checkout)) = (samples, &checkout) {
            self.share_machines(data)?;
            variables.extend(samples.secrets.variables());
            variables.push(("ORCH_PROJECT_DIR", checkout.as_str()));
        }
        terminal::heading(&format!(
            "starting the platform on http://{}/",
            self.ports.search
        ));
        terminal::line(&format!("data, settings and log: {}", data.display()));
        let arguments = [OsStr::new("--config"), configuration.as_os_str()];
        let log = (data, "platform.log");
        Server::start(&self.program, &arguments, log, &variables)
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
    fn demonstrate(
        &self,
        server: &mut Server,
        samples: Option<&SampleEnvironment>,
        stop: &DemoStopSignal,
    ) -> Result<bool> {
        let address = self.ports.search;
        let searched = search::wait_until_ready(address, server, stop)?
            && search::wait_until_indexed(
                address,
                settings::roles_sources(&self.sources),
                server,
                stop,
            )?;
        if !searched {
            return Ok(false);
        }
        let programs = self.program.parent().unwrap_or(Path::new(""));
        search::once(programs, &self.data, address, &self.query)?;
        let Some(samples) = samples else {
            return Ok(true);
        };
        terminal::heading("VMs: what they are made of");
        terminal::line(if self.has_machines() {
            "image and kernel are there from a former start"
        } else {
            "the first start makes an image and fetches a kernel: some minutes"
        });
        Ok(self.machines_ready(server, stop)?
            && workflow::show(samples, stop)?
            && agents::show(samples, stop)?)
    }

    /// Whether the image and a kernel were made before.
    fn has_machines(&self) -> bool {
        let kernels = std::fs::read_dir(self.machines.join("kernels"));
        self.machines.join("images/names/default").exists()
            && kernels.is_ok_and(|mut kernels| kernels.next().is_some())
    }

    /// One process at a time makes the shared image.
    fn machines_ready(&self, server: &mut Server, stop: &DemoStopSignal) -> Result<bool> {
        let lock = File::create(self.machines.join("lock"))?;
        lock.lock()
            .context("the folder of images cannot be locked")?;
        workflow::wait_for_machines(self.ports.machines, server, stop)
    }

    fn show_addresses(&self, samples: Option<&SampleEnvironment>) {
        let page = format!("http://{}/", self.ports.search);
        terminal::heading("the pages");
        terminal::line(&format!("search      {page}"));
        terminal::line(&format!(
            "            {page}?q={}",
            byte_serialize(self.query.as_bytes()).collect::<String>()
        ));
        if let Some(samples) = samples {
            for (name, path) in [("runs", "runs"), ("agents", "agents"), ("actors", "actors")] {
                terminal::line(&format!("{name:<11} {page}ui/{path}"));
            }
            terminal::line(&format!(
                "            sign in with the token in {}",
                self.data.join("state/platform-token").display()
            ));
            terminal::line(&format!("workflows   http://{}/runs", self.ports.runner));
            terminal::line(&format!("operations  http://{}/", self.ports.operations));
            terminal::line(&format!(
                "            its token, of this start: {}",
                samples.secrets.admin
            ));
        }
    }

    /// Until a signal asks to stop, or the server ends by itself, which is an error.
    fn stay(&self, server: &mut Server, stop: &DemoStopSignal) -> Result<()> {
        while !stop.wait_for(POLL_INTERVAL) {
            server.check_alive()?;
        }
        terminal::line("\nstopping");
        Ok(())
    }
}

/// The sample's forge is new at each start and counts from one again. What a former start knew of
/// it has to go: its first comment would be one that was answered already.
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

/// The folders that were named, else Orrery's own documentation.
fn sources(options: &DemoOptions, data: &Path) -> Result<Vec<DemoSource>> {
    let folders = options
        .folder
        .iter()
        .map(|folder| DemoSource::folder(folder));
    let mut sources = folders.collect::<Result<Vec<_>>>()?;
    for named in options.source.chunks_exact(3) {
        let glob = Some(named[2].as_str()).filter(|glob| !glob.is_empty());
        sources.push(DemoSource::new(&named[0], Path::new(&named[1]), glob));
    }
    if sources.is_empty() {
        let folder = documentation::write(&data.join("documentation"))?;
        sources.push(DemoSource::new("Orrery's documentation", &folder, None));
    }
    Ok(sources)
}

/// `ORRERY_CACHE`, else `XDG_CACHE_HOME/orrery`, else `HOME/.cache/orrery`.
fn cache_folder() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = set("ORRERY_CACHE") {
        return Ok(folder.into());
    }
    let base = set("XDG_CACHE_HOME").map(PathBuf::from);
    let base = base.or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")));
    let base = base.context("there is no HOME; set ORRERY_CACHE, or `--data` and `--images`")?;
    Ok(base.join("orrery"))
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
