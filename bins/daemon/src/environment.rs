//! The environment of a daemon: read once, and what may be secret taken out of the block that the
//! system shows.
//!
//! `/proc/<pid>/environ` shows the block that a process was started with, for as long as it lives,
//! whatever the process does to its copy. So a program that finds more in it than the names below
//! starts itself again, in the same process: with those alone in the block, and the rest in a
//! sealed file without a name, which it reads from its standard input.
//!
//! ```text
//! block: PATH, FORGE_TOKEN ─▶ execve(self) ─▶ block: PATH
//!                                             standard input: FORGE_TOKEN, read and closed
//! ```

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use config_core::Environment;
use rustix::fs::{MemfdFlags, SealFlags};

/// Says that the standard input holds the rest of the environment.
const MARKER: &str = "ORRERY_ENVIRONMENT";

/// What stays in the block: where things are, how they are shown, and what the service manager
/// says. None of it is a secret, and libraries and children look for it there. A proxy's address
/// may hold a password: programs that fetch packages know no other place for it.
const OPEN: [&str; 46] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "TMPDIR",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TZDIR",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "LOG_LEVEL",
    "LOG_FORMAT",
    "LD_LIBRARY_PATH",
    "LLVM_PROFILE_FILE",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_MIN_STACK",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "STATE_DIRECTORY",
    "CACHE_DIRECTORY",
    "LOGS_DIRECTORY",
    "RUNTIME_DIRECTORY",
    "CONFIGURATION_DIRECTORY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
];

/// Beginnings of names that stay in the block.
const OPEN_FAMILIES: [&str; 3] = ["LC_", "XDG_", "MIMALLOC_"];

/// The whole environment. Where the block holds more than what may be seen, the process is started
/// anew first, by the same program with the same arguments and the same number. To be called early
/// in `main`, while there is one thread and nothing has been begun.
#[must_use]
pub fn take() -> Environment {
    let block: Vec<Variable> = std::env::vars_os()
        .filter(|(name, _)| name != MARKER)
        .collect();
    let (open, mut private): (Vec<_>, Vec<_>) =
        block.into_iter().partition(|(name, _)| is_open(name));
    let handed_over = std::env::var_os(MARKER).and_then(|_| handed_over());
    let is_left = !private.is_empty();
    private.extend(handed_over.unwrap_or_default());
    if is_left {
        let error = start_again(&open, &private);
        let _ = writeln!(
            io::stderr(),
            "the program's environment stays as it was given, secrets in it included: it cannot be started again: {error}"
        );
    }
    Environment::from_os(open.into_iter().chain(private))
}

/// The whole environment of a command that needs its standard input, which [`take`] uses. The block
/// stays as it was given: of a process that is not dumpable only root can read it.
#[must_use]
pub fn as_given() -> Environment {
    Environment::from_os(std::env::vars_os())
}

type Variable = (OsString, OsString);

fn is_open(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        OPEN.contains(&name) || OPEN_FAMILIES.iter().any(|family| name.starts_with(family))
    })
}

/// Becomes the same program with this environment; gives why it did not.
fn start_again(open: &[Variable], private: &[Variable]) -> io::Error {
    let file = match sealed(private) {
        Ok(file) => file,
        Err(error) => return error,
    };
    let mut arguments = std::env::args_os();
    let name = arguments.next();
    let mut command = Command::new(own_program());
    if let Some(name) = name {
        command.arg0(name);
    }
    command
        .args(arguments)
        .env_clear()
        .envs(open.iter().map(|(name, value)| (name, value)))
        .env(MARKER, "stdin")
        .stdin(file)
        .exec()
}

/// By its path, which is what it is called by in lists of processes; by the kernel's own name for
/// it where its file was replaced or removed meanwhile.
fn own_program() -> PathBuf {
    let path = std::env::current_exe().ok().filter(|path| path.exists());
    path.unwrap_or_else(|| "/proc/self/exe".into())
}

/// A file without a name that holds these variables, at its beginning, and cannot be changed any
/// more.
fn sealed(variables: &[Variable]) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 know no files that never can be run.
    let made = rustix::fs::memfd_create("environment", flags | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| rustix::fs::memfd_create("environment", flags))?;
    let mut file = File::from(made);
    file.write_all(&packed(variables))?;
    file.rewind()?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file)
}

/// What this process left on the standard input before `execve`, which is empty afterwards. `None`
/// when it is something else: whoever sets the marker by hand changes nothing.
fn handed_over() -> Option<Vec<Variable>> {
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let seals = rustix::fs::fcntl_get_seals(&file).ok()?;
    if !seals.contains(SealFlags::WRITE) {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let empty = File::open("/dev/null").ok()?;
    rustix::stdio::dup2_stdin(&empty).ok()?;
    Some(unpacked(&bytes))
}

/// As the system writes a block: `NAME=value`, each ended by a NUL, which neither can hold.
fn packed(variables: &[Variable]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in variables {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(b'=');
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(0);
    }
    bytes
}

fn unpacked(bytes: &[u8]) -> Vec<Variable> {
    let variable = |line: &[u8]| {
        // A name may begin with the sign, as the standard library has it.
        let at = line.iter().skip(1).position(|byte| *byte == b'=')? + 1;
        let (name, value) = (line[..at].to_vec(), line[at + 1..].to_vec());
        Some((OsString::from_vec(name), OsString::from_vec(value)))
    };
    bytes
        .split(|byte| *byte == 0)
        .filter_map(variable)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t4_only_names_that_are_known_to_be_harmless_stay_in_the_block() {
        for open in [
            "PATH",
            "LC_ALL",
            "XDG_DATA_HOME",
            "NOTIFY_SOCKET",
            "WATCHDOG_USEC",
        ] {
            assert!(is_open(OsStr::new(open)), "{open}");
        }
        for private in [
            "ORCH_WEBHOOK_SECRET",
            "FORGE_TOKEN",
            "VMM_AUTH_TOKEN",
            "CARGO_REGISTRY_TOKEN",
            "RUST_SECRET",
            "ANYTHING",
            "PATHS",
            "LC",
            "",
        ] {
            assert!(!is_open(OsStr::new(private)), "{private}");
        }
        let strange = OsString::from_vec(vec![b'P', 0xff]);
        assert!(!is_open(&strange));
    }

    #[test]
    fn t4_a_block_is_handed_over_as_it_is() {
        let variable = |name: &[u8], value: &[u8]| {
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            (text(name), text(value))
        };
        let variables = vec![
            variable(b"TOKEN", b"a=b=c"),
            variable(b"EMPTY", b""),
            variable(b"LINES", b"one\ntwo\n"),
            variable(b"BYTES", &[0xff, 0xfe]),
            variable(b"=odd", b"x"),
        ];
        assert_eq!(unpacked(&packed(&variables)), variables);
        let mut file = sealed(&variables).expect("a file");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .expect("it is read from its beginning");
        assert_eq!(unpacked(&bytes), variables);
        assert!(file.write_all(b"x").is_err(), "nobody can change it");
    }
}
