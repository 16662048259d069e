//! A PostgreSQL server of the demonstration's own: made in a temporary folder, started on a port of
//! its own, stopped and removed with it. Nothing of a server that the machine has already is
//! touched.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::super::secrets;

/// What to do where there is none.
const INSTALL: &str = "PostgreSQL 15 or newer is needed and was not found: install its server, with Debian or Ubuntu \
     `apt-get install postgresql`, with Fedora `dnf install postgresql-server`";
/// The oldest that the store takes.
const OLDEST: u32 = 15;
/// The role, and its database.
const NAME: &str = "orrery";
/// How long a start or an end may take.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Below those that the system gives to connections and to whoever asks for any, from 32768 on.
const PORTS: Range<u16> = 20_000..32_000;

/// The server. Dropped, it is stopped and removed.
pub(super) struct Database {
    /// Temporary: root's server runs as another user, who cannot enter root's home.
    folder: TempDir,
    programs: PathBuf,
    /// Whom it runs as, where that is not this process's user: it refuses to run as root.
    user: Option<(u32, u32)>,
    port: u16,
    password: String,
    server: Option<Child>,
}

impl Database {
    /// Makes it and starts it.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, with what to install; when it does not start, with its
    /// log.
    pub(super) fn start() -> Result<Self> {
        let root = rustix::process::geteuid().is_root();
        let user = root
            .then(|| account("postgres").context("root starts it as the user `postgres`"))
            .transpose();
        let mut database = Self {
            folder: tempfile::Builder::new().prefix("orrery-pg-").tempdir()?,
            programs: programs(Path::new("/usr/lib/postgresql")).context(INSTALL)?,
            user: user.context(INSTALL)?,
            port: free_port()?,
            password: secrets::random()?,
            server: None,
        };
        if let Some((uid, gid)) = database.user {
            chown(database.folder.path(), Some(uid), Some(gid))?;
        }
        database.make()?;
        database.serve()?;
        let own = database.folder.path().to_owned();
        let mut make = database.command("createdb");
        run(make.arg("-h").arg(own).args(["-U", NAME, NAME]))?;
        Ok(database)
    }

    fn make(&self) -> Result<()> {
        let file = self.folder.path().join("password");
        std::fs::write(&file, &self.password)?;
        // The folder is its user's alone.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644))?;
        let mut make = self.command("initdb");
        make.args(["--no-instructions", "--locale=C", "-E", "UTF8"])
            .args(["-A", "scram-sha-256", "-U", NAME, "--pwfile"])
            .arg(&file)
            .arg("-D")
            .arg(self.folder.path().join("data"));
        run(&mut make)?;
        std::fs::remove_file(&file).context("the password's file cannot be removed")
    }

    fn serve(&mut self) -> Result<()> {
        let (folder, log) = (self.folder.path(), self.folder.path().join("log"));
        let mut command = self.command("postgres");
        command
            .arg("-D")
            .arg(folder.join("data"))
            .arg("-k")
            .arg(folder)
            .args(["-c", "listen_addresses=127.0.0.1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            // Ctrl-C reaches the demonstration only.
            .process_group(0);
        let mut server = command.spawn().context(INSTALL)?;
        let started = Instant::now();
        loop {
            let ready = self
                .command("pg_isready")
                .arg("-q")
                .arg("-h")
                .arg(folder)
                .status();
            if ready.is_ok_and(|status| status.success()) {
                self.server = Some(server);
                return Ok(());
            }
            let ended = server.try_wait()?.is_some();
            if ended || started.elapsed() > TIMEOUT {
                let _ = server.kill();
                let _ = server.wait();
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                bail!("PostgreSQL does not start: {}", said.trim());
            }
            std::thread::park_timeout(POLL_INTERVAL);
        }
    }

    /// One of its programs, as its user.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
            .current_dir(self.folder.path())
            .env("PGPASSWORD", &self.password)
            .env("PGPORT", self.port.to_string())
            .env("LC_ALL", "C");
        command
    }

    /// Its address, as a store takes it.
    pub(super) fn url(&self) -> String {
        let (password, port) = (&self.password, self.port);
        format!("postgresql://{NAME}:{password}@127.0.0.1:{port}/{NAME}?sslmode=disable")
    }

    /// For people.
    pub(super) fn describe(&self) -> String {
        let version = self.command("postgres").arg("--version").output();
        let version = version.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
        format!(
            "{} on 127.0.0.1:{}",
            version
                .unwrap_or_default()
                .replace("postgres (PostgreSQL)", "PostgreSQL"),
            self.port
        )
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some(mut server) = self.server.take() else {
            return;
        };
        // SIGINT: it ends all sessions and itself. It may have ended already.
        let _ = kill_process(Pid::from_child(&server), Signal::INT);
        let asked = Instant::now();
        while matches!(server.try_wait(), Ok(None)) && asked.elapsed() < TIMEOUT {
            std::thread::park_timeout(POLL_INTERVAL);
        }
        let _ = server.kill();
        let _ = server.wait();
    }
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().display().to_string();
    let output = command
        .output()
        .with_context(|| format!("{name} cannot be started"))?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// A port that is free now, another one each time. No connection takes it before its member does.
///
/// # Errors
/// When there is none.
pub(super) fn free_port() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Two clusters on one machine begin at different places.
    let begin = std::process::id().wrapping_mul(101);
    for _ in PORTS {
        let number = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + (number % u32::from(PORTS.end - PORTS.start)) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!(
        "no port of 127.0.0.1 from {} to {} is free",
        PORTS.start,
        PORTS.end
    )
}

/// The folder of the newest server's programs: of Debian's folder of versions, else of `PATH`.
fn programs(versions: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(versions).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let newest = numbers.filter(|version| *version >= OLDEST).max();
    let debian = newest.map(|version| versions.join(format!("{version}/bin")));
    let debian = debian.filter(|folder| folder.join("initdb").is_file());
    debian.or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| folder.join("initdb").is_file())
    })
}

/// User and group of an account.
fn account(name: &str) -> Option<(u32, u32)> {
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let found = accounts.lines().map(fields).find(|line| line[0] == name)?;
    Some((found.get(2)?.parse().ok()?, found.get(3)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_the_newest_server_is_taken_and_an_old_one_is_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for version in ["14", "15", "9.6", "16"] {
            let bin = folder.path().join(version).join("bin");
            std::fs::create_dir_all(&bin).expect("it is new");
            std::fs::write(bin.join("initdb"), "").expect("it is new");
        }
        let newest = programs(folder.path()).expect("16");
        assert_eq!(newest, folder.path().join("16/bin"));
        for version in ["15", "16"] {
            std::fs::remove_dir_all(folder.path().join(version)).expect("it is ours");
        }
        let other = programs(folder.path());
        assert!(other.is_none_or(|found| !found.starts_with(folder.path())));
        assert!(INSTALL.contains("apt-get install postgresql"));
        assert_eq!(account("root"), Some((0, 0)));
    }

    #[test]
    fn i18_a_member_has_a_port_that_no_connection_takes() {
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
        let range = range.expect("Linux says it");
        let first: u16 = range
            .split_whitespace()
            .next()
            .expect("two")
            .parse()
            .expect("a port");
        let [one, other] = [(); 2].map(|()| free_port().expect("a free port"));
        assert!(
            one != other && one < first && other < first,
            "{one} {other} {range}"
        );
    }
}
