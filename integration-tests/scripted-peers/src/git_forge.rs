//! A forge of repositories over HTTP: git reads them by plain files; those that are [`smart`] are
//! served by git's own `http-backend`, which takes pushes. Some of them want a token.
//!
//! [`smart`]: GitForge::smart_repository
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test that fails here should say where"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use crate::git_lfs as lfs;

const TOKEN: &str = "pat-0123456789abcdef";

/// Paths that were asked for, and whether with a token.
type RequestLog = Arc<Mutex<Vec<(String, bool)>>>;
/// Where images are.
type Registry = Arc<Mutex<Option<SocketAddr>>>;

/// The forge. It serves until the process ends.
pub struct GitForge {
    folder: Arc<TempDir>,
    address: String,
    asked: RequestLog,
    registry: Registry,
}

/// A repository with a working tree, served from its `.git`.
pub struct GitRepository {
    /// Its working tree.
    pub folder: PathBuf,
}

/// Runs git in a folder, whatever its owner has configured, and gives what it printed.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(["-c", "protocol.file.allow=always"])
        .args(["-c", "init.defaultBranch=main"])
        .args(arguments)
        .output()
        .expect("git is installed (Debian package git)");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl GitRepository {
    /// An empty one, with a branch `main`.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        std::fs::create_dir_all(&folder).unwrap();
        let repository = Self { folder };
        repository.git(&["init", "--quiet", "--initial-branch=main", "."]);
        repository
    }

    /// Runs git there, and gives what it printed.
    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.folder, arguments)
    }

    /// Writes a file of the working tree.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Commits everything, and gives the commit.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["update-server-info"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Commits these files as large ones, by the real client of Git LFS, and gives the commit. The
    /// forge serves them.
    pub fn commit_large(&self, pattern: &str, files: &[(&str, &str)]) -> String {
        let version = Command::new("git-lfs").arg("version").output();
        assert!(
            version.is_ok(),
            "git-lfs is missing (Debian package git-lfs)"
        );
        self.git(&["lfs", "install", "--local"]);
        self.git(&["lfs", "track", pattern]);
        for (path, text) in files {
            self.write(path, text);
        }
        self.commit("large files")
    }

    /// Names a commit of another repository, and says where that is.
    pub fn add_gitlink(&self, path: &str, url: &str, commit: &str) {
        let settings = format!("[submodule {path:?}]\n\tpath = {path}\n\turl = {url}\n");
        let file = self.folder.join(".gitmodules");
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        std::fs::write(&file, before + &settings).unwrap();
        let entry = format!("160000,{commit},{path}");
        std::fs::create_dir_all(self.folder.join(path)).unwrap();
        self.git(&["update-index", "--add", "--cacheinfo", &entry]);
    }

    /// A submodule that is another repository of the forge, at its newest commit.
    pub fn add_submodule(&self, path: &str, url: &str) {
        let mut parts = url.trim_end_matches(".git").rsplit('/');
        let (name, owner) = (parts.next().unwrap(), parts.next().unwrap());
        let top = self.folder.parent().unwrap().parent().unwrap();
        let owner = if owner == ".." { "acme" } else { owner };
        let other = Self {
            folder: top.join(owner).join(name),
        };
        let commit = other.git(&["rev-parse", "HEAD"]);
        self.add_gitlink(path, url, &commit);
    }
}

impl GitForge {
    /// Starts a forge without repositories.
    #[must_use]
    pub fn start() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = RequestLog::default();
        let (served, noted) = (Arc::clone(&folder), Arc::clone(&asked));
        let registry = Registry::default();
        let images = Arc::clone(&registry);
        // It ends with the process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let images = *images.lock().unwrap();
                answer(stream, served.path(), &noted, images);
            }
        });
        Self {
            folder,
            address,
            asked,
            registry,
        }
    }

    /// Answers what is asked of images, `/v2/…`, as the registry at this address does.
    pub fn serve_registry(&self, address: SocketAddr) {
        *self.registry.lock().unwrap() = Some(address);
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.address
    }

    /// A token that opens everything; any other does too.
    #[must_use]
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// Paths that were asked for, and whether with a token.
    #[must_use]
    pub fn asked(&self) -> Vec<(String, bool)> {
        self.asked.lock().unwrap().clone()
    }

    /// A new repository that is read and pushed to by git's smart protocol; it wants the token of
    /// this user name for both.
    #[must_use]
    pub fn smart_repository(&self, name: &str, token: &str) -> GitRepository {
        let repository = self.repository(name, true);
        std::fs::write(repository.folder.join(".git/smart"), token).unwrap();
        repository.git(&["config", "http.receivepack", "true"]);
        repository.git(&["config", "receive.denyCurrentBranch", "ignore"]);
        repository
    }

    /// A new repository; a private one wants a token.
    #[must_use]
    pub fn repository(&self, name: &str, private: bool) -> GitRepository {
        let repository = GitRepository::new(self.folder.path().join(name));
        if private {
            std::fs::write(repository.folder.join(".git/private"), "").unwrap();
        }
        repository
    }
}

