//! A VM manager whose machines play what a test says: it keeps every byte it is given, and
//! misbehaves as planned.

mod script;
mod serve;

use std::sync::Arc;

use actix_web::web;
use parking_lot::Mutex;
use serde_json::json;

use self::script::Script;
pub use self::script::{Command, Misbehaviour, Play};
use crate::server::{Recorded, Running, start};

/// The manager. It ends when it is dropped.
pub struct ScriptedVmm {
    script: Arc<Mutex<Script>>,
    running: Running,
}

impl ScriptedVmm {
    /// Starts a manager whose commands do what `plays` says; needs a running actix system.
    #[must_use]
    pub fn start(plays: impl Fn(&Command) -> Play + Send + Sync + 'static) -> Self {
        let script = Script {
            plays: Some(Box::new(plays)),
            ..Script::default()
        };
        let script = Arc::new(Mutex::new(script));
        let data = web::Data::from(script.clone());
        let running = start!(move |app: &mut web::ServiceConfig| {
            app.app_data(data.clone())
                .app_data(web::PayloadConfig::new(64 << 20))
                .default_service(web::to(serve::serve));
        });
        Self { script, running }
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.running.address)
    }

    /// The next request whose `METHOD /path` begins so is answered otherwise.
    pub fn plan(&self, request: &str, misbehaviour: Misbehaviour) {
        let planned = (request.to_owned(), misbehaviour);
        self.script.lock().planned.push_back(planned);
    }

    /// Everything that was planned is forgotten.
    pub fn forget_plans(&self) {
        self.script.lock().planned.clear();
    }

    /// Every request so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.script.lock().requests.clone()
    }

    /// Every command so far, but for those that list reports of tests.
    #[must_use]
    pub fn commands(&self) -> Vec<Command> {
        let script = self.script.lock();
        let commands = script.commands.iter().map(|(command, ..)| command);
        commands.filter(|it| !it.lists_reports()).cloned().collect()
    }

    /// From now on machines hold these reports of tests when their steps have ended: paths from the
    /// workspace, and texts.
    pub fn leave_reports(&self, files: &[(&str, &str)]) {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        self.script.lock().reports = files.collect();
    }

    /// The machines that are given out: their ids.
    #[must_use]
    pub fn vms(&self) -> Vec<String> {
        self.script.lock().vms.keys().cloned().collect()
    }

    /// How many machines were ordered.
    #[must_use]
    pub fn ordered(&self) -> u64 {
        self.script.lock().ordered
    }

    /// A machine that nobody ordered over this connection.
    pub fn add_vm(&self, id: &str, owner: &str) {
        let vm = json!({"id": id, "state": "ready", "isolation": "emulated-vm", "owner": owner});
        self.script.lock().vms.insert(id.to_owned(), vm);
    }

    /// From now on its VMs are numbered behind this: those of two managers have different names.
    pub fn number_behind(&self, number: u64) {
        self.script.lock().ordered = number;
    }

    /// From now on it says that so many MiB of 8192 are free, and that it has these images.
    pub fn say_room(&self, free_mem_mib: u64, images: &[&str]) {
        let mut script = self.script.lock();
        script.health = Some(json!({
            "status": "ok", "isolation": "emulated-vm", "driver": "scripted", "version": "1.2.3",
            "pool": {"ready": 0, "target": 0, "in_use": 0},
            "capacity": {"vms": 32, "free_vms": 32, "mem_mib": 8192, "free_mem_mib": free_mem_mib},
        }));
        script.images = Some(json!([{"digest": "0123", "names": images}]));
    }

    /// From now on it says as well that so many processors of 8 are free.
    ///
    /// # Panics
    /// When it has said nothing of its room yet.
    pub fn say_processors(&self, free: u32) {
        let mut script = self.script.lock();
        let health = script.health.as_mut().expect("it has said its room");
        health["capacity"]["vcpus"] = json!(8);
        health["capacity"]["free_vcpus"] = json!(free);
    }

    /// A machine goes away, with all that runs in it.
    pub fn remove_vm(&self, id: &str) {
        let mut script = self.script.lock();
        script.vms.remove(id);
        for (command, play, wake) in &mut script.commands {
            if command.vm == id && play.end.is_none() {
                play.end = Some(json!({"state": "lost", "exit_code": null, "signal": null}));
                wake.notify_waiters();
            }
        }
    }

    /// Commands that hang end now, and say that all went well.
    pub fn end_hanging(&self) {
        let mut script = self.script.lock();
        for (_, play, wake) in &mut script.commands {
            if play.end.is_none() {
                play.end = Play::exit(0).end;
                wake.notify_waiters();
            }
        }
    }

    /// Every byte that was sent to a machine or the manager: paths, queries and bodies.
    #[must_use]
    pub fn everything(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for request in &self.script.lock().requests {
            all.extend_from_slice(request.path.as_bytes());
            all.extend_from_slice(request.query.as_bytes());
            all.extend_from_slice(&request.body);
        }
        all
    }
}
