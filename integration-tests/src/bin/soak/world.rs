//! The folder of a run, the repositories and settings in it, and the four programs.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard};

use anyhow::{Context, Result, ensure};
use scripted_peers::ScriptedForge;
use serde_json::json;
use tempfile::TempDir;

use crate::daemon::{Daemon, free_address};
use crate::ledger::Ledger;
use crate::options::Options;

/// What webhooks are signed with, for both receivers.
pub(crate) const SECRET: &str = "a-secret-of-the-soak-0123456789";
/// What the orchestrator's admin bridge wants.
pub(crate) const ADMIN_TOKEN: &str = "an-admin-token-of-the-soak-0123456789";
/// The repository of workflows, and the agents' one.
pub(crate) const ROCKET: &str = "acme/rocket";
pub(crate) const MAIN: &str = "acme/main";
/// The status contexts of pull requests.
pub(crate) const CONTEXTS: [&str; 2] = ["orch/build", "orch/review"];

const WORKFLOW: &str = "name: CI\non: push\nenv: {ORRERY_RERUN_LOST: 5}\njobs:\n  build:\n    runs-on: default\n    steps:\n      - run: cat marker.txt\n";

/// Everything a run consists of.
pub(crate) struct SoakSite {
    /// `None` once it is to be kept.
    folder: Mutex<Option<TempDir>>,
    path: PathBuf,
    pub(crate) forge: ScriptedForge,
    pub(crate) stop_load: AtomicBool,
    pub(crate) orchestrator: Daemon,
    pub(crate) runner: Daemon,
    pub(crate) vm_manager: Daemon,
    pub(crate) search: Daemon,
    pub(crate) admin: SocketAddr,
    pub(crate) vm_token: String,
    pub(crate) clone_url: String,
    git_server: Mutex<Child>,
    ledger: Mutex<Ledger>,
}

impl SoakSite {
    /// Repositories, settings and programs, not started yet.
    pub(crate) fn new(options: &Options, forge: ScriptedForge) -> Result<Self> {
        let images = std::path::absolute(&options.images)?;
        std::fs::create_dir_all(&images)?;
        let mut builder = tempfile::Builder::new();
        let folder = builder.prefix("soak-").tempdir_in(&images)?;
        let path = folder.path().to_owned();
        for name in ["logs", "documents", "vms"] {
            std::fs::create_dir(path.join(name))?;
        }
        for name in ["images", "kernels"] {
            std::fs::create_dir_all(images.join(name))?;
            symlink(images.join(name), path.join("vms").join(name))?;
        }
        make_repositories(&path)?;
        let (git_server, port) = serve_files(&path)?;
        forge.add_user("orrery", "forge-token");
        for repository in [ROCKET, MAIN] {
            forge.add_repo(repository);
            forge.set_permission(repository, "alice", "write");
        }
        let admin = free_address()?;
        let programs = std::path::absolute(&options.programs)?;
        let program = |name: &str| programs.join(name);
        let log = |name: &str| path.join(format!("logs/{name}.log"));
        let orchestrator = {
            let address = free_address()?;
            let file = orchestrator_settings((&path, &path), address, admin, &forge.url())?;
            let (name, file) = ("orchestrator", text(&file));
            Daemon::new(name, address, program(name), vec![file], vec![], log(name))
        };
        let agent = std::path::absolute(&options.agent)?;
        let vm_manager = vm_daemon(&path, &agent, program("vm-manager"), log("vm-manager"))?;
        let vm_token = token(&program("vm-manager"), &path.join("vm-manager.toml"))?;
        let variables = [
            ("FORGE_WEBHOOK_SECRET", SECRET.to_owned()),
            ("FORGE_TOKEN", "forge-token".to_owned()),
            ("VMM_API_URL", format!("http://{}", vm_manager.address)),
            ("VMM_AUTH_TOKEN", vm_token.clone()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value));
        let (name, variables) = ("workflow-runner", variables.to_vec());
        let runner = runner_daemon(&path, &forge.url(), program(name), variables, log(name))?;
        let search = search_daemon(&path, program("search-server"), log("search-server"))?;
        Ok(Self {
            folder: Mutex::new(Some(folder)),
            clone_url: format!("http://127.0.0.1:{port}/rocket.git"),
            path,
            forge,
            stop_load: AtomicBool::new(false),
            orchestrator,
            runner,
            vm_manager,
            search,
            admin,
            vm_token,
            git_server: Mutex::new(git_server),
            ledger: Mutex::default(),
        })
    }

