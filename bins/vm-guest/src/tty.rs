//! A terminal for something that runs: its size, and what is typed on it.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vm_core::TerminalSize;
use vm_core::guest::{Channel, ToHost};

use crate::port::Port;
use crate::thread::thread;

/// What is typed on a terminal, on its way to it; the host keeps to its window. There before the
/// terminal is: what comes early waits.
#[derive(Debug)]
pub(crate) struct TerminalInput {
    sender: Sender<Vec<u8>>,
    receiver: Option<Receiver<Vec<u8>>>,
}

impl TerminalInput {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        let (sender, receiver) = channel();
        Self {
            sender,
            receiver: Some(receiver),
        }
    }

    /// The next that was typed.
    pub(crate) fn push(&self, bytes: Vec<u8>) {
        let _ = self.sender.send(bytes);
    }

    /// Where it is taken from, once.
    pub(crate) fn take(&mut self) -> Option<Receiver<Vec<u8>>> {
        self.receiver.take()
    }
}

/// The agent's end of a terminal.
#[derive(Debug)]
pub(crate) struct Tty {
    master: File,
    /// Whether credit may still be given: nothing follows the program's end.
    open: Arc<Mutex<bool>>,
}

impl Tty {
    /// A terminal of this size, and the program's end of it.
    pub(crate) fn open(size: TerminalSize) -> io::Result<(Arc<Self>, OwnedFd)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(&name, flags, Mode::empty())?;
        let tty = Self {
            master: master.into(),
            open: Arc::new(Mutex::new(true)),
        };
        tty.resize(size)?;
        Ok((Arc::new(tty), slave))
    }

    /// What the program writes is read here.
    pub(crate) fn reader(&self) -> io::Result<File> {
        self.master.try_clone()
    }

    /// Gives it another size; the program is told by SIGWINCH.
    pub(crate) fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let size = Winsize {
            ws_row: size.rows,
            ws_col: size.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(tcsetwinsize(&self.master, size)?)
    }

    /// Passes on what is typed, in a thread: a program that reads nothing holds up nobody else.
    pub(crate) fn spawn_input(
        &self,
        number: Channel,
        port: &Arc<Port>,
        typed: Receiver<Vec<u8>>,
    ) -> io::Result<()> {
        let keyboard = Keyboard {
            channel: number,
            master: self.master.try_clone()?,
            port: Arc::clone(port),
            open: Arc::clone(&self.open),
        };
        thread("keyboard").spawn(move || keyboard.run(&typed))?;
        Ok(())
    }

    /// No credit is given any more.
    pub(crate) fn end(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

/// Writes to the terminal what was typed.
struct Keyboard {
    channel: Channel,
    master: File,
    port: Arc<Port>,
    open: Arc<Mutex<bool>>,
}

impl Keyboard {
    /// Until the program has ended.
    fn run(mut self, typed: &Receiver<Vec<u8>>) {
        for bytes in typed {
            // Without a program there is nobody who reads.
            if self.master.write_all(&bytes).is_err() {
                return;
            }
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if !*open {
                return;
            }
            let count = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            self.port.send(self.channel, &ToHost::Credit(count));
        }
    }
}
