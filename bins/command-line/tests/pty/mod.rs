//! A program on a pseudo-terminal, and what a person would see there. The tests of programs with a
//! screen include this file.

mod svg;

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// How long a screen is waited for; a loaded machine is slow.
const SCREEN_TIMEOUT: Duration = Duration::from_secs(60);

/// A program on a terminal of its own. Killed when dropped.
pub(crate) struct Pty {
    child: Child,
    master: File,
    /// Kept open: what was written last can be read after the program has ended.
    slave: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Pty {
    /// Starts the program in a session of its own, on a terminal of this size.
    pub(crate) fn spawn(program: &Command, columns: u16, rows: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let slave: File = rustix::fs::open(&name, flags, Mode::empty())
            .expect("opened")
            .into();
        set_size(&slave, columns, rows);
        let end = || Stdio::from(slave.try_clone().expect("a second descriptor"));
        // As a shell would: the terminal is the one that Ctrl-C and a hang-up come from.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program.get_program());
        command.args(program.get_args()).env_clear();
        if let Some(folder) = program.get_current_dir() {
            command.current_dir(folder);
        }
        for (name, value) in program.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(
            lines(rows),
            lines(columns),
            1000,
        )));
        let master: File = master.into();
        let (mut terminal, shared) = (master.try_clone().expect("a descriptor"), screen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            while let Ok(read @ 1..) = terminal.read(&mut bytes) {
                let mut parser = shared.lock().expect("no panic");
                parser.process(&bytes[..read]);
                let (row, column) = parser.screen().cursor_position();
                drop(parser);
                // Terminals say where their cursor is when they are asked.
                if bytes[..read].windows(4).any(|asked| asked == b"\x1b[6n") {
                    let _ = write!(terminal, "\x1b[{};{}R", row + 1, column + 1);
                }
            }
        });
        Self {
            child: child.expect("it starts"),
            master,
            slave,
            screen,
        }
    }

    /// Types.
    pub(crate) fn send(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("written");
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let mut screen = self.screen.lock().expect("no panic");
        screen.screen_mut().set_size(lines(rows), lines(columns));
        drop(screen);
        set_size(&self.slave, columns, rows);
    }

    /// What is on the screen now.
    pub(crate) fn contents(&self) -> String {
        self.screen.lock().expect("no panic").screen().contents()
    }

    /// The screen as a picture of the documentation.
    pub(crate) fn picture(&self) -> String {
        svg::picture(self.screen.lock().expect("no panic").screen())
    }

    /// Waits until the text is on the screen; gives the whole screen.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        self.wait_until(text, |shown| shown.contains(text))
    }

    /// Waits until the screen is as it should be; gives it.
    pub(crate) fn wait_until(&mut self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + SCREEN_TIMEOUT;
        loop {
            let shown = self.contents();
            if is_so(&shown) {
                return shown;
            }
            let ended = self.child.try_wait().expect("it is ours");
            assert!(
                Instant::now() < until && ended.is_none(),
                "{what:?} is not shown ({ended:?}):\n{shown}"
            );
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process"), signal).expect("sent");
    }

    /// Waits for the end; its code, 128 and the number for a signal that was not caught.
    pub(crate) fn wait(&mut self) -> i32 {
        let until = Instant::now() + SCREEN_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                // What it wrote last is on its way through the terminal.
                std::thread::park_timeout(Duration::from_millis(100));
                return code(status);
            }
            assert!(
                Instant::now() < until,
                "it does not end:\n{}",
                self.contents()
            );
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// Fails unless the terminal is as the program found it.
    pub(crate) fn assert_given_back(&self) {
        let parser = self.screen.lock().expect("no panic");
        let screen = parser.screen();
        assert!(!screen.alternate_screen(), "the alternate screen is left");
        assert!(!screen.hide_cursor(), "the cursor is shown");
        assert!(!screen.bracketed_paste(), "pastes are plain again");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        let modes = tcgetattr(&self.slave).expect("a terminal").local_modes;
        let cooked = LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        assert!(modes.contains(cooked), "keys are echoed again: {modes:?}");
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A terminal has at least one row and column.
fn lines(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("not none")
}

fn code(status: ExitStatus) -> i32 {
    let signalled = status.signal().map(|signal| 128 + signal);
    status.code().or(signalled).expect("it has ended")
}

fn set_size(terminal: &File, columns: u16, rows: u16) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).expect("a size");
}