    /// The programs, in the order of the killers' shares.
    pub(crate) fn daemons(&self) -> [&Daemon; 4] {
        [
            &self.orchestrator,
            &self.runner,
            &self.vm_manager,
            &self.search,
        ]
    }

    /// Starts all programs and waits until they answer, then until `ready` says so.
    pub(crate) fn start_all(&self, ready: impl FnOnce() -> Result<()>) -> Result<()> {
        // One process at a time makes what is missing in the shared folder of images.
        let lock = std::fs::File::create(self.path.join("../lock"))?;
        lock.lock()?;
        for daemon in self.daemons() {
            daemon.spawn()?;
        }
        for daemon in self.daemons() {
            daemon.wait_ready()?;
        }
        ready()
    }

    /// Stops all programs as a service manager would.
    pub(crate) fn stop_all(&self) {
        for daemon in self.daemons() {
            daemon.stop();
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.path
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("not poisoned")
    }

    /// The folder stays when the run has ended.
    pub(crate) fn keep(&self) {
        if let Some(folder) = self.folder.lock().expect("not poisoned").take() {
            println!("soak: kept: {}", folder.keep().display());
        }
    }
}

impl Drop for SoakSite {
    fn drop(&mut self) {
        let mut server = self.git_server.lock().expect("not poisoned");
        let _ = server.kill();
        let _ = server.wait();
    }
}

pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Runs git, apart from the settings of whoever runs this.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args([
            "-c",
            "user.name=alice",
            "-c",
            "user.email=alice@example.org",
        ])
        .args(arguments)
        .output()
        .context("git is needed")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {arguments:?}: {error}");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub(crate) fn make_repositories(path: &Path) -> Result<()> {
    for name in ["rocket", "main"] {
        let work = path.join(name);
        std::fs::create_dir_all(work.join(".github/workflows"))?;
        git(&work, &["init", "--quiet", "--initial-branch=main", "."])?;
        std::fs::write(work.join(".github/workflows/ci.yml"), WORKFLOW)?;
        std::fs::write(work.join("marker.txt"), "first\n")?;
        git(&work, &["add", "--all"])?;
        git(&work, &["commit", "--quiet", "-m", "first"])?;
    }
    git(path, &["init", "--quiet", "--bare", "rocket.git"])?;
    git(path, &["--git-dir=rocket.git", "update-server-info"])?;
    Ok(())
}

