//! What a program prints, carried to the host until its end and a little longer.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use vm_core::OutputStream;
use vm_core::guest::{CHUNK, Channel, ToHost};

use crate::gate::GuestSendWindow;
use crate::port::Port;
use crate::thread::thread;

/// Once the program itself has ended, output of what it left running is awaited as long as it comes
/// within this of each other.
const LINGER_MS: u16 = 200;
/// No longer than this after its end, whatever it left running goes on to print, as on GitHub.
const LINGER_MOST: Duration = Duration::from_secs(5);

/// Carries one stream of output to the host.
pub(crate) struct OutputPump {
    pub(crate) channel: Channel,
    pub(crate) stream: OutputStream,
    pub(crate) port: Arc<Port>,
    pub(crate) gate: Arc<GuestSendWindow>,
    /// When the program itself has ended.
    pub(crate) ended: Arc<OnceLock<Instant>>,
}

impl OutputPump {
    pub(crate) fn run(&self, mut pipe: File) {
        let mut buffer = vec![0; CHUNK / 2];
        // What lay in the pipe when the program ended is its own, however long that takes.
        let mut owed = None;
        loop {
            let ended = self.ended.get();
            if ended.is_some() && owed.is_none() {
                owed = Some(rustix::io::ioctl_fionread(&pipe).unwrap_or(0));
            }
            let is_over = ended.is_some_and(|at| at.elapsed() > LINGER_MOST) && owed == Some(0);
            if is_over || !readable(&pipe) {
                if ended.is_some() {
                    // What the program left running keeps the pipe; it is read for it, unseen.
                    let _ = thread("drain").spawn(move || drain(pipe));
                    return;
                }
                continue;
            }
            match pipe.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => {
                    owed = owed.map(|bytes| bytes.saturating_sub(count as u64));
                    self.forward(&buffer[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn forward(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let granted = self.gate.take(bytes.len());
            if granted == 0 {
                return;
            }
            let (now, later) = bytes.split_at(granted);
            self.port
                .send(self.channel, &ToHost::Output(self.stream, now.into()));
            bytes = later;
        }
    }
}

/// Whether something can be read, or the end was reached, within [`LINGER_MS`].
fn readable(pipe: &File) -> bool {
    let mut wanted = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
    poll(&mut wanted, PollTimeout::from(LINGER_MS)).is_ok_and(|count| count > 0)
}

fn drain(mut pipe: File) {
    let _ = io::copy(&mut pipe, &mut io::sink());
}
