//! Running what the host sends: a session of its own, streamed output, and an end.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use vm_core::guest::{Channel, ToHost};
use vm_core::{ExecEnd, ExecProgram, ExecSpec, OutputStream, TerminalSize};

use crate::cgroup::ExecCgroup;
use crate::confine::Spawner;
use crate::environment;
use crate::gate::GuestSendWindow;
use crate::port::Port;
use crate::pump::OutputPump;
use crate::reaper::ProcessReaper;
use crate::thread::thread;
use crate::tty::{TerminalInput, Tty};

/// Time that a program whose own time is over has to clean up.
const TIMEOUT_GRACE: Duration = Duration::from_secs(10);
/// Files that a program makes can be read by all, whatever the agent itself was started with.
const UMASK: u32 = 0o022;
/// Files that a program may have open at once, where the machine lets it.
const OPEN_FILES: u64 = 65_536;
/// How often a program that is to end is looked after.
const TERMINATE_POLL: Duration = Duration::from_millis(20);

/// Something that runs.
#[derive(Debug)]
pub(crate) struct Exec {
    /// Credit for its output, both streams together.
    pub(crate) gate: Arc<GuestSendWindow>,
    killed: AtomicBool,
    terminated: AtomicBool,
    timed_out: AtomicBool,
    /// The process group, 0 until it is known.
    group: Mutex<i32>,
    cgroup: Option<ExecCgroup>,
    /// Whether there is a proxy for it.
    proxied: bool,
    /// When the program itself has ended.
    ended: Arc<OnceLock<Instant>>,
    /// Its terminal, when it has one.
    tty: Mutex<Option<Arc<Tty>>>,
    /// What is typed there; gone once the program has ended.
    typed: Mutex<Option<TerminalInput>>,
}

impl Exec {
    pub(crate) fn new(channel: Channel, proxied: bool, on_terminal: bool) -> Self {
        Self {
            gate: Arc::default(),
            killed: AtomicBool::new(false),
            terminated: AtomicBool::new(false),
            timed_out: AtomicBool::new(false),
            group: Mutex::new(0),
            cgroup: ExecCgroup::new(channel),
            proxied,
            ended: Arc::default(),
            tty: Mutex::default(),
            typed: Mutex::new(on_terminal.then(TerminalInput::new)),
        }
    }

    /// Kills all it has started, because the host asked.
    pub(crate) fn kill(&self) {
        self.killed.store(true, Ordering::SeqCst);
        self.kill_all();
        if self.ended.get().is_some() {
            // Nobody reads what is left of its output.
            self.gate.close();
        }
    }

    /// Ends it so that it can clean up: SIGINT, then SIGTERM, and a kill when the time is over.
    pub(crate) fn terminate(self: &Arc<Self>, grace: Duration) {
        if self.terminated.swap(true, Ordering::SeqCst) {
            return;
        }
        let exec = Arc::clone(self);
        let end = move || {
            let (_never, clock) = channel::<()>();
            let begun = Instant::now();
            let mut last = None;
            while exec.ended.get().is_none() && begun.elapsed() < grace {
                let signal = match begun.elapsed() < interrupted(grace) {
                    true => Signal::SIGINT,
                    false => Signal::SIGTERM,
                };
                // One that is only being started hears of it once it is there.
                if last != Some(signal) && exec.signal(signal) {
                    last = Some(signal);
                }
                let _ = clock.recv_timeout(TERMINATE_POLL);
            }
            exec.kill_all();
        };
        if thread("terminate").spawn(end).is_err() {
            self.kill();
        }
    }

    /// What is typed on its terminal.
    pub(crate) fn type_in(&self, bytes: Vec<u8>) {
        if let Some(typed) = &*self.typed() {
            typed.push(bytes);
        }
    }

    /// Another size of its terminal.
    pub(crate) fn resize(&self, size: TerminalSize) {
        if let Some(tty) = self.tty() {
            // A terminal whose program has ended has no size.
            let _ = tty.resize(size);
        }
    }

    fn typed(&self) -> MutexGuard<'_, Option<TerminalInput>> {
        self.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tty(&self) -> Option<Arc<Tty>> {
        let tty = self.tty.lock().unwrap_or_else(PoisonError::into_inner);
        tty.clone()
    }

    /// Sends its process group a signal, once there is one.
    fn signal(&self, signal: Signal) -> bool {
        let group = *self.group.lock().unwrap_or_else(PoisonError::into_inner);
        if group > 0 {
            let _ = killpg(Pid::from_raw(group), signal);
        }
        group > 0
    }

