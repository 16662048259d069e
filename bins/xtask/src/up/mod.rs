//! `cargo xtask up`: from a fresh clone to a page that searches real folders, on this machine only.
//!
//! ```text
//! build → settings → start platform → wait for /readyz → wait for the index → search once → stay
//! ```

mod health;
mod http;
mod server;
mod settings;
mod stop;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use self::health::Health;
use self::server::Server;
use self::stop::Stop;
use crate::project::Project;
use crate::{say, shell};

/// How to start.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Port on the loopback address; 0 takes a free one
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// Folder for the settings, the index and the log
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder to search, instead of this repository and Rust's documentation; may be repeated
    #[arg(long, value_name = "DIR")]
    folder: Vec<PathBuf>,
    /// What the search at the end looks for
    #[arg(
        long,
        default_value = "supervisor restarts a failed actor",
        value_name = "WORDS"
    )]
    query: String,
    /// Stop after that search instead of staying up
    #[arg(long)]
    once: bool,
    /// Build without optimisation: quicker to build, slower to index
    #[arg(long)]
    debug: bool,
}

/// Time for the server to answer at all.
const START: Duration = Duration::from_secs(60);

/// Time without any progress after which indexing counts as stuck.
const STUCK: Duration = Duration::from_secs(300);

/// How often the state is asked for.
const PULSE: Duration = Duration::from_millis(250);

/// Runs the command.
///
/// # Errors
/// When something cannot be built or started, or the search finds nothing.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    // Before the build: who has to choose another port should know at once.
    let address = free_address(options.port)?;
    build(project, options.debug)?;
    let stop = Stop::listen()?;
    let profile = if options.debug { "debug" } else { "release" };
    let plan = Plan {
        programs: project.target()?.join(profile),
        address,
        data: options
            .data
            .clone()
            .unwrap_or_else(|| project.cache.join("up")),
        sources: sources(project, &options.folder)?,
        query: options.query.clone(),
    };
    plan.run(&stop, options.once)
}

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
    let plan = Plan {
        programs: project.target()?.join("debug"),
        address: free_address(0)?,
        data,
        sources: sources(project, &[project.root.join("docs")])?,
        query: "supervisor".to_owned(),
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
    /// Where the server listens.
    address: SocketAddr,
    /// Settings, index, log.
    data: PathBuf,
    /// Folders to search.
    sources: Vec<settings::Source>,
    /// The search at the end.
    query: String,
}

impl Plan {
    fn run(&self, stop: &Stop, once: bool) -> Result<ExitCode> {
        let configuration = settings::write(&self.data, self.address, &self.sources)?;
        say::heading(&format!(
            "starting the platform on http://{}/",
            self.address
        ));
        say::line(&format!("data, settings and log: {}", self.data.display()));
        let mut server =
            Server::start(&self.programs.join("platform"), &configuration, &self.data)?;
        let demonstrated = self.demonstrate(&mut server, stop);
        if matches!(demonstrated, Ok(true)) && !once {
            say::line("\nCtrl-C stops it.");
            self.stay(&mut server, stop)?;
        }
        let stopped = server.stop();
        demonstrated?;
        stopped?;
        say::line("stopped cleanly");
        Ok(ExitCode::SUCCESS)
    }

    /// Until the search was shown; false when it was interrupted before.
    fn demonstrate(&self, server: &mut Server, stop: &Stop) -> Result<bool> {
        let interrupted =
            !self.wait_until_ready(server, stop)? || !self.wait_until_indexed(server, stop)?;
        if interrupted {
            return Ok(false);
        }
        self.search_once()?;
        let page = format!("http://{}/", self.address);
        say::line(&format!(
            "\nThe page: {page}    the same search: {page}?q={}",
            http::encoded(&self.query)
        ));
        Ok(true)
    }

    fn wait_until_ready(&self, server: &mut Server, stop: &Stop) -> Result<bool> {
        let start = Instant::now();
        while !http::get(self.address, "/readyz").is_ok_and(|answer| answer.status == 200) {
            server.check_alive()?;
            if start.elapsed() > START {
                bail!(
                    "not ready after {} s; its log: {}",
                    START.as_secs(),
                    server.log().display()
                );
            }
            if stop.within(PULSE) {
                return Ok(false);
            }
        }
        say::line(&format!("ready after {} ms", start.elapsed().as_millis()));
        Ok(true)
    }

    fn wait_until_indexed(&self, server: &mut Server, stop: &Stop) -> Result<bool> {
        let start = Instant::now();
        let (mut last, mut changed) = (None, Instant::now());
        loop {
            server.check_alive()?;
            let answer = http::get(self.address, "/health").context("GET /health")?;
            let health = Health::read(&answer.body)?;
            health.check(self.sources.len())?;
            if last.as_ref() != Some(&health) {
                say::progress(&format!("indexing: {health}"));
                (last, changed) = (Some(health.clone()), Instant::now());
            }
            if health.complete() {
                say::progress_done();
                say::line(&format!(
                    "indexed after {:.1} s",
                    start.elapsed().as_secs_f64()
                ));
                return Ok(true);
            }
            if changed.elapsed() > STUCK {
                bail!(
                    "indexing stands still at {health}; its log: {}",
                    server.log().display()
                );
            }
            if stop.within(PULSE) {
                say::progress_done();
                return Ok(false);
            }
        }
    }

    fn search_once(&self) -> Result<()> {
        say::heading("one search from the terminal");
        let mut agent = shell::command(
            &self.programs.join("service-agent").to_string_lossy(),
            &self.data,
        );
        agent.env(
            "SERVICE_SERVER_API_ENDPOINT",
            format!("http://{}", self.address),
        );
        shell::run(agent.args(["search", &self.query, "--limit", "5"]))
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

/// The loopback address with this port, after a look whether it is free.
fn free_address(port: u16) -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).with_context(|| {
        format!("port {port} of 127.0.0.1 cannot be taken; choose another one with --port, 0 for any free one")
    })?;
    listener
        .local_addr()
        .context("a bound socket has an address")
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
    fn a_taken_port_is_told_with_the_way_out() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = taken.local_addr().expect("it is bound").port();
        let error = free_address(port).expect_err("it is taken").to_string();
        assert!(
            error.contains(&format!("port {port}")) && error.contains("--port"),
            "{error}"
        );
        assert_ne!(free_address(0).expect("any free port").port(), 0);
    }
}
