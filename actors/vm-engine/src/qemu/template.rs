//! Templates: a VM that was booted once, and is cloned from then on.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vm_core::{ExecEnd, ExecProgram, ExecSpec, OutputStream, TemplateKey, VmId};

use super::command::{GuestMemory, MachineShape};
use super::config::{DISK, QemuConfig};
use super::launch::{LaunchedQemu, disk_bytes, launch, start};
use super::monitor::QemuMonitor;
use crate::driver::{CloneRequest, Machine, Template};
use crate::error::{DriverError, MachineError};
use crate::exec::{ExecSink, OutputFlow};
use crate::image::{DiskFormat, Image};
use crate::link::GuestLink;
use crate::machine::{MachineDirectory, NewMachine, PauseControl, VmMachine};
use crate::qcow2::write_overlay;
use crate::qmp::Qmp;

/// The guest's memory.
const RAM: &str = "ram";
/// The devices' state.
const STATE: &str = "state";
/// How long saving may take: the state is some hundred kilobytes.
const SAVE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long warming may take before it is given up.
const WARM_TIMEOUT: Duration = Duration::from_secs(20);

/// Numbers the folders of templates.
static NUMBER: AtomicU64 = AtomicU64::new(1);

/// A frozen VM: files only, no process.
struct QemuTemplate {
    config: Arc<QemuConfig>,
    key: TemplateKey,
    frozen: Arc<FrozenFiles>,
    image: Arc<Image>,
}

/// The files that clones stand on; removed when neither the template nor a clone needs them.
#[derive(Debug)]
struct FrozenFiles {
    directory: MachineDirectory,
    disk_bytes: u64,
}

impl FrozenFiles {
    fn ram(&self) -> PathBuf {
        self.directory.file(RAM)
    }
}

/// How often a VM is booted until its clock goes right.
pub(super) const ATTEMPTS: u32 = 3;
/// How long clocks are compared until it is certain.
pub(super) const CLOCK_TIMEOUT: Duration = Duration::from_secs(15);

/// Boots, warms and freezes. One whose clock does not go as the host's does is thrown away and made
/// again: all its clones would have that clock.
pub(super) fn make(
    config: &Arc<QemuConfig>,
    key: &TemplateKey,
    image: &Arc<Image>,
) -> Result<Arc<dyn Template>, DriverError> {
    let mut attempt = 1;
    loop {
        match make_once(config, key, image) {
            Err(DriverError::Machine(MachineError::Clock(_))) if attempt < ATTEMPTS => {
                attempt += 1;
            }
            outcome => return outcome,
        }
    }
}

fn make_once(
    config: &Arc<QemuConfig>,
    key: &TemplateKey,
    image: &Arc<Image>,
) -> Result<Arc<dyn Template>, DriverError> {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let id: VmId = format!("vm-template-{}-{number}", std::process::id())
        .parse()
        .expect("digits behind the prefix are a valid id");
    let ram = config.runtime.join(id.as_str()).join(RAM);
    let mut started = start(
        config,
        id,
        key,
        image,
        config.boot_deadline,
        GuestMemory::Shared(ram),
        Box::new(|_| {}),
    )?;
    warm(&started.machine.link, TEMPLATE_SCRIPT, WARM_TIMEOUT);
    let checked = started.machine.link.check_rate(CLOCK_TIMEOUT);
    let saved = match checked {
        Ok(()) => freeze(&mut started.qmp, &started.machine.directory),
        Err(error) => Err(error.into()),
    };
    started.machine.ending.store(true, Ordering::SeqCst);
    let ended = started.machine.process.kill();
    started.machine.link.close("it is a template now");
    saved.and(ended)?;
    let disk_bytes = disk_bytes(key, image);
    let frozen = Arc::new(FrozenFiles {
        directory: started.machine.directory,
        disk_bytes,
    });
    Ok(Arc::new(QemuTemplate {
        config: Arc::clone(config),
        key: key.clone(),
        frozen,
        image: Arc::clone(image),
    }))
}

/// What a template runs before it is frozen: what nearly every job uses, so that its pages are in
/// the memory that clones share.
const TEMPLATE_SCRIPT: &str =
    "cat /etc/passwd >/dev/null; mkdir -p /tmp/w && rm -r /tmp/w; git --version; true";
/// What a clone runs before it waits: a shell, so that its code is translated.
const CLONE_SCRIPT: &str = "true";

/// Runs a script and waits for it. An image without bash or git is a slower one, not a wrong one.
fn warm(link: &GuestLink, script: &str, deadline: Duration) {
    let spec = ExecSpec {
        program: ExecProgram::Script {
            text: script.to_owned(),
            shell: ExecSpec::shell("bash").expect("bash is a known shell"),
        },
        cwd: ExecSpec::WORKSPACE.to_owned(),
        env: Default::default(),
        timeout: Some(deadline.max(Duration::from_millis(1))),
        terminal: None,
    };
    let (sender, ended) = channel();
    if link.exec(spec, Box::new(EndWaiter(sender))).is_ok() {
        let _ = ended.recv_timeout(deadline);
    }
}

