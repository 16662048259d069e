//! Where the runners keep logs, artifacts and caches: a small S3-compatible server where its
//! program is found, else a folder that all of them share.

use std::ffi::OsStr;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use toml::Table;

use super::super::secrets;
use super::super::server::Server;
use super::super::settings::{create_folder, table};
use super::free_ports::free_port;

/// The program: `cargo install s3s-fs --features binary`.
const PROGRAM: &str = "s3s-fs";
const BUCKET: &str = "orrery";
const TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The storage; dropped, its server is killed.
pub(super) enum Storage {
    /// A server with this port and these keys.
    Bucket {
        server: Server,
        port: u16,
        access: String,
        secret: String,
    },
    /// A folder of this machine.
    Folder(PathBuf),
}

impl Storage {
    /// Starts it, with what it keeps in `folder`.
    ///
    /// # Errors
    /// When the folder cannot be made, or the server does not start.
    pub(super) fn start(folder: &Path, logs: &Path, tools: Option<&Path>) -> Result<Self> {
        create_folder(&folder.join(BUCKET))?;
        let Some(program) = find(tools) else {
            return Ok(Self::Folder(folder.join(BUCKET)));
        };
        let (port, access, secret) = (free_port()?, secrets::random(), secrets::random());
        let text = port.to_string();
        let arguments = ["--host", "127.0.0.1", "--port", &text];
        let arguments = arguments.into_iter().chain(["--access-key", &access]);
        let arguments = arguments.chain(["--secret-key", &secret]).map(OsStr::new);
        let arguments: Vec<&OsStr> = arguments.chain([folder.as_os_str()]).collect();
        let mut server = Server::start(&program, &arguments, (logs, "storage.log"), &[])?;
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            server.check_alive()?;
            if started.elapsed() > TIMEOUT {
                bail!("{} does not listen", program.display());
            }
            std::thread::park_timeout(POLL_INTERVAL);
        }
        Ok(Self::Bucket {
            server,
            port,
            access,
            secret,
        })
    }

    /// The table `[objects]` of runners or orchestrators: each has a prefix of its own.
    pub(super) fn settings(&self, prefix: &str) -> Table {
        match self {
            Self::Bucket { port, .. } => table([
                ("url", format!("s3://{BUCKET}/{prefix}").into()),
                ("endpoint", format!("http://127.0.0.1:{port}").into()),
            ]),
            Self::Folder(folder) => {
                let url = format!("file://{}", folder.join(prefix).display());
                table([("url", url.into())])
            }
        }
    }

    /// The keys, for their environment.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        match self {
            Self::Bucket { access, secret, .. } => vec![
                ("AWS_ACCESS_KEY_ID".to_owned(), access.clone()),
                ("AWS_SECRET_ACCESS_KEY".to_owned(), secret.clone()),
            ],
            Self::Folder(_) => Vec::new(),
        }
    }

    /// What search servers are told of it, below a prefix.
    ///
    /// # Errors
    /// When a folder cannot be made.
    pub(super) fn search_variables(&self, prefix: &str) -> Result<Vec<(String, String)>> {
        let variables = match self {
            Self::Bucket {
                port,
                access,
                secret,
                ..
            } => vec![
                ("SERVICE_SNAPSHOTS", format!("s3://{BUCKET}/{prefix}")),
                (
                    "SERVICE_PROFILE_OBJSTORE_ENDPOINT",
                    format!("http://127.0.0.1:{port}"),
                ),
                ("CLOUDSTORE_ACCESS_KEY_ID", access.clone()),
                ("CLOUDSTORE_SECRET_ACCESS_KEY", secret.clone()),
            ],
            Self::Folder(folder) => {
                let folder = create_folder(&folder.join(prefix))?;
                let url = format!("file://{}", folder.display());
                vec![("SERVICE_SNAPSHOTS", url)]
            }
        };
        let owned = variables.into_iter().map(|(key, it)| (key.to_owned(), it));
        Ok(owned.collect())
    }

    /// For people.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Bucket { port, .. } => format!("S3 by {PROGRAM} on 127.0.0.1:{port}"),
            Self::Folder(folder) => format!(
                "none: the folder {} stands in for S3, as a shared file system would (the program `{PROGRAM}` is not in PATH, which serves a bucket)",
                folder.display()
            ),
        }
    }

    /// Refuses a server that has ended by itself.
    ///
    /// # Errors
    /// With the end of its log.
    pub(super) fn check_alive(&mut self) -> Result<()> {
        match self {
            Self::Bucket { server, .. } => server.check_alive(),
            Self::Folder(_) => Ok(()),
        }
    }
}

/// The server's program, in this folder or `PATH`.
fn find(tools: Option<&Path>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = tools.map(Path::to_owned).into_iter();
    folders
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(PROGRAM))
        .find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_without_a_server_a_folder_is_shared() {
        let folder = Storage::Folder(PathBuf::from("/srv/shared"));
        assert_eq!(
            folder.settings("ci")["url"].as_str(),
            Some("file:///srv/shared/ci")
        );
        assert!(folder.variables().is_empty());
        let said = folder.describe();
        assert!(
            said.contains("s3s-fs") && said.contains("stands in for S3"),
            "{said}"
        );
    }
}
