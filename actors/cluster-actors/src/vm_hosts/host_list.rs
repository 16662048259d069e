//! Which hosts are listed, and which were: a host at one address keeps its index, so that whatever
//! has a VM there finds it also when it is listed no more.

use std::collections::BTreeMap;
use std::sync::Arc;

use config_core::Secret;
use http_clients::http::HttpClient;
use http_clients::vmm::{LiveToken, VmmClient};
use parking_lot::Mutex;
use url::Url;
use vmm_api_core::{Cordon, HostChanges, VmHostSettings};

use crate::vm_hosts::known_host::KnownHost;

/// A host at its address: what is set of it, and what is known.
pub(crate) struct HostEntry {
    name: String,
    url: Url,
    place: String,
    token: LiveToken,
    state: Mutex<EntryState>,
}

#[derive(Default)]
struct EntryState {
    labels: Vec<String>,
    known: KnownHost,
    /// Another one where it has to be asked anew how it is.
    revision: u64,
}

impl HostEntry {
    fn new(settings: &VmHostSettings) -> Self {
        Self {
            name: settings.name.clone(),
            url: settings.url.clone(),
            place: place_of(settings),
            token: LiveToken::new(settings.token.clone()),
            state: Mutex::new(EntryState {
                labels: settings.labels.clone(),
                ..EntryState::default()
            }),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Which host it is, of that name and address.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn token(&self) -> Option<Secret<String>> {
        self.token.get()
    }

    pub(crate) fn client(&self, http: HttpClient) -> VmmClient {
        VmmClient::with_live_token(http, self.url.clone(), self.token.clone())
    }

    pub(crate) fn labels(&self) -> Vec<String> {
        self.state.lock().labels.clone()
    }

    pub(crate) fn known(&self) -> KnownHost {
        self.state.lock().known.clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut KnownHost)) {
        change(&mut self.state.lock().known);
    }

    pub(crate) fn revision(&self) -> u64 {
        self.state.lock().revision
    }

    /// Whether something of ours has a VM there, or asks for one.
    pub(crate) fn is_used(&self) -> bool {
        !self.state.lock().known.jobs.is_empty()
    }

    /// Takes over what may change at the same address; whether that was something.
    fn take_over(&self, settings: &VmHostSettings) -> bool {
        let mut state = self.state.lock();
        let has_new_labels = state.labels != settings.labels;
        state.labels.clone_from(&settings.labels);
        let has_new_token = self.token.get() != settings.token;
        if has_new_token {
            self.token.replace(settings.token.clone());
            state.ask_anew();
        }
        has_new_labels || has_new_token
    }

    /// It is listed (again).
    fn relist(&self, cordon: Option<Cordon>) {
        let mut state = self.state.lock();
        state.known.facts = None;
        state.known.cordon = cordon;
        state.ask_anew();
    }
}

impl EntryState {
    /// Why it gave no VMs may not hold any more.
    fn ask_anew(&mut self) {
        self.known.trouble = None;
        self.known.is_silent = false;
        self.revision += 1;
    }
}

/// What stands in records for a host at its address: who reads them learns no address by it.
fn place_of(settings: &VmHostSettings) -> String {
    let text = format!("{}\n{}", settings.name, settings.url);
    let digest = blake3::hash(text.as_bytes()).to_hex();
    digest.chars().take(16).collect()
}

/// All hosts since the start.
#[derive(Default)]
pub(crate) struct HostList {
    all: Vec<Arc<HostEntry>>,
    /// Those that are listed now, in the order of the list.
    listed: Vec<usize>,
}

impl HostList {
    pub(crate) fn at(&self, index: usize) -> &Arc<HostEntry> {
        &self.all[index]
    }

    pub(crate) fn at_place(&self, place: &str) -> Option<usize> {
        self.all.iter().position(|host| host.place == place)
    }

    pub(crate) fn is_listed(&self, index: usize) -> bool {
        self.listed.contains(&index)
    }

    pub(crate) fn listed(&self) -> impl Iterator<Item = (usize, &Arc<HostEntry>)> {
        self.listed.iter().map(|index| (*index, self.at(*index)))
    }

    /// Those that are listed no more, the last one first.
    pub(crate) fn unlisted(&self) -> impl Iterator<Item = (usize, &Arc<HostEntry>)> {
        let all = self.all.iter().enumerate().rev();
        all.filter(|(index, _)| !self.is_listed(*index))
    }

    /// Puts a list in force. `cordons`: the stored ones, by the names of hosts.
    pub(crate) fn renew(
        &mut self,
        settings: &[VmHostSettings],
        cordons: &BTreeMap<String, Cordon>,
    ) -> HostChanges {
        let former = std::mem::take(&mut self.listed);
        let mut changes = HostChanges::default();
        for host in settings {
            let named = |index: &&usize| self.all[**index].name == host.name;
            let before = former.iter().find(named).copied();
            let cordon = match before {
                Some(before) => self.all[before].known().cordon,
                None => cordons.get(&host.name).cloned(),
            };
            let index = self.entry_of(host);
            let differs = self.all[index].take_over(host);
            if before != Some(index) {
                self.all[index].relist(cordon);
            }
            match before {
                None => changes.added.push(host.name.clone()),
                Some(before) if differs || before != index => {
                    changes.changed.push(host.name.clone());
                }
                Some(_) => {}
            }
            self.listed.push(index);
        }
        let is_listed = |name: &str| settings.iter().any(|host| host.name == name);
        let names = former.iter().map(|index| self.all[*index].name.clone());
        changes.removed = names.filter(|name| !is_listed(name)).collect();
        changes
    }