/// Waits for the end of something whose output does not matter.
struct EndWaiter(Sender<ExecEnd>);

impl ExecSink for EndWaiter {
    fn output(&mut self, _stream: OutputStream, _bytes: &[u8]) -> OutputFlow {
        OutputFlow::Continue
    }

    fn ended(&mut self, end: ExecEnd) {
        let _ = self.0.send(end);
    }
}

fn freeze(qmp: &mut Qmp, directory: &MachineDirectory) -> Result<(), DriverError> {
    let path = directory.file(STATE);
    let file = File::create(&path).map_err(|source| DriverError::Files {
        what: "making",
        path,
        source,
    })?;
    qmp.run("stop", &Value::Null, SAVE_TIMEOUT)?;
    exclude_memory(qmp)?;
    qmp.send_file("state", file.as_fd(), SAVE_TIMEOUT)?;
    qmp.run("migrate", &json!({ "uri": "fd:state" }), SAVE_TIMEOUT)?;
    qmp.await_migration(SAVE_TIMEOUT)
}

/// Memory that is a file need not be written to another.
fn exclude_memory(qmp: &mut Qmp) -> Result<(), DriverError> {
    let capability =
        json!({ "capabilities": [{ "capability": "x-ignore-shared", "state": true }] });
    qmp.run("migrate-set-capabilities", &capability, SAVE_TIMEOUT)
        .map(drop)
}

impl Template for QemuTemplate {
    fn key(&self) -> &TemplateKey {
        &self.key
    }

    fn spawn(&self, request: CloneRequest) -> Result<Arc<dyn Machine>, DriverError> {
        self.make_clone(request, false)
    }

    fn spawn_warm(&self, request: CloneRequest) -> Result<Arc<dyn Machine>, DriverError> {
        self.make_clone(request, true)
    }
}

impl QemuTemplate {
    fn make_clone(
        &self,
        request: CloneRequest,
        warmed: bool,
    ) -> Result<Arc<dyn Machine>, DriverError> {
        let directory = MachineDirectory::new(self.config.runtime.join(request.id.as_str()))?;
        let disk = directory.file(DISK);
        let base = self.frozen.directory.file(DISK);
        write_overlay(&disk, &base, DiskFormat::Qcow2, self.frozen.disk_bytes).map_err(
            |source| DriverError::Files {
                what: "making",
                path: disk,
                source,
            },
        )?;
        let shape = MachineShape {
            vcpus: self.key.vcpus,
            mem_mib: self.key.mem_mib,
            memory: GuestMemory::CopyOnWrite(self.frozen.ram()),
            incoming: true,
        };
        let mut launched = launch(
            &self.config,
            &directory,
            &shape,
            self.frozen.disk_bytes,
            request.on_event,
        )?;
        if let Err(error) = self.load(&mut launched, request.deadline, warmed) {
            let error = if launched
                .process
                .wait_for_end(Duration::from_millis(50))
                .is_some()
            {
                DriverError::Died {
                    detail: launched.process.obituary(),
                }
            } else {
                error
            };
            launched.abort();
            return Err(error);
        }
        let LaunchedQemu {
            process,
            link,
            ending,
            qmp,
            ..
        } = launched;
        let monitor: Arc<dyn PauseControl> =
            Arc::new(QemuMonitor::new(qmp, &process, self.key.mem_mib));
        let keeps: Vec<Arc<dyn Send + Sync>> = vec![
            Arc::<FrozenFiles>::clone(&self.frozen),
            Arc::<Image>::clone(&self.image),
        ];
        let parts = NewMachine {
            id: request.id,
            process,
            link,
            directory,
            monitor: Some(monitor),
            paused: true,
            has_identity: false,
            ending,
            keeps,
        };
        Ok(Arc::new(VmMachine::new(parts)))
    }

    fn load(
        &self,
        launched: &mut LaunchedQemu,
        deadline: Duration,
        warmed: bool,
    ) -> Result<(), DriverError> {
        let qmp = &mut launched.qmp;
        let start = Instant::now();
        let left = || deadline.saturating_sub(start.elapsed());
        let path = self.frozen.directory.file(STATE);
        let file = File::open(&path).map_err(|source| DriverError::Files {
            what: "opening",
            path,
            source,
        })?;
        exclude_memory(qmp)?;
        qmp.send_file("state", file.as_fd(), left())?;
        qmp.run("migrate-incoming", &json!({ "uri": "fd:state" }), left())?;
        qmp.await_migration(left())?;
        if warmed {
            qmp.run("cont", &Value::Null, left())?;
            warm(&launched.link, CLONE_SCRIPT, left());
            qmp.run("stop", &Value::Null, left())?;
        }
        Ok(())
    }
}