pub(crate) fn orchestrator_settings(
    (path, parent): (&Path, &Path),
    listen: SocketAddr,
    admin: SocketAddr,
    forge: &str,
) -> Result<PathBuf> {
    let folder = parent.join("orchestrator");
    std::fs::create_dir(&folder)?;
    let (out, work) = (path.join("agents.txt"), path.join("main"));
    let agent = |name: &str| {
        format!(
            "[[agents]]\nproject = \"main\"\nname = \"{name}\"\ncli = \"sh\"\nmax_parallel = 8\nscript = \"echo $ORCH_RUN_ID >> {}; echo done\"\n",
            out.display()
        )
    };
    let settings = format!(
        "tick_interval_secs = 5\nwake_on_dispatch = true\nmax_running = 16\nlisten = \"{listen}\"\nadmin_listen = \"{admin}\"\nadmin_token = \"{ADMIN_TOKEN}\"\n\
         [webhook]\nsecret = \"{SECRET}\"\n\
         [forge]\nkind = \"gitea\"\nurl = \"{forge}\"\ntoken = \"forge-token\"\n\
         [mentions]\nmax_dispatches_per_tick = 100\nmax_concurrent_mention_agents = 16\nmax_per_issue_per_hour = 10000\n\
         [pr_dispatch]\nproject = \"main\"\nagents = [ {{ agent = \"builder\", context = \"{}\" }}, {{ agent = \"reviewer\", context = \"{}\" }} ]\n\
         [[projects]]\nid = \"main\"\nrepository = \"{MAIN}\"\nworking_dir = {work:?}\n{}{}{}",
        CONTEXTS[0],
        CONTEXTS[1],
        agent("writer"),
        agent("builder"),
        agent("reviewer"),
    );
    let file = folder.join("orchestrator.toml");
    std::fs::write(&file, settings)?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

fn vm_daemon(path: &Path, agent: &Path, program: PathBuf, log: PathBuf) -> Result<Daemon> {
    let address = free_address()?;
    let (file, data) = (path.join("vm-manager.toml"), path.join("vms"));
    let settings =
        format!("data_dir = {data:?}\n[deadlines]\nboot = \"120s\"\nsilence = \"60s\"\n");
    std::fs::write(&file, settings)?;
    let (agent, file, listen) = (text(agent), text(&file), address.to_string());
    let arguments = ["--agent", &agent, "--config", &file, "--listen", &listen];
    let arguments = arguments.map(str::to_owned).to_vec();
    Ok(Daemon::new(
        "vm-manager",
        address,
        program,
        arguments,
        vec![],
        log,
    ))
}

fn runner_daemon(
    path: &Path,
    forge: &str,
    program: PathBuf,
    variables: Vec<(String, String)>,
    log: PathBuf,
) -> Result<Daemon> {
    let address = free_address()?;
    let (file, data) = (path.join("workflow-runner.toml"), path.join("runs"));
    let settings = format!(
        "data_dir = {data:?}\nallow_http = true\nallow_addresses = [\"127.0.0.1\"]\nforge_url = {forge:?}\n"
    );
    std::fs::write(&file, settings)?;
    let arguments = ["--config", &text(&file), "--listen", &address.to_string()];
    let arguments = arguments.map(str::to_owned).to_vec();
    let name = "workflow-runner";
    Ok(Daemon::new(
        name, address, program, arguments, variables, log,
    ))
}

fn search_daemon(path: &Path, program: PathBuf, log: PathBuf) -> Result<Daemon> {
    let address = free_address()?;
    let settings = path.join("search.json");
    let role = json!({"name": "Soak", "relevance_function": "BM25F", "theme": "spacelab",
        "haystacks": [{"name": "Documents", "service": "LocalFiles", "location": path.join("documents"), "extra_parameters": {"glob": "**"}}],
        "extra": {}});
    std::fs::write(&settings, role.to_string())?;
    let variables = [
        ("SERVICE_SETTINGS_PATH", text(&settings)),
        ("SERVICE_DATA_PATH", text(&path.join("search"))),
        ("SERVICE_SERVER_HOSTNAME", address.to_string()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let name = "search-server";
    Ok(Daemon::new(
        name,
        address,
        program,
        vec![],
        variables.to_vec(),
        log,
    ))
}

pub(crate) fn token(program: &Path, config: &Path) -> Result<String> {
    let output = Command::new(program)
        .arg("--config")
        .arg(config)
        .arg("token")
        .output()
        .with_context(|| format!("{} cannot be started", program.display()))?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "vm-manager token: {error}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// The repositories over HTTP, as a plain web server gives them.
pub(crate) fn serve_files(folder: &Path) -> Result<(Child, u16)> {
    let mut child = Command::new("python3")
        .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"])
        .arg("--directory")
        .arg(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("python3 is needed")?;
    let mut line = String::new();
    let output = child.stdout.take().context("it is piped")?;
    BufReader::new(output).read_line(&mut line)?;
    let port = line.split("port ").nth(1);
    let port = port.and_then(|rest| rest.split(' ').next()?.parse().ok());
    Ok((child, port.with_context(|| format!("no port in {line}"))?))
}
