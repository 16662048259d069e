//! The byte stream to the host, and whole frames on it.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, VsockAddr, connect, socket};
use vm_core::ExecEnd;
use vm_core::guest::{Channel, GuestFailure, MAX_REASON, TarSummary, ToHost, encode_to_host};

use crate::error::{AgentError, ErrorContext as _};
use crate::system;

/// The name that the manager gives the port.
const NAME: &str = "agent";
/// The host's address over vsock.
const HOST: u32 = 2;

/// Both directions of the stream.
#[derive(Debug)]
pub(crate) struct Port {
    reader: File,
    writer: Mutex<File>,
}

impl Port {
    /// The virtio-serial port, once it is there.
    pub(crate) fn open_virtio() -> Result<Self, AgentError> {
        let ports = Path::new("/sys/class/virtio-ports");
        system::wait_for(ports).ok_or(AgentError::Missing("the virtio console"))?;
        for _ in 0..1000 {
            if let Some(path) = find(ports) {
                let file = File::options().read(true).write(true).open(&path);
                return Self::new(file.context(format!("opening {}", path.display()))?);
            }
            system::pause(std::time::Duration::from_millis(2));
        }
        Err(AgentError::Missing("the port named agent"))
    }

    /// The host's port over vsock, where there is no virtio console.
    pub(crate) fn connect_vsock(port: u32) -> Result<Self, AgentError> {
        let kind = SockType::Stream;
        let socket = socket(AddressFamily::Vsock, kind, SockFlag::SOCK_CLOEXEC, None)
            .context("making a vsock")?;
        connect(socket.as_raw_fd(), &VsockAddr::new(HOST, port))
            .context("connecting to the host")?;
        Self::new(File::from(socket))
    }

    /// The socket that the program was started with.
    pub(crate) fn standard_input() -> Result<Self, AgentError> {
        let socket = io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .context("sharing the socket")?;
        Self::new(File::from(socket))
    }

    fn new(file: File) -> Result<Self, AgentError> {
        let reader = file.try_clone().context("sharing the port")?;
        Ok(Self {
            reader,
            writer: Mutex::new(file),
        })
    }

    /// What came next; 0 when the host has closed.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match (&self.reader).read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Answers a request to hold, as the last message until what is given is dropped.
    pub(crate) fn lock_writer(&self, channel: Channel) -> PortGuard<'_> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        let done = ToHost::Finished(TarSummary::default());
        if encode_to_host(channel, &done, &mut bytes).is_ok() {
            let _ = writer.write_all(&bytes);
        }
        PortGuard { _writer: writer }
    }

    /// Sends a message whole. When the host is gone it is lost, and the reader ends the machine.
    pub(crate) fn send(&self, channel: Channel, message: &ToHost<'_>) {
        let mut bytes = Vec::new();
        if encode_to_host(channel, &brief(message), &mut bytes).is_ok() {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = writer.write_all(&bytes);
        }
    }
}

/// Nobody sends while it lives.
pub(crate) struct PortGuard<'p> {
    _writer: MutexGuard<'p, File>,
}

/// The message with its reason cut to what the host takes.
fn brief<'a>(message: &'a ToHost<'_>) -> Cow<'a, ToHost<'a>> {
    let cut = |text: &str| text[..text.floor_char_boundary(MAX_REASON)].to_owned();
    Cow::Owned(match message {
        ToHost::Failed(failure) if failure.what.len() > MAX_REASON => {
            ToHost::Failed(GuestFailure {
                kind: failure.kind,
                what: cut(&failure.what),
            })
        }
        ToHost::Ended(ExecEnd::Lost { reason }) if reason.len() > MAX_REASON => {
            let reason = cut(reason);
            ToHost::Ended(ExecEnd::Lost { reason })
        }
        ToHost::Ended(ExecEnd::NotStarted { reason }) if reason.len() > MAX_REASON => {
            let reason = cut(reason);
            ToHost::Ended(ExecEnd::NotStarted { reason })
        }
        message => return Cow::Borrowed(message),
    })
}

fn find(ports: &Path) -> Option<PathBuf> {
    for entry in fs::read_dir(ports).ok()?.flatten() {
        let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
        let device = Path::new("/dev").join(entry.file_name());
        if name.trim() == NAME && device.exists() {
            return Some(device);
        }
    }
    None
}
