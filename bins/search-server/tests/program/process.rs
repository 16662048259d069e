//! The process as others of the machine see it: its environment, its files, its limits, its
//! signals, its figures.

use std::fs;
use std::io::Read as _;
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::Signal;
use scripted_peers::Program;

use super::{DEADLINE, get, home, program, search, until_indexed};

/// The token that the server wants, and what stands for everything else a service's file may hold.
const TOKEN: &str = "planted-token-of-the-tests-0123456789";
const OTHER: &str = "planted-in-a-variable-of-any-name";

/// The same command, begun by a shell that does `first`.
fn after(first: &str, command: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &format!("{first}; exec \"$@\""), "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        shell.env(name, value.expect("none is taken out"));
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell
}

fn file_of(running: &Program, name: &str) -> PathBuf {
    Path::new("/proc")
        .join(running.child.id().to_string())
        .join(name)
}

/// Whether this may look into the server: nobody but root may, which is what is wanted.
fn may_look() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn t4_no_secret_stands_in_the_environment_that_the_system_shows() {
    let home = home();
    let mut command = program(home.path());
    command
        .env("SERVICE_API_TOKEN", TOKEN)
        .env("SOME_NAME", OTHER)
        .env("PATH", "/usr/bin:/bin")
        .arg("--listen")
        .arg("127.0.0.1:0");
    let running = Program::start(command);
    let refused = get(&running, "/config");
    assert_eq!(refused.status, 401, "it has its token");
    let arguments = fs::read(file_of(&running, "cmdline")).expect("shown");
    assert!(String::from_utf8_lossy(&arguments).ends_with("--listen\x00127.0.0.1:0\x00"));
    let name = fs::read_to_string(file_of(&running, "comm")).expect("shown");
    assert_eq!(name.trim(), "search-server");
    let block = fs::read(file_of(&running, "environ"));
    assert_eq!(block.is_ok(), may_look());
    let Ok(block) = block else {
        return;
    };
    let block = String::from_utf8_lossy(&block).into_owned();
    for planted in [TOKEN, OTHER, "SERVICE_API_TOKEN", "SOME_NAME"] {
        assert!(!block.contains(planted), "{planted} is in {block:?}");
    }
    assert!(block.contains("PATH=/usr/bin:/bin"), "{block:?}");
    // What was handed over is closed.
    let stdin = fs::read_link(file_of(&running, "fd/0")).expect("it is open");
    assert_eq!(stdin, Path::new("/dev/null"));
    let files = fs::read_dir(file_of(&running, "fd")).expect("a folder");
    let links = files.filter_map(|file| fs::read_link(file.expect("an entry").path()).ok());
    let handed: Vec<_> = links
        .filter(|link| link.to_string_lossy().contains("memfd:environment"))
        .collect();
    assert!(handed.is_empty(), "{handed:?}");
}

/// Root may look into everything: there, both are another user.
#[test]
fn t4_no_process_of_the_same_user_can_look_into_it() {
    let home = home();
    let root = rustix::process::geteuid().is_root();
    let place = home.path().join("search-server");
    fs::copy(env!("CARGO_BIN_EXE_search-server"), &place).expect("a copy");
    let mut command = Command::new(&place);
    for (name, value) in program(home.path()).get_envs() {
        command.env(name, value.expect("none is taken out"));
    }
    command
        .env("SERVICE_API_TOKEN", TOKEN)
        .current_dir(home.path())
        .stdin(Stdio::null());
    let mut look = Command::new("/bin/cat");
    if root {
        for path in [
            home.path().to_owned(),
            home.path().join("Documents"),
            home.path().join("Documents/note.md"),
            place,
        ] {
            std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).expect("as root");
        }
        command.uid(65_534).gid(65_534);
        look.uid(65_534).gid(65_534);
    }
    let running = Program::start(command);
    look.arg(file_of(&running, "environ"))
        .arg(file_of(&running, "maps"));
    let looked = look.output().expect("cat is installed");
    assert!(!looked.status.success());
    assert!(
        looked.stdout.is_empty(),
        "{:?}",
        String::from_utf8_lossy(&looked.stdout)
    );
    // It reads its own figures nevertheless.
    assert_eq!(get(&running, "/livez").status, 200);
}

#[test]
fn y1_sighup_does_not_end_it_and_is_answered_in_the_log() {
    let home = home();
    let mut running = Program::start(program(home.path()));
    running.signal(Signal::HUP);
    running.wait_for("server.hangup_ignored");
    assert_eq!(get(&running, "/livez").status, 200);
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
}

/// Everything below a folder that others may do something with.
fn open_to_others(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let data = fs::symlink_metadata(&path).expect("it is there");
        if !data.is_symlink() && data.mode() & 0o077 != 0 {
            found.push(format!("{:o} {}", data.mode(), path.display()));
        }
        if data.is_dir() {
            open_to_others(&path, found);
        }
    }
}

