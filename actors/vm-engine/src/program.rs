//! Finding programs, and keeping them from outliving this one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::DriverError;

/// Starts a program that gets a signal when its parent goes (prctl(2), `PR_SET_PDEATHSIG`); part of
/// util-linux, which every Debian has.
const LEASH: &str = "setpriv";
/// Runs the program in the background and hands the signal on to all of its group: mmdebstrap
/// leaves it to its children to end, as they do when somebody types Ctrl-C. What it makes is part
/// of a file system in which everybody finds programs: with this program's own mask nobody would.
///
/// A folder for what it makes meanwhile goes with it.
const HAND_ON: &str = r#"umask 022
trap 'trap "" TERM; kill -TERM 0; wait; rm -rf --one-file-system ${ORRERY_SCRATCH:+"$ORRERY_SCRATCH"}; exit 143' TERM
"$@" & wait $!"#;
/// The folder that goes when a leashed program is ended.
pub(crate) const SCRATCH: &str = "ORRERY_SCRATCH";

/// The file that a program's name stands for: a path itself, a name looked for in `PATH`.
pub(crate) fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// The file of a program that may be started, by its path or by its name in `PATH`. It is not run.
pub fn installed(program: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let may_run = |file: &PathBuf| {
        file.metadata()
            .is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
    };
    find(program).filter(may_run)
}

/// The file of a program that VMs need, which can be started and says its version.
pub(crate) fn usable(program: &Path, hint: &'static str) -> Result<PathBuf, DriverError> {
    let failed = |source| DriverError::Program {
        program: program.display().to_string(),
        hint,
        source,
    };
    let missing = || std::io::Error::new(std::io::ErrorKind::NotFound, "there is no such program");
    let found = find(program).ok_or_else(|| failed(missing()))?;
    let output = Command::new(&found)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(failed)?;
    if output.status.success() {
        return Ok(found);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or_default();
    let ended = format!("`--version` ended with {}: {said}", output.status);
    Err(failed(std::io::Error::other(ended)))
}

/// The same command in a process group of its own, which is sent SIGTERM when the thread that
/// starts it ends, and with that when this program ends in whatever way: mmdebstrap then takes down
/// what it has mounted and removes what it has made.
pub(crate) fn leashed(command: &Command) -> Command {
    use std::os::unix::process::CommandExt as _;
    let Some(leash) = find(Path::new(LEASH)) else {
        return rebuild(Command::new(command.get_program()), command);
    };
    let mut leashed = Command::new(leash);
    leashed
        .args(["--pdeathsig", "TERM", "--", "sh", "-c", HAND_ON, "sh"])
        .arg(command.get_program())
        .process_group(0);
    rebuild(leashed, command)
}

fn rebuild(mut to: Command, from: &Command) -> Command {
    to.args(from.get_args());
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
    if let Some(folder) = from.get_current_dir() {
        to.current_dir(folder);
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_path_and_paths_are_taken_as_they_are() {
        assert_eq!(find(Path::new("/bin/sh")), Some("/bin/sh".into()));
        assert!(find(Path::new("sh")).is_some_and(|file| file.is_absolute()));
        assert_eq!(find(Path::new("no-such-program")), None);
        assert_eq!(find(Path::new("/no/such/program")), None);
    }

    #[test]
    fn a_program_that_does_not_run_is_not_usable() {
        assert!(usable(Path::new("tar"), "").is_ok_and(|file| file.is_absolute()));
        for (program, why) in [
            ("no-such-program", "no such program"),
            ("false", "--version"),
        ] {
            let error = usable(Path::new(program), "install it").unwrap_err();
            let text = error.to_string();
            assert!(text.contains(why) && text.contains("install it"), "{text}");
        }
    }

    #[test]
    fn a_leashed_program_ends_with_the_thread_that_started_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                "trap 'echo ended > end; exit' TERM; echo > begun; while :; do sleep 0.05; done",
            ])
            .env("A", "b")
            .current_dir(folder.path());
        let mut child = std::thread::scope(|scope| {
            let starter = scope.spawn(|| {
                let child = leashed(&command).spawn().unwrap();
                while !folder.path().join("begun").exists() {
                    std::thread::park_timeout(std::time::Duration::from_millis(5));
                }
                child
            });
            starter.join().unwrap()
        });
        child.wait().unwrap();
        assert!(folder.path().join("end").exists());
    }

    #[test]
    fn a_leashed_program_says_and_ends_as_without() {
        let run = |text| {
            leashed(Command::new("sh").args(["-c", text]))
                .output()
                .unwrap()
        };
        let output = run("echo out; echo \"$0 $1\" >&2; exit 7");
        assert_eq!(output.status.code(), Some(7));
        assert_eq!(output.stdout, b"out\n");
        assert!(run("exit 0").status.success());
    }
}
