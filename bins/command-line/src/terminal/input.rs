//! Keys, mouse and sizes, read on a thread of their own.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::event::{self, Event};
use tokio::sync::mpsc;

/// Between two looks at whether somebody still wants to know.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long the thread has to end: a few looks.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// Events that may wait to be taken; a paste comes as one.
const CAPACITY: usize = 256;

/// Reads the terminal until it is dropped.
pub struct InputReader {
    events: mpsc::Receiver<Event>,
    stop: Arc<AtomicBool>,
    /// Closed when the thread ends.
    ended: std::sync::mpsc::Receiver<()>,
}

impl InputReader {
    /// Begins to read.
    ///
    /// # Errors
    /// When standard input is no terminal, or the system has no thread left.
    pub fn start() -> io::Result<Self> {
        if !io::stdin().is_terminal() {
            return Err(io::Error::other("standard input is no terminal"));
        }
        let (sender, events) = mpsc::channel(CAPACITY);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (is_running, ended) = std::sync::mpsc::channel();
        std::thread::Builder::new()
            .name("terminal-input".to_owned())
            .spawn(move || {
                read(&sender, &stopped);
                drop(is_running);
            })?;
        Ok(Self {
            events,
            stop,
            ended,
        })
    }

    /// The next event; `None` when the terminal is gone.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// An event that has come already.
    pub fn waiting(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }
}

impl Drop for InputReader {
    /// Whoever reads the terminal next gets every key. Where the terminal is gone, crossterm looks
    /// for keys for ever, whatever the time it was given: that thread is left to the process's end.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.events.close();
        let _ = self.ended.recv_timeout(STOP_TIMEOUT);
    }
}

fn read(sender: &mpsc::Sender<Event>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let next = match event::poll(POLL_INTERVAL) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let Ok(next) = next else { return };
        if sender.blocking_send(next).is_err() {
            return;
        }
    }
}
