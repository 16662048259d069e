//! What a process beside others notes for `/health`: what the database says of itself and of the
//! leader's settings, and whether a standby could use what it would need as the leader.

use std::time::Duration;

use cluster_actors::replica::{ReplicaRole, RoleControl};
use config_core::ObjectSettings;
use http_clients::objects::ObjectStorage;
use store::ServerSigns;
use vmm_api_core::VmHostSettings;

use crate::vm_hosts::try_vm_hosts;

/// The most by which clocks may differ before somebody is told.
const CLOCK_TOLERANCE_MS: u64 = 10_000;

/// What the database says of itself, and of the leader's settings, for `/health`.
pub(crate) fn record_signs(control: &RoleControl, signs: &ServerSigns) {
    let ahead_ms = signs.clock_ahead_ms;
    let differs = (ahead_ms.unsigned_abs() > CLOCK_TOLERANCE_MS).then(|| {
        let (seconds, way) = (ahead_ms.unsigned_abs() / 1000, ahead_ms.signum());
        let way = if way > 0 { "behind" } else { "ahead of" };
        format!("the clock of this host is {seconds} s {way} the database's: set both by NTP")
    });
    if control.record_warning("clock", differs.clone()) {
        let reason = differs.unwrap_or_default();
        tracing::error!(event = "clock.differs", ahead_ms, "{reason}");
    }
    let awaits = signs.awaits_replica.then(|| {
        "commits wait for a synchronous replica (synchronous_standby_names) that is away: start \
         it, or take it out of that setting"
            .to_owned()
    });
    if control.record_warning("replica", awaits.clone()) {
        let reason = awaits.unwrap_or_default();
        tracing::error!(event = "store.replica_awaited", "{reason}");
    }
    let differing = &signs.differing;
    let differs = (control.role() == ReplicaRole::Standby && !differing.is_empty()).then(|| {
        let names = differing.join(", ");
        format!("the settings of this process differ from the leader's: {names}")
    });
    if control.record_warning("settings", differs.clone()) {
        let reason = differs.unwrap_or_default();
        tracing::error!(event = "replica.settings_differ", "{reason}");
    }
}

/// That more than one server of the address accepts writes, for `/health`.
pub(crate) fn record_primaries(control: &RoleControl, complaint: Option<String>) {
    if control.record_warning("primaries", complaint.clone()) {
        let reason = complaint.unwrap_or_default();
        tracing::error!(event = "store.two_primaries", "{reason}");
    }
}

/// Between two looks of a standby at what it would need as the leader.
const PROBE_INTERVAL: Duration = Duration::from_secs(60);

/// Has a standby look every minute whether it could use its object storage and its VM hosts if it
/// led: it says so in `/health`, and goes on taking deliveries. `hosts`: those that are listed now.
/// The thread ends with the process.
///
/// # Errors
/// When there can be no further thread.
pub fn probe_as_standby(
    control: &RoleControl,
    objects: Option<ObjectSettings>,
    hosts: impl Fn() -> Vec<VmHostSettings> + Send + 'static,
) -> anyhow::Result<()> {
    let control = control.clone();
    let storage = objects.map(|objects| ObjectStorage::open(&objects.place));
    let storage = storage.transpose()?;
    let look = move || {
        loop {
            if control.role() == ReplicaRole::Standby {
                record_probe(&control, storage.as_ref(), &hosts());
            }
            std::thread::park_timeout(PROBE_INTERVAL);
        }
    };
    std::thread::Builder::new()
        .name("standby-probe".to_owned())
        .spawn(look)?;
    Ok(())
}

fn record_probe(control: &RoleControl, storage: Option<&ObjectStorage>, hosts: &[VmHostSettings]) {
    let objects = storage.and_then(|storage| storage.usable().err());
    let objects = objects.map(|error| format!("no object storage: {error}"));
    if control.record_warning("objects", objects.clone()) {
        let error = objects.unwrap_or_default();
        tracing::error!(
            event = "objects.failing",
            error,
            "this standby could not lead"
        );
    }
    let faults = try_vm_hosts("[vm_hosts]", hosts);
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let faults = (!faults.is_empty()).then(|| faults.join("; "));
    control.record_warning("vm_hosts", faults);
}

#[cfg(test)]
mod tests {
    use cluster_actors::replica::RoleEvent;
    use config_core::ObjectPlace;

    use super::*;

    #[test]
    fn i18_a_clock_that_is_off_settings_that_differ_and_hanging_commits_are_said() {
        let control = RoleControl::new("here:1");
        let said = |signs: ServerSigns| {
            record_signs(&control, &signs);
            control.warning()
        };
        assert_eq!(said(ServerSigns::default()), None);
        let warning = said(ServerSigns {
            clock_ahead_ms: -900_000,
            awaits_replica: true,
            differing: vec!["webhook secret", "[vm_hosts]"],
        });
        let warning = warning.expect("three are wrong");
        for expected in [
            "900 s ahead of the database's",
            "synchronous_standby_names",
            "differ from the leader's: webhook secret, [vm_hosts]",
        ] {
            assert!(warning.contains(expected), "{warning}");
        }
        assert_eq!(said(ServerSigns::default()), None);
    }

    #[test]
    fn i18_two_primaries_are_said_until_one_is_stopped_whoever_leads() {
        let control = RoleControl::new("here:1");
        record_primaries(&control, Some("2 servers accept writes".to_owned()));
        assert_eq!(
            control.warning().as_deref(),
            Some("2 servers accept writes")
        );
        control.apply(RoleEvent::Took(1));
        control.apply(RoleEvent::TreeStarted);
        assert_eq!(
            control.warning().as_deref(),
            Some("2 servers accept writes")
        );
        record_primaries(&control, None);
        assert_eq!(control.warning(), None);
    }

    #[test]
    fn i18_a_standby_says_that_it_could_not_use_its_storage_and_is_ready_all_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("file://{}", folder.path().display());
        let place = ObjectPlace::new(&url, None, None, false, None).expect("a place");
        let storage = ObjectStorage::open(&place).expect("it opens");
        let control = RoleControl::new("here:1");
        record_probe(&control, Some(&storage), &[]);
        assert_eq!(control.warning(), None);
        storage.close("moved away").expect("it is written");
        record_probe(&control, Some(&storage), &[]);
        let warning = control.warning().expect("it is closed");
        assert!(warning.contains("no object storage: "), "{warning}");
        assert_eq!(control.stores_deliveries(), Ok(()));
        // Where a delivery was not stored none is to be sent for a while.
        control.record_delivery(Some("no answer".to_owned()));
        assert!(control.stores_deliveries().is_err());
        control.record_delivery(None);
        assert_eq!(control.stores_deliveries(), Ok(()));
    }
}
