//! i17: a terminal in a VM, and a VM that stands still for a while.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use vm_core::{ExecEnd, ExecProgram, ExecSpec, TerminalSize};
use vm_engine::{ExecTicket, Machine, OutputFlow};

use crate::support::{
    Collect, CollectedOutput, Lab, TEST_TIMEOUT, clone_of, identity, run, script,
};

/// A shell on a terminal, and what it has shown.
struct Shell<'m> {
    vm: &'m dyn Machine,
    ticket: ExecTicket,
    news: Receiver<CollectedOutput>,
    shown: String,
}

impl<'m> Shell<'m> {
    fn open(vm: &'m dyn Machine, argv: &[&str]) -> Self {
        let (sender, news) = channel();
        let spec = ExecSpec {
            program: ExecProgram::Argv(argv.iter().map(|word| (*word).to_owned()).collect()),
            terminal: Some(TerminalSize::USUAL),
            ..script("")
        };
        let flow = OutputFlow::Continue;
        let ticket = vm.exec(spec, Box::new(Collect { sender, flow })).unwrap();
        Self {
            vm,
            ticket,
            news,
            shown: String::new(),
        }
    }

    fn type_in(&self, keys: &str) {
        let mut rest = keys.as_bytes();
        let until = Instant::now() + TEST_TIMEOUT;
        while !rest.is_empty() {
            assert!(Instant::now() < until, "nothing is read: {:?}", self.shown);
            let taken = self.vm.type_in(self.ticket, rest, TEST_TIMEOUT).unwrap();
            rest = &rest[taken..];
        }
    }

    fn until(&mut self, text: &str) {
        while !self.shown.contains(text) {
            match self.news.recv_timeout(TEST_TIMEOUT) {
                Ok(CollectedOutput::Output(_, bytes)) => {
                    self.shown += &String::from_utf8_lossy(&bytes);
                }
                other => panic!("{text:?} does not come, but {other:?}: {:?}", self.shown),
            }
        }
        self.shown.clear();
    }

    fn end(self) -> ExecEnd {
        loop {
            match self.news.recv_timeout(TEST_TIMEOUT).unwrap() {
                CollectedOutput::Output(..) => {}
                CollectedOutput::Ended(end) => return end,
            }
        }
    }
}

/// Waits until a `sleep` runs.
fn until_sleeping(vm: &dyn Machine) {
    let until = Instant::now() + TEST_TIMEOUT;
    let found = ExecEnd::Exited { code: 0 };
    while run(vm, "grep -qx sleep /proc/[0-9]*/comm 2>/dev/null").end != found {
        assert!(Instant::now() < until, "no sleep runs");
    }
}

#[test]
fn i17_a_terminal_echoes_has_a_size_takes_ctrl_c_and_ends_with_a_code() {
    let lab = Lab::new();
    let machine = lab.start("vm-terminal");
    let vm = &*machine;
    let mut shell = Shell::open(vm, &["bash", "--norc", "-i"]);
    shell.type_in("stty size; tty; echo $((6*7))-$TERM\n");
    shell.until("24 80");
    shell.until("42-xterm-256color");
    // What is typed is shown, as a person expects it.
    shell.type_in("echo typed-here");
    shell.until("echo typed-here");
    shell.type_in("\n");
    let size = TerminalSize {
        columns: 132,
        rows: 50,
    };
    vm.resize_terminal(shell.ticket, size).unwrap();
    shell.type_in("stty size\n");
    shell.until("50 132");
    shell.type_in("sleep 1000; echo not-\"reached\"\n");
    shell.until("sleep 1000");
    // Until the sleep runs, Ctrl-C would be the shell's.
    until_sleeping(vm);
    shell.type_in("\x03");
    shell.until("^C");
    shell.type_in("echo code-$?\n");
    shell.until("code-130");
    shell.type_in("exit 7\n");
    assert_eq!(shell.end(), ExecEnd::Exited { code: 7 });

    // Killing one kills what runs on it.
    let mut shell = Shell::open(vm, &["bash", "--norc", "-i"]);
    shell.type_in("setsid sleep 7777 & echo be\"gun\"\n");
    shell.until("begun");
    vm.kill_exec(shell.ticket, Duration::ZERO).unwrap();
    assert_eq!(shell.end(), ExecEnd::Killed);
    let left = run(vm, "grep -lx sleep /proc/[0-9]*/comm 2>/dev/null | wc -l");
    assert_eq!(left.stdout, "0\n");
    // Nobody is there to type to, and that is no fault.
    assert_eq!(vm.type_in(ExecTicket(1), b"x", TEST_TIMEOUT).unwrap(), 1);
}

