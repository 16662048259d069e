//! The whole platform in one process: one root supervisor, one data folder. The quick start.

mod settings;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use config_core::Environment;
use search_core::role::{Os, ServerFlags, ServerSettings, parse_environment};
use search_web::SearchServer;
use search_web::boot;

use crate::settings::PlatformSettings;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The whole platform in one process. For now that is the search server.
#[derive(Debug, Parser)]
#[command(
    name = "platform",
    version,
    after_help = "Exit codes: 0 ok, 1 the configuration is invalid or the platform cannot start, 2 wrong usage."
)]
struct Arguments {
    /// The platform's configuration.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Check the configuration, say everything that is wrong with it, and end.
    #[arg(long)]
    check: bool,
}

/// mimalloc's option for the milliseconds before freed memory goes back to the system
/// (`mi_option_purge_delay` of `mimalloc.h`; the bindings have no name for it).
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Freed memory goes back at once: a server that has indexed a large folder would otherwise keep
/// what only the indexing needed (35 MB on 78,000 files) for as long as its threads are idle.
#[allow(
    unsafe_code,
    reason = "setting an option before any other thread runs is sound"
)]
fn give_freed_memory_back() {
    // SAFETY: called first in `main`, with an option of the bundled allocator and a valid value.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) }
}

fn main() -> ExitCode {
    give_freed_memory_back();
    let arguments = Arguments::parse();
    let environment = Environment::from_os(std::env::vars_os());
    match run(&arguments, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error:#}");
            ExitCode::from(1)
        }
    }
}

fn run(arguments: &Arguments, environment: &Environment) -> anyhow::Result<()> {
    let path = &arguments.config;
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let base = std::path::absolute(path)?;
    let base = base.parent().unwrap_or(Path::new("/"));
    let platform = PlatformSettings::parse(&path.display().to_string(), &text, environment, base)
        .map_err(|diagnostics| anyhow::anyhow!("{diagnostics}"))?;
    let settings = search_settings(&platform, environment)?;
    let (roles, _) = boot::read_roles(&settings.settings_path.value, environment, base)?;
    if arguments.check {
        return Ok(());
    }
    edge_web::logging::init(
        settings.log_level.value.as_str(),
        environment.get("RUST_LOG").ok().flatten(),
    );
    let search = boot::search_settings(&settings, roles);
    let _lock = boot::lock_data(&settings, "platform").context("data_dir")?;
    let listener = edge_web::bind(
        boot::socket_address(&settings.listen.value)?,
        "listen in [search]",
    )?;
    let url = format!("http://{}/", listener.local_addr()?);
    let options = boot::server_options(&settings);
    actix_rt::System::new().block_on(async move {
        let server = SearchServer::start(&search, options);
        let signal = edge_web::shutdown_signal()?;
        tracing::info!(event = "platform.started", %url, "the platform is up");
        let stopped = async move {
            let name = signal.await;
            tracing::info!(event = "platform.stopping", signal = name);
        };
        server.serve(listener, stopped).await?;
        tracing::info!(event = "platform.stopped");
        Ok(())
    })
}

/// The search server's settings: the platform's file says what flags say to `search-server`.
fn search_settings(
    platform: &PlatformSettings,
    environment: &Environment,
) -> anyhow::Result<ServerSettings> {
    let text = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .context("a path is not Unicode")
    };
    let flags = ServerFlags {
        config: Some(text(&platform.search_settings)?),
        data: Some(text(&platform.data_dir.join("search"))?),
        listen: platform.search_listen.clone(),
        ..ServerFlags::default()
    };
    let settings = parse_environment(&flags, environment, Os::current());
    let settings = settings.map_err(|diagnostics| anyhow::anyhow!("{diagnostics}"))?;
    settings
        .check_exposure(false)
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(settings)
}
