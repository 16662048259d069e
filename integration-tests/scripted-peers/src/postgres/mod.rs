//! A PostgreSQL server of a test's own, in a temporary folder, on a Unix socket: made, started,
//! killed, stopped and removed by the test. For tests, benchmarks and the demonstration of a
//! cluster only.
//!
//! It needs Debian's `postgresql` (15 or newer), which `cargo xtask test` installs. PostgreSQL
//! refuses to run as root, so root starts it as the user `postgres`, which that package makes.

mod install;
mod transaction;

use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

use install::{INSTALL, VERSIONS, account, programs};
pub use transaction::OpenTransaction;

/// The role, its password, and the database.
const USER: &str = "orrery";
const PASSWORD: &str = "correct horse";
/// Longest that a start or an end may take before a test gives up.
const DEADLINE: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// How a server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Sessions are ended, everything is written (SIGINT).
    Fast,
    /// At once; the next start recovers from the log (SIGQUIT).
    Crash,
}

/// A server. Dropped, it is stopped, and its folder removed.
#[derive(Debug)]
pub struct PostgresServer {
    folder: TempDir,
    programs: PathBuf,
    /// Whom it runs as, where that is not this process's user.
    user: Option<(u32, u32)>,
    /// Of its socket, and of its address where it has one.
    port: u16,
    password: String,
    /// Settings of the test's, `name=value`.
    settings: Vec<String>,
    /// Ctrl-C does not reach it.
    is_apart: bool,
    server: Option<Child>,
}

impl PostgresServer {
    /// Makes a server and starts it.
    #[must_use]
    pub fn start() -> Self {
        Self::with_settings(&[])
    }

    /// [`PostgresServer::start`], with settings (`name=value`).
    #[must_use]
    pub fn with_settings(settings: &[&str]) -> Self {
        Self::make_and_start(settings, &["--wal-segsize=1"], None)
    }

    /// A server that speaks TLS on a port of 127.0.0.1 as well, with this certificate and its key
    /// (PEM).
    #[must_use]
    pub fn with_tls(certificate: &str, key: &str) -> Self {
        let settings = [
            "listen_addresses=127.0.0.1",
            "ssl=on",
            "ssl_cert_file=../server.crt",
            "ssl_key_file=../server.key",
        ];
        Self::make_and_start(&settings, &["--wal-segsize=1"], Some((certificate, key)))
    }

    /// Has a server with TLS let nobody in by the network without a certificate that this authority
    /// (PEM) has signed, and whose common name is the role's; no password is asked for then.
    pub fn want_client_certificates(&self, authority: &str) {
        self.place("clients.crt", authority);
        let rules = "local all all scram-sha-256\nhostssl all all all cert\n";
        self.place("data/pg_hba.conf", rules);
        self.sql("ALTER SYSTEM SET ssl_ca_file = '../clients.crt'");
        self.sql("SELECT pg_reload_conf()");
    }

    /// A server on a port of 127.0.0.1 as well, without TLS, with settings.
    #[must_use]
    pub fn on_network(settings: &[&str]) -> Self {
        let mut all = vec!["listen_addresses=127.0.0.1"];
        all.extend(settings);
        let mut server = expect(Self::prepared(free_port(), PASSWORD));
        server.settings = all.into_iter().map(str::to_owned).collect();
        expect(server.make(&["--wal-segsize=1"]));
        server.start_with_database();
        server
    }

    /// A server of the sizes that PostgreSQL itself begins with, on this port of 127.0.0.1 as well,
    /// without TLS. Ctrl-C does not reach it.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, with what to install; when it does not start, with its
    /// log.
    pub fn try_on_network(port: u16, password: &str) -> Result<Self, String> {
        let mut server = Self::prepared(port, password)?;
        server.is_apart = true;
        server.settings = [
            "listen_addresses=127.0.0.1",
            "shared_buffers=128MB",
            "max_connections=100",
        ]
        .map(str::to_owned)
        .to_vec();
        server.make(&[])?;
        if !server.try_start(Instant::now() + DEADLINE)? {
            return Err(format!("PostgreSQL does not start: {}", server.log()));
        }
        server.make_database()?;
        Ok(server)
    }

    /// A streaming replica of this server, which was made with [`PostgresServer::on_network`]. From
    /// now on a commit is answered once the replica has it on its disk.
    #[must_use]
    pub fn replica(&self) -> Self {
        let mut replica = expect(Self::prepared(free_port(), PASSWORD));
        replica.settings.clone_from(&self.settings);
        let copied = self
            .command("pg_basebackup")
            .args(["-R", "-X", "stream", "-c", "fast", "--no-sync", "-U", USER])
            .arg("-h")
            .arg(self.folder.path())
            .arg("-D")
            .arg(replica.data())
            .output();
        expect(succeeded("pg_basebackup", copied));
        replica.start_again();
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("SELECT pg_reload_conf()");
        replica
    }

