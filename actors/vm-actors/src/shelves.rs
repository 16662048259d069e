//! VMs and templates that wait to be used, by what they are made of.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use vm_core::pool::{Shelf, Template as TemplateState};
use vm_core::{TemplateKey, UnixMs, VmId};
use vm_engine::{Machine, Template};

use crate::relay::Relay;

/// A clone that waits, paused.
pub struct Pooled {
    /// The machine.
    pub machine: Arc<dyn Machine>,
    /// Its events.
    pub relay: Arc<Relay>,
}

/// What an order is made from.
pub enum Taken {
    /// A clone that waited.
    Pooled(Pooled),
    /// A template to clone.
    Template(Arc<dyn Template>),
    /// Nothing: it is booted.
    Nothing,
}

/// All shelves. The pool's actor fills them, the desk takes from them; they outlive lives of both.
#[derive(Default)]
pub struct Shelves(Mutex<BTreeMap<TemplateKey, OneShelf>>);

#[derive(Default)]
struct OneShelf {
    configured: bool,
    template: Option<Arc<dyn Template>>,
    /// While there is none.
    absent: Absent,
    ready: VecDeque<Pooled>,
    making: usize,
    last_used: UnixMs,
    /// No clone is made to wait before.
    clones_after: UnixMs,
}

#[derive(Clone, Copy, Default)]
enum Absent {
    #[default]
    Untried,
    Making,
    FailedUntil(UnixMs),
}

impl OneShelf {
    fn state(&self) -> TemplateState {
        match (&self.template, self.absent) {
            (Some(_), _) => TemplateState::Ready,
            (None, Absent::Untried) => TemplateState::Absent,
            (None, Absent::Making) => TemplateState::Making,
            (None, Absent::FailedUntil(until)) => TemplateState::FailedUntil(until),
        }
    }
}

impl Shelves {
    /// Shelves for what the configuration names.
    #[must_use]
    pub fn new(configured: &[TemplateKey]) -> Self {
        let shelf = || OneShelf {
            configured: true,
            ..OneShelf::default()
        };
        let shelves = configured.iter().map(|key| (key.clone(), shelf()));
        Self(Mutex::new(shelves.collect()))
    }

    /// The best there is for an order.
    pub fn take(&self, key: &TemplateKey, now: UnixMs) -> Taken {
        let mut shelves = self.0.lock();
        let shelf = shelves.entry(key.clone()).or_default();
        shelf.last_used = now;
        if let Some(pooled) = shelf.ready.pop_front() {
            pooled.relay.detach();
            return Taken::Pooled(pooled);
        }
        match &shelf.template {
            Some(template) => Taken::Template(Arc::clone(template)),
            None => Taken::Nothing,
        }
    }

    /// The shelves as the policy sees them. Those that hold nothing and are not used are forgotten.
    pub(crate) fn view(&self, idle: std::time::Duration, now: UnixMs) -> Vec<Shelf> {
        let mut shelves = self.0.lock();
        shelves.retain(|_, shelf| {
            shelf.configured
                || shelf.template.is_some()
                || !shelf.ready.is_empty()
                || shelf.making > 0
                || matches!(shelf.absent, Absent::Making)
                || now.since(shelf.last_used) < idle
        });
        let view = |(key, shelf): (&TemplateKey, &OneShelf)| Shelf {
            key: key.clone(),
            configured: shelf.configured,
            template: shelf.state(),
            ready: shelf.ready.len(),
            making: shelf.making,
            last_used: shelf.last_used,
            clones_after: shelf.clones_after,
        };
        shelves.iter().map(view).collect()
    }

    /// Clones that wait, and those that should for `clones` of each configured key.
    #[must_use]
    pub fn counts(&self, clones: usize) -> (usize, usize) {
        let shelves = self.0.lock();
        let ready = shelves.values().map(|shelf| shelf.ready.len()).sum();
        let configured = shelves.values().filter(|shelf| shelf.configured).count();
        (ready, configured * clones)
    }

    pub(crate) fn template(&self, key: &TemplateKey) -> Option<Arc<dyn Template>> {
        self.0.lock().get(key)?.template.clone()
    }

    pub(crate) fn making_template(&self, key: &TemplateKey) {
        self.0.lock().entry(key.clone()).or_default().absent = Absent::Making;
    }

    pub(crate) fn template_made(&self, key: &TemplateKey, template: Arc<dyn Template>) {
        let mut shelves = self.0.lock();
        let shelf = shelves.entry(key.clone()).or_default();
        shelf.template = Some(template);
        shelf.absent = Absent::Untried;
    }

    pub(crate) fn template_failed(&self, key: &TemplateKey, again: UnixMs) {
        self.0.lock().entry(key.clone()).or_default().absent = Absent::FailedUntil(again);
    }

    pub(crate) fn making_clones(&self, key: &TemplateKey, count: usize) {
        self.0.lock().entry(key.clone()).or_default().making += count;
    }

    /// One clone less is being made; with one more that waits when it worked.
    pub(crate) fn clone_done(&self, key: &TemplateKey, clone: Option<Pooled>) {
        let mut shelves = self.0.lock();
        let shelf = shelves.entry(key.clone()).or_default();
        shelf.making = shelf.making.saturating_sub(1);
        shelf.ready.extend(clone);
    }

    /// Clones are not made before `again`; the template is as good as before.
    pub(crate) fn clones_wait(&self, key: &TemplateKey, again: UnixMs) {
        self.0.lock().entry(key.clone()).or_default().clones_after = again;
    }

    /// A template that does not clone is made anew, not before `again`.
    pub(crate) fn template_broken(
        &self,
        key: &TemplateKey,
        again: UnixMs,
    ) -> Option<Arc<dyn Template>> {
        let mut shelves = self.0.lock();
        let shelf = shelves.get_mut(key)?;
        shelf.absent = Absent::FailedUntil(again);
        shelf.template.take()
    }

    pub(crate) fn drop_clones(&self, key: &TemplateKey, count: usize) -> Vec<Pooled> {
        let mut shelves = self.0.lock();
        let Some(shelf) = shelves.get_mut(key) else {
            return Vec::new();
        };
        let count = count.min(shelf.ready.len());
        shelf.ready.drain(..count).collect()
    }

    pub(crate) fn drop_template(&self, key: &TemplateKey) -> Option<Arc<dyn Template>> {
        self.0.lock().get_mut(key)?.template.take()
    }

    /// Takes a clone that has ended by itself off its shelf.
    pub(crate) fn remove(&self, id: &VmId) -> Option<Pooled> {
        let mut shelves = self.0.lock();
        shelves.values_mut().find_map(|shelf| {
            let at = shelf
                .ready
                .iter()
                .position(|pooled| pooled.machine.id() == id)?;
            shelf.ready.remove(at)
        })
    }

    /// A former life of the pool's actor may have been making things; nobody is any more.
    pub(crate) fn forget_making(&self) {
        for shelf in self.0.lock().values_mut() {
            shelf.making = 0;
            if matches!(shelf.absent, Absent::Making) {
                shelf.absent = Absent::Untried;
            }
        }
    }

    /// Everything, to end it.
    pub(crate) fn clear(&self) -> (Vec<Pooled>, Vec<Arc<dyn Template>>) {
        let (mut clones, mut templates) = (Vec::new(), Vec::new());
        for shelf in self.0.lock().values_mut() {
            clones.extend(shelf.ready.drain(..));
            templates.extend(shelf.template.take());
        }
        (clones, templates)
    }
}
