//! An orchestrator beside others on one store in PostgreSQL: it stands by, or leads.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use config_core::Environment;
use daemon::lifecycle::{self, ShutdownSignal};
use daemon::{first_screen, notify, replica};
use edge_web::ServeOptions;
use orchestrator_actors::OperatorApi;
use orchestrator_core::config::{CheckedConfig, Config};
use orchestrator_web::{OrchestratorServer, StandbyOrchestrator, boot, reload};
use parking_lot::Mutex;
use store::{DirectoryLock, SharedStore, Store, StorePlace};
use supervision::ChildRef;
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::Arguments;
use crate::check;

/// Serves until SIGINT or SIGTERM, in whichever role.
pub(crate) fn serve(
    arguments: &Arguments,
    checked: CheckedConfig,
    environment: Environment,
    connections: ServeOptions,
) -> anyhow::Result<()> {
    let program = "orchestrator";
    let data = checked.config.directories.data.clone();
    // The folder holds logs and worktrees: it is this process's in either role.
    let _folder = DirectoryLock::take(&data, program)?;
    let StorePlace::Postgres(url) = boot::store_place(&checked.config)? else {
        anyhow::bail!("the store is in a folder: there is nobody to stand beside");
    };
    let mut listening = boot::listening(&checked.config)?;
    listening.serve = connections;
    let bound = listening.receiver.local_addr()?;
    let advertise = checked.config.store.advertise.as_deref();
    let installation = boot::installation(&checked.config);
    let options = boot::store_options(program).installation(installation);
    let options = options.compared(boot::compared(&checked.config));
    let (shared, control) = replica::open(&url, &options, advertise, bound)?;
    let objects = checked.config.objects.clone();
    let mut rows = vec![("webhook", format!("http://{bound}/webhook"))];
    if let Some(admin) = &listening.admin {
        rows.push(("page", format!("http://{}/", admin.local_addr()?)));
    }
    rows.push(("store", shared.place().to_owned()));
    rows.push(("data", first_screen::path(&data)));
    let settings = Settings {
        path: arguments.config.clone().unwrap_or_default(),
        environment,
        now: Arc::new(Mutex::new(CheckedNow::new(checked))),
        leading: Rc::default(),
    };
    let config = settings.source();
    replica::probe_as_standby(&control, objects, move || config().vm_hosts.clone())?;
    let listening = Rc::new(listening);
    actix_rt::System::new().block_on(async move {
        let signal = edge_web::shutdown_signal()?;
        settings.follow_hangup(&shared)?;
        settings.follow_reloads(&shared);
        tracing::info!(
            event = "orchestrator.listening", url = %format!("http://{bound}/"),
            "the orchestrator listens"
        );
        first_screen::show(program, env!("CARGO_PKG_VERSION"), &rows);
        first_screen::line("ready", "it leads, or stands by. Ctrl-C ends it.");
        notify::ready();
        notify::keep_alive(|_| async { Ok(()) });
        let stop = lifecycle::stopping(signal, |signal| {
            tracing::info!(event = "orchestrator.stopping", signal, "agents are ended");
        });
        let stand_by = |taken, stop: ShutdownSignal| {
            let config = settings.source();
            let standby = StandbyOrchestrator::start(&shared, &control, taken, config);
            let listening = Rc::clone(&listening);
            async move { Ok(standby.serve(listening.try_clone()?, stop).await?) }
        };
        let lead = |store: Store| {
            let (path, environment) = (settings.path.as_path(), settings.environment.clone());
            let service = boot::compose(settings.read_again(), path, environment, store)?;
            let server = OrchestratorServer::start_leading(service, (&shared, &control));
            let listening = listening.try_clone()?;
            let leading = Rc::clone(&settings.leading);
            *leading.lock() = Some(server.operator_api().clone());
            let said = settings.reading(&shared);
            actix_rt::spawn(async move { said().await });
            Ok(move |stop: ShutdownSignal| async move {
                let served = server.serve(listening, stop).await;
                *leading.lock() = None;
                Ok(served?)
            })
        };
        replica::run((&shared, &control), stop, stand_by, lead).await?;
        tracing::info!(event = "orchestrator.stopped", "everything has ended");
        Ok(())
    })
}

/// The configuration of a process whose role changes.
struct Settings {
    path: PathBuf,
    environment: Environment,
    /// As it was read last without mistakes.
    now: Arc<Mutex<CheckedNow>>,
    /// Who answers operators while this process leads.
    leading: Rc<Mutex<Option<ChildRef<OperatorApi>>>>,
}

/// A configuration, and the part that many read.
struct CheckedNow {
    checked: CheckedConfig,
    shared: Arc<Config>,
}

impl CheckedNow {
    fn new(checked: CheckedConfig) -> Self {
        let shared = Arc::new(checked.config.clone());
        Self { checked, shared }
    }
}

impl Settings {
    fn source(&self) -> orchestrator_web::ConfigSource {
        let now = Arc::clone(&self.now);
        Arc::new(move || Arc::clone(&now.lock().shared))
    }

    /// What a leader begins with: the files as they are, or as they were without mistakes.
    fn read_again(&self) -> CheckedConfig {
        let mut now = self.now.lock();
        *now = CheckedNow::new(read(&self.path, &self.environment, &now.checked));
        now.checked.clone()
    }

    /// SIGHUP has the files read again, in whichever role.
    fn follow_hangup(&self, shared: &SharedStore) -> std::io::Result<()> {
        let mut hangup = signal(SignalKind::hangup())?;
        let leading = Rc::clone(&self.leading);
        let read_again = self.reading(shared);
        actix_rt::spawn(async move {
            while hangup.recv().await.is_some() {
                read_again().await;
                let api = leading.lock().clone();
                if let Some(api) = api {
                    let read = || notify::status("the configuration was read again");
                    // Which mistakes there are was said when the files were read here.
                    reload(&api, read, |_| {}).await;
                }
            }
        });
        Ok(())
    }

    /// So does a reload that an operator asked of whoever leads. That one has them in force
    /// already.
    fn follow_reloads(&self, shared: &SharedStore) {
        let mut told = shared.settings_changes();
        let read_again = self.reading(shared);
        actix_rt::spawn(async move {
            while told.changed().await.is_ok() {
                read_again().await;
            }
        });
    }

    /// Reads the files again, and says to those beside the store what they hold now.
    fn reading(&self, shared: &SharedStore) -> impl AsyncFn() + use<> {
        let (path, environment) = (self.path.clone(), self.environment.clone());
        let (now, shared) = (Arc::clone(&self.now), shared.clone());
        async move || {
            let compared = {
                let mut now = now.lock();
                *now = CheckedNow::new(read(&path, &environment, &now.checked));
                boot::compared(&now.shared)
            };
            let shared = shared.clone();
            // The thread is never cancelled.
            let _ = tokio::task::spawn_blocking(move || shared.compare(compared)).await;
        }
    }
}

/// The files as they are; as they were, where they have mistakes now. What a process cannot change
/// while it runs stays.
fn read(path: &Path, environment: &Environment, before: &CheckedConfig) -> CheckedConfig {
    match check::read_file(path, environment) {
        Ok(mut checked) => {
            for key in checked.config.keep_fixed(&before.config) {
                tracing::warn!(
                    event = "config.needs_restart",
                    key,
                    "it takes effect at the next start"
                );
            }
            checked
        }
        Err(error) => {
            tracing::error!(
                event = "config.refused",
                error,
                "the configuration is wrong; what was in force stays: run --check"
            );
            before.clone()
        }
    }
}