    /// Makes a replica the primary: it waits for no other replica from now on.
    pub fn promote(&self) {
        self.sql("SELECT pg_promote()");
        self.sql("ALTER SYSTEM SET synchronous_standby_names = ''");
        self.sql("SELECT pg_reload_conf()");
    }

    /// The port of 127.0.0.1, for a server that has one.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of its database by another port of 127.0.0.1, a proxy's.
    #[must_use]
    pub fn url_by(port: u16) -> String {
        let password = PASSWORD.replace(' ', "%20");
        format!("postgresql://{USER}:{password}@127.0.0.1:{port}/{USER}?sslmode=disable")
    }

    /// A server with the sizes that PostgreSQL itself begins with, for benchmarks.
    #[must_use]
    pub fn of_usual_size() -> Self {
        Self::make_and_start(&["shared_buffers=128MB"], &[], None)
    }

    fn make_and_start(settings: &[&str], sizes: &[&str], tls: Option<(&str, &str)>) -> Self {
        let port = if tls.is_some() { free_port() } else { 5432 };
        let mut server = expect(Self::prepared(port, PASSWORD));
        server.settings = settings.iter().map(|&setting| setting.into()).collect();
        expect(server.make(sizes));
        if let Some((certificate, key)) = tls {
            server.place("server.crt", certificate);
            server.place("server.key", key);
        }
        server.start_with_database();
        server
    }

    fn start_with_database(&mut self) {
        self.start_again();
        expect(self.make_database());
    }

    fn make_database(&self) -> Result<(), String> {
        self.psql("postgres", &format!("CREATE DATABASE {USER}"))?;
        Ok(())
    }

    /// An empty folder for a server.
    fn prepared(port: u16, password: &str) -> Result<Self, String> {
        let programs = programs(Path::new(VERSIONS)).ok_or(INSTALL)?;
        let no_account = || format!("root starts it as the user `postgres`. {INSTALL}");
        let user = rustix::process::geteuid().is_root();
        let user = user.then(|| account("postgres").ok_or_else(no_account));
        let user = user.transpose()?;
        let folder = tempfile::Builder::new().prefix("pg-").tempdir();
        let folder = folder.map_err(|error| format!("no temporary folder: {error}"))?;
        if let Some((uid, gid)) = user {
            let given = chown(folder.path(), Some(uid), Some(gid));
            given.map_err(|error| format!("{}: {error}", folder.path().display()))?;
        }
        Ok(Self {
            folder,
            programs,
            user,
            port,
            password: password.to_owned(),
            settings: Vec::new(),
            is_apart: false,
            server: None,
        })
    }

    fn make(&self, sizes: &[&str]) -> Result<(), String> {
        let password = self.folder.path().join("password");
        let written = std::fs::write(&password, &self.password);
        // The folder is its user's alone.
        let readable = std::fs::Permissions::from_mode(0o644);
        let written = written.and_then(|()| std::fs::set_permissions(&password, readable));
        written.map_err(|error| format!("{}: {error}", password.display()))?;
        let made = self
            .command("initdb")
            .args(["--no-sync", "--no-instructions", "--locale=C", "-E", "UTF8"])
            .args(["-A", "scram-sha-256", "-U", USER])
            .args(sizes)
            .arg("--pwfile")
            .arg(&password)
            .arg("-D")
            .arg(self.data())
            .output();
        succeeded("initdb", made)?;
        std::fs::remove_file(&password)
            .map_err(|error| format!("the password's file cannot be removed: {error}"))
    }

    /// A file that only the server's user can read.
    fn place(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("the folder can be written");
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&path, mode).expect("the file is ours");
        if let Some((uid, gid)) = self.user {
            chown(&path, Some(uid), Some(gid)).expect("root may give a file away");
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program of the server's, as the server's user.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command.current_dir(self.folder.path());
        command.env("PGPASSWORD", &self.password).env("LC_ALL", "C");
        command.env("PGPORT", self.port.to_string());
        command
    }