    /// A host at another address is another one: what has a VM at the former goes on there.
    fn entry_of(&mut self, host: &VmHostSettings) -> usize {
        let is_it = |entry: &Arc<HostEntry>| entry.name == host.name && entry.url == host.url;
        self.all.iter().position(is_it).unwrap_or_else(|| {
            self.all.push(Arc::new(HostEntry::new(host)));
            self.all.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, url: &str, token: &str, labels: &[&str]) -> VmHostSettings {
        VmHostSettings {
            name: name.to_owned(),
            url: url.parse().expect("an address"),
            token: Some(Secret::new(token.to_owned())),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        }
    }

    fn changes(added: &[&str], changed: &[&str], removed: &[&str]) -> HostChanges {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        HostChanges {
            added: owned(added),
            changed: owned(changed),
            removed: owned(removed),
        }
    }

    fn listed(list: &HostList) -> Vec<(usize, String, u64)> {
        let listed = list.listed();
        listed
            .map(|(index, host)| (index, host.url().to_string(), host.revision()))
            .collect()
    }

    #[test]
    fn i18_a_list_is_renewed_by_name_and_address() {
        const EAST: &str = "http://east.test/";
        const MOVED: &str = "http://moved.test/";
        const WEST: &str = "http://west.test/";
        let mut list = HostList::default();
        let none = BTreeMap::new();
        let east = host("east", EAST, "a", &[]);
        for (new, expected, now) in [
            (
                vec![east.clone()],
                changes(&["east"], &[], &[]),
                vec![(0, EAST, 1)],
            ),
            (
                vec![east.clone()],
                changes(&[], &[], &[]),
                vec![(0, EAST, 1)],
            ),
            // Labels are no reason to ask anew how it is.
            (
                vec![host("east", EAST, "a", &["gpu"])],
                changes(&[], &["east"], &[]),
                vec![(0, EAST, 1)],
            ),
            (
                vec![
                    host("west", WEST, "w", &[]),
                    host("east", EAST, "b", &["gpu"]),
                ],
                changes(&["west"], &["east"], &[]),
                vec![(1, WEST, 1), (0, EAST, 2)],
            ),
            // At another address it is another host.
            (
                vec![host("east", MOVED, "b", &["gpu"])],
                changes(&[], &["east"], &["west"]),
                vec![(2, MOVED, 1)],
            ),
            (
                vec![east, host("west", WEST, "w", &[])],
                changes(&["west"], &["east"], &[]),
                vec![(0, EAST, 4), (1, WEST, 2)],
            ),
            (vec![], changes(&[], &[], &["east", "west"]), vec![]),
        ] {
            assert_eq!(list.renew(&new, &none), expected, "{new:?}");
            let now: Vec<_> = now
                .into_iter()
                .map(|(at, url, of)| (at, url.to_owned(), of))
                .collect();
            assert_eq!(listed(&list), now, "{new:?}");
        }
        assert_eq!(list.unlisted().count(), 3);
    }

    #[test]
    fn i18_a_record_finds_its_host_by_name_and_address() {
        let none = BTreeMap::new();
        let at = |name: &str, url: &str| host(name, url, "a", &[]);
        let mut list = HostList::default();
        list.renew(
            &[at("east", "http://a.test"), at("west", "http://b.test")],
            &none,
        );
        let places = [0, 1].map(|index| list.at(index).place().to_owned());
        list.renew(
            &[at("west", "http://a.test"), at("east", "http://b.test")],
            &none,
        );
        let found = places.each_ref().map(|place| list.at_place(place));
        assert_eq!(found, [Some(0), Some(1)], "where they were");
        assert_eq!(list.at_place("unknown"), None);
        // A process that starts later knows them by the same.
        let mut later = HostList::default();
        later.renew(
            &[at("west", "http://b.test"), at("east", "http://a.test")],
            &none,
        );
        let found = places.each_ref().map(|place| later.at_place(place));
        assert_eq!(found, [Some(1), Some(0)]);
    }

    #[test]
    fn i18_a_cordon_goes_with_the_name() {
        let cordon = |by: &str| Cordon {
            since: 7,
            by: by.to_owned(),
        };
        let mut list = HostList::default();
        let stored = BTreeMap::from([("east".to_owned(), cordon("ada"))]);
        let by = |list: &HostList| {
            let (_, host) = list.listed().next().expect("one");
            host.known().cordon.map(|cordon| cordon.by)
        };
        list.renew(&[host("east", "http://a.test", "", &[])], &stored);
        assert_eq!(by(&list).as_deref(), Some("ada"));
        // What is known is newer than what was read.
        list.at(0)
            .change(|known| known.cordon = Some(cordon("grace")));
        list.renew(&[host("east", "http://b.test", "", &[])], &stored);
        assert_eq!(by(&list).as_deref(), Some("grace"));
        list.renew(&[], &stored);
        list.renew(&[host("east", "http://b.test", "", &[])], &BTreeMap::new());
        assert_eq!(by(&list), None);
    }
}
