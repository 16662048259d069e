//! QEMU's monitor: one command at a time, each with a deadline.

use std::io::{BufRead as _, BufReader, IoSlice, Write as _};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use serde_json::{Value, json};

use crate::error::DriverError;

/// Longest line of the monitor.
const MAX_LINE: usize = 1 << 20;

/// A connection to the monitor.
#[derive(Debug)]
pub(crate) struct Qmp {
    reader: BufReader<UnixStream>,
    ready: bool,
    /// Numbers jobs in the background.
    jobs: u64,
}

impl Qmp {
    /// Over a socket whose other end QEMU has.
    pub(crate) fn new(socket: UnixStream) -> Self {
        Self {
            reader: BufReader::new(socket),
            ready: false,
            jobs: 0,
        }
    }

    /// Runs a command; what it returned.
    pub(crate) fn run(
        &mut self,
        command: &str,
        arguments: &Value,
        deadline: Duration,
    ) -> Result<Value, DriverError> {
        self.send(command, arguments, None, deadline)
    }

    /// Gives QEMU an open file under a name.
    pub(crate) fn send_file(
        &mut self,
        name: &str,
        file: BorrowedFd<'_>,
        deadline: Duration,
    ) -> Result<(), DriverError> {
        self.send("getfd", &json!({ "fdname": name }), Some(file), deadline)
            .map(drop)
    }

    /// Waits until a migration, in or out, is complete.
    pub(crate) fn await_migration(&mut self, deadline: Duration) -> Result<(), DriverError> {
        let start = Instant::now();
        loop {
            let left = deadline.saturating_sub(start.elapsed());
            let state = self.run("query-migrate", &Value::Null, left)?;
            match state["status"].as_str() {
                Some("completed") => return Ok(()),
                Some("failed" | "cancelled") => {
                    let detail = state["error-desc"]
                        .as_str()
                        .unwrap_or("no reason was given")
                        .to_owned();
                    return Err(DriverError::Monitor {
                        command: "migrate".to_owned(),
                        detail,
                    });
                }
                _ if left.is_zero() => {
                    return Err(DriverError::Deadline {
                        deadline,
                        detail: "saving or loading its state".to_owned(),
                    });
                }
                _ => std::thread::park_timeout(Duration::from_millis(2)),
            }
        }
    }

    /// Runs a command that goes on in the background, and waits for its end.
    pub(crate) fn run_job(
        &mut self,
        command: &str,
        mut arguments: Value,
        deadline: Duration,
    ) -> Result<(), DriverError> {
        let start = Instant::now();
        let left = || deadline.saturating_sub(start.elapsed());
        self.jobs += 1;
        let id = format!("job-{}", self.jobs);
        arguments["job-id"] = json!(id);
        self.run(command, &arguments, left())?;
        loop {
            let jobs = self.run("query-jobs", &Value::Null, left())?;
            let of_id = |job: &&Value| job["id"] == id.as_str();
            let job = jobs.as_array().and_then(|jobs| jobs.iter().find(of_id));
            match job {
                Some(job) if job["status"] == "concluded" => {
                    let error = job["error"].as_str().map(str::to_owned);
                    self.run("job-dismiss", &json!({ "id": id }), left())?;
                    return error.map_or(Ok(()), |detail| {
                        Err(DriverError::Monitor {
                            command: command.to_owned(),
                            detail,
                        })
                    });
                }
                Some(_) if left().is_zero() => {
                    return Err(DriverError::Deadline {
                        deadline,
                        detail: format!("its monitor has not done `{command}`"),
                    });
                }
                Some(_) => std::thread::park_timeout(Duration::from_millis(2)),
                None => {
                    return Err(DriverError::Monitor {
                        command: command.to_owned(),
                        detail: "it is not known any more how it ended".to_owned(),
                    });
                }
            }
        }
    }

    fn send(
        &mut self,
        command: &str,
        arguments: &Value,
        file: Option<BorrowedFd<'_>>,
        deadline: Duration,
    ) -> Result<Value, DriverError> {
        let until = Instant::now() + deadline;
        if !self.ready {
            self.greet(until)?;
        }
        let mut request = json!({ "execute": command });
        if !arguments.is_null() {
            request["arguments"] = arguments.clone();
        }
        let failed = |detail: String| DriverError::Monitor {
            command: command.to_owned(),
            detail,
        };
        let line = format!("{request}\n");
        self.write(line.as_bytes(), file)
            .map_err(|error| failed(error.to_string()))?;
        loop {
            let mut reply = self.line(command, until)?;
            if let Some(error) = reply.get("error") {
                return Err(failed(
                    error["desc"]
                        .as_str()
                        .unwrap_or("no reason was given")
                        .to_owned(),
                ));
            }
            // Everything else is an event.
            if let Some(value) = reply.get_mut("return") {
                return Ok(value.take());
            }
        }
    }

    fn greet(&mut self, until: Instant) -> Result<(), DriverError> {
        self.line("greeting", until)?;
        self.ready = true;
        let left = until.saturating_duration_since(Instant::now());
        self.send("qmp_capabilities", &Value::Null, None, left)
            .map(drop)
    }

    fn write(&mut self, bytes: &[u8], file: Option<BorrowedFd<'_>>) -> std::io::Result<()> {
        let mut socket = self.reader.get_ref();
        let Some(file) = file else {
            return socket.write_all(bytes);
        };
        let files = [file.as_raw_fd()];
        let control = [ControlMessage::ScmRights(&files)];
        let sent = sendmsg::<()>(
            socket.as_raw_fd(),
            &[IoSlice::new(bytes)],
            &control,
            MsgFlags::MSG_NOSIGNAL,
            None,
        )?;
        socket.write_all(&bytes[sent..])
    }

    fn line(&mut self, command: &str, until: Instant) -> Result<Value, DriverError> {
        let left = until
            .saturating_duration_since(Instant::now())
            .max(Duration::from_millis(1));
        let failed = |detail: String| DriverError::Monitor {
            command: command.to_owned(),
            detail,
        };
        self.reader
            .get_ref()
            .set_read_timeout(Some(left))
            .map_err(|error| failed(error.to_string()))?;
        let mut line = Vec::new();
        let mut limited = std::io::Read::take(&mut self.reader, MAX_LINE as u64);
        match limited.read_until(b'\n', &mut line) {
            Ok(0) => Err(failed("QEMU has ended".to_owned())),
            Ok(_) => {
                serde_json::from_slice(&line).map_err(|error| failed(format!("not JSON: {error}")))
            }
            Err(error) => Err(failed(error.to_string())),
        }
    }
}