fn answer(mut stream: TcpStream, top: &Path, asked: &RequestLog, images: Option<SocketAddr>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut first, mut has_token, mut basic) = (String::new(), false, String::new());
    let (mut headers, mut lines) = (Vec::new(), Vec::new());
    let _ = reader.read_line(&mut first);
    loop {
        let mut line = String::new();
        let read = reader.read_line(&mut line).unwrap_or(0);
        if read == 0 || line.trim().is_empty() {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(given) = lower.strip_prefix("authorization: basic ") {
            has_token = !given.trim().is_empty();
            basic = line["authorization: basic ".len()..].trim().to_owned();
        }
        headers.push(line.trim().to_ascii_lowercase());
        lines.push(line);
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default().to_owned();
    asked.lock().unwrap().push((path.clone(), has_token));
    if let Some(images) = images.filter(|_| path.starts_with("/v2/")) {
        std::thread::spawn(move || pass(stream, reader, images, (&first, &lines)));
        return;
    }
    if let Some(own) = smart(top, &path) {
        let given = headers
            .iter()
            .find_map(|line| line.strip_prefix("authorization: "));
        let answer = match given {
            Some(_) if has_own_token(&own, &basic) => backend(&own, (&first, &path), &headers, &mut reader),
            _ => b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
        };
        let _ = stream.write_all(&answer);
        return;
    }
    let named = path.split_once(".git/").or_else(|| without_ending(&path));
    let file = named.and_then(|(name, rest)| {
        let own = top.join(name.trim_start_matches('/')).join(".git");
        let open = has_token || !own.join("private").exists();
        open.then(|| own.join(rest))
    });
    let found = file
        .as_ref()
        .map(|file| match lfs::answer(file, &headers, &mut reader) {
            Some(answer) => answer,
            None => std::fs::read(file),
        });
    let (status, body) = match found {
        Some(Ok(body)) => ("200 OK", body),
        Some(Err(_)) => ("404 Not Found", Vec::new()),
        None => (
            "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"",
            Vec::new(),
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&body));
    let _ = reader.get_mut().take(0).read(&mut []);
}

/// Passes a request on to a registry, and its answer back: one for each connection.
fn pass(
    mut stream: TcpStream,
    mut body: BufReader<TcpStream>,
    registry: SocketAddr,
    (first, lines): (&str, &[String]),
) -> std::io::Result<()> {
    let mut there = TcpStream::connect(registry)?;
    let is_own = |line: &&String| {
        let name = line.to_ascii_lowercase();
        !name.starts_with("connection:") && !name.starts_with("authorization:")
    };
    let lines: String = lines.iter().filter(is_own).map(String::as_str).collect();
    there.write_all(format!("{first}{lines}Connection: close\r\n\r\n").as_bytes())?;
    let mut answer = there.try_clone()?;
    std::thread::spawn(move || std::io::copy(&mut body, &mut there));
    std::io::copy(&mut answer, &mut stream)?;
    stream.shutdown(std::net::Shutdown::Both)
}

/// `/owner/name` and what follows, as forges take an address without `.git`.
fn without_ending(path: &str) -> Option<(&str, &str)> {
    let (second, _) = path.match_indices('/').nth(2)?;
    Some((&path[..second], &path[second + 1..]))
}

/// The `.git` of a repository that is served by `http-backend`.
fn smart(top: &Path, path: &str) -> Option<PathBuf> {
    let path = path.trim_start_matches('/');
    let services = ["/info/refs", "/git-upload-pack", "/git-receive-pack"];
    let name = services.iter().find_map(|one| path.strip_suffix(one))?;
    let name = name.strip_suffix(".git").unwrap_or(name);
    let own = top.join(name).join(".git");
    own.join("smart").is_file().then_some(own)
}

/// Whether the password is the repository's own token.
fn has_own_token(own: &Path, basic: &str) -> bool {
    use base64::Engine as _;
    let token = std::fs::read_to_string(own.join("smart")).unwrap();
    let pair = base64::engine::general_purpose::STANDARD.decode(basic);
    let pair = pair.ok().and_then(|pair| String::from_utf8(pair).ok());
    pair.is_some_and(|pair| {
        pair.split_once(':')
            .is_some_and(|(_, given)| given == token)
    })
}

/// Answers by git's own program.
fn backend(
    own: &Path,
    (first, path): (&str, &str),
    headers: &[String],
    reader: &mut impl Read,
) -> Vec<u8> {
    let header = |name: &str| {
        let found = headers
            .iter()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.unwrap_or_default().to_owned()
    };
    let method = first.split(' ').next().unwrap_or_default();
    let target = first.split(' ').nth(1).unwrap_or_default();
    let length = header("content-length");
    let mut body = vec![0; length.parse().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let (_, service) = path.rsplit_once('/').unwrap();
    let below = if service == "refs" {
        "info/refs"
    } else {
        service
    };
    let mut git = Command::new("git");
    git.arg("http-backend")
        .env("GIT_PROJECT_ROOT", own)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "runner")
        .env("PATH_INFO", format!("/{below}"))
        .env(
            "QUERY_STRING",
            target.split_once('?').map_or("", |(_, query)| query),
        )
        .env("REQUEST_METHOD", method)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", length)
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut git = git.spawn().expect("git is installed (Debian package git)");
    let mut stdin = git.stdin.take().unwrap();
    // It may refuse without reading.
    let sent = std::thread::spawn(move || stdin.write_all(&body));
    let said = git.wait_with_output().unwrap().stdout;
    let _ = sent.join();
    let status = said
        .strip_prefix(b"Status: ")
        .map_or(&b"200 OK"[..], |rest| {
            rest.split(|byte| *byte == b'\r').next().unwrap_or_default()
        });
    [b"HTTP/1.1 ", status, b"\r\nConnection: close\r\n", &said].concat()
}
