//! How far an agent is kept apart from the host: the best that the host allows, tried once at the
//! start.
//!
//! | level | what it is | how it is had |
//! |---|---|---|
//! | `sandbox` | its own process table; the orchestrator's files, other runs and worktrees out of sight | bubblewrap |
//! | `pid_namespace` | its own process table | `unshare` of util-linux |
//! | `none` | a process of the orchestrator's user | |
//!
//! In the first two the namespace's first process is what a kill ends: nothing of the run survives
//! it, whatever it forks, and a process belongs to a run by descent.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Rights of root that an agent never needs and that lead out: mounts, other processes, devices,
/// the kernel.
const DROPPED_CAPABILITIES: [&str; 13] = [
    "CAP_SYS_ADMIN",
    "CAP_SYS_PTRACE",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_BOOT",
    "CAP_SYS_TIME",
    "CAP_SYSLOG",
    "CAP_MKNOD",
    "CAP_DAC_READ_SEARCH",
    "CAP_NET_ADMIN",
    "CAP_MAC_ADMIN",
    "CAP_BPF",
    "CAP_PERFMON",
];

/// Whether bubblewrap's last line says that a path was gone while it made its mounts: somebody
/// removed or replaced a folder at that moment, and the next attempt finds another one. That the
/// program itself is not there is no such case.
#[must_use]
pub fn is_vanished_path(line: &str) -> bool {
    line.starts_with("bwrap: ")
        && !line.starts_with("bwrap: execvp")
        && line.ends_with("No such file or directory")
}

/// Runs a program as the child of a first process that forwards nothing and ends with it.
const INIT_SCRIPT: &str = "\"$@\"; exit \"$?\"";

/// A level, with what is needed for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sandbox {
    /// Bubblewrap, at this path.
    Bubblewrap(PathBuf),
    /// `unshare`, at this path; with a user namespace where this process is not root.
    PidNamespace {
        /// The program.
        program: PathBuf,
        /// Whether a user namespace is needed.
        user: bool,
    },
    /// Neither works here.
    None {
        /// Why.
        why: String,
    },
}

/// What of the host an agent does not see, and what it sees below that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Folders and files that are empty for the agent.
    pub hidden: Vec<PathBuf>,
    /// What it may write to below them.
    pub writable: Vec<PathBuf>,
    /// What it may read below them.
    pub readable: Vec<PathBuf>,
}

impl Sandbox {
    /// The strongest level that works here, by trying; `path` is where programs are looked for.
    pub fn detect(path: &str) -> Self {
        let mut why = Vec::new();
        let mut works = |name: &str, make: &dyn Fn(PathBuf) -> Self| -> Option<Self> {
            let Some(program) = find(name, path, Path::new("/")) else {
                why.push(format!("{name} is not installed"));
                return None;
            };
            let level = make(program);
            match level.canary() {
                Ok(()) => Some(level),
                Err(error) => {
                    why.push(format!("{name}: {error}"));
                    None
                }
            }
        };
        let user = !rustix::process::geteuid().is_root();
        works("bwrap", &Self::Bubblewrap)
            .or_else(|| works("unshare", &|program| Self::PidNamespace { program, user }))
            .unwrap_or_else(|| Self::None {
                why: why.join("; "),
            })
    }

    /// No sandbox, because the configuration says so.
    pub fn off() -> Self {
        Self::None {
            why: "isolation = \"none\"".to_owned(),
        }
    }

