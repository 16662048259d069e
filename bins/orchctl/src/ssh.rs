//! Another machine, through the OpenSSH client.
//!
//! Addresses of the orchestrator are forwarded to sockets in a private directory of this machine,
//! so no program is run there to talk to it. Only the configuration is read by one (`cat`,
//! `printenv`), with words that hold nothing a shell would interpret.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::arguments::OrchestratorTarget;
use crate::failure::CommandFailure;

/// How long the connection may take.
const TUNNEL_TIMEOUT: Duration = Duration::from_secs(20);
/// Most that is read from there, in bytes.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// A running forward of some addresses. Ended when dropped.
#[derive(Debug)]
pub(crate) struct Tunnel {
    child: Child,
    /// Where the sockets are.
    _directory: PrivateDirectory,
}

impl Tunnel {
    /// Forwards each address of `host` (`127.0.0.1:3200`, or the path of a socket); gives the
    /// sockets here, in the same order.
    pub(crate) fn open(
        target: &OrchestratorTarget,
        host: &str,
        addresses: &[&str],
    ) -> Result<(Self, Vec<PathBuf>), CommandFailure> {
        let directory = PrivateDirectory::new()?;
        let sockets: Vec<PathBuf> = (0..addresses.len())
            .map(|number| directory.0.join(number.to_string()))
            .collect();
        let mut command = command(target, host)?;
        command.args([
            "-N",
            "-o",
            "ExitOnForwardFailure=yes",
            "-o",
            "StreamLocalBindUnlink=yes",
        ]);
        for (socket, address) in sockets.iter().zip(addresses) {
            command
                .arg("-L")
                .arg(format!("{}:{}", socket.display(), forwardable(address)?));
        }
        command.stdout(Stdio::null()).args(["--", host]);
        let child = command
            .spawn()
            .map_err(|error| cannot_start(target, &error))?;
        let mut tunnel = Self {
            child,
            _directory: directory,
        };
        tunnel.wait_for(host, &sockets)?;
        Ok((tunnel, sockets))
    }

