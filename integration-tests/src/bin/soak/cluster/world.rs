//! Three runners, three VM managers that all of them use, and two orchestrators on one PostgreSQL
//! with a synchronous replica, each behind a proxy of its own, as is each manager for those who ask
//! it for VMs; logs are in a bucket.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard};

use anyhow::Result;
use scripted_peers::ScriptedForge;
use scripted_peers::postgres::PostgresServer;
use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};
use tempfile::TempDir;

use super::ledger::Acknowledged;
use super::proxy::Proxy;
use crate::daemon::{Daemon, free_address};
use crate::options::Options;
use crate::world::{
    MAIN, ROCKET, SECRET, make_repositories, orchestrator_settings, serve_files, text, token,
};

/// An agent on the hosts of the jobs: what holds of their VMs is to hold of its.
const REVIEWER: &str = "[[agents]]\nproject = \"main\"\nname = \"reviewer\"\ncli = \"sh\"\nmax_parallel = 8\n\
     isolation = \"vm\"\nscript = \"sleep 1; echo done\"\n";

/// One process of a product.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) daemon: Daemon,
    pub(crate) proxy: Proxy,
}

/// The processes of one product.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) name: &'static str,
    pub(crate) replicas: Vec<Replica>,
}

/// A VM manager, how runners and orchestrators reach it, and what opens it.
#[derive(Debug)]
pub(crate) struct Manager {
    pub(crate) daemon: Daemon,
    pub(crate) proxy: Proxy,
    pub(crate) token: String,
}

/// Everything that a run consists of.
pub(crate) struct Cluster {
    /// `None` once it is to be kept.
    folder: Mutex<Option<TempDir>>,
    pub(crate) path: PathBuf,
    pub(crate) forge: ScriptedForge,
    pub(crate) runners: Product,
    pub(crate) orchestrators: Product,
    pub(crate) managers: Vec<Manager>,
    pub(crate) database: Mutex<Database>,
    pub(crate) storage: Mutex<S3Server>,
    pub(crate) stop_load: AtomicBool,
    pub(crate) clone_url: String,
    git_server: Mutex<Child>,
    acknowledged: Mutex<Acknowledged>,
}

/// The servers of the database.
pub(crate) struct Database {
    pub(crate) primary: PostgresServer,
    /// Until it was promoted.
    pub(crate) replica: Option<PostgresServer>,
}

impl Cluster {
    /// Repositories, settings and programs, not started yet; the database runs.
    pub(crate) fn new(options: &Options, forge: ScriptedForge) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("cluster-").tempdir()?;
        let path = folder.path().to_owned();
        std::fs::create_dir(path.join("logs"))?;
        make_repositories(&path)?;
        let (git_server, port) = serve_files(&path)?;
        forge.add_user("orrery", "forge-token");
        for repository in [ROCKET, MAIN] {
            forge.add_repo(repository);
            forge.set_permission(repository, "alice", "write");
        }
        let primary = PostgresServer::on_network(&["max_connections=120"]);
        let replica = Some(primary.replica());
        let programs = std::path::absolute(&options.programs)?;
        let agent = std::path::absolute(&options.agent)?;
        let (mut managers, mut runners, mut orchestrators) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..3 {
            managers.push(manager(&path, &agent, &programs, number)?);
        }
        let storage = S3Server::start();
        let settings = runner_settings(&forge.url(), &managers, &storage.endpoint());
        for number in 0..3 {
            let proxy = Proxy::start(primary.port())?;
            let daemon = runner(&path, &programs, number, &settings, &proxy)?;
            runners.push(Replica { daemon, proxy });
        }
        for number in 0..2 {
            let proxy = Proxy::start(primary.port())?;
            let told = (&*forge.url(), &*hosts(&managers), &proxy);
            let daemon = orchestrator(&path, &programs, number, told)?;
            orchestrators.push(Replica { daemon, proxy });
        }
        Ok(Self {
            folder: Mutex::new(Some(folder)),
            clone_url: format!("http://127.0.0.1:{port}/rocket.git"),
            path,
            forge,
            runners: Product {
                name: "workflow-runner",
                replicas: runners,
            },
            orchestrators: Product {
                name: "orchestrator",
                replicas: orchestrators,
            },
            managers,
            database: Mutex::new(Database { primary, replica }),
            storage: Mutex::new(storage),
            stop_load: AtomicBool::new(false),
            git_server: Mutex::new(git_server),
            acknowledged: Mutex::default(),
        })
    }

    /// All programs.
    pub(crate) fn daemons(&self) -> impl Iterator<Item = &Daemon> {
        let replicas = self.runners.replicas.iter();
        let replicas = replicas.chain(&self.orchestrators.replicas);
        let managers = self.managers.iter().map(|it| &it.daemon);
        managers.chain(replicas.map(|it| &it.daemon))
    }

    /// Starts all programs, and waits until they answer.
    pub(crate) fn start_all(&self) -> Result<()> {
        self.daemons().try_for_each(Daemon::spawn)?;
        self.daemons().try_for_each(Daemon::wait_ready)
    }

    /// Every proxy leads to this port from now on.
    pub(crate) fn lead_to(&self, port: u16) {
        let replicas = self.runners.replicas.iter();
        for replica in replicas.chain(&self.orchestrators.replicas) {
            replica.proxy.lead_to(port);
        }
    }

    pub(crate) fn acknowledged(&self) -> MutexGuard<'_, Acknowledged> {
        self.acknowledged.lock().expect("not poisoned")
    }

    /// Counts a fault.
    pub(crate) fn note_fault(&self, kind: &str) {
        let mut acknowledged = self.acknowledged();
        *acknowledged.faults.entry(kind.to_owned()).or_default() += 1;
    }

    /// The folder stays when the run has ended.
    pub(crate) fn keep(&self) {
        if let Some(folder) = self.folder.lock().expect("not poisoned").take() {
            println!("soak: kept: {}", folder.keep().display());
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut server = self.git_server.lock().expect("not poisoned");
        let _ = server.kill();
        let _ = server.wait();
    }
}

