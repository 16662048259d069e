//! Starting agents, and looking for what they left.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use config_core::Environment;
use forge_core::RunId;
use orchestrator_engine::output::{AgentLogReader, LogPart, LogSizes, Redactor, RunLog};
use orchestrator_engine::process::{
    AgentInput, ChildEnvironment, Confinement, ProcessLimits, ProcessReport, ProcessSpec,
    RunVariables, RunningAgent, Sandbox, View,
};
use tempfile::TempDir;

/// A place for runs, and how they are confined.
pub(crate) struct ProcessTestBed {
    pub(crate) folder: TempDir,
    pub(crate) confinement: Confinement,
    pub(crate) sandbox: Sandbox,
}

/// A run that is prepared.
pub(crate) struct Prepared {
    pub(crate) spec: ProcessSpec,
    pub(crate) log: RunLog,
    pub(crate) log_folder: PathBuf,
    /// A word that all processes of the run carry in their arguments.
    pub(crate) token: String,
}

/// A number that no other test on this machine has.
fn unique() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!(
        "{}{:04}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

impl ProcessTestBed {
    /// The best confinement of this host.
    pub(crate) fn best() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            confinement: Confinement::detect("test-processes"),
            sandbox: Sandbox::off(),
        }
    }

    /// The process table only, as on a host without cgroups.
    pub(crate) fn scan() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            confinement: Confinement::Scan,
            sandbox: Sandbox::off(),
        }
    }

    /// A shell agent; `TOKEN` in the script becomes a number that only its processes carry, so that
    /// `sleep TOKEN` can be found.
    pub(crate) fn shell(&self, script: &str, limits: ProcessLimits) -> Prepared {
        self.shell_with(script, limits, Redactor::default(), LogSizes::default())
    }

    pub(crate) fn shell_with(
        &self,
        script: &str,
        limits: ProcessLimits,
        redactor: Redactor,
        sizes: LogSizes,
    ) -> Prepared {
        let token = format!("9{}", unique());
        let run = format!("run-{token}");
        let variables = RunVariables {
            run: run.clone(),
            agent: "tester".into(),
            ..RunVariables::default()
        };
        let path = Environment::from_iter([("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")]);
        let log_folder = self.folder.path().join("logs").join(&run);
        let folder = self.folder.path().join(&run);
        fs::create_dir(&folder).unwrap();
        Prepared {
            spec: ProcessSpec {
                run: run.parse::<RunId>().unwrap(),
                program: "/bin/sh".into(),
                arguments: vec!["-c".into(), script.replace("TOKEN", &token).into()],
                environment: ChildEnvironment::new(&path, &[], &variables).unwrap(),
                folder,
                input: AgentInput::Closed,
                limits,
                sandbox: self.sandbox.clone(),
                view: View::default(),
            },
            log: RunLog::create(&log_folder, sizes, redactor).unwrap(),
            log_folder,
            token,
        }
    }

    pub(crate) fn start(&self, prepared: Prepared) -> RunningAgent {
        RunningAgent::start(prepared.spec, &self.confinement, prepared.log).unwrap()
    }

    /// Runs a script to its end; the output is what was kept.
    pub(crate) fn run(&self, script: &str, limits: ProcessLimits) -> (ProcessReport, String) {
        let prepared = self.shell(script, limits);
        let log = prepared.log_folder.clone();
        let ended = self.start(prepared).run();
        (ended, text(&log))
    }
}

/// Limits with short times; nothing in a passing test waits for them.
pub(crate) fn limits() -> ProcessLimits {
    ProcessLimits {
        wall: Duration::from_secs(60),
        grace: Duration::from_millis(300),
        ..ProcessLimits::default()
    }
}

/// The kept output.
pub(crate) fn text(log: &Path) -> String {
    let mut reader = AgentLogReader::new(log, 0);
    let mut text = Vec::new();
    loop {
        match reader.next(1 << 20).unwrap() {
            LogPart::Bytes(bytes) => text.extend(bytes),
            LogPart::Skipped(count) => text.extend(format!("[{count} left out]").into_bytes()),
            LogPart::Waiting => panic!("the log of an ended run is closed"),
            LogPart::End(_) => return String::from_utf8_lossy(&text).into_owned(),
        }
    }
}

/// Living processes that carry the token in their arguments.
pub(crate) fn alive(token: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let zombie = stat
            .rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim_start().starts_with('Z'));
        if arguments.contains(token) && !zombie {
            found.push(arguments);
        }
    }
    found
}

/// Waits until so many `sleep`s of a token run.
pub(crate) fn wait_for_sleeps(token: &str, count: usize) {
    let is_sleep = |line: &&String| line.starts_with("sleep ");
    for _ in 0..3000 {
        if alive(token).iter().filter(is_sleep).count() == count {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("{count} of {token} do not run: {:?}", alive(token));
}

/// Waits until the script has written `word`.
pub(crate) fn wait_for_output(log: &Path, word: &str) {
    let mut reader = AgentLogReader::new(log, 0);
    let mut seen = String::new();
    for _ in 0..3000 {
        match reader.next(4096).unwrap() {
            LogPart::Bytes(bytes) => seen += &String::from_utf8_lossy(&bytes),
            LogPart::Waiting => std::thread::park_timeout(Duration::from_millis(10)),
            other => panic!("{other:?} before {word:?}: {seen:?}"),
        }
        if seen.contains(word) {
            return;
        }
    }
    panic!("{word:?} was not written: {seen:?}");
}