#[test]
fn t10_what_it_writes_is_its_user_s_alone_and_an_open_folder_is_closed_and_said() {
    let home = home();
    let data = home.path().join("data");
    fs::create_dir(&data).expect("a folder");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("own");
    let mut running = Program::start(after("umask 022", &program(home.path())));
    let log = running.output();
    assert!(log.contains("data.tightened"), "{log}");
    until_indexed(&running);
    let mut open = Vec::new();
    open_to_others(&data, &mut open);
    assert_eq!(open, [""; 0]);
    assert_eq!(fs::metadata(&data).expect("a folder").mode() & 0o777, 0o700);
    let roles = home.path().join(".config/service/config.json");
    assert_eq!(fs::metadata(roles).expect("made").mode() & 0o777, 0o600);
    running.kill();
    let log = Program::start(after("umask 022", &program(home.path()))).output();
    assert!(!log.contains("data.tightened"), "{log}");
}

#[test]
fn t8_a_thousand_idle_connections_stop_nothing_with_systemd_s_default_of_descriptors() {
    let home = home();
    // The hard limit too: nothing can be raised.
    let running = Program::start(after(
        "ulimit -Sn 1024; ulimit -Hn 1024",
        &program(home.path()),
    ));
    let log = running.output();
    assert!(log.contains("process.few_files"), "{log}");
    let mut silent: Vec<TcpStream> = (0..1_000)
        .map(|_| TcpStream::connect(&running.address).expect("it is taken or waits"))
        .collect();
    // 128 have a place: the others have gone, so all of them were taken.
    let mut left = silent.len();
    let deadline = Instant::now() + DEADLINE;
    while left > 128 {
        assert!(Instant::now() < deadline, "{left} are left");
        silent.retain_mut(|stream| {
            stream.set_nonblocking(true).expect("a socket");
            let read = stream.read(&mut [0; 8]);
            read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
        });
        left = silent.len();
        std::thread::yield_now();
    }
    for _ in 0..3 {
        assert_eq!(get(&running, "/livez").status, 200);
        assert_eq!(get(&running, "/readyz").status, 200);
        assert_eq!(search(&running, "needle").status, 200);
    }
    let open = fs::read_dir(file_of(&running, "fd")).map(Iterator::count);
    let open = open.unwrap_or_default();
    assert!(open < 512, "{open} files are open");
}

#[test]
fn t8_the_soft_limit_of_open_files_is_raised_to_the_hard_one() {
    let home = home();
    let running = Program::start(after(
        "ulimit -Sn 256; ulimit -Hn 9000",
        &program(home.path()),
    ));
    let limits = fs::read_to_string(file_of(&running, "limits")).expect("shown");
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let words: Vec<&str> = line.expect("it is there").split_whitespace().collect();
    assert_eq!(words[3..5], ["9000", "9000"]);
    assert!(!running.output().contains("process.few_files"));
}

#[test]
fn y9_its_process_s_figures_are_shown_and_right() {
    let home = home();
    let running = Program::start(program(home.path()));
    let text = get(&running, "/metrics").body;
    let figure = |name: &str| -> f64 {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")));
        let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
        line.split(' ')
            .nth(1)
            .expect("a number")
            .parse()
            .expect("a number")
    };
    let status = fs::read_to_string(file_of(&running, "status")).expect("shown");
    let resident: f64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok())
        .expect("a number");
    let shown = figure("process_resident_memory_bytes");
    assert!(
        shown > 1e6 && shown <= resident * 1024.0 + 16e6,
        "{shown}, at most {resident} kB"
    );
    assert!(figure("process_open_fds") >= 5.0);
    assert!(figure("process_max_fds") >= figure("process_open_fds"));
    assert!(figure("process_threads") >= 2.0);
    assert!(figure("process_cpu_seconds_total") >= 0.0);
    assert!(figure("process_virtual_memory_bytes") >= shown);
    let started = figure("process_start_time_seconds");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let ago = now.expect("after 1970").as_secs_f64() - started;
    assert!((-5.0..600.0).contains(&ago), "started {ago} s ago");
}

#[test]
fn y7_the_log_looks_as_it_is_told_and_settings_are_in_the_xdg_folder() {
    let home = home();
    let config = home.path().join("my config");
    let start = |flag: &[&str], variable: &str| {
        let mut command = program(home.path());
        command
            .args(flag)
            .env("LOG_FORMAT", variable)
            .env("XDG_CONFIG_HOME", &config);
        Program::start(command).wait_for("server.listening")
    };
    let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    assert!(is_json(&start(&[], "")), "not on a terminal");
    let human = start(&[], "human");
    assert!(!is_json(&human) && !human.contains('\u{1b}'), "{human}");
    assert!(
        is_json(&start(&["--log-format", "json"], "human")),
        "a flag wins"
    );
    assert!(config.join("service/config.json").exists());
    assert!(!home.path().join(".config").exists());
    let wrong = program(home.path())
        .env("LOG_FORMAT", "xml")
        .output()
        .expect("it runs");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        super::text(&wrong).contains("LOG_FORMAT"),
        "{}",
        super::text(&wrong)
    );
}
