//! A real OpenSSH server on loopback, for one test: its own keys, its own user list, no fixed port.
//!
//! Each connection is taken here and handed to an `sshd -i` of its own, so there is no port to race
//! for and nothing that outlives the test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The server program; an absolute path, because sshd starts itself again by it.
const PROGRAM: &str = "/usr/sbin/sshd";

/// A running server. Stopped when dropped.
#[derive(Debug)]
pub struct Sshd {
    folder: PathBuf,
    port: u16,
    user: String,
    stopped: Arc<AtomicBool>,
    taken: Arc<AtomicUsize>,
    children: Arc<Mutex<Vec<Child>>>,
}

impl Sshd {
    /// Starts a server whose files are in `folder`; `more` are further lines of its configuration.
    ///
    /// # Panics
    /// When Debian's `openssh-server` is not installed, or a key cannot be made.
    pub fn start(folder: &Path, more: &str) -> Self {
        assert!(
            Path::new(PROGRAM).exists(),
            "{PROGRAM} is missing: apt-get install -y --no-install-recommends openssh-server"
        );
        let folder = folder.join("sshd");
        fs::create_dir_all(&folder).expect("the test's folder can be written");
        // Where sshd runs as root it wants this folder; otherwise it does without.
        let _ = fs::create_dir_all("/run/sshd");
        for key in ["host", "client"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.join(key))
                .status();
            assert!(
                made.is_ok_and(|status| status.success()),
                "ssh-keygen fails"
            );
        }
        fs::copy(folder.join("client.pub"), folder.join("authorized")).expect("the key was made");
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let port = listener.local_addr().expect("it listens").port();
        let config = format!(
            "HostKey {0}/host\nAuthorizedKeysFile {0}/authorized\nPidFile none\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nLogLevel ERROR\n{more}\n",
            folder.display()
        );
        fs::write(folder.join("config"), config).expect("the folder can be written");
        let host = fs::read_to_string(folder.join("host.pub")).expect("the key was made");
        fs::write(folder.join("known"), format!("[127.0.0.1]:{port} {host}"))
            .expect("the folder can be written");
        let server = Self {
            user: user(),
            folder,
            port,
            stopped: Arc::default(),
            taken: Arc::default(),
            children: Arc::default(),
        };
        server.serve(listener);
        server
    }

    fn serve(&self, listener: TcpListener) {
        let (stopped, taken, children) = (
            self.stopped.clone(),
            self.taken.clone(),
            self.children.clone(),
        );
        let config = self.folder.join("config");
        let log = self.folder.join("log");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let fd = OwnedFd::from(stream);
                let other = fd.try_clone().expect("a descriptor is free");
                let child = Command::new(PROGRAM)
                    .args(["-i", "-f"])
                    .arg(&config)
                    .arg("-E")
                    .arg(&log)
                    .stdin(Stdio::from(fd))
                    .stdout(Stdio::from(other))
                    .stderr(Stdio::null())
                    // sshd splits itself: all its parts are ended by their group.
                    .process_group(0)
                    .spawn();
                taken.fetch_add(1, Ordering::SeqCst);
                if let (Ok(child), Ok(mut all)) = (child, children.lock()) {
                    all.push(child);
                }
            }
        });
    }

    /// `user@127.0.0.1`.
    pub fn host(&self) -> String {
        format!("{}@127.0.0.1", self.user)
    }

    /// Its port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The private key that opens it.
    ///
    /// # Panics
    /// When the key is gone.
    pub fn key(&self) -> String {
        fs::read_to_string(self.folder.join("client")).expect("the key was made")
    }

    /// Its line of a `known_hosts`.
    ///
    /// # Panics
    /// When the file is gone.
    pub fn known_hosts(&self) -> String {
        fs::read_to_string(self.folder.join("known")).expect("it was written")
    }

    /// Arguments for `ssh` that know the port, the key and the server.
    pub fn client_args(&self) -> Vec<String> {
        let known = self.folder.join("known");
        vec![
            "-F/dev/null".to_owned(),
            format!("-p{}", self.port),
            format!("-i{}", self.folder.join("client").display()),
            "-oIdentitiesOnly=yes".to_owned(),
            format!("-oUserKnownHostsFile={}", known.display()),
        ]
    }

    /// How many connections were taken.
    pub fn connections(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }

    /// Ends every connection, as when the network breaks.
    pub fn cut(&self) {
        for mut child in self
            .children
            .lock()
            .expect("no thread panics with it")
            .drain(..)
        {
            let group = format!("-{}", child.id());
            let _ = Command::new("kill")
                .args(["-KILL", "--", &group])
                .stderr(Stdio::null())
                .status();
            let _ = child.wait();
        }
    }

    /// What the server said, for a failing test.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for a connection.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.cut();
    }
}

fn user() -> String {
    let output = Command::new("id")
        .arg("-un")
        .output()
        .expect("id is everywhere");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
