//! The full screen of a program, and the guard that gives the terminal back: when it is dropped,
//! when its thread panics, and when the program is told to end.

use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::style::ResetColor;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use rustix::process::{Signal, getpid, kill_process};

/// Whether the terminal is in our hands.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The thread that draws: its panic ends the screen, others' are kept for afterwards.
static OWNER: Mutex<Option<ThreadId>> = Mutex::new(None);

/// What other threads' panics said meanwhile.
static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The terminal, taken for a full screen. Given back when dropped.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
    /// Columns and rows that are drawn on.
    size: (u16, u16),
}

impl Screen {
    /// Takes the terminal: raw keys, the alternate screen, the mouse.
    ///
    /// # Errors
    /// When standard output is no terminal, or it cannot be written to.
    pub fn open() -> io::Result<Self> {
        restore_on_panic();
        *OWNER.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        take()?;
        // A failure here must not leave the terminal taken.
        let (terminal, size) = blank().inspect_err(|_| restore_terminal())?;
        Ok(Self { terminal, size })
    }

    /// Draws one frame.
    ///
    /// # Errors
    /// When the terminal is gone, or was given back because a part of the program panicked.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if !TAKEN.load(Ordering::SeqCst) {
            return Err(io::Error::other("the screen was given back after a panic"));
        }
        self.terminal.draw(draw).map(drop)
    }

    /// Columns and rows that the next frame has. Asked before each: the event of another size is
    /// lost where a key comes at the same moment.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn measure(&mut self) -> io::Result<(u16, u16)> {
        if size()? != self.size {
            self.repaint()?;
        }
        Ok(self.size)
    }

    /// Draws all of the next frame: a terminal that was small for a moment has lost what stood
    /// there.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn repaint(&mut self) -> io::Result<()> {
        execute!(io::stdout(), Clear(ClearType::All))?;
        (self.terminal, self.size) = blank()?;
        Ok(())
    }

    /// Gives the terminal back, stops this program as Ctrl-Z does, and takes the terminal again
    /// once it goes on.
    ///
    /// # Errors
    /// When the terminal is gone by then.
    pub fn suspend(&mut self) -> io::Result<()> {
        restore_terminal();
        // A shell without job control leaves the program running.
        let _ = kill_process(getpid(), Signal::TSTP);
        take()?;
        (self.terminal, self.size) = blank()?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore_terminal();
        let mut messages = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
        for message in messages.drain(..) {
            let _ = writeln!(io::stderr(), "{message}");
        }
    }
}

/// A screen with nothing on it yet, of the size that the terminal has now. The size is fixed:
/// ratatui would clear a screen whose size changes, and for that ask the terminal where its cursor
/// is, whose answer the thread that reads keys may get.
#[allow(clippy::type_complexity, reason = "a terminal and its size")]
fn blank() -> io::Result<(Terminal<CrosstermBackend<io::Stdout>>, (u16, u16))> {
    let size = size()?;
    let viewport = Viewport::Fixed(Rect::new(0, 0, size.0, size.1));
    let backend = CrosstermBackend::new(io::stdout());
    let terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
    Ok((terminal, size))
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let entered = execute!(
        io::stdout(),
        EnterAlternateScreen,
        Clear(ClearType::All),
        EnableMouseCapture,
        EnableBracketedPaste
    );
    entered.inspect_err(|_| restore_terminal())
}

/// Gives the terminal back as it was found. Does nothing when that has been done. A terminal that
/// is gone is no reason to fail.
pub fn restore_terminal() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = queue!(
        out,
        DisableBracketedPaste,
        DisableMouseCapture,
        ResetColor,
        LeaveAlternateScreen,
        Show
    );
    let _ = out.flush();
    let _ = disable_raw_mode();
}

/// Ends what a line editor that was broken off has left: raw keys, marked pastes, a hidden cursor.
pub fn end_line_editor() {
    let _ = execute!(io::stdout(), DisableBracketedPaste, Show);
    let _ = disable_raw_mode();
}

/// A panic of the thread that draws is told after the terminal has been given back; that of
/// another, which its supervisor deals with, after the screen has ended. Where there is no screen,
/// raw keys (a line editor's) end before the message.
pub fn restore_on_panic() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let owner = *OWNER.lock().unwrap_or_else(PoisonError::into_inner);
            let is_taken = TAKEN.load(Ordering::SeqCst);
            if is_taken && owner != Some(thread::current().id()) {
                let mut messages = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
                messages.push(info.to_string());
                return;
            }
            restore_terminal();
            let _ = disable_raw_mode();
            usual(info);
        }));
    });
}
