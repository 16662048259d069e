//! What is known of the hosts, and which one a VM is asked of.

use std::sync::Arc;

use http_clients::http::{HttpClient, HttpOptions};
use http_clients::vmm::{Health, VmmClient, VmmError};
use parking_lot::Mutex;
use store::{Store, StoreError};
use supervision::unix_ms;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use vmm_api_core::placement::{Host, HostRequest, Placement, VmSize, lacking, place};
use vmm_api_core::{Cordon, DEFAULT_HOST, MachineType, TokenTimes, UnixMs, VmHostSettings};

use crate::vm_hosts::cordon::{self, CordonTable};
use crate::vm_hosts::known_host::{KnownHost, ReportedImages};
use crate::vm_hosts::waiting_line::{PlaceInLine, WaitingLine};

/// The hosts; clones share what is known of them.
#[derive(Clone)]
pub struct VmHosts(Arc<Inner>);

struct Inner {
    store: Store,
    cordons: CordonTable,
    hosts: Vec<(VmHostSettings, Mutex<KnownHost>)>,
    /// Room was given back, or a host has said how it is.
    changed: Notify,
    /// Requests that have no VM yet.
    line: WaitingLine,
}

impl VmHosts {
    /// Reads which are cordoned in `cordons`. Blocks for the store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn open(
        settings: &[VmHostSettings],
        store: &Store,
        table: CordonTable,
    ) -> Result<Self, StoreError> {
        let cordons = cordon::all(store, table)?;
        let hosts = settings.iter().cloned().map(|host| {
            let known = KnownHost {
                cordon: cordons.get(&host.name).cloned(),
                ..KnownHost::default()
            };
            (host, Mutex::new(known))
        });
        Ok(Self(Arc::new(Inner {
            store: store.clone(),
            cordons: table,
            hosts: hosts.collect(),
            changed: Notify::new(),
            line: WaitingLine::default(),
        })))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.hosts.len()
    }

    /// What a host is called.
    pub fn name(&self, index: usize) -> &str {
        &self.0.hosts[index].0.name
    }

    /// The version of a host's VM manager, as it last said.
    pub(crate) fn version(&self, index: usize) -> Option<String> {
        let known = self.0.hosts[index].1.lock();
        known.facts.as_ref().map(|facts| facts.version.clone())
    }

    /// A client of a host's VM manager, on this thread.
    pub fn client(&self, index: usize) -> VmmClient {
        let (host, _) = &self.0.hosts[index];
        let http = HttpClient::new(HttpOptions::default());
        VmmClient::new(http, host.url.clone(), host.token.clone())
    }

    /// The host of this name. Records of former versions name none: they are of the first one.
    pub fn find(&self, name: Option<&str>) -> Option<usize> {
        let Some(name) = name else {
            return (self.count() > 0).then_some(0);
        };
        self.0.hosts.iter().position(|(host, _)| host.name == name)
    }

    /// A client of the VM manager that has a recorded VM.
    ///
    /// # Errors
    /// When no host of this name is configured any more.
    pub fn client_of(&self, name: Option<&str>) -> Result<VmmClient, VmmError> {
        let found = self.find(name).map(|index| self.client(index));
        found.ok_or_else(|| {
            VmmError::NotFound(format!(
                "the VM host {} is not configured",
                name.unwrap_or(DEFAULT_HOST)
            ))
        })
    }

    /// Takes a place among those of ours that have no VM yet.
    #[must_use]
    pub fn enter_line(&self) -> PlaceInLine {
        self.0.line.enter()
    }

    /// The most memory for VMs that one of the hosts with these labels has said it has, in MiB.
    #[must_use]
    pub fn most_memory(&self, labels: &[String]) -> Option<u64> {
        let hosts = self.0.hosts.iter();
        let labelled = hosts.filter(|(host, _)| lacking(&host.labels, labels).is_none());
        let rooms = labelled.filter_map(|(_, known)| known.lock().facts.as_ref()?.room);
        rooms.map(|room| room.most_mem_mib).max()
    }

    /// Where a job's VM is asked of.
    pub fn place(&self, machine: &MachineType, repository: &str) -> Placement {
        let repository = repository.to_lowercase();
        let all = &self.0.hosts;
        let mut known: Vec<KnownHost> = all.iter().map(|(_, it)| it.lock().clone()).collect();
        if let [only] = known.as_mut_slice() {
            // It says itself what it cannot give, and knows it better.
            only.facts = None;
        }
        let hosts = all.iter().zip(&known);
        let hosts = hosts.map(|((host, _), known)| known.seen(&host.name, &host.labels));
        let hosts: Vec<Host<'_>> = hosts.collect();
        let image = machine.vm.image.as_ref();
        let image = image.map(|image| image.digest().unwrap_or(image.as_str()));
        place(
            &hosts,
            &HostRequest {
                labels: &machine.host_labels,
                image: image.unwrap_or("default"),
                isolation: machine.vm.isolation_min.unwrap_or_default(),
                size: VmSize::from(&machine.vm),
                repository: &repository,
            },
        )
    }

    /// Ends when, after this call, room is given back or a host says how it is.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }

    /// Notes what a host says of itself.
    pub(crate) fn note_facts(&self, index: usize, health: &Health, images: ReportedImages) {
        self.change(index, |known| known.note_facts(health, images));
        self.0.changed.notify_waiters();
    }

    /// Whether a host gave no VMs when it was last asked.
    pub fn is_troubled(&self, index: usize) -> bool {
        self.0.hosts[index].1.lock().trouble.is_some()
    }

    /// Why a host of several is not asked for VMs until it answers again.
    pub(crate) fn known_trouble(&self, index: usize) -> Option<String> {
        let known = self.0.hosts[index].1.lock();
        known.trouble.clone().filter(|_| self.count() > 1)
    }

    /// Notes why a host gives no VMs, or that it does.
    pub fn note_trouble(&self, index: usize, reason: Option<String>) {
        self.change(index, |known| {
            known.is_silent &= reason.is_some();
            known.trouble = reason;
        });
    }

    /// Notes that a host does not answer when it is asked how it is.
    pub(crate) fn note_silence(&self, index: usize, reason: String) {
        let mut was_silent = false;
        self.change(index, |known| {
            was_silent = known.is_silent;
            known.is_silent = true;
            known.trouble = Some(reason);
        });
        if !was_silent {
            // Whoever waits for an answer of it asks another one.
            self.notify();
        }
    }

    /// Ends when a host of several is found silent, with what its watcher says.
    pub(crate) async fn silence(&self, index: usize) -> String {
        loop {
            let changed = self.changed();
            let is_silent = self.0.hosts[index].1.lock().is_silent;
            if let Some(trouble) = self.known_trouble(index).filter(|_| is_silent) {
                return trouble;
            }
            changed.await;
        }
    }

    /// A VM could not be given back: its host is told to look.
    pub fn report_leak(&self, index: usize) {
        self.change(index, |known| known.has_leak = true);
    }

    /// Whether a VM could not be given back since the last call.
    pub fn has_leak(&self, index: usize) -> bool {
        self.0.hosts[index].1.lock().has_leak
    }

    /// The host has released what was stuck.
    pub fn clear_leak(&self, index: usize) {
        self.change(index, |known| known.has_leak = false);
    }

    /// What is known of a host, and its settings.
    pub(crate) fn known(&self, index: usize) -> (&VmHostSettings, KnownHost) {
        let (settings, known) = &self.0.hosts[index];
        (settings, known.lock().clone())
    }

    /// What is to be said of a host's token, if it ends soon or has ended.
    pub fn token_notice(&self, index: usize) -> Option<String> {
        let token = self.0.hosts[index].0.token.as_ref()?;
        TokenTimes::of(token.expose())?.notice(UnixMs(unix_ms()))
    }

    /// The same of all hosts.
    pub fn token_notices(&self) -> Option<String> {
        let notices = (0..self.count()).filter_map(|index| {
            let notice = self.token_notice(index)?;
            Some(format!("the VM host {}: {notice}", self.name(index)))
        });
        let notices: Vec<String> = notices.collect();
        (!notices.is_empty()).then(|| notices.join("; "))
    }

    /// Which hosts give no VMs, and why.
    pub fn away_notices(&self) -> Option<String> {
        if let Some(all) = self.trouble() {
            return (self.count() > 0).then(|| format!("no VMs: {all}"));
        }
        let away = self.0.hosts.iter().filter_map(|(host, known)| {
            let trouble = known.lock().trouble.clone()?;
            Some(format!("no VMs of the host {}: {trouble}", host.name))
        });
        let away: Vec<String> = away.collect();
        (!away.is_empty()).then(|| away.join("; "))
    }

    /// Why no host gives VMs; `None` while one does.
    pub fn trouble(&self) -> Option<String> {
        let mut reasons = Vec::new();
        for (host, known) in &self.0.hosts {
            let trouble = known.lock().trouble.clone()?;
            reasons.push(self.labelled(&host.name, &trouble));
        }
        Some(reasons.join("; "))
    }

    /// A reason, with the host's name where there are several.
    pub fn labelled(&self, name: &str, reason: &str) -> String {
        if self.count() > 1 {
            format!("{name}: {reason}")
        } else {
            reason.to_owned()
        }
    }

    /// Wakes jobs that wait for room.
    pub(crate) fn notify(&self) {
        self.0.changed.notify_waiters();
    }

    pub(crate) fn change(&self, index: usize, change: impl FnOnce(&mut KnownHost)) {
        change(&mut self.0.hosts[index].1.lock());
    }

    /// From now on a host takes no new jobs; one that is cordoned stays as it is. Jobs that have a
    /// VM there go on.
    ///
    /// # Errors
    /// The store's.
    pub async fn cordon(&self, index: usize, by: &str) -> Result<(), StoreError> {
        let name = self.name(index).to_owned();
        let cordon = {
            let known = self.0.hosts[index].1.lock();
            known.cordon.clone().unwrap_or_else(|| Cordon {
                since: unix_ms(),
                by: by.to_owned(),
            })
        };
        cordon::put((&self.0.store, self.0.cordons), name, &cordon).await?;
        tracing::info!(
            event = "vm_host.cordoned",
            host = self.name(index),
            by,
            "a VM host takes no new jobs"
        );
        self.change(index, |known| known.cordon = Some(cordon));
        Ok(())
    }

    /// A host takes new jobs again.
    ///
    /// # Errors
    /// The store's.
    pub async fn uncordon(&self, index: usize, by: &str) -> Result<(), StoreError> {
        let name = self.name(index).to_owned();
        cordon::remove((&self.0.store, self.0.cordons), name).await?;
        tracing::info!(
            event = "vm_host.uncordoned",
            host = self.name(index),
            by,
            "a VM host takes new jobs again"
        );
        self.change(index, |known| known.cordon = None);
        self.notify();
        Ok(())
    }
}

impl std::fmt::Debug for VmHosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.0.hosts.iter().map(|(host, _)| &host.name);
        f.debug_list().entries(names).finish()
    }
}
