//! `cargo xtask up`: from a fresh clone to a running platform. Builds the programs, prepares what
//! VMs are made with, and calls `platform demo`.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::Args;

use crate::project::ProjectCheckout;
use crate::{prerequisites, shell, terminal};

/// How to start.
#[derive(Debug, Args)]
pub(crate) struct UpOptions {
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
    /// Runners, orchestrators and VM managers, two of each, on PostgreSQL: kills their leaders, and
    /// counts what was lost
    #[arg(long, conflicts_with_all = ["search_only", "folder", "query"])]
    cluster: bool,
    /// Stop after one job of each product instead of staying up
    #[arg(long)]
    once: bool,
    /// Build without optimisation: quicker to build, slower to index
    #[arg(long)]
    debug: bool,
    /// Folder of programs that are built already (`platform`, `service-agent`, a static
    /// `vm-guest`): nothing is built
    #[arg(long, value_name = "DIR", conflicts_with = "debug")]
    programs: Option<PathBuf>,
}

/// Runs the command; signals go to `platform demo`, which takes this process over.
///
/// # Errors
/// When something cannot be built or started.
pub(crate) fn run(project: &ProjectCheckout, options: &UpOptions) -> Result<ExitCode> {
    if options.cluster {
        return run_cluster(project, options);
    }
    check_ports(options.port)?;
    if !options.search_only {
        prerequisites::prepare_machines()?;
    }
    let (programs, agent) = programs(project, options)?;
    let data = options.data.clone();
    let mut demo = demo(
        project,
        &programs,
        &data.unwrap_or_else(|| project.cache.join("up")),
    );
    demo.args([
        "--port",
        &options.port.to_string(),
        "--query",
        &options.query,
    ]);
    match options.search_only {
        true => demo.arg("--search-only"),
        false => demo.arg("--agent").arg(agent),
    };
    if options.once {
        demo.arg("--once");
    }
    if options.folder.is_empty() {
        add_sources(&mut demo, project);
    }
    for folder in &options.folder {
        demo.arg("--folder").arg(folder);
    }
    Err(demo.exec()).with_context(|| format!("{} cannot be started", programs.display()))
}

/// `platform demo --cluster`, with a PostgreSQL and an S3-compatible server that are installed
/// where they are missing.
fn run_cluster(project: &ProjectCheckout, options: &UpOptions) -> Result<ExitCode> {
    prerequisites::prepare_cluster(project)?;
    let (programs, agent) = programs(project, options)?;
    let mut demo = Command::new(programs.join("platform"));
    demo.args(["demo", "--cluster", "--port", &options.port.to_string()]);
    demo.env("ORRERY_CACHE", &project.cache);
    demo.arg("--agent").arg(agent);
    if let Some(data) = &options.data {
        demo.arg("--data").arg(data);
    }
    if options.once {
        demo.arg("--once");
    }
    Err(demo.exec()).with_context(|| format!("{} cannot be started", programs.display()))
}

/// The quick start over the project's documentation, with the debug programs that are built
/// already, in a folder of its own: what `cargo xtask test` runs.
///
/// # Errors
/// When the demonstration fails.
pub(crate) fn demonstrate(project: &ProjectCheckout) -> Result<()> {
    let data = project.cache.join("up-test");
    if data.exists() {
        std::fs::remove_dir_all(&data)
            .with_context(|| format!("{} cannot be emptied", data.display()))?;
    }
    prerequisites::prepare_machines()?;
    let mut demo = demo(project, &project.target()?.join("debug"), &data);
    demo.args(["--port", "0", "--once", "--query", "supervisor"]);
    demo.arg("--folder").arg(project.root.join("docs"));
    demo.arg("--agent").arg(prerequisites::vm_guest(project)?);
    shell::run(&mut demo)
}

/// `platform demo`, with the folders of this checkout.
fn demo(project: &ProjectCheckout, programs: &Path, data: &Path) -> Command {
    let mut demo = Command::new(programs.join("platform"));
    demo.arg("demo").arg("--data").arg(data);
    demo.arg("--images").arg(project.cache.join("vm"));
    demo
}

/// Before the build: who has to choose other ports should know at once. `platform demo` takes them
/// later.
fn check_ports(search: u16) -> Result<()> {
    let ports: &[u16] = match search {
        0 => &[],
        _ => &[search, 3100, 3000, 3200, 3201],
    };
    for port in ports {
        TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).with_context(|| {
            format!("port {port} of 127.0.0.1 cannot be taken; `--port 0` takes free ones for everything")
        })?;
    }
    Ok(())
}

/// The folder of programs, and the agent of VMs: built now, or as they are.
fn programs(project: &ProjectCheckout, options: &UpOptions) -> Result<(PathBuf, PathBuf)> {
    if let Some(folder) = &options.programs {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("{} cannot be opened", folder.display()))?;
        let agent = folder.join("vm-guest");
        return Ok((folder, agent));
    }
    let agent = if options.search_only {
        PathBuf::new()
    } else {
        prerequisites::vm_guest(project)?
    };
    build(project, options)?;
    let profile = if options.debug { "debug" } else { "release" };
    Ok((project.target()?.join(profile), agent))
}

fn build(project: &ProjectCheckout, options: &UpOptions) -> Result<()> {
    terminal::heading("building the programs");
    let packages: &[&str] = match options.cluster {
        true => &[
            "platform",
            "workflow-runner",
            "orchestrator",
            "vm-manager",
            "search-server",
        ],
        false => &["platform", "service-agent"],
    };
    let mut build = shell::cargo(&project.root, &["build"]);
    for package in packages {
        build.args(["-p", package]);
    }
    if !options.debug {
        build.arg("--release");
    }
    shell::run(&mut build)
}

/// This repository, and the toolchain's documentation where it is installed.
fn add_sources(demo: &mut Command, project: &ProjectCheckout) {
    demo.args(["--source", "This repository"])
        .arg(&project.root)
        .arg("");
    match rust_documentation() {
        Some(folder) => {
            demo.args(["--source", "Rust documentation"])
                .arg(folder)
                .arg("**/*.html");
        }
        None => terminal::line(
            "Rust's own documentation is not installed (`rustup component add rust-docs`): without it",
        ),
    }
}

fn rust_documentation() -> Option<PathBuf> {
    let sysroot = shell::first_line("rustc", &["--print", "sysroot"])?;
    let folder = Path::new(&sysroot).join("share/doc/rust/html");
    folder.is_dir().then_some(folder)
}
