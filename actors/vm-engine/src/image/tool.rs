//! Running the programs that make images: what they say on failure is in the error.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program;

/// A program that is missing or failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It is not installed.
    #[error("{program} is missing: install Debian's {package}")]
    Missing {
        /// Which.
        program: String,
        /// Where it comes from.
        package: &'static str,
    },
    /// It cannot be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// Which.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ended with a failure.
    #[error("{program} failed ({status}): {detail}")]
    Failed {
        /// Which.
        program: String,
        /// How it ended.
        status: String,
        /// The last of what it said.
        detail: String,
    },
}

/// Runs it; its output is only seen in the error.
pub(super) fn run(command: &mut Command) -> Result<(), ToolError> {
    output(command).map(drop)
}

/// Runs it; what it wrote to standard output. It does not outlive this program.
pub(super) fn output(command: &mut Command) -> Result<String, ToolError> {
    let program = command.get_program().to_string_lossy().into_owned();
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("LC_ALL", "C.UTF-8");
    if program::find(Path::new(&program)).is_none() {
        let package = package_of(&program);
        return Err(ToolError::Missing { program, package });
    }
    let output = program::leashed(command)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| ToolError::Start {
            program: program.clone(),
            source,
        })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let detail = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    let detail: Vec<&str> = detail.trim().lines().rev().take(6).collect();
    let detail = detail.into_iter().rev().collect::<Vec<_>>().join("; ");
    Err(ToolError::Failed {
        program,
        status: output.status.to_string(),
        detail,
    })
}

/// The same for a program that mounts and that makes its files in a temporary folder of its own:
/// as root it gets a namespace of mounts, which go with it however it is ended (mmdebstrap does not
/// take them down when a signal reaches it within a hook), and `work` to make its files in, which
/// goes when this program is ended.
pub(super) fn run_apart(command: &Command, work: &Path) -> Result<(), ToolError> {
    let program = command.get_program().to_string_lossy().into_owned();
    if program::find(Path::new(&program)).is_none() {
        let package = package_of(&program);
        return Err(ToolError::Missing { program, package });
    }
    run(&mut apart(command, work))
}

fn apart(command: &Command, work: &Path) -> Command {
    let mut apart = Command::new("unshare");
    apart
        .args(["--mount", "--propagation", "private", "--"])
        .arg(command.get_program())
        .args(command.get_args())
        .env("TMPDIR", work)
        .env(program::SCRATCH, work);
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            apart.env(name, value);
        }
    }
    apart
}

fn package_of(program: &str) -> &'static str {
    match program {
        "mke2fs" => "e2fsprogs",
        "mmdebstrap" => "mmdebstrap",
        "apt-get" | "apt-cache" => "apt (this needs a Debian host)",
        "dpkg-deb" => "dpkg (this needs a Debian host)",
        "make" => "make, gcc, bc, flex, bison, libelf-dev and libssl-dev",
        "npm" => "npm",
        "tar" => "tar",
        _ => "package of the same name",
    }
}

/// One word for a shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failed_program_said_is_kept() {
        let error =
            run(Command::new("sh").args(["-c", "echo one >&2; echo two >&2; exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh failed (exit status: 3): one; two");
        assert_eq!(output(Command::new("echo").arg("x")).unwrap(), "x\n");
        let error = run(&mut Command::new("no-such-tool")).unwrap_err();
        assert!(matches!(error, ToolError::Missing { .. }), "{error}");
    }

    /// Ended by a signal, the making of an image left its mounts and its tree.
    #[test]
    fn i17_what_is_made_apart_leaves_nothing_when_it_is_ended() {
        if !rustix::process::geteuid().is_root() {
            // Only root mounts.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        std::fs::create_dir(&work).unwrap();
        let mut command = Command::new("sh");
        let script = "mkdir \"$TMPDIR/tree\" && mount -t tmpfs none \"$TMPDIR/tree\" && touch \"$TMPDIR/tree/in\" && echo \"$BEGUN\" > \"$BEGUN\"; sleep 600";
        let begun = folder.path().join("begun");
        command.args(["-c", script]).env("BEGUN", &begun);
        let mut child = std::thread::scope(|scope| {
            let starter = scope.spawn(|| {
                let child = program::leashed(&apart(&command, &work)).spawn().unwrap();
                while !begun.exists() {
                    std::thread::park_timeout(std::time::Duration::from_millis(5));
                }
                child
            });
            starter.join().unwrap()
        });
        child.wait().unwrap();
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains(work.to_str().unwrap()), "{mounts}");
        assert!(!work.exists());
    }
}
