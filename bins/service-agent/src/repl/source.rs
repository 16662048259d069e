//! Where lines come from: an editor on the terminal, or a pipe; on a thread of its own.

use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as threads;
use std::time::Duration;

use config_core::Environment;
use service_agent::ClientFailure;
use tokio::sync::mpsc;

use super::completion::SharedNames;
use super::editor;
use super::read_line::ReadLine;

/// Longest line that is read from a pipe, in bytes.
const MAX_LINE: u64 = 1 << 20;

/// How long an editor has to end its line.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// A thread that reads a line when it is asked for one, with the role for its prompt.
pub(super) struct LineSource {
    ask: threads::Sender<Option<String>>,
    lines: mpsc::Receiver<Result<ReadLine, String>>,
    stop: Arc<AtomicBool>,
    is_editor: bool,
}

impl LineSource {
    /// A line editor on the terminal.
    pub(super) fn editor(
        environment: &Environment,
        names: &SharedNames,
        colours: bool,
    ) -> Result<Self, ClientFailure> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut editor = editor::LineReader::new(environment, names, colours, &stop)?;
        Self::start(stop, true, move |role| editor.read(role))
    }

    /// The lines of standard input.
    pub(super) fn pipe() -> Result<Self, ClientFailure> {
        let stop = Arc::new(AtomicBool::new(false));
        Self::start(stop, false, |_| read_line())
    }

    fn start(
        stop: Arc<AtomicBool>,
        is_editor: bool,
        mut read: impl FnMut(Option<&str>) -> Result<ReadLine, String> + Send + 'static,
    ) -> Result<Self, ClientFailure> {
        let (ask, asked) = threads::channel::<Option<String>>();
        let (sender, lines) = mpsc::channel(1);
        // Not joined: it may wait for a line that never comes.
        std::thread::Builder::new()
            .name("repl-input".to_owned())
            .spawn(move || {
                while let Ok(role) = asked.recv() {
                    let line = read(role.as_deref());
                    if sender.blocking_send(line).is_err() {
                        return;
                    }
                }
            })
            .map_err(|error| ClientFailure::Other(error.to_string()))?;
        Ok(Self {
            ask,
            lines,
            stop,
            is_editor,
        })
    }

    /// The next line.
    pub(super) async fn next(&mut self, role: Option<&str>) -> Result<ReadLine, ClientFailure> {
        let ended = || ClientFailure::Other("the input has ended".to_owned());
        self.ask
            .send(role.map(str::to_owned))
            .map_err(|_| ended())?;
        let line = self.lines.recv().await.ok_or_else(ended)?;
        line.map_err(ClientFailure::Other)
    }

    /// Has the editor give the terminal back.
    pub(super) async fn stop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if self.is_editor {
            // It looks at that every few milliseconds, and then ends its line.
            let _ = tokio::time::timeout(STOP_TIMEOUT, self.lines.recv()).await;
            command_line::terminal::screen::end_line_editor();
        }
    }
}

fn read_line() -> Result<ReadLine, String> {
    let mut line = Vec::new();
    let stdin = std::io::stdin().lock();
    let mut bounded = std::io::Read::take(stdin, MAX_LINE + 1);
    let read = bounded.read_until(b'\n', &mut line);
    match read {
        Ok(0) => Ok(ReadLine::End),
        Ok(read) if read as u64 > MAX_LINE => {
            Err(format!("a line is longer than {MAX_LINE} bytes"))
        }
        Ok(_) => Ok(ReadLine::Text(String::from_utf8_lossy(&line).into_owned())),
        Err(error) => Err(error.to_string()),
    }
}
