//! A VM's monitor as long as the VM lives: it stands still, and goes on.

use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use crate::error::DriverError;
use crate::machine::Monitor;
use crate::qmp::Qmp;

/// The monitor of a VM that runs.
pub(super) struct QemuMonitor(pub(super) Mutex<Qmp>);

impl Monitor for QemuMonitor {
    fn stop(&self, deadline: Duration) -> Result<(), DriverError> {
        let mut qmp = self.0.lock();
        qmp.run("stop", &Value::Null, deadline).map(drop)
    }

    fn go_on(&self, deadline: Duration) -> Result<(), DriverError> {
        let mut qmp = self.0.lock();
        qmp.run("cont", &Value::Null, deadline).map(drop)
    }
}