#[test]
fn i17_a_flood_on_a_terminal_is_bounded_both_ways() {
    let lab = Lab::new();
    let machine = lab.start("vm-flood");
    let vm = &*machine;
    // Output that nobody takes: the window, and no more.
    let (sender, news) = channel();
    let spec = ExecSpec {
        program: ExecProgram::Argv(vec!["yes".to_owned()]),
        terminal: Some(TerminalSize::USUAL),
        ..script("")
    };
    let flow = OutputFlow::Hold;
    let ticket = vm.exec(spec, Box::new(Collect { sender, flow })).unwrap();
    let mut held = 0;
    while let Ok(CollectedOutput::Output(_, bytes)) = news.recv_timeout(Duration::from_secs(3)) {
        held += bytes.len();
    }
    let window = vm_core::guest::WINDOW as usize;
    assert!(held > 0 && held <= window, "{held}");
    assert!(vm.ping(TEST_TIMEOUT).is_ok());
    vm.kill_exec(ticket, Duration::ZERO).unwrap();

    // Input that nobody reads: the window, and the terminal's own few kilobytes.
    let shell = Shell::open(vm, &["sh", "-c", "stty raw -echo; exec sleep 1000"]);
    until_sleeping(vm);
    let keys = vec![b'x'; 1 << 20];
    let taken = vm
        .type_in(shell.ticket, &keys, Duration::from_secs(3))
        .unwrap();
    let window = vm_core::guest::TERMINAL_WINDOW as usize;
    assert!((window..window + (256 << 10)).contains(&taken), "{taken}");
    assert!(vm.ping(TEST_TIMEOUT).is_ok());
    vm.kill_exec(shell.ticket, Duration::ZERO).unwrap();
    assert_eq!(shell.end(), ExecEnd::Killed);
    assert_eq!(run(vm, "echo well").stdout, "well\n");
}

#[test]
fn i17_a_paused_vm_stands_still_and_goes_on_where_it_was() {
    let lab = Lab::new();
    let template = lab.template();
    let machine = clone_of(&template, "vm-paused");
    let vm = &*machine;
    vm.wake(&identity("vm-paused"), TEST_TIMEOUT).unwrap();
    run(
        vm,
        "echo kept >~/file; (while :; do echo >>~/ticks; sleep 0.1; done) & ",
    );
    let ticks = || -> u64 {
        let counted = run(vm, "wc -l <~/ticks").stdout;
        counted.trim().parse().unwrap()
    };
    while ticks() < 3 {}
    vm.pause(TEST_TIMEOUT).unwrap();
    assert!(vm.is_paused());
    vm.pause(TEST_TIMEOUT).unwrap();
    assert!(vm.ping(Duration::from_secs(1)).is_err(), "it cannot answer");
    let used = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", vm.process().pid)).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    let before = used();
    std::thread::park_timeout(Duration::from_secs(3));
    // Hundredths of a second of processor time.
    assert!(used() - before <= 3, "{} ticks", used() - before);
    vm.resume(&identity("vm-paused"), TEST_TIMEOUT).unwrap();
    assert!(!vm.is_paused());
    let seen = ticks();
    while ticks() <= seen {}
    assert_eq!(run(vm, "cat ~/file").stdout, "kept\n");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let guest: u64 = run(vm, "date +%s").stdout.trim().parse().unwrap();
    assert!(guest.abs_diff(now) <= 30, "{guest} and {now}");
}