fn manager(path: &Path, agent: &Path, programs: &Path, number: usize) -> Result<Manager> {
    let address = free_address()?;
    let (file, data) = (
        path.join(format!("manager-{number}.toml")),
        path.join(format!("vms-{number}")),
    );
    let settings = format!(
        "data_dir = {data:?}\nagent = {agent:?}\ndriver = \"namespace-sandbox\"\nlisten = \"{address}\"\n"
    );
    std::fs::write(&file, settings)?;
    let program = programs.join("vm-manager");
    let token = token(&program, &file)?;
    let arguments = vec!["--config".to_owned(), text(&file)];
    let log = path.join(format!("logs/vm-manager-{number}.log"));
    let daemon = Daemon::new("vm-manager", address, program, arguments, vec![], log);
    let proxy = Proxy::start(address.port())?;
    Ok(Manager {
        daemon,
        proxy,
        token,
    })
}

/// The hosts of VMs, and what is asked of them.
fn hosts(managers: &[Manager]) -> String {
    let hosts = managers.iter().enumerate().map(|(number, manager)| {
        let (port, token) = (manager.proxy.port, &manager.token);
        let host = format!("[vm_hosts.host-{number}]\nurl = \"http://127.0.0.1:{port}\"");
        format!("{host}\ntoken = {token:?}\n")
    });
    let machine = "[machines.default]\nisolation_min = \"namespace-sandbox\"\n";
    hosts.chain([machine.to_owned()]).collect()
}

/// What all runners are told.
fn runner_settings(forge: &str, managers: &[Manager], storage: &str) -> String {
    let hosts = hosts(managers);
    format!(
        "allow_http = true\nallow_addresses = [\"127.0.0.1\"]\nforge_url = {forge:?}\n\
         [objects]\nurl = \"s3://{BUCKET}/ci\"\nendpoint = {storage:?}\n{hosts}"
    )
}

fn runner(
    path: &Path,
    programs: &Path,
    number: usize,
    settings: &str,
    proxy: &Proxy,
) -> Result<Daemon> {
    let address = free_address()?;
    let (file, data) = (
        path.join(format!("runner-{number}.toml")),
        path.join(format!("runner-{number}")),
    );
    std::fs::write(&file, format!("data_dir = {data:?}\n{settings}"))?;
    // They hold the tokens of the managers.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
    let variables = [
        ("FORGE_WEBHOOK_SECRET", SECRET.to_owned()),
        ("FORGE_TOKEN", "forge-token".to_owned()),
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
        ("LOG_LEVEL", "info".to_owned()),
        (
            "WORKFLOW_RUNNER_STORE_URL",
            PostgresServer::url_by(proxy.port),
        ),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let arguments = ["--config", &text(&file), "--listen", &address.to_string()];
    let arguments = arguments.map(str::to_owned).to_vec();
    let log = path.join(format!("logs/workflow-runner-{number}.log"));
    let (name, program) = ("workflow-runner", programs.join("workflow-runner"));
    Ok(Daemon::new(
        name,
        address,
        program,
        arguments,
        variables.to_vec(),
        log,
    ))
}

fn orchestrator(
    path: &Path,
    programs: &Path,
    number: usize,
    (forge, hosts, proxy): (&str, &str, &Proxy),
) -> Result<Daemon> {
    let (address, admin) = (free_address()?, free_address()?);
    let folder = path.join(format!("host-{number}"));
    std::fs::create_dir(&folder)?;
    let file = orchestrator_settings((path, &folder), address, admin, forge)?;
    let mut settings = std::fs::read_to_string(&file)?;
    let url = PostgresServer::url_by(proxy.port);
    // The last agent, which checks pull requests, runs in a VM.
    settings.truncate(settings.rfind("[[agents]]").unwrap_or(settings.len()));
    let settings =
        format!("vm_wait_secs = 60\n{settings}{REVIEWER}\n[store]\nurl = \"{url}\"\n{hosts}");
    std::fs::write(&file, settings)?;
    let log = path.join(format!("logs/orchestrator-{number}.log"));
    let (name, program) = ("orchestrator", programs.join("orchestrator"));
    let arguments = vec![text(&file)];
    Ok(Daemon::new(name, address, program, arguments, vec![], log).with_admin(admin))
}
