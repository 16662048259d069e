//! The network of VMs that ask for one: whether they may have it, and how they get it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use http_clients::http::Tls;
use vm_core::network::{AllowList, HostPattern, NetworkPolicy, NetworkTarget};
use vm_core::{DriverName, Network, VmId, VmSpec};
use vm_engine::network::{
    NetworkTraffic, OnRefused, OwnerServices, TrustedAuthorities, Uplink, by_the_system,
};
use vm_engine::{DriverError, Machine, MachineError};

use crate::refused_requests::RefusedRequests;
use crate::settings::VmSettings;

/// Refused requests of one VM that are logged; the rest are counted alone, so that a guest cannot
/// fill the log.
const LOGGED: u32 = 20;

/// Why a VM does not get the network it asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkUnmet {
    /// The configuration allows none.
    #[error(
        "this manager gives no VM a network: its configuration names nothing in [network] `allow`"
    )]
    None,
    /// The configuration does not allow this.
    #[error("`{0}` goes beyond what this manager's configuration names in [network] `allow`")]
    Beyond(HostPattern),
    /// The configuration does not name these services.
    #[error("this manager's configuration does not name `{0}` in [network] `services`")]
    Services(NetworkTarget),
    /// Places that are led to services, without services.
    #[error("`services_for` needs `services`")]
    WithoutServices,
    /// A list without a network.
    #[error("`allow` needs `network` to be `user`")]
    WithoutNetwork,
}

/// Whether the request's network is within what `allowed` names, and its services within
/// `services`.
pub(crate) fn check(
    spec: &VmSpec,
    allowed: &AllowList,
    services: &AllowList,
) -> Result<(), NetworkUnmet> {
    if let Some(target) = spec.services.as_ref().filter(|it| !services.names(it)) {
        return Err(NetworkUnmet::Services(target.clone()));
    }
    if spec.services.is_none() && !spec.services_for.is_empty() {
        return Err(NetworkUnmet::WithoutServices);
    }
    match (spec.network, &spec.allow) {
        (Network::None, None) => Ok(()),
        (Network::None, Some(_)) => Err(NetworkUnmet::WithoutNetwork),
        (Network::User, _) if allowed.is_empty() => Err(NetworkUnmet::None),
        (Network::User, asked) => match asked
            .as_ref()
            .and_then(|asked| allowed.first_uncovered(asked))
        {
            Some(pattern) => Err(NetworkUnmet::Beyond(pattern.clone())),
            None => Ok(()),
        },
    }
}

/// Gives a machine the network that its request asks for. Blocks.
pub(crate) fn open(
    machine: &dyn Machine,
    spec: &VmSpec,
    refused: &Arc<RefusedRequests>,
    settings: &VmSettings,
    traffic: &Arc<NetworkTraffic>,
    driver: DriverName,
) -> Result<(), DriverError> {
    if spec.network == Network::None && spec.services.is_none() {
        return Ok(());
    }
    let reach = match spec.network {
        Network::None => NetworkPolicy::default(),
        Network::User => NetworkPolicy {
            manager: settings.allow.clone(),
            requested: spec.allow.clone(),
        },
    };
    let services = spec.services.clone().map(|target| OwnerServices {
        target,
        reach: NetworkPolicy {
            manager: settings.services.clone(),
            requested: None,
        },
        led: spec.services_for.clone(),
    });
    let uplink = Uplink {
        services,
        reach,
        limits: settings.network,
        traffic: Arc::clone(traffic),
        resolve: by_the_system(),
        trust: TrustedAuthorities::with_config(|| {
            Tls::System.config().map_err(|error| error.to_string())
        }),
        on_refused: record_refused(machine.id().clone(), Arc::clone(refused)),
    };
    machine
        .open_network(Arc::new(uplink), settings.deadlines.boot)
        .map_err(|error| match error {
            MachineError::Unsupported(what) => DriverError::Unsupported {
                driver,
                what: what.to_owned(),
            },
            error => error.into(),
        })
}

fn record_refused(vm: VmId, refused: Arc<RefusedRequests>) -> OnRefused {
    let seen = AtomicU32::new(0);
    Box::new(move |text, refusal| {
        refused.record(text);
        if seen.fetch_add(1, Ordering::Relaxed) < LOGGED {
            tracing::info!(
                event = "vm.network_refused",
                %vm,
                reason = refusal.label(),
                "{text}"
            );
        }
    })
}
