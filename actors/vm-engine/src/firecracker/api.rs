//! Firecracker's API: small JSON requests over a Unix socket.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longest answer that is read.
const MAX_ANSWER: u64 = 64 * 1024;

/// A request that did not work.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The socket did not appear in time.
    #[error("its API socket did not appear within {} ms", .0.as_millis())]
    NoSocket(Duration),
    /// The connection did not work.
    #[error("its API does not answer: {0}")]
    Socket(#[from] io::Error),
    /// The answer is no HTTP.
    #[error("its API answered what is not HTTP")]
    NoHttp,
    /// It refused.
    #[error("its API refused with {status}: {fault}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it said.
        fault: String,
    },
}

/// The API of one Firecracker.
#[derive(Clone, Debug)]
pub struct Api {
    socket: PathBuf,
}

impl Api {
    /// Waits until the socket takes connections.
    ///
    /// # Errors
    /// [`ApiError::NoSocket`] when it does not in time.
    pub fn wait_for(socket: &Path, deadline: Duration) -> Result<Self, ApiError> {
        let begun = Instant::now();
        while connect(socket).is_err() {
            if begun.elapsed() >= deadline {
                return Err(ApiError::NoSocket(deadline));
            }
            std::thread::park_timeout(Duration::from_millis(2));
        }
        Ok(Self {
            socket: socket.to_path_buf(),
        })
    }

    /// Sets something.
    ///
    /// # Errors
    /// [`ApiError`].
    pub fn put(&self, path: &str, body: &Value, deadline: Duration) -> Result<(), ApiError> {
        let body = body.to_string();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let mut socket = connect(&self.socket)?;
        // At least a moment: a time-out of zero would be none at all.
        let deadline = deadline.max(Duration::from_millis(1));
        socket.set_read_timeout(Some(deadline))?;
        socket.set_write_timeout(Some(deadline))?;
        socket.write_all(format!("{head}{body}").as_bytes())?;
        let (status, answer) = read(socket)?;
        if (200..300).contains(&status) {
            return Ok(());
        }
        let fault = serde_json::from_slice::<Value>(&answer).ok();
        let fault = fault
            .as_ref()
            .and_then(|value| value["fault_message"].as_str())
            .unwrap_or("no reason was given");
        Err(ApiError::Refused {
            status,
            fault: fault.chars().take(500).collect(),
        })
    }
}

fn connect(path: &Path) -> io::Result<UnixStream> {
    use std::os::fd::AsRawFd as _;
    // Through the open folder, since a socket's path may only have 107 bytes.
    let folder = std::fs::File::open(path.parent().unwrap_or(Path::new("/")))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    UnixStream::connect(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}

fn read(socket: UnixStream) -> Result<(u16, Vec<u8>), ApiError> {
    let mut reader = BufReader::new(socket.take(MAX_ANSWER));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.split(' ').nth(1)?.trim().parse().ok());
    let status = status.ok_or(ApiError::NoHttp)?;
    let mut length = 0;
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(ApiError::NoHttp);
        }
        let header = line.trim();
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(|_| ApiError::NoHttp)?;
        }
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    Ok((status, body))
}