    /// The address of its database, as a store takes it.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(USER, &self.password, USER)
    }

    /// An address with another schema.
    #[must_use]
    pub fn url_in(&self, schema: &str) -> String {
        format!("{}?schema={schema}", self.url())
    }

    /// The address of a database of the server, for a role.
    #[must_use]
    pub fn url_of(&self, user: &str, password: &str, database: &str) -> String {
        let socket = self.folder.path().display().to_string().replace('/', "%2F");
        let password = password.replace(' ', "%20");
        format!("postgresql://{user}:{password}@{socket}/{database}")
    }

    /// The address of its database by the network, for a server with TLS, with further parameters.
    #[must_use]
    pub fn network_url(&self, parameters: &str) -> String {
        let (password, port) = (self.password.replace(' ', "%20"), self.port);
        format!("postgresql://{USER}:{password}@127.0.0.1:{port}/{USER}?{parameters}")
    }

    /// What it is and where, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let version = self.command("postgres").arg("--version").output();
        let version = version.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
        let version = version.unwrap_or_default();
        let version = version.replace("postgres (PostgreSQL)", "PostgreSQL");
        format!("{version} on 127.0.0.1:{}", self.port)
    }

    /// Starts a server that was stopped, and waits until it takes statements.
    pub fn start_again(&mut self) {
        assert!(self.server.is_none(), "the server runs already");
        let until = Instant::now() + DEADLINE;
        // What a crash left running may still hold on to the folder for a moment.
        while !expect(self.try_start(until)) {
            assert!(Instant::now() < until, "no start: {}", self.log());
            std::thread::park_timeout(POLL_INTERVAL);
        }
    }

    /// Whether it stays and takes statements.
    fn try_start(&mut self, until: Instant) -> Result<bool, String> {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))
            .map_err(|error| format!("its log cannot be written: {error}"))?;
        let mut command = self.command("postgres");
        command
            .arg("-D")
            .arg(self.data())
            .arg("-k")
            .arg(self.folder.path());
        for setting in [
            "listen_addresses=",
            "shared_buffers=16MB",
            "max_connections=60",
        ] {
            command.args(["-c", setting]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        if self.is_apart {
            command.process_group(0);
        }
        let spawned = command.spawn();
        let mut server = spawned.map_err(|error| format!("postgres: {error}. {INSTALL}"))?;
        loop {
            if server.try_wait().expect("it is our child").is_some() {
                return Ok(false);
            }
            let asked = self
                .command("pg_isready")
                .arg("-q")
                .arg("-h")
                .arg(self.folder.path())
                .status();
            if asked.is_ok_and(|status| status.success()) {
                self.server = Some(server);
                return Ok(true);
            }
            if Instant::now() > until {
                let _ = server.kill();
                let _ = server.wait();
                return Err(format!("the server does not come up: {}", self.log()));
            }
            std::thread::park_timeout(POLL_INTERVAL);
        }
    }

    /// Stops the server, and waits until it has ended.
    pub fn stop(&mut self, how: Stop) {
        if let Some(mut server) = self.server.take() {
            let signal = match how {
                Stop::Fast => Signal::INT,
                Stop::Crash => Signal::QUIT,
            };
            signal_process(&server, signal);
            server.wait().expect("it is our child");
        }
    }

    /// Stops and starts it.
    pub fn restart(&mut self, how: Stop) {
        self.stop(how);
        self.start_again();
    }

    /// Runs statements with `psql` as the role of [`PostgresServer::url`]; what it prints, columns
    /// separated by `|`.
    pub fn sql(&self, statements: &str) -> String {
        expect(self.psql(USER, statements))
    }

    /// Processor time that all its processes have used so far, those that have ended included.
    #[must_use]
    pub fn cpu_time(&self) -> Duration {
        let Some(server) = &self.server else {
            return Duration::ZERO;
        };
        let own = server.id().to_string();
        let ticks: u64 = std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok())
            .filter_map(|stat| ticks_of(&stat, &own))
            .sum();
        Duration::from_millis(ticks * 10)
    }

    /// Transactions that were ended in its database so far, as its statistics have it; they lag by
    /// up to a second.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        let count = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = ";
        let count = self.sql(&format!("{count}'{USER}'"));
        count.parse().expect("a number")
    }

    fn psql(&self, database: &str, statements: &str) -> Result<String, String> {
        let done = self
            .command("psql")
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", USER])
            .arg("-h")
            .arg(self.folder.path())
            .args(["-d", database, "-c", statements])
            .output();
        let output = succeeded("psql", done)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Runs a program of PostgreSQL's (`pg_dump`, `pg_restore`) on its database.
    #[must_use]
    pub fn program(&self, program: &str) -> Command {
        let mut command = self.command(program);
        command.arg("-h").arg(self.folder.path()).args(["-U", USER]);
        command
    }

    /// Begins a transaction with these statements, and holds it open.
    #[must_use]
    pub fn transaction(&self, statements: &str) -> OpenTransaction {
        OpenTransaction::start(self.program("psql"), USER, statements)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop(Stop::Crash);
    }
}

/// What a process's line in /proc says it has used, in ticks of 10 ms, where it is the server or a
/// child of its.
fn ticks_of(stat: &str, server: &str) -> Option<u64> {
    let (head, tail) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    let used = number(11)? + number(12)?;
    if head.split(' ').next()? == server {
        // And what children that have ended had used.
        return Some(used + number(13)? + number(14)?);
    }
    (*fields.get(1)? == server).then_some(used)
}

/// A port that nobody listens on at the moment.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback address is there");
    let address = listener.local_addr().expect("it listens");
    address.port()
}

fn signal_process(process: &Child, signal: Signal) {
    let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    // One that has ended needs no signal.
    let _ = kill_process(pid.expect("processes have numbers"), signal);
}

fn succeeded(program: &str, done: std::io::Result<Output>) -> Result<Output, String> {
    let output = done.map_err(|error| format!("{program}: {error}. {INSTALL}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program}: {}", said.trim()))
}

/// What a test needs to go on.
fn expect<T>(made: Result<T, String>) -> T {
    made.unwrap_or_else(|said| panic!("{said}"))
}
