//! What is known of the hosts, and which one a VM is asked of.

use std::sync::Arc;

use http_clients::http::{HttpClient, HttpOptions};
use http_clients::vmm::{ManagerHealth, VmmClient, VmmError};
use parking_lot::RwLock;
use store::{Store, StoreError};
use supervision::unix_ms;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, watch};
use vmm_api_core::placement::{
    HostRequest, Placement, PlacementHost, VmSize, first_missing_label, place,
};
use vmm_api_core::{
    Cordon, DEFAULT_HOST, HostChanges, MachineType, TokenTimes, UnixMs, VmHostSettings,
};

use crate::vm_hosts::cordon::{self, CordonTable};
use crate::vm_hosts::host_list::{HostEntry, HostList};
use crate::vm_hosts::known_host::{KnownHost, ReportedImages};
use crate::vm_hosts::waiting_line::{PlaceInLine, WaitingLine};

/// Of a host that has VMs of ours and gives no more.
pub(crate) const UNLISTED: &str = "it is not listed any more";

/// The hosts; clones share what is known of them.
#[derive(Clone)]
pub struct VmHosts(Arc<Inner>);

struct Inner {
    store: Store,
    cordons: CordonTable,
    hosts: RwLock<HostList>,
    /// Another list was put in force.
    listed: watch::Sender<()>,
    /// Room was given back, a host has said how it is, or there are other hosts.
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
        let mut hosts = HostList::default();
        hosts.renew(settings, &cordons);
        Ok(Self(Arc::new(Inner {
            store: store.clone(),
            cordons: table,
            hosts: RwLock::new(hosts),
            listed: watch::Sender::new(()),
            changed: Notify::new(),
            line: WaitingLine::default(),
        })))
    }

    /// Puts another list in force. Hosts that are new are asked for VMs from now on, those that
    /// are not in it for none; what has a VM there goes on. A changed token is used by all, a
    /// changed address by those that ask for a VM from now on. Blocks for the store.
    ///
    /// # Errors
    /// When the store cannot be read; nothing is changed then.
    pub fn renew(&self, settings: &[VmHostSettings]) -> Result<HostChanges, StoreError> {
        let cordons = cordon::all(&self.0.store, self.0.cordons)?;
        let changes = self.0.hosts.write().renew(settings, &cordons);
        for (event, hosts) in [
            ("added", &changes.added),
            ("changed", &changes.changed),
            ("removed", &changes.removed),
        ] {
            for host in hosts {
                tracing::info!(
                    event = "vm_host.listed",
                    host,
                    change = event,
                    "the list of VM hosts has changed"
                );
            }
        }
        if !changes.is_empty() {
            self.0.listed.send_replace(());
            // Whoever waits looks at the hosts that there are now.
            self.notify();
        }
        Ok(changes)
    }

    /// Tells when another list is put in force.
    pub(crate) fn list_changes(&self) -> watch::Receiver<()> {
        self.0.listed.subscribe()
    }

    /// Those that are listed, in the order of the list, each with what says whether it is still
    /// the same.
    pub(crate) fn listed_now(&self) -> Vec<(usize, u64)> {
        let hosts = self.0.hosts.read();
        let listed = hosts.listed();
        listed
            .map(|(index, host)| (index, host.revision()))
            .collect()
    }

    fn listed(&self) -> Vec<(usize, Arc<HostEntry>)> {
        let hosts = self.0.hosts.read();
        let listed = hosts.listed();
        listed
            .map(|(index, host)| (index, Arc::clone(host)))
            .collect()
    }

    pub(crate) fn entry(&self, index: usize) -> Arc<HostEntry> {
        Arc::clone(self.0.hosts.read().at(index))
    }

    /// Whether a host gets jobs: it is in the list that is in force.
    pub fn is_listed(&self, index: usize) -> bool {
        self.0.hosts.read().is_listed(index)
    }

    /// Those that are listed, and behind them those that are no more but have a VM of ours.
    pub(crate) fn indices(&self) -> Vec<usize> {
        let hosts = self.0.hosts.read();
        let left = hosts.unlisted().filter(|(_, host)| host.is_used());
        hosts.listed().chain(left).map(|(index, _)| index).collect()
    }

    /// How many are listed.
    pub fn count(&self) -> usize {
        self.0.hosts.read().listed().count()
    }

    /// What a host is called.
    pub fn name(&self, index: usize) -> String {
        self.entry(index).name().to_owned()
    }

    /// Which host it is, of its name and address: what records name it by.
    pub fn place_of(&self, index: usize) -> String {
        self.entry(index).place().to_owned()
    }

    /// The version of a host's VM manager, as it last said.
    pub(crate) fn version(&self, index: usize) -> Option<String> {
        let known = self.entry(index).known();
        known.facts.map(|facts| facts.version)
    }

    /// A client of a host's VM manager, on this thread.
    pub fn client(&self, index: usize) -> VmmClient {
        let http = HttpClient::new(HttpOptions::default());
        self.entry(index).client(http)
    }

    /// The host of this name that is listed.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<usize> {
        let hosts = self.0.hosts.read();
        let mut listed = hosts.listed();
        let found = listed.find(|(_, host)| host.name() == name);
        found.map(|(index, _)| index)
    }

    /// The host that has a recorded VM, also where it is not listed any more: what has a VM there
    /// can be given back. `place`: which host of that name it was, as another one may have the name
    /// by now; records of former versions say none, and older ones no name: they are of the first
    /// one.
    pub fn find(&self, name: Option<&str>, place: Option<&str>) -> Option<usize> {
        if let Some(place) = place {
            return self.0.hosts.read().at_place(place);
        }
        let Some(name) = name else {
            let hosts = self.0.hosts.read();
            return hosts.listed().next().map(|(index, _)| index);
        };
        self.named(name).or_else(|| {
            let hosts = self.0.hosts.read();
            let mut unlisted = hosts.unlisted();
            let found = unlisted.find(|(_, host)| host.name() == name);
            found.map(|(index, _)| index)
        })
    }

    /// A client of the VM manager that has a recorded VM.
    ///
    /// # Errors
    /// When no such host is configured any more.
    pub fn client_of(
        &self,
        name: Option<&str>,
        place: Option<&str>,
    ) -> Result<VmmClient, VmmError> {
        let found = self.find(name, place).map(|index| self.client(index));
        found.ok_or_else(|| {
            VmmError::NotFound(format!(
                "the VM host {} is not configured, or not at the address where that VM is",
                name.unwrap_or(DEFAULT_HOST)
            ))
        })
    }

    /// Takes a place among those of ours that have no VM yet.
    #[must_use]
    pub fn enqueue(&self) -> PlaceInLine {
        self.0.line.enqueue()
    }

    /// The most memory for VMs that one of the hosts with these labels has said it has, in MiB.
    #[must_use]
    pub fn most_memory(&self, labels: &[String]) -> Option<u64> {
        let listed = self.listed();
        let hosts = listed.iter().map(|(_, host)| host);
        let labelled = hosts.filter(|host| first_missing_label(&host.labels(), labels).is_none());
        let rooms = labelled.filter_map(|host| host.known().facts?.room);
        rooms.map(|room| room.most_mem_mib).max()
    }

    /// Where a job's VM is asked of.
    pub fn place(&self, machine: &MachineType, repository: &str) -> Placement {
        let repository = repository.to_lowercase();
        let listed = self.listed();
        let mut seen: Vec<(Vec<String>, KnownHost)> = listed
            .iter()
            .map(|(_, host)| (host.labels(), host.known()))
            .collect();
        if let [(_, only)] = seen.as_mut_slice() {
            // It says itself what it cannot give, and knows it better.
            only.facts = None;
        }
        let hosts = listed.iter().zip(&seen);
        let hosts =
            hosts.map(|((_, host), (labels, known))| known.for_placement(host.name(), labels));
        let hosts: Vec<PlacementHost<'_>> = hosts.collect();
        let image = machine.vm.image.as_ref();
        let image = image.map(|image| image.digest().unwrap_or(image.as_str()));
        let placement = place(
            &hosts,
            &HostRequest {
                labels: &machine.host_labels,
                image: image.unwrap_or("default"),
                isolation: machine.vm.isolation_min.unwrap_or_default(),
                size: VmSize::from(&machine.vm),
                repository: &repository,
            },
        );
        placement.renumbered(|place| listed[place].0)
    }

    /// Ends when, after this call, room is given back or a host says how it is.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }

    /// Notes what a host says of itself.
    pub(crate) fn record_facts(
        &self,
        index: usize,
        health: &ManagerHealth,
        images: ReportedImages,
    ) {
        self.change(index, |known| known.record_facts(health, images));
        self.0.changed.notify_waiters();
    }

    /// Whether a host gave no VMs when it was last asked.
    pub fn is_troubled(&self, index: usize) -> bool {
        self.entry(index).known().trouble.is_some()
    }

    /// Why a host is not asked for VMs: it is listed no more, or one of several and gives none
    /// until it answers again.
    pub(crate) fn known_trouble(&self, index: usize) -> Option<String> {
        if !self.is_listed(index) {
            return Some(UNLISTED.to_owned());
        }
        let known = self.entry(index).known();
        known.trouble.filter(|_| self.count() > 1)
    }

    /// Notes why a host gives no VMs, or that it does.
    pub fn record_trouble(&self, index: usize, reason: Option<String>) {
        self.change(index, |known| {
            known.is_silent &= reason.is_some();
            known.trouble = reason;
        });
    }

    /// Notes that a host does not answer when it is asked how it is.
    pub(crate) fn record_silence(&self, index: usize, reason: String) {
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

    /// Ends when a host of several is found silent, with what its watcher says, or when it is
    /// listed no more.
    pub(crate) async fn silence(&self, index: usize) -> String {
        loop {
            let changed = self.changed();
            let is_over = self.entry(index).known().is_silent || !self.is_listed(index);
            if let Some(trouble) = self.known_trouble(index).filter(|_| is_over) {
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
        self.entry(index).known().has_leak
    }

    /// The host has released what was stuck.
    pub fn clear_leak(&self, index: usize) {
        self.change(index, |known| known.has_leak = false);
    }

    /// What is to be said of a host's token, if it ends soon or has ended.
    pub fn token_notice(&self, index: usize) -> Option<String> {
        let token = self.entry(index).token()?;
        TokenTimes::parse(token.expose())?.notice(UnixMs(unix_ms()))
    }

    /// The same of all hosts.
    pub fn token_notices(&self) -> Option<String> {
        let notices = self.listed().into_iter().filter_map(|(index, host)| {
            let notice = self.token_notice(index)?;
            Some(format!("the VM host {}: {notice}", host.name()))
        });
        let notices: Vec<String> = notices.collect();
        (!notices.is_empty()).then(|| notices.join("; "))
    }

    /// Which hosts give no VMs, and why.
    pub fn away_notices(&self) -> Option<String> {
        if let Some(all) = self.trouble() {
            return (self.count() > 0).then(|| format!("no VMs: {all}"));
        }
        let away = self.listed().into_iter().filter_map(|(_, host)| {
            let trouble = host.known().trouble?;
            Some(format!("no VMs of the host {}: {trouble}", host.name()))
        });
        let away: Vec<String> = away.collect();
        (!away.is_empty()).then(|| away.join("; "))
    }

    /// Why no host gives VMs; `None` while one does.
    pub fn trouble(&self) -> Option<String> {
        let mut reasons = Vec::new();
        for (_, host) in self.listed() {
            let trouble = host.known().trouble?;
            reasons.push(self.labelled(host.name(), &trouble));
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
        self.entry(index).change(change);
    }

    /// From now on a host takes no new jobs; one that is cordoned stays as it is. Jobs that have a
    /// VM there go on.
    ///
    /// # Errors
    /// The store's.
    pub async fn cordon(&self, index: usize, by: &str) -> Result<(), StoreError> {
        let host = self.entry(index);
        let cordon = host.known().cordon.unwrap_or_else(|| Cordon {
            since: unix_ms(),
            by: by.to_owned(),
        });
        let name = host.name().to_owned();
        cordon::put((&self.0.store, self.0.cordons), name, &cordon).await?;
        tracing::info!(
            event = "vm_host.cordoned",
            host = host.name(),
            by,
            "a VM host takes no new jobs"
        );
        self.record_cordon(host.name(), Some(&cordon));
        Ok(())
    }

    /// A host takes new jobs again.
    ///
    /// # Errors
    /// The store's.
    pub async fn uncordon(&self, index: usize, by: &str) -> Result<(), StoreError> {
        let host = self.entry(index);
        let name = host.name().to_owned();
        cordon::remove((&self.0.store, self.0.cordons), name).await?;
        tracing::info!(
            event = "vm_host.uncordoned",
            host = host.name(),
            by,
            "a VM host takes new jobs again"
        );
        self.record_cordon(host.name(), None);
        self.notify();
        Ok(())
    }

    /// A cordon is of a name: the host may have got another address meanwhile.
    fn record_cordon(&self, name: &str, cordon: Option<&Cordon>) {
        let hosts = self.0.hosts.read();
        for (_, host) in hosts.listed().filter(|(_, host)| host.name() == name) {
            host.change(|known| known.cordon = cordon.cloned());
        }
    }
}

impl std::fmt::Debug for VmHosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let listed = self.listed();
        let names = listed.iter().map(|(_, host)| host.name());
        f.debug_list().entries(names).finish()
    }
}