    /// Ends a program whose time is over as one that is cancelled, and then all it has started.
    fn run_out(&self, end: &Receiver<ExecEnd>) -> Option<ExecEnd> {
        let first = interrupted(TIMEOUT_GRACE);
        let mut ended = None;
        for (signal, time) in [
            (Signal::SIGINT, first),
            (Signal::SIGTERM, TIMEOUT_GRACE - first),
        ] {
            self.signal(signal);
            ended = end.recv_timeout(time).ok();
            if ended.is_some() {
                break;
            }
        }
        self.kill_all();
        ended.or_else(|| end.recv().ok())
    }

    fn kill_all(&self) {
        let group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        if *group > 0 {
            let _ = killpg(Pid::from_raw(*group), Signal::SIGKILL);
        }
    }

    /// Runs it to its end; every output and the end are sent. Blocks, so it has its own thread.
    pub(crate) fn run(
        &self,
        channel: Channel,
        spec: &ExecSpec,
        port: &Arc<Port>,
        starting: (&Arc<ProcessReaper>, &Spawner),
    ) {
        let end = match self.start(channel, spec, port, starting) {
            Ok(running) => self.wait_for_end(running, spec),
            Err(reason) => ExecEnd::NotStarted { reason },
        };
        self.gate.close();
        if let Some(tty) = self.tty() {
            tty.end();
        }
        *self.typed() = None;
        port.send(channel, &ToHost::Ended(end));
        let _ = fs::remove_file(script_path(channel));
    }

    fn start(
        &self,
        channel: Channel,
        spec: &ExecSpec,
        port: &Arc<Port>,
        (reaper, spawner): (&Arc<ProcessReaper>, &Spawner),
    ) -> Result<RunningExec, String> {
        let mut command = command(channel, spec, self.proxied)?;
        let terminal = self.attach_terminal(spec, &mut command)?;
        let entrance = self.cgroup.as_ref().and_then(|group| group.entrance().ok());
        detach(&mut command, entrance, terminal.is_some());
        let (sender, end) = channel_of_ends();
        let reaper = Arc::clone(reaper);
        let spawned = spawner.run(move || {
            reaper.spawn(sender, || {
                let mut child = command.spawn()?;
                let pid = i32::try_from(child.id()).unwrap_or(0);
                Ok((pid, (pid, child.stdout.take(), child.stderr.take())))
            })
        });
        let spawned = spawned.and_then(|spawned| spawned);
        let (pid, stdout, stderr) = spawned.map_err(|error| explain(spec, &error))?;
        *self.group.lock().unwrap_or_else(PoisonError::into_inner) = pid;
        if self.killed.load(Ordering::SeqCst) {
            self.kill_all();
        }
        port.send(channel, &ToHost::Started(pid.unsigned_abs()));
        let typed = self.typed().as_mut().and_then(TerminalInput::take);
        if let (Some(tty), Some(typed)) = (self.tty(), typed) {
            // A terminal that takes no input still shows what is written.
            let _ = tty.spawn_input(channel, port, typed);
        }
        let pump = |stream, pipe: Option<File>| {
            let pump = OutputPump {
                channel,
                stream,
                port: Arc::clone(port),
                gate: Arc::clone(&self.gate),
                ended: Arc::clone(&self.ended),
            };
            let spawn = |pipe| thread("pump").spawn(move || pump.run(pipe)).ok();
            pipe.and_then(spawn)
        };
        let pumps = [
            pump(
                OutputStream::Stdout,
                terminal.or_else(|| stdout.map(|pipe| File::from(OwnedFd::from(pipe)))),
            ),
            pump(
                OutputStream::Stderr,
                stderr.map(|pipe| File::from(OwnedFd::from(pipe))),
            ),
        ];
        Ok(RunningExec { end, pumps })
    }

    /// Gives the program its terminal, if it is to have one; what it writes is read from the file.
    fn attach_terminal(
        &self,
        spec: &ExecSpec,
        command: &mut Command,
    ) -> Result<Option<File>, String> {
        let Some(size) = spec.terminal else {
            return Ok(None);
        };
        let mut given = || {
            let (tty, program) = Tty::open(size)?;
            let reader = tty.reader()?;
            command
                .stdin(program.try_clone()?)
                .stdout(program.try_clone()?)
                .stderr(program);
            if !spec.env.contains_key("TERM") {
                command.env("TERM", "xterm-256color");
            }
            *self.tty.lock().unwrap_or_else(PoisonError::into_inner) = Some(tty);
            Ok(reader)
        };
        let given: io::Result<File> = given();
        given
            .map(Some)
            .map_err(|error| format!("there is no terminal for it: {error}"))
    }

