//! VMs and templates that wait to be used, by what they are made of.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use vm_core::pool::{PoolEntry, TemplateState};
use vm_core::{TemplateKey, UnixMs, VmId};
use vm_engine::{Machine, Template};
use vmm_api_core::{PoolStock, TemplateView};

use crate::relay::EventRelay;

/// A clone that waits, paused.
pub(crate) struct PooledClone {
    /// The machine.
    pub(crate) machine: Arc<dyn Machine>,
    /// Its events.
    pub(crate) relay: Arc<EventRelay>,
}

/// What a VM is made from.
pub(crate) enum VmOrigin {
    /// A clone that waited.
    PooledClone(PooledClone),
    /// A template to clone.
    Template(Arc<dyn Template>),
    /// Neither: its image is booted.
    Image,
}

/// Templates and waiting clones. The pool manager fills it, the scheduler takes from it; it
/// outlives incarnations of both, and so do the clones.
#[derive(Default)]
pub(crate) struct WarmPool(Mutex<BTreeMap<TemplateKey, Stock>>);

/// What there is for one key.
#[derive(Default)]
struct Stock {
    configured: bool,
    template: Option<Arc<dyn Template>>,
    /// While there is none.
    absent: Absent,
    ready: VecDeque<PooledClone>,
    making: usize,
    last_used: UnixMs,
    /// No clone is made to wait before.
    clones_after: UnixMs,
}

#[derive(Clone, Copy, Default)]
enum Absent {
    #[default]
    Untried,
    InProgress,
    FailedUntil(UnixMs),
}

impl Stock {
    fn state(&self) -> TemplateState {
        match (&self.template, self.absent) {
            (Some(_), _) => TemplateState::Ready,
            (None, Absent::Untried) => TemplateState::Absent,
            (None, Absent::InProgress) => TemplateState::InProgress,
            (None, Absent::FailedUntil(until)) => TemplateState::FailedUntil(until),
        }
    }
}

impl WarmPool {
    /// A pool for what the configuration names.
    #[must_use]
    pub(crate) fn new(configured: &[TemplateKey]) -> Self {
        let stock = || Stock {
            configured: true,
            ..Stock::default()
        };
        let stocks = configured.iter().map(|key| (key.clone(), stock()));
        Self(Mutex::new(stocks.collect()))
    }

    /// The best there is for a request.
    pub(crate) fn take(&self, key: &TemplateKey, now: UnixMs) -> VmOrigin {
        let mut stocks = self.0.lock();
        let stock = stocks.entry(key.clone()).or_default();
        stock.last_used = now;
        if let Some(pooled) = stock.ready.pop_front() {
            pooled.relay.detach();
            return VmOrigin::PooledClone(pooled);
        }
        match &stock.template {
            Some(template) => VmOrigin::Template(Arc::clone(template)),
            None => VmOrigin::Image,
        }
    }

    /// The pool as the policy sees it. Keys that hold nothing and are not used are forgotten.
    pub(crate) fn view(&self, idle: std::time::Duration, now: UnixMs) -> Vec<PoolEntry> {
        let mut stocks = self.0.lock();
        stocks.retain(|_, stock| {
            stock.configured
                || stock.template.is_some()
                || !stock.ready.is_empty()
                || stock.making > 0
                || matches!(stock.absent, Absent::InProgress)
                || now.since(stock.last_used) < idle
        });
        let view = |(key, stock): (&TemplateKey, &Stock)| PoolEntry {
            key: key.clone(),
            configured: stock.configured,
            template: stock.state(),
            ready: stock.ready.len(),
            making: stock.making,
            last_used: stock.last_used,
            clones_after: stock.clones_after,
        };
        stocks.iter().map(view).collect()
    }

    /// The pool as people see it.
    #[must_use]
    pub(crate) fn stock(&self) -> Vec<PoolStock> {
        let stocks = self.0.lock();
        let view = |(key, stock): (&TemplateKey, &Stock)| {
            let (template, retry_at) = match stock.state() {
                TemplateState::Absent => (TemplateView::Absent, None),
                TemplateState::InProgress => (TemplateView::Preparing, None),
                TemplateState::Ready => (TemplateView::Ready, None),
                TemplateState::FailedUntil(until) => (TemplateView::Failed, Some(until)),
            };
            PoolStock {
                image: key.image.to_string(),
                vcpus: key.vcpus.into(),
                mem_mib: key.mem_mib,
                disk_mib: key.disk_mib,
                template,
                retry_at,
                ready: stock.ready.len(),
                making: stock.making,
                configured: stock.configured,
                last_used: (stock.last_used > UnixMs::default()).then_some(stock.last_used),
            }
        };
        stocks.iter().map(view).collect()
    }

