//! VM hosts that `--check` asks.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use config_core::Secret;
use daemon::vm_hosts::{ask_vm_hosts, try_vm_hosts};
use scripted_peers::{Misbehaviour, Play, ScriptedVmm};
use vmm_api_core::VmHostSettings;

/// Served on a thread of its own, which ends with the process.
fn manager() -> ScriptedVmm {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move {
            sender.send(ScriptedVmm::start(|_| Play::exit(0))).ok();
            std::future::pending::<()>().await;
        });
    });
    receiver.recv().unwrap()
}

fn host(name: &str, url: &str) -> VmHostSettings {
    VmHostSettings {
        name: name.to_owned(),
        ..VmHostSettings::single(url.parse().unwrap(), Some(Secret::new("token".to_owned())))
    }
}

#[test]
fn i18_a_check_asks_every_vm_host() {
    let vmm = manager();
    let (here, away) = (host("here", &vmm.url()), host("away", "http://127.0.0.1:9"));
    let asked = ask_vm_hosts("[vm_hosts]", &[here.clone(), away]);
    assert_eq!(asked[0].name, "here");
    asked[0].answer.as_ref().unwrap();
    let fault = asked[1].answer.as_ref().unwrap_err();
    assert!(fault.is_away, "{fault}");
    let shown = fault.to_string();
    assert!(
        shown.starts_with("[vm_hosts]: the host `away`: "),
        "{shown}"
    );
    assert!(shown.contains("is not reachable"), "{shown}");
    // A token that is refused is a setting that is wrong.
    vmm.plan("GET /vms", Misbehaviour::Status(401));
    let faults = try_vm_hosts("[vm_hosts]", &[here]);
    let [fault] = faults.as_slice() else {
        panic!("{faults:?}");
    };
    assert!(!fault.is_away, "{fault}");
    assert!(fault.reason.contains("refuses the token"), "{fault}");
    assert_eq!(try_vm_hosts("[vm_hosts]", &[]), []);
}