    /// Until somebody listens at the sockets: ssh makes them once it is let in, and listens a
    /// moment later.
    fn wait_for(&mut self, host: &str, sockets: &[PathBuf]) -> Result<(), CommandFailure> {
        let until = Instant::now() + TUNNEL_TIMEOUT;
        loop {
            if sockets.iter().all(|socket| is_listening(socket)) {
                return Ok(());
            }
            if let Ok(Some(_)) = self.child.try_wait() {
                let mut said = String::new();
                let _ = self
                    .child
                    .stderr
                    .take()
                    .map(|err| err.take(MAX_OUTPUT_BYTES).read_to_string(&mut said));
                return Err(refused(host, &said));
            }
            if Instant::now() > until {
                return Err(CommandFailure::TimedOut(format!(
                    "{host}: ssh did not connect within {} s",
                    TUNNEL_TIMEOUT.as_secs()
                )));
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether whoever connects is taken. A socket's file is there before that is so; nothing but
/// asking tells.
fn is_listening(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

/// A file of `host`.
pub(crate) fn read_file(
    target: &OrchestratorTarget,
    host: &str,
    path: &str,
) -> Result<String, CommandFailure> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte);
    if !path.starts_with('/') || !path.bytes().all(plain) {
        return Err(CommandFailure::Usage(format!(
            "--config {path:?}: use an absolute path of letters, digits and / . _ - +"
        )));
    }
    let (success, out, err) = output(target, host, &["cat", "--", path])?;
    success.then_some(out).ok_or_else(|| {
        CommandFailure::NotAllowed(format!("{host}:{path} cannot be read: {}", last_line(&err)))
    })
}

/// A variable of the environment that `host` gives its users. The caller has checked the name.
pub(crate) fn variable(
    target: &OrchestratorTarget,
    host: &str,
    name: &str,
) -> Result<Option<String>, CommandFailure> {
    let (success, out, _) = output(target, host, &["printenv", name])?;
    Ok(success.then(|| out.strip_suffix('\n').unwrap_or(&out).to_owned()))
}

/// Runs words there that no shell changes, and gives what they print.
fn output(
    target: &OrchestratorTarget,
    host: &str,
    words: &[&str],
) -> Result<(bool, String, String), CommandFailure> {
    let mut command = command(target, host)?;
    command
        .stdout(Stdio::piped())
        .args(["--", host])
        .args(words);
    let mut child = command
        .spawn()
        .map_err(|error| cannot_start(target, &error))?;
    let (sender, receiver) = mpsc::channel();
    let (out, err) = (child.stdout.take(), child.stderr.take());
    std::thread::spawn(move || {
        let (mut text, mut said) = (String::new(), String::new());
        let _ = out.map(|out| out.take(MAX_OUTPUT_BYTES).read_to_string(&mut text));
        let _ = err.map(|err| err.take(MAX_OUTPUT_BYTES).read_to_string(&mut said));
        let _ = sender.send((text, said));
    });
    let Ok((text, said)) = receiver.recv_timeout(TUNNEL_TIMEOUT) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(CommandFailure::TimedOut(format!(
            "{host}: ssh did not answer within {} s",
            TUNNEL_TIMEOUT.as_secs()
        )));
    };
    let status = child.wait().map_err(|error| cannot_start(target, &error))?;
    // 255 is ssh's own failure, as its manual says.
    if status.code() == Some(255) {
        return Err(refused(host, &said));
    }
    Ok((status.success(), text, said))
}

/// What all calls have in common. It never asks for anything.
fn command(target: &OrchestratorTarget, host: &str) -> Result<Command, CommandFailure> {
    let strange = |c: char| c.is_whitespace() || c.is_control();
    if host.is_empty() || host.starts_with('-') || host.contains(strange) {
        return Err(CommandFailure::Usage(format!(
            "--ssh {host:?} is not the name of a machine"
        )));
    }
    let mut command = Command::new(&target.ssh_program);
    command.args([
        "-T",
        "-o",
        "BatchMode=yes",
        "-o",
        "ConnectTimeout=10",
        "-o",
        "ServerAliveInterval=15",
    ]);
    command
        .args(&target.ssh_args)
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    Ok(command)
}

/// An address as ssh forwards it: `HOST:PORT`, or the absolute path of a socket there.
fn forwardable(address: &str) -> Result<&str, CommandFailure> {
    match Address::parse(address)? {
        Address::Socket(path) if !path.starts_with('/') || path.contains(':') => {
            Err(CommandFailure::Usage(format!(
                "{address:?}: with --ssh, name a socket by its absolute path there, without a colon"
            )))
        }
        Address::Socket(path) | Address::Port(path) => Ok(path),
    }
}

/// What `--receiver` and `--admin` name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Address<'a> {
    /// `<host>:<port>`
    Port(&'a str),
    /// The path of a socket: whatever has a slash.
    Socket(&'a str),
}

impl<'a> Address<'a> {
    pub(crate) fn parse(address: &'a str) -> Result<Self, CommandFailure> {
        let strange = |c: char| c.is_whitespace() || c.is_control();
        let host_and_port = || {
            address
                .rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        if address.contains(strange) || address.starts_with('-') || address.contains("://") {
        } else if address.contains('/') {
            return Ok(Self::Socket(address));
        } else if host_and_port() {
            return Ok(Self::Port(address));
        }
        Err(CommandFailure::Usage(format!(
            "{address:?} is neither <host>:<port> nor the path of a socket; a socket in this directory is ./{}",
            address.trim_start_matches('-')
        )))
    }
}

fn refused(host: &str, said: &str) -> CommandFailure {
    let line = last_line(said);
    if line.contains("Permission denied") {
        return CommandFailure::NotAllowed(format!("{host}: ssh: {line}"));
    }
    CommandFailure::Unreachable(format!("{host}: ssh: {line}"))
}

fn last_line(text: &str) -> String {
    let line = text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("it said nothing");
    forge_core::text::one_line(line, 300)
}

fn cannot_start(target: &OrchestratorTarget, error: &std::io::Error) -> CommandFailure {
    CommandFailure::Unreachable(format!(
        "{} cannot be started: {error}; is the OpenSSH client installed?",
        target.ssh_program.display()
    ))
}

/// A directory that only this user can look into. Removed when dropped, whatever the reason.
#[derive(Debug)]
struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    fn new() -> Result<Self, CommandFailure> {
        use std::os::unix::fs::DirBuilderExt;
        let name = format!("orchctl-{}", uuid::Uuid::new_v4().simple());
        let directory = std::env::temp_dir().join(name);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&directory);
        made.map_err(|error| CommandFailure::Refused(format!("{}: {error}", directory.display())))?;
        Ok(Self(directory))
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

    use super::*;

    #[test]
    fn y2_a_socket_that_is_there_but_does_not_listen_yet_is_waited_for() {
        let directory = PrivateDirectory::new().expect("a directory");
        let path = directory.0.join("0");
        assert!(!is_listening(&path), "there is nothing");
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None);
        let socket = socket.expect("a socket");
        let address = SocketAddrUnix::new(&path).expect("a short path");
        rustix::net::bind(&socket, &address).expect("bound");
        assert!(
            path.exists() && !is_listening(&path),
            "nobody would be let in"
        );
        rustix::net::listen(&socket, 1).expect("it listens");
        assert!(is_listening(&path));
    }
}