    /// Clones that wait, and those that should for `clones` of each configured key.
    #[must_use]
    pub(crate) fn counts(&self, clones: usize) -> (usize, usize) {
        let stocks = self.0.lock();
        let ready = stocks.values().map(|stock| stock.ready.len()).sum();
        let configured = stocks.values().filter(|stock| stock.configured).count();
        (ready, configured * clones)
    }

    pub(crate) fn template(&self, key: &TemplateKey) -> Option<Arc<dyn Template>> {
        self.0.lock().get(key)?.template.clone()
    }

    pub(crate) fn making_template(&self, key: &TemplateKey) {
        self.0.lock().entry(key.clone()).or_default().absent = Absent::InProgress;
    }

    pub(crate) fn template_made(&self, key: &TemplateKey, template: Arc<dyn Template>) {
        let mut stocks = self.0.lock();
        let stock = stocks.entry(key.clone()).or_default();
        stock.template = Some(template);
        stock.absent = Absent::Untried;
    }

    pub(crate) fn template_failed(&self, key: &TemplateKey, again: UnixMs) {
        self.0.lock().entry(key.clone()).or_default().absent = Absent::FailedUntil(again);
    }

    pub(crate) fn making_clones(&self, key: &TemplateKey, count: usize) {
        self.0.lock().entry(key.clone()).or_default().making += count;
    }

    /// One clone less is being made; with one more that waits when it worked.
    pub(crate) fn clone_done(&self, key: &TemplateKey, clone: Option<PooledClone>) {
        let mut stocks = self.0.lock();
        let stock = stocks.entry(key.clone()).or_default();
        stock.making = stock.making.saturating_sub(1);
        stock.ready.extend(clone);
    }

    /// Clones are not made before `again`; the template is as good as before.
    pub(crate) fn clones_wait(&self, key: &TemplateKey, again: UnixMs) {
        self.0.lock().entry(key.clone()).or_default().clones_after = again;
    }

    /// A template that does not clone is made anew, not before `again`.
    pub(crate) fn template_failed_to_clone(
        &self,
        key: &TemplateKey,
        again: UnixMs,
    ) -> Option<Arc<dyn Template>> {
        let mut stocks = self.0.lock();
        let stock = stocks.get_mut(key)?;
        stock.absent = Absent::FailedUntil(again);
        stock.template.take()
    }

    pub(crate) fn drop_clones(&self, key: &TemplateKey, count: usize) -> Vec<PooledClone> {
        let mut stocks = self.0.lock();
        let Some(stock) = stocks.get_mut(key) else {
            return Vec::new();
        };
        let count = count.min(stock.ready.len());
        stock.ready.drain(..count).collect()
    }

    pub(crate) fn drop_template(&self, key: &TemplateKey) -> Option<Arc<dyn Template>> {
        self.0.lock().get_mut(key)?.template.take()
    }

    /// Takes out a clone that has ended by itself.
    pub(crate) fn remove(&self, id: &VmId) -> Option<PooledClone> {
        let mut stocks = self.0.lock();
        stocks.values_mut().find_map(|stock| {
            let at = stock
                .ready
                .iter()
                .position(|pooled| pooled.machine.id() == id)?;
            stock.ready.remove(at)
        })
    }

    /// A previous incarnation of the pool manager may have been making things; nobody is any more.
    pub(crate) fn forget_unfinished(&self) {
        for stock in self.0.lock().values_mut() {
            stock.making = 0;
            if matches!(stock.absent, Absent::InProgress) {
                stock.absent = Absent::Untried;
            }
        }
    }

    /// Everything, to end it.
    pub(crate) fn clear(&self) -> (Vec<PooledClone>, Vec<Arc<dyn Template>>) {
        let (mut clones, mut templates) = (Vec::new(), Vec::new());
        for stock in self.0.lock().values_mut() {
            clones.extend(stock.ready.drain(..));
            templates.extend(stock.template.take());
        }
        (clones, templates)
    }
}
