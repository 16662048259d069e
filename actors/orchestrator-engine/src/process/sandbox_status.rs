//! What bubblewrap tells of a sandbox: its first process once there is one, and the exit code if
//! the program was started.

use std::io::{BufRead as _, BufReader, PipeReader, Read as _};

use rustix::process::Pid;
use serde::Deserialize;

/// Longest line, in bytes.
const MAX_LINE_BYTES: u64 = 4096;

/// The status of one sandbox.
#[derive(Debug)]
pub(super) struct SandboxStatus {
    pipe: BufReader<PipeReader>,
    /// The first process of its process table, as this process table names it.
    pub(super) first: Pid,
}

#[derive(Deserialize)]
struct StartReport {
    #[serde(rename = "child-pid")]
    child: i32,
}

impl SandboxStatus {
    /// Waits for the first process; an error when there will be none.
    pub(super) fn read_from(pipe: PipeReader) -> Result<Self, ()> {
        let mut pipe = BufReader::new(pipe);
        let mut line = String::new();
        (&mut pipe)
            .take(MAX_LINE_BYTES)
            .read_line(&mut line)
            .map_err(drop)?;
        let begun: StartReport = serde_json::from_str(&line).map_err(drop)?;
        let first = Pid::from_raw(begun.child).ok_or(())?;
        Ok(Self { pipe, first })
    }

    /// Whether the program was started, once everything has ended.
    pub(super) fn has_run(mut self) -> bool {
        let mut rest = String::new();
        let read = (&mut self.pipe)
            .take(MAX_LINE_BYTES)
            .read_to_string(&mut rest);
        read.is_ok() && rest.contains("\"exit-code\"")
    }
}
