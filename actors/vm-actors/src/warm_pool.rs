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

/// What was made of an image that its name does not mean any more; to be ended.
#[derive(Default)]
pub(crate) struct StaleClones {
    /// Clones that waited.
    pub(crate) clones: Vec<PooledClone>,
    /// What they were cloned from.
    pub(crate) template: Option<Arc<dyn Template>>,
}

/// Templates and waiting clones. The pool manager fills it, the scheduler takes from it; it
/// outlives incarnations of both, and so do the clones.
#[derive(Default)]
pub(crate) struct WarmPool(Mutex<BTreeMap<TemplateKey, TemplatePool>>);

/// What there is for one key.
#[derive(Default)]
struct TemplatePool {
    configured: bool,
    template: Option<Arc<dyn Template>>,
    /// The image of the template and the clones: what the key names may be another one by now.
    digest: String,
    /// While there is none.
    absent: TemplateBuild,
    ready: VecDeque<PooledClone>,
    making: usize,
    last_used: UnixMs,
    /// No clone is made to wait before.
    clones_after: UnixMs,
}

#[derive(Clone, Copy, Default)]
enum TemplateBuild {
    #[default]
    Untried,
    InProgress,
    FailedUntil(UnixMs),
}

impl TemplatePool {
    fn state(&self) -> TemplateState {
        match (&self.template, self.absent) {
            (Some(_), _) => TemplateState::Ready,
            (None, TemplateBuild::Untried) => TemplateState::Absent,
            (None, TemplateBuild::InProgress) => TemplateState::InProgress,
            (None, TemplateBuild::FailedUntil(until)) => TemplateState::FailedUntil(until),
        }
    }
}

impl WarmPool {
    /// A pool for what the configuration names.
    #[must_use]
    pub(crate) fn new(configured: &[TemplateKey]) -> Self {
        let stock = || TemplatePool {
            configured: true,
            ..TemplatePool::default()
        };
        let stocks = configured.iter().map(|key| (key.clone(), stock()));
        Self(Mutex::new(stocks.collect()))
    }

    /// The best there is for a request of the image of this digest, and what is of another one.
    pub(crate) fn take(
        &self,
        key: &TemplateKey,
        digest: &str,
        now: UnixMs,
    ) -> (VmOrigin, StaleClones) {
        let mut stocks = self.0.lock();
        let stock = stocks.entry(key.clone()).or_default();
        stock.last_used = now;
        let mut stale = StaleClones::default();
        if stock.digest != digest {
            stale.clones.extend(stock.ready.drain(..));
            stale.template = stock.template.take();
            digest.clone_into(&mut stock.digest);
        }
        let origin = match (stock.ready.pop_front(), &stock.template) {
            (Some(pooled), _) => {
                pooled.relay.detach();
                VmOrigin::PooledClone(pooled)
            }
            (None, Some(template)) => VmOrigin::Template(Arc::clone(template)),
            (None, None) => VmOrigin::Image,
        };
        (origin, stale)
    }

    /// The pool as the policy sees it. Keys that hold nothing and are not used are forgotten.
    pub(crate) fn view(&self, idle: std::time::Duration, now: UnixMs) -> Vec<PoolEntry> {
        let mut stocks = self.0.lock();
        stocks.retain(|_, stock| {
            stock.configured
                || stock.template.is_some()
                || !stock.ready.is_empty()
                || stock.making > 0
                || matches!(stock.absent, TemplateBuild::InProgress)
                || now.since(stock.last_used) < idle
        });
        let view = |(key, stock): (&TemplateKey, &TemplatePool)| PoolEntry {
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
        let view = |(key, stock): (&TemplateKey, &TemplatePool)| {
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

    /// The template, and the digest of its image.
    pub(crate) fn template(&self, key: &TemplateKey) -> Option<(Arc<dyn Template>, String)> {
        let stocks = self.0.lock();
        let stock = stocks.get(key)?;
        Some((stock.template.clone()?, stock.digest.clone()))
    }

    pub(crate) fn making_template(&self, key: &TemplateKey) {
        self.0.lock().entry(key.clone()).or_default().absent = TemplateBuild::InProgress;
    }

    pub(crate) fn template_made(
        &self,
        key: &TemplateKey,
        template: Arc<dyn Template>,
        digest: String,
    ) {
        let mut stocks = self.0.lock();
        let stock = stocks.entry(key.clone()).or_default();
        stock.template = Some(template);
        stock.digest = digest;
        stock.absent = TemplateBuild::Untried;
    }

    pub(crate) fn template_failed(&self, key: &TemplateKey, again: UnixMs) {
        self.0.lock().entry(key.clone()).or_default().absent = TemplateBuild::FailedUntil(again);
    }

    pub(crate) fn making_clones(&self, key: &TemplateKey, count: usize) {
        self.0.lock().entry(key.clone()).or_default().making += count;
    }

    /// One clone less is being made: it could not be.
    pub(crate) fn clone_failed(&self, key: &TemplateKey) {
        let mut stocks = self.0.lock();
        let stock = stocks.entry(key.clone()).or_default();
        stock.making = stock.making.saturating_sub(1);
    }

    /// One clone less is being made, and one more waits; it is given back when the key names
    /// another image by now than the one of this digest.
    pub(crate) fn clone_done(
        &self,
        key: &TemplateKey,
        clone: PooledClone,
        digest: &str,
    ) -> Option<PooledClone> {
        let mut stocks = self.0.lock();
        let stock = stocks.entry(key.clone()).or_default();
        stock.making = stock.making.saturating_sub(1);
        if stock.digest != digest {
            return Some(clone);
        }
        stock.ready.push_back(clone);
        None
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
        stock.absent = TemplateBuild::FailedUntil(again);
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
            if matches!(stock.absent, TemplateBuild::InProgress) {
                stock.absent = TemplateBuild::Untried;
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