    /// Waits for the program's end, then for its output.
    fn wait_for_end(&self, running: RunningExec, spec: &ExecSpec) -> ExecEnd {
        let end = match spec.timeout {
            None => running.end.recv().ok(),
            Some(timeout) => match running.end.recv_timeout(timeout) {
                Ok(end) => Some(end),
                Err(RecvTimeoutError::Disconnected) => None,
                Err(RecvTimeoutError::Timeout) => {
                    self.timed_out.store(true, Ordering::SeqCst);
                    self.run_out(&running.end)
                }
            },
        };
        let _ = self.ended.set(Instant::now());
        if self.killed.load(Ordering::SeqCst) {
            // Nobody reads what comes after a kill: pumps that wait for credit must not hold it up.
            self.gate.close();
        }
        for pump in running.pumps.into_iter().flatten() {
            let _ = pump.join();
        }
        if self.killed.load(Ordering::SeqCst) || self.terminated.load(Ordering::SeqCst) {
            return ExecEnd::Killed;
        }
        if self.timed_out.load(Ordering::SeqCst) {
            return ExecEnd::TimedOut;
        }
        end.unwrap_or_else(|| ExecEnd::Lost {
            reason: "the agent lost track of the process".to_owned(),
        })
    }
}

/// What is awaited of something that runs.
struct RunningExec {
    end: Receiver<ExecEnd>,
    pumps: [Option<JoinHandle<()>>; 2],
}

/// How long a program that is to end has been told so by SIGINT, before it is by SIGTERM.
fn interrupted(grace: Duration) -> Duration {
    grace / 4 * 3
}

fn channel_of_ends() -> (std::sync::mpsc::Sender<ExecEnd>, Receiver<ExecEnd>) {
    channel()
}

fn script_path(channel: Channel) -> PathBuf {
    PathBuf::from(format!("/run/.orrery-step-{channel}"))
}

fn command(channel: Channel, spec: &ExecSpec, proxied: bool) -> Result<Command, String> {
    let words = match &spec.program {
        ExecProgram::Argv(words) => words.clone(),
        ExecProgram::Script { text, shell } => {
            let path = script_path(channel);
            let path_text = path.to_string_lossy();
            write_script(&path, text)
                .map_err(|error| format!("the script cannot be written: {error}"))?;
            shell
                .iter()
                .map(|word| word.replace("{0}", &path_text))
                .collect()
        }
    };
    let (program, arguments) = words.split_first().ok_or("there is nothing to run")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(environment::command_environment(&spec.env, proxied))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

fn write_script(path: &std::path::Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let _ = fs::remove_file(path);
    // Readable and executable for all: the step may change its user.
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(path)?;
    file.write_all(text.as_bytes())
}

/// A session of its own, in its control group, before the program begins.
#[allow(
    unsafe_code,
    reason = "the standard library has no other way to do something in the child"
)]
fn detach(command: &mut Command, entrance: Option<File>, on_terminal: bool) {
    use std::os::unix::process::CommandExt as _;
    let limit = open_files();
    let prepare = move || {
        nix::unistd::setsid()?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(UMASK));
        let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
        if on_terminal {
            // Ctrl-C and a hang-up come from it.
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        if let Some(file) = &entrance {
            nix::unistd::write(file, b"0")?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, and no memory is allocated.
    unsafe { command.pre_exec(prepare) };
}

/// Files that a program may have open, as on GitHub's machines, where as many are allowed.
fn open_files() -> rustix::process::Rlimit {
    let now = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = now.maximum.unwrap_or(OPEN_FILES);
    rustix::process::Rlimit {
        current: Some(most.min(OPEN_FILES)),
        maximum: now.maximum,
    }
}

fn explain(spec: &ExecSpec, error: &io::Error) -> String {
    let program = match &spec.program {
        ExecProgram::Argv(words) => words.first(),
        ExecProgram::Script { shell, .. } => shell.first(),
    };
    let program = program.map_or("", String::as_str);
    if error.kind() == io::ErrorKind::NotFound && !std::path::Path::new(&spec.cwd).is_dir() {
        return format!("the folder {} does not exist", spec.cwd);
    }
    format!("{program} cannot be started: {error}")
}
