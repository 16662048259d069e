//! A VM's monitor as long as the VM lives: it stands still, goes on, and goes back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use vm_core::SnapshotName;

use super::config::DISK;
use crate::error::{DriverError, MachineError};
use crate::machine::{PauseControl, SnapshotControl};
use crate::process::{DriverProcess, free_mib};
use crate::qmp::Qmp;

/// MiB of a disk that snapshots leave to others.
const SPARED_MIB: u64 = 512;

/// Bytes by which a disk's file may grow for one snapshot: memory, devices and tables.
pub(super) fn snapshot_bytes(mem_mib: u32) -> u64 {
    (u64::from(mem_mib) << 20) + (64 << 20)
}

/// The monitor of a VM that runs.
pub(super) struct QemuMonitor {
    qmp: Mutex<Qmp>,
    process: Arc<DriverProcess>,
    /// The guest's memory.
    mem_mib: u32,
}

impl QemuMonitor {
    pub(super) fn new(qmp: Qmp, process: &Arc<DriverProcess>, mem_mib: u32) -> Self {
        Self {
            qmp: Mutex::new(qmp),
            process: Arc::clone(process),
            mem_mib,
        }
    }

    fn folder(&self) -> &PathBuf {
        &self.process.record().folder
    }

    /// Bytes that the disk's file takes on the host's disk.
    fn disk_bytes(&self) -> u64 {
        use std::os::unix::fs::MetadataExt as _;
        let disk = std::fs::metadata(self.folder().join(DISK));
        disk.map_or(0, |file| file.blocks() * 512)
    }

    /// There has to be room for all of the memory, though most of it is never written.
    fn check_room(&self) -> Result<(), MachineError> {
        let needed = u64::from(self.mem_mib) + SPARED_MIB;
        match free_mib(self.folder()) {
            Some(free) if free < needed => Err(MachineError::NoDisk { needed, free }),
            _ => Ok(()),
        }
    }

    fn job(
        &self,
        command: &str,
        name: &SnapshotName,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let mut arguments = json!({ "tag": name.as_str(), "devices": ["disk"] });
        if command != "snapshot-delete" {
            arguments["vmstate"] = json!("disk");
        }
        let mut qmp = self.qmp.lock();
        if command != "snapshot-delete" {
            // A clone has left its memory out of what it was loaded from; this time it belongs in.
            let all =
                json!({ "capabilities": [{ "capability": "x-ignore-shared", "state": false }] });
            qmp.run("migrate-set-capabilities", &all, deadline)
                .map_err(|error| lost_error(&error))?;
        }
        qmp.run_job(command, arguments, deadline)
            .map_err(|error| lost_error(&error))
    }
}

fn lost_error(error: &DriverError) -> MachineError {
    MachineError::Terminated(error.to_string())
}

impl PauseControl for QemuMonitor {
    fn stop(&self, deadline: Duration) -> Result<(), DriverError> {
        let mut qmp = self.qmp.lock();
        qmp.run("stop", &Value::Null, deadline).map(drop)
    }

    fn unpause(&self, deadline: Duration) -> Result<(), DriverError> {
        let mut qmp = self.qmp.lock();
        qmp.run("cont", &Value::Null, deadline).map(drop)
    }

    fn snapshots(&self) -> Option<&dyn SnapshotControl> {
        Some(self)
    }
}

impl SnapshotControl for QemuMonitor {
    fn save(&self, name: &SnapshotName, deadline: Duration) -> Result<u64, MachineError> {
        self.check_room()?;
        self.process.allow_growth(snapshot_bytes(self.mem_mib));
        let before = self.disk_bytes();
        self.job("snapshot-save", name, deadline)?;
        Ok(self.disk_bytes().saturating_sub(before))
    }

    fn load(&self, name: &SnapshotName, deadline: Duration) -> Result<(), MachineError> {
        self.job("snapshot-load", name, deadline)
    }

    fn delete(&self, name: &SnapshotName, deadline: Duration) -> Result<(), MachineError> {
        self.job("snapshot-delete", name, deadline)
    }
}
