//! One session on a worker: takes a slot, waits for the files, runs the command.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::error::DispatchError;
use crate::watch::{ChildGuard, StopSignals};
use crate::workers::BuildWorker;

/// What runs on the worker.
const SCRIPT: &str = include_str!("remote.sh");
/// The constant command line there: the script comes over standard input, so that nothing of the
/// command or of its environment stands on a command line.
const COMMAND: &str =
    "exec sh -c 'length=$(head -c 8) && script=$(head -c \"$length\") && eval \"$script\"'";
/// How often a waiting client says that it is still there.
const KEEPALIVE_INTERVAL: Duration = Duration::from_millis(300);

/// The command to run, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BuildJob<'a> {
    pub(crate) command: &'a [String],
    /// The subfolder, from the top.
    pub(crate) prefix: &'a str,
    /// Names it on the worker: `refs/builds/<id>`.
    pub(crate) id: &'a str,
    /// Variables and their values.
    pub(crate) variables: &'a [(String, String)],
}

/// A worker's reply to the request of a slot.
pub(crate) enum SlotReply {
    /// A slot was acquired.
    Slot(WorkerSession),
    /// All are taken.
    Full,
}

/// A session that holds a slot.
pub(crate) struct WorkerSession {
    child: ChildGuard,
    stdin: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The slot's number there.
    pub(crate) slot: String,
}

/// Asks `worker` for a slot; with `wait` it answers once one is free.
pub(crate) fn request_slot(
    worker: &BuildWorker,
    job: BuildJob<'_>,
    wait: bool,
    signals: &StopSignals,
) -> Result<SlotReply, DispatchError> {
    let mut command = Command::new("ssh");
    command
        .args(common())
        .args(&worker.ssh_args)
        .args(["--", &worker.host, COMMAND]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    let mut child = ChildGuard(command.spawn().map_err(DispatchError::Ssh)?);
    let mut stdin = child.0.stdin.take().expect("it was asked for");
    let output = child.0.stdout.take().expect("it was asked for");
    let script = script(worker, job, wait);
    let unreachable = || DispatchError::Unreachable(worker.name.clone());
    stdin
        .write_all(format!("{:08}{script}", script.len()).as_bytes())
        .map_err(|_| unreachable())?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = String::new();
        let _ = (&mut output).take(100).read_line(&mut line);
        let _ = sender.send((line, output));
    });
    let (line, output) = loop {
        match receiver.recv_timeout(KEEPALIVE_INTERVAL) {
            Ok(answered) => break answered,
            Err(RecvTimeoutError::Disconnected) => return Err(unreachable()),
            Err(RecvTimeoutError::Timeout) => {
                signals.check()?;
                // Fails only when the session has ended, which its output says as well.
                let _ = stdin.write_all(b"\n");
            }
        }
    };
    match line.trim_end().split_once(' ') {
        Some(("slot", number)) => Ok(SlotReply::Slot(WorkerSession {
            slot: number.to_owned(),
            child,
            stdin,
            output,
        })),
        None if line.trim_end() == "full" => Ok(SlotReply::Full),
        _ => Err(unreachable()),
    }
}

impl WorkerSession {
    /// Runs the command on the commit, which the worker has by now; the exit code.
    pub(crate) fn run(mut self, commit: &str, signals: &StopSignals) -> Result<u8, DispatchError> {
        let lost = || DispatchError::Lost;
        self.stdin
            .write_all(format!("go {commit}\n").as_bytes())
            .map_err(|_| lost())?;
        // Copied as it comes, by a thread of its own; the input stays open, which says "go on".
        let (sender, receiver) = mpsc::channel();
        let mut output = self.output;
        std::thread::spawn(move || sender.send(copy(&mut output)));
        while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(Duration::from_millis(50))
        {
            signals.check()?;
        }
        let status = signals.wait(&mut self.child.0)?;
        match status.code() {
            Some(255) | None => Err(lost()),
            Some(code) => Ok(u8::try_from(code).unwrap_or(crate::error::EXIT_FAILED)),
        }
    }
}

/// To standard output, each piece at once. A reader that has left ends it, as with any program.
fn copy(output: &mut impl Read) -> std::io::Result<()> {
    let mut chunk = [0; 16 << 10];
    loop {
        let length = output.read(&mut chunk)?;
        if length == 0 {
            return Ok(());
        }
        let mut out = std::io::stdout().lock();
        out.write_all(&chunk[..length])?;
        out.flush()?;
    }
}

/// Arguments of every ssh.
fn common() -> [&'static str; 7] {
    [
        "-T",
        "-o",
        "BatchMode=yes",
        "-o",
        "ConnectTimeout=15",
        "-o",
        "ServerAliveInterval=15",
    ]
}

/// ssh as git starts it: words for a shell of this machine.
pub(crate) fn ssh_command(worker: &BuildWorker) -> String {
    let words = common()
        .into_iter()
        .skip(1)
        .chain(worker.ssh_args.iter().map(String::as_str));
    std::iter::once("ssh")
        .chain(words)
        .map(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The script with what belongs to this job in front of it.
fn script(worker: &BuildWorker, job: BuildJob<'_>, wait: bool) -> String {
    let mut text = format!(
        "folder={}\nslots={}\nwait={}\nprefix={}\nid={}\n",
        quoted(&worker.folder),
        worker.slots,
        u8::from(wait),
        quoted(job.prefix),
        quoted(job.id)
    );
    let words: Vec<String> = job.command.iter().map(|word| quoted(word)).collect();
    let variables: String = job
        .variables
        .iter()
        .map(|(name, value)| format!("export {name}={}; ", quoted(value)))
        .collect();
    text += &format!(
        "build() {{ {variables}exec setsid {}; }}\n",
        words.join(" ")
    );
    text + SCRIPT
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        assert_eq!(quoted("a'b $(id) \n;"), "'a'\\''b $(id) \n;'");
        let worker = &crate::workers::defaults()[0];
        let command = ["echo".to_owned(), "$(touch pwned)'".to_owned()];
        let variables = [("A".to_owned(), "`id`".to_owned())];
        let text = script(
            worker,
            BuildJob {
                command: &command,
                prefix: "a b/",
                id: "i1",
                variables: &variables,
            },
            true,
        );
        assert!(
            text.starts_with("folder='build-worker'\nslots=6\nwait=1\nprefix='a b/'\nid='i1'\n"),
            "{text}"
        );
        assert!(
            text.contains(
                "build() { export A='`id`'; exec setsid 'echo' '$(touch pwned)'\\'''; }\n"
            ),
            "{text}"
        );
    }
}
