//! A runner beside others on one store in PostgreSQL: it stands by, or leads.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use daemon::lifecycle::{self, ShutdownSignal};
use daemon::{first_screen, replica};
use edge_web::ServeOptions;
use parking_lot::Mutex;
use runner_actors::{
    HostChanges, ReloadError, RunnerService, SettingsNow, SettingsReloader, SettingsReport,
    SettingsSource, VmHostSettings, log_reload,
};
use runner_web::config::RunnerConfig;
use runner_web::{RunnerServer, StandbyRunner};
use store::{DirectoryLock, PostgresUrl, SharedStore, Store, StoreOptions};
use supervision::ChildRef;

use crate::listening::RunnerListeners;
use crate::settings::{self, RunnerSettingsSource};

/// Serves until SIGINT or SIGTERM, in whichever role.
pub(crate) fn serve(
    settings: RunnerSettingsSource,
    url: &PostgresUrl,
    options: &StoreOptions,
    serve: ServeOptions,
) -> anyhow::Result<()> {
    let config = settings.config().clone();
    // The folder holds logs and artifacts: it is this process's in either role.
    let _folder = DirectoryLock::take(&config.runner.data, &options.program)?;
    let RunnerListeners {
        listener,
        services,
        bound,
        options: server,
    } = RunnerListeners::open(&config, serve)?;
    let advertise = config.replica.advertise.as_deref();
    let options = options.clone().installation(config.installation());
    let options = options.compared(config.compared());
    let (shared, control) = replica::open(url, &options, advertise, bound)?;
    let settings = RoleSettings::new(settings, &shared);
    let hosts = settings.vm_hosts();
    replica::probe_as_standby(&control, config.runner.objects.clone(), hosts)?;
    let rows = [
        ("page", format!("http://{bound}/")),
        ("webhook", format!("http://{bound}/webhook")),
        ("store", shared.place().to_owned()),
        ("data", first_screen::path(&config.runner.data)),
    ];
    let listener = Rc::new(listener);
    lifecycle::run(async move {
        // A process that changes its role has another tree of actors each time: the watchdog is
        // told that the event loop turns.
        let beats = |_| async { Ok(()) };
        settings.follow()?;
        let stop = lifecycle::announce("workflow runner", bound, beats)?;
        first_screen::show("workflow-runner", env!("CARGO_PKG_VERSION"), &rows);
        first_screen::line("ready", "it leads, or stands by. Ctrl-C ends it.");
        let stand_by = |taken, stop: ShutdownSignal| {
            let standby = StandbyRunner::start(&shared, &control, taken, server.clone());
            let listener = Rc::clone(&listener);
            async move { Ok(standby.serve(listener.try_clone()?, stop).await?) }
        };
        let lead = |store: Store| {
            let service = RunnerService::new(settings.take_over().runner, store)?;
            let service = service.reading(settings.source());
            let services = services.as_ref().map(std::net::TcpListener::try_clone);
            let services = services.transpose()?;
            let leading = (&shared, &control);
            let server = RunnerServer::start_leading(service, server.clone(), leading);
            let server = server.services_on(services);
            let listener = listener.try_clone()?;
            let leading = Rc::clone(&settings.leading);
            *leading.borrow_mut() = server.settings();
            Ok(move |stop: ShutdownSignal| async move {
                let served = server.serve(listener, stop).await;
                *leading.borrow_mut() = None;
                Ok(served?)
            })
        };
        replica::run((&shared, &control), stop, stand_by, lead).await
    })
}

/// The settings of a process whose role changes.
struct RoleSettings {
    file: Arc<RunnerSettingsSource>,
    /// As they were read last without mistakes.
    now: Arc<Mutex<RunnerConfig>>,
    shared: SharedStore,
    /// Who puts them in force while this process leads.
    leading: Rc<RefCell<Option<ChildRef<SettingsReloader>>>>,
}

impl RoleSettings {
    fn new(file: RunnerSettingsSource, shared: &SharedStore) -> Self {
        let now = file.config().clone();
        Self {
            file: Arc::new(file),
            now: Arc::new(Mutex::new(now)),
            shared: shared.clone(),
            leading: Rc::default(),
        }
    }

    /// The hosts of VMs, as they were read last.
    fn vm_hosts(&self) -> impl Fn() -> Vec<VmHostSettings> + use<> {
        let now = Arc::clone(&self.now);
        move || now.lock().runner.vm_hosts.clone()
    }

    /// Reads the file again, and says to those beside the store what it holds now. Blocks for the
    /// database.
    fn source(&self) -> SettingsSource {
        let (file, now) = (Arc::clone(&self.file), Arc::clone(&self.now));
        let shared = self.shared.clone();
        Arc::new(move || {
            let read = file.reload()?;
            *now.lock() = read.config.clone();
            shared.compare(read.config.compared());
            Ok(settings::now(read))
        })
    }

    /// What a leader begins with: the file as it is, or as it was without mistakes.
    fn take_over(&self) -> RunnerConfig {
        match self.file.reload() {
            Ok(read) => *self.now.lock() = read.config,
            Err(wrong) => log_reload(&Err(ReloadError::Wrong(wrong))),
        }
        let now = self.now.lock().clone();
        let (shared, compared) = (self.shared.clone(), now.compared());
        // Those beside the store are told meanwhile.
        drop(tokio::task::spawn_blocking(move || {
            shared.compare(compared);
        }));
        now
    }

    /// From now on SIGHUP has the file read again, in whichever role, and so does a reload that
    /// somebody asked of whoever leads.
    fn follow(&self) -> std::io::Result<()> {
        let mut told = self.shared.settings_changes();
        lifecycle::on_hangup(self.reading())?;
        let read_again = self.reading();
        actix_rt::spawn(async move {
            while told.changed().await.is_ok() {
                read_again().await;
            }
        });
        Ok(())
    }

    fn reading(&self) -> impl Fn() -> Pin<Box<dyn Future<Output = ()>>> + use<> {
        let (source, leading) = (self.source(), Rc::clone(&self.leading));
        move || -> Pin<Box<dyn Future<Output = ()>>> {
            let (source, leader) = (Arc::clone(&source), leading.borrow().clone());
            Box::pin(async move {
                match leader {
                    Some(leader) => settings::reload(Some(leader)).await,
                    None => read_as_standby(source).await,
                }
            })
        }
    }
}

/// A standby holds ready what it would begin with.
async fn read_as_standby(source: SettingsSource) {
    // The thread is never cancelled.
    if let Ok(read) = tokio::task::spawn_blocking(move || source()).await {
        log_reload(&report_of(read));
    }
}

/// Nothing is in force where nobody leads.
fn report_of(read: Result<SettingsNow, String>) -> Result<SettingsReport, ReloadError> {
    let report = read.map(|now| SettingsReport {
        vm_hosts: HostChanges::default(),
        at_restart: now.at_restart,
    });
    report.map_err(ReloadError::Wrong)
}