    /// The word of records, logs and pages.
    pub fn level(&self) -> &'static str {
        match self {
            Self::Bubblewrap(_) => "sandbox",
            Self::PidNamespace { .. } => "pid_namespace",
            Self::None { .. } => "none",
        }
    }

    /// Why the level is not `sandbox`; `None` where it is.
    pub fn shortfall(&self) -> Option<String> {
        match self {
            Self::Bubblewrap(_) => None,
            Self::PidNamespace { .. } => Some(
                "bubblewrap does not work here: agents have a process table of their own, and see the files of their user"
                    .to_owned(),
            ),
            Self::None { why } => Some(format!(
                "agents are processes of this user like any other ({why}); install bubblewrap"
            )),
        }
    }

    /// Whether the run has a process table of its own.
    pub(super) fn has_namespace(&self) -> bool {
        !matches!(self, Self::None { .. })
    }

    /// Whether the start is told on a descriptor (bubblewrap's `--json-status-fd`).
    pub(super) fn reports_status(&self) -> bool {
        matches!(self, Self::Bubblewrap(_))
    }

    /// The command line that starts `program` inside, in `folder`.
    pub(super) fn wrap(
        &self,
        view: &View,
        folder: &Path,
        status: Option<i32>,
        (program, arguments): (&Path, &[OsString]),
    ) -> (PathBuf, Vec<OsString>) {
        let mut line: Vec<OsString> = Vec::new();
        let outer = match self {
            Self::None { .. } => return (program.to_owned(), arguments.to_vec()),
            Self::Bubblewrap(outer) => {
                line.extend(words(
                    "--die-with-parent --unshare-pid --unshare-ipc --dev-bind / / --proc /proc",
                ));
                if rustix::process::geteuid().is_root() {
                    line.extend(
                        DROPPED_CAPABILITIES
                            .iter()
                            .flat_map(|right| words("--cap-drop").chain([right.into()])),
                    );
                }
                line.extend(view.arguments());
                if let Some(status) = status {
                    line.extend(["--json-status-fd".into(), status.to_string().into()]);
                }
                line.extend(["--chdir".into(), folder.into(), "--".into()]);
                outer
            }
            Self::PidNamespace { program, user } => {
                if *user {
                    line.extend(words("--user --map-current-user"));
                }
                line.extend(words(
                    "--pid --fork --kill-child=SIGKILL --mount-proc -- /bin/sh -c",
                ));
                line.extend([INIT_SCRIPT.into(), "first".into()]);
                program
            }
        };
        line.push(program.into());
        line.extend_from_slice(arguments);
        (outer.clone(), line)
    }

    /// Whether a program that is started this way is in another process table, with `/proc` showing
    /// that one.
    fn canary(&self) -> Result<(), String> {
        let own = std::fs::read_link("/proc/self/ns/pid").map_err(|error| error.to_string())?;
        let ask = [OsString::from("-c"), "readlink /proc/self/ns/pid".into()];
        let (program, line) = self.wrap(
            &View::default(),
            Path::new("/"),
            None,
            (Path::new("/bin/sh"), &ask),
        );
        // In a session of its own, as runs are: what it leaves to this process is collected as
        // theirs is.
        let output = Command::new("setsid")
            .arg("--wait")
            .arg(program)
            .args(line)
            .current_dir("/")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let answer = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && answer.starts_with("pid:") && Path::new(answer.trim()) != own
        {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(forge_core::text::one_line(
            &format!("{} {stderr}", output.status),
            200,
        ))
    }
}

impl View {
    /// Mounts, those of folders before those of what is in them.
    fn arguments(&self) -> Vec<OsString> {
        let mut mounts: Vec<(PathBuf, u8)> = Vec::new();
        let mut add = |paths: &[PathBuf], rank: u8| {
            let real = paths.iter().filter_map(|path| path.canonicalize().ok());
            mounts.extend(real.map(|path| (path, rank)));
        };
        add(&self.hidden, 0);
        add(&self.readable, 1);
        add(&self.writable, 2);
        mounts.sort();
        let mut line = Vec::new();
        for (path, rank) in mounts {
            let path = path.into_os_string();
            match rank {
                0 if Path::new(&path).is_dir() => line.extend(["--tmpfs".into(), path]),
                0 => line.extend(["--ro-bind".into(), "/dev/null".into(), path]),
                1 => line.extend(["--ro-bind".into(), path.clone(), path]),
                // What has gone meanwhile is not needed.
                _ => line.extend(["--bind-try".into(), path.clone(), path]),
            }
        }
        line
    }
}

/// A program as `exec` would find it: by its path, from `folder`, or by its name in `path`.
pub(super) fn find(program: impl AsRef<Path>, path: &str, folder: &Path) -> Option<PathBuf> {
    let program = program.as_ref();
    let runs = |file: &PathBuf| {
        let data = file.metadata();
        data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if program.components().count() > 1 || program.is_absolute() {
        return Some(folder.join(program)).filter(runs);
    }
    path.split(':')
        .filter(|place| !place.is_empty())
        .map(|place| folder.join(place).join(program))
        .find(runs)
}

fn words(text: &str) -> impl Iterator<Item = OsString> {
    text.split(' ').map(OsString::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t4_mounts_come_from_the_top_down() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let data = root.join("data");
        std::fs::create_dir_all(data.join("runs/a")).unwrap();
        std::fs::write(data.join("runs/a/prompt.md"), "").unwrap();
        std::fs::write(root.join("tokens.json"), "").unwrap();
        let view = View {
            hidden: vec![root.join("tokens.json"), data.clone(), root.join("absent")],
            writable: vec![data.join("runs/a")],
            readable: vec![data.join("runs/a/prompt.md")],
        };
        let shown: Vec<String> = view
            .arguments()
            .iter()
            .map(|word| word.to_string_lossy().replace(&*root.to_string_lossy(), ""))
            .collect();
        assert_eq!(
            shown.join(" "),
            "--tmpfs /data --bind-try /data/runs/a /data/runs/a --ro-bind /data/runs/a/prompt.md \
             /data/runs/a/prompt.md --ro-bind /dev/null /tokens.json"
        );
    }

    #[test]
    fn a_program_is_found_as_exec_finds_it() {
        let root = Path::new("/");
        assert!(find("sh", "/nowhere::/usr/bin:/bin", root).is_some());
        assert_eq!(find("sh", "/nowhere", root), None);
        assert_eq!(find("/nonexistent/agent", "/bin", root), None);
        assert_eq!(
            find("./sh", "/nowhere", Path::new("/bin")),
            Some("/bin/./sh".into())
        );
        assert_eq!(find("/etc/passwd", "", root), None, "it cannot be executed");
    }
}
