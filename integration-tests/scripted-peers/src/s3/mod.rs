//! An S3-compatible server of a test's own, in a temporary folder: s3s-fs, which checks signatures
//! and conditions; and a proxy in front of it that makes faults. For tests only.
//!
//! The program is in the cache folder, where `cargo xtask test` installs it.

mod clocked;
mod proxy;

pub use clocked::ClockedStorage;
pub use proxy::{FaultProxy, Weather};

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What to do where there is no server.
const INSTALL: &str = "s3s-fs is needed: run `cargo xtask test`, or `cargo install --locked \
                       --features binary --root $ORRERY_CACHE/tools s3s-fs@0.14.1`";
/// Whose requests are taken.
pub const ACCESS_KEY: &str = "orrery";
/// And what they are signed with.
pub const SECRET_KEY: &str = "verysecretkey";
/// The bucket that is there.
pub const BUCKET: &str = "orrery-ci";
const DEADLINE: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A server. Dropped, it is killed, and its folder removed.
#[derive(Debug)]
pub struct S3Server {
    folder: tempfile::TempDir,
    port: u16,
    child: Option<Child>,
}

impl S3Server {
    /// Starts a server with one empty bucket.
    #[must_use]
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(BUCKET)).expect("a bucket");
        // It takes no port 0: one that was free a moment ago, and another one where somebody was
        // faster.
        for _ in 0..10 {
            let free = TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = free.local_addr().expect("an address").port();
            drop(free);
            if let Some(child) = spawn(folder.path(), port) {
                return Self {
                    folder,
                    port,
                    child: Some(child),
                };
            }
        }
        panic!("s3s-fs ends at once, whatever its port")
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The bucket, as a folder.
    #[must_use]
    pub fn bucket(&self) -> PathBuf {
        self.folder.path().join(BUCKET)
    }

    /// The files of the bucket's objects, in order.
    #[must_use]
    pub fn objects(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.bucket()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// Kills it.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again, on its port.
    pub fn start_again(&mut self) {
        self.stop();
        self.child = spawn(self.folder.path(), self.port);
        assert!(self.child.is_some(), "its port was taken meanwhile");
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// `None` when it ended at once.
fn spawn(folder: &Path, port: u16) -> Option<Child> {
    let cache = std::env::var_os("ORRERY_CACHE").map(PathBuf::from);
    let program = cache.map(|cache| cache.join("tools/bin/s3s-fs"));
    let program = program.filter(|path| path.is_file()).expect(INSTALL);
    let mut child = Command::new(program)
        .args(["--host", "127.0.0.1", "--port", &port.to_string()])
        .args(["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY])
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let began = Instant::now();
    while !is_listening(port, child.id()) {
        assert!(began.elapsed() < DEADLINE, "s3s-fs does not listen");
        if child.try_wait().expect("a child").is_some() {
            return None;
        }
        std::thread::park_timeout(POLL_INTERVAL);
    }
    Some(child)
}

/// Whether this very process listens on the port, and not another one that was faster.
fn is_listening(port: u16, process: u32) -> bool {
    let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap_or_default();
    let wanted = format!("0100007F:{port:04X}");
    let listening = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (*fields.get(1)? == wanted && *fields.get(3)? == "0A").then(|| fields.get(9).copied())?
    });
    let inodes: Vec<String> = listening.map(|inode| format!("socket:[{inode}]")).collect();
    let files = std::fs::read_dir(format!("/proc/{process}/fd"));
    files.into_iter().flatten().flatten().any(|file| {
        let target = std::fs::read_link(file.path()).unwrap_or_default();
        inodes
            .iter()
            .any(|inode| target.as_os_str() == inode.as_str())
    })
}
