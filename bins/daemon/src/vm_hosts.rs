//! The VM hosts that `--check` asks: whether their managers answer, and take the token.

use std::time::Duration;

use http_clients::http::{HttpClient, HttpOptions};
use http_clients::vmm::{VmmClient, VmmError};
use vmm_api_core::VmHostSettings;

use crate::peers::PeerFault;

/// The longest time that all of them together are waited for.
const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// The manager's own address where nothing else is set.
const UNNAMED_URL: &str = "http://127.0.0.1:3100/";
/// What the system says where a certificate is not taken.
const CERTIFICATE: [&str; 2] = ["certificate", "TLS"];

/// A VM host that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedHost {
    /// What it is called.
    pub name: String,
    /// Its manager's version, or what is wrong.
    pub answer: Result<String, PeerFault>,
}

/// Asks the VM managers of a setting how they are, and for something that needs the token. Blocks,
/// on a thread that runs nothing else.
#[must_use]
pub fn ask_vm_hosts(setting: &'static str, hosts: &[VmHostSettings]) -> Vec<AskedHost> {
    if hosts.is_empty() {
        return Vec::new();
    }
    let hosts = hosts.to_vec();
    actix_rt::System::new().block_on(async move {
        let asked = hosts.into_iter().map(|host| {
            let name = host.name.clone();
            (name, actix_rt::spawn(ask(setting, host)))
        });
        let mut answers = Vec::new();
        // All are asked at once.
        for (name, asked) in asked.collect::<Vec<_>>() {
            let answer = asked
                .await
                .unwrap_or_else(|error| Err(fault(setting, &name, &error.to_string(), true)));
            answers.push(AskedHost { name, answer });
        }
        answers
    })
}

/// What is wrong with them. The manager of this machine, at the address that is meant where none is
/// named, may start later.
#[must_use]
pub fn try_vm_hosts(setting: &'static str, hosts: &[VmHostSettings]) -> Vec<PeerFault> {
    let asked = ask_vm_hosts(setting, hosts).into_iter().zip(hosts);
    let faults = asked.filter_map(|(asked, host)| Some((asked.answer.err()?, host)));
    let counts = |(fault, host): &(PeerFault, &VmHostSettings)| {
        !fault.is_away || host.url.as_str() != UNNAMED_URL
    };
    faults.filter(counts).map(|(fault, _)| fault).collect()
}

async fn ask(setting: &'static str, host: VmHostSettings) -> Result<String, PeerFault> {
    let http = HttpClient::new(HttpOptions::default());
    let vmm = VmmClient::new(http, host.url.clone(), host.token.clone());
    let asked = async {
        let health = vmm.health().await?;
        vmm.list().await?;
        Ok::<_, VmmError>(health.version)
    };
    match tokio::time::timeout(ASK_TIMEOUT, asked).await {
        Ok(Ok(version)) => Ok(version),
        Ok(Err(error)) => {
            let reason = error.to_string();
            let is_certificate = CERTIFICATE.iter().any(|word| reason.contains(word));
            let is_away = error.is_temporary() && !is_certificate;
            Err(fault(setting, &host.name, &reason, is_away))
        }
        Err(_) => {
            let url = &host.url;
            let reason = format!("{url} does not answer within {ASK_TIMEOUT:?}");
            Err(fault(setting, &host.name, &reason, true))
        }
    }
}

fn fault(setting: &'static str, name: &str, reason: &str, is_away: bool) -> PeerFault {
    PeerFault {
        setting,
        reason: format!("the host `{name}`: {reason}"),
        is_away,
    }
}
