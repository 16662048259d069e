//! Tasks of this machine, read when they are asked for: Taskwarrior's export and todo.txt files.
//! Blocking.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use search_sources_core::{ParsedItems, SourceDataError, tasks};

use crate::extract::decode;
use crate::walk::{RootDirectory, SkipReason};

/// Largest list of tasks that is read, in bytes.
pub const MAX_TASKS_BYTES: u64 = 16 << 20;

/// Why there are no tasks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TasksError {
    /// The file cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The program cannot be started, or failed.
    #[error("`{program} export` failed: {reason}")]
    Program {
        /// Its name.
        program: String,
        /// What it or the system said.
        reason: String,
    },
    /// It printed something that is no list of tasks.
    #[error(transparent)]
    Data(#[from] SourceDataError),
}

/// The tasks of a todo.txt file; a link to one is followed.
///
/// # Errors
/// When it is no regular file, cannot be read, or is too large.
pub fn todo_txt(path: &Path) -> Result<ParsedItems, TasksError> {
    Ok(tasks::todo_txt(&text_of(path)?))
}

/// The issues of a Beads tracker: its `issues.jsonl`, the folder that holds it, or the folder that
/// holds `.beads`.
///
/// # Errors
/// As [`todo_txt`].
pub fn beads(path: &Path) -> Result<ParsedItems, TasksError> {
    const FILE: &str = "issues.jsonl";
    let below = path.join(".beads").join(FILE);
    let inside = path.join(FILE);
    let file = [&below, &inside].into_iter().find(|file| file.is_file());
    let file = file.map_or(path, |file| file.as_path());
    Ok(tasks::beads(&text_of(file)?))
}

fn text_of(path: &Path) -> Result<String, TasksError> {
    read_text(path, MAX_TASKS_BYTES)
}

/// The text of a file that is read as a whole, of at most so many bytes; a link to one is followed.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<String, TasksError> {
    let failed = |reason: String| TasksError::File {
        path: path.to_owned(),
        reason,
    };
    let real = path
        .canonicalize()
        .map_err(|error| failed(error.to_string()))?;
    let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(failed("it is not a file".to_owned()));
    };
    let root = RootDirectory::open(folder).map_err(|error| failed(error.to_string()))?;
    let key = crate::walk::encode_key(Path::new(name));
    let read = root.read(&key, most, |_| false);
    let read = read.map_err(|reason: SkipReason| failed(reason.to_string()))?;
    let text = decode(read.bytes, crate::extract::TextFormat::Text)
        .ok_or_else(|| failed(SkipReason::Binary.to_string()))?;
    Ok(text.text)
}

/// Taskwarrior's program and the environment it is started with beside this process's own.
#[derive(Debug, Clone)]
pub struct Taskwarrior {
    /// Its name or path.
    pub program: OsString,
    /// Further variables: `TASKRC`, `TASKDATA`.
    pub environment: Vec<(OsString, OsString)>,
}

impl Default for Taskwarrior {
    /// `task`, as the user has set it up.
    fn default() -> Self {
        Self {
            program: "task".into(),
            environment: Vec::new(),
        }
    }
}

impl Taskwarrior {
    /// All tasks but deleted ones. Ends the program when it takes longer than `time` or prints too
    /// much.
    ///
    /// # Errors
    /// When it cannot be started, fails, is too slow, or prints something else.
    pub fn export(&self, time: Duration) -> Result<ParsedItems, TasksError> {
        let failed = |reason: String| TasksError::Program {
            program: self.program.to_string_lossy().into_owned(),
            reason,
        };
        let mut child = self.start().map_err(|error| failed(error.to_string()))?;
        let output = printed(&mut child, time);
        // It has ended, or it has to.
        let ended = match &output {
            Ok(_) => child.wait(),
            Err(_) => child.kill().and_then(|()| child.wait()),
        };
        let output = output.map_err(&failed)?;
        let status = ended.map_err(|error| failed(error.to_string()))?;
        if !status.success() {
            return Err(failed(format!("{status}; run it by hand to see why")));
        }
        Ok(tasks::taskwarrior(&output)?)
    }

    /// Nothing that anybody typed is on its command line; no hook of the user's runs.
    fn start(&self) -> std::io::Result<Child> {
        Command::new(&self.program)
            .args(["rc.gc=off", "rc.confirmation=off", "rc.verbose=nothing"])
            .args(["rc.hooks=off", "export"])
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
    }
}

/// All the child prints, within `time`.
fn printed(child: &mut Child, time: Duration) -> Result<String, String> {
    let stdout = child.stdout.take().ok_or("it has no output")?;
    let (sender, receiver) = sync_channel(1);
    let reading = std::thread::Builder::new().name("task-export".to_owned());
    let reading = reading.spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(MAX_TASKS_BYTES + 1).read_to_end(&mut bytes);
        let _ = sender.send(read.map(|_| bytes));
    });
    reading.map_err(|error| error.to_string())?;
    let bytes = match receiver.recv_timeout(time) {
        Ok(read) => read.map_err(|error| error.to_string())?,
        Err(RecvTimeoutError::Timeout) => return Err(format!("no answer within {time:?}")),
        Err(RecvTimeoutError::Disconnected) => return Err("its output was lost".to_owned()),
    };
    if bytes.len() as u64 > MAX_TASKS_BYTES {
        return Err(format!("it prints more than {MAX_TASKS_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it prints something that is not UTF-8".to_owned())
}
