//! Starts and templates, as the test says.

use super::*;

pub(super) struct ScriptedDriver(pub(super) Arc<Lab>);

impl Driver for ScriptedDriver {
    fn name(&self) -> DriverName {
        DriverName::Scripted
    }

    fn isolation(&self) -> Isolation {
        self.0.isolation.lock().unwrap_or(Isolation::EmulatedVm)
    }

    fn overhead_mib(&self) -> u64 {
        16
    }

    fn start(&self, request: StartRequest) -> Result<Arc<dyn Machine>, DriverError> {
        let next = self.0.starts.lock().pop_front().unwrap_or(Next::Works);
        self.0.started.fetch_add(1, Ordering::SeqCst);
        match next {
            Next::Works => {}
            Next::Waits => self.0.wait(),
            Next::Panics => panic!("a planned panic"),
            Next::Dies => {
                let detail = "a planned death".to_owned();
                return Err(DriverError::Died { detail });
            }
            Next::Shortage => return Err(shortage()),
            Next::TooSlow => {
                return Err(DriverError::Deadline {
                    deadline: request.boot_deadline,
                    detail: "planned".to_owned(),
                });
            }
            Next::Unsupported => {
                return Err(DriverError::Unsupported {
                    driver: DriverName::Scripted,
                    what: "that".to_owned(),
                });
            }
        }
        Ok(self.0.add(request.id, request.on_event, false))
    }

    fn template(
        &self,
        key: &TemplateKey,
        _: &Arc<Image>,
    ) -> Result<Option<Arc<dyn Template>>, DriverError> {
        let template = self.0.templates.load(Ordering::SeqCst).then(|| {
            self.0.templates_made.fetch_add(1, Ordering::SeqCst);
            let template = ScriptedTemplate(key.clone(), Arc::clone(&self.0));
            Arc::new(template) as Arc<dyn Template>
        });
        Ok(template)
    }
}

/// What starting a program says when there is no descriptor left: EMFILE.
fn shortage() -> DriverError {
    DriverError::Program {
        program: "qemu".to_owned(),
        hint: "",
        source: std::io::Error::from_raw_os_error(24),
    }
}

struct ScriptedTemplate(TemplateKey, Arc<Lab>);

impl Template for ScriptedTemplate {
    fn key(&self) -> &TemplateKey {
        &self.0
    }

    fn spawn(&self, request: CloneRequest) -> Result<Arc<dyn Machine>, DriverError> {
        if self.1.clones_lack.load(Ordering::SeqCst) {
            self.1.lacked.fetch_add(1, Ordering::SeqCst);
            return Err(shortage());
        }
        self.1.spawned.fetch_add(1, Ordering::SeqCst);
        Ok(self.1.add(request.id, request.on_event, true))
    }
}
