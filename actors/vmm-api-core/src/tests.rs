//! The shapes, letter by letter, since other programs are written against them; and each as both
//! sides see it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;

/// What the manager writes is what its clients read.
fn round_trip<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) -> String {
    let json = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), value, "{json}");
    json
}

fn vm() -> VmView {
    VmView {
        id: "vm-1".to_owned(),
        state: VmState::Busy.label().to_owned(),
        reason: None,
        driver: DriverName::Qemu.label().to_owned(),
        isolation: Isolation::EmulatedVm,
        image: ImageRef::default().to_string(),
        mem_mib: 256,
        vcpus: 1,
        disk_mib: 2048,
        network: Network::None.label().to_owned(),
        allow: None,
        created_at: Some(UnixMs(0)),
        lease_until: Some(UnixMs(600_000)),
        owner: Some("octo/repo#1".to_owned()),
        last_seen: None,
        source: Some(VmSource::Pool),
        running: 1,
        ended: 2,
        paused: false,
        refused: Vec::new(),
    }
}

#[test]
fn a_vm() {
    let wanted = concat!(
        r#"{"id":"vm-1","state":"busy","driver":"qemu","isolation":"emulated-vm","image":"default","#,
        r#""mem_mib":256,"vcpus":1,"disk_mib":2048,"network":"none","created_at":"1970-01-01T00:00:00.000Z","#,
        r#""lease_until":"1970-01-01T00:10:00.000Z","owner":"octo/repo#1","last_seen":null,"source":"pool","running":1,"ended":2}"#
    );
    assert_eq!(round_trip(&vm()), wanted);
    let failed = VmView {
        reason: Some(FailureReason::GuestSilent.label().to_owned()),
        allow: Some(vec!["pkg.test".to_owned()]),
        ..vm()
    };
    round_trip(&failed);
}

#[test]
fn a_later_manager_does_not_break_its_clients() {
    let later = r#"{"id":"7","state":"frozen","isolation":"emulated-vm","shape":"round"}"#;
    let vm: VmView = serde_json::from_str(later).unwrap();
    assert_eq!((&*vm.id, &*vm.state, vm.created_at), ("7", "frozen", None));
    let later = r#"{"status":"ok","isolation":"emulated-vm","driver":"cloud","kvm":{}}"#;
    let health: ManagerHealth = serde_json::from_str(later).unwrap();
    assert_eq!((&*health.driver, &*health.kvm.reason), ("cloud", ""));
}

#[test]
fn a_request_needs_nothing_but_can_say_much() {
    let request: NewVm = serde_json::from_str("{}").unwrap();
    assert_eq!(request, NewVm::default());
    assert_eq!(round_trip(&request), "{}");
    assert_eq!(Owner::default().as_str(), "unnamed");
    let request = r#"{"network":"user","allow":["PKG.Test","*.dists.test:8080"]}"#;
    let request: NewVm = serde_json::from_str(request).unwrap();
    assert_eq!(request.network, Some(Network::User));
    assert_eq!(request.allow.as_ref().map(|list| list.0.len()), Some(2));
    let wanted = r#"{"network":"user","allow":["pkg.test","*.dists.test:8080"]}"#;
    assert_eq!(round_trip(&request), wanted);
    for wrong in [
        r#"{"network":"user","allow":["http://pkg.test"]}"#,
        r#"{"owner":"me","memory":5}"#,
        r#"{"owner":"me","image":"../x"}"#,
        r#"{"vcpus":null}"#,
        r#"{"vcpus":256}"#,
    ] {
        assert!(serde_json::from_str::<NewVm>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn commands_and_leases() {
    let exec = NewExec {
        script: Some("make\n".to_owned()),
        timeout_ms: Some(5),
        ..NewExec::default()
    };
    assert_eq!(round_trip(&exec), r#"{"script":"make\n","timeout_ms":5}"#);
    assert!(serde_json::from_str::<NewExec>(r#"{"cmd":"x"}"#).is_err());
    let terminal = r#"{"argv":["sh"],"terminal":{"columns":80,"rows":24}}"#;
    let exec: NewExec = serde_json::from_str(terminal).unwrap();
    assert_eq!(exec.terminal, Some(TerminalSize::USUAL));
    assert_eq!(round_trip(&exec), terminal);
    let resize = TerminalCommand::Resize(TerminalSize::USUAL);
    let text = r#"{"resize":{"columns":80,"rows":24}}"#;
    assert_eq!(round_trip(&resize), text);
    assert_eq!(round_trip(&TerminalEvent::Dropped(7)), r#"{"dropped":7}"#);
    let exec_id = "ex-1".to_owned();
    assert_eq!(
        round_trip(&ExecStarted { exec_id }),
        r#"{"exec_id":"ex-1"}"#
    );
    assert_eq!(round_trip(&LeaseRequest { lease_s: 9 }), r#"{"lease_s":9}"#);
    let lease_until = UnixMs(0);
    assert_eq!(
        round_trip(&LeaseView { lease_until }),
        r#"{"lease_until":"1970-01-01T00:00:00.000Z"}"#
    );
    round_trip(&FilesPut {
        entries: 1,
        bytes: 2,
    });
}

#[test]
fn lines_of_a_followed_execution() {
    let text = round_trip(&Chunk::new(OutputStream::Stdout, "ä\n".as_bytes()));
    assert_eq!(text, r#"{"stream":"stdout","data":"ä\n"}"#);
    let cut = round_trip(&Chunk::new(OutputStream::Stderr, &[0xc3, 0x00]));
    assert_eq!(cut, r#"{"stream":"stderr","b64":"wwA="}"#);
    let end = ExecReport {
        state: ExecState::Exited,
        exit_code: Some(0),
        signal: None,
        reason: None,
        dropped_bytes: 0,
    };
    assert!(end.is_success());
    assert_eq!(
        round_trip(&end),
        r#"{"state":"exited","exit_code":0,"signal":null,"dropped_bytes":0}"#
    );
    let killed = ExecReport {
        state: ExecState::TimedOut,
        exit_code: None,
        dropped_bytes: 7,
        ..end
    };
    assert_eq!(
        round_trip(&killed),
        r#"{"state":"timed_out","exit_code":null,"signal":null,"dropped_bytes":7}"#
    );
}

#[test]
fn health_what_was_allocated_and_what_was_released() {
    let health = ManagerHealth {
        status: HealthStatus::Ok,
        preparing: None,
        isolation: Isolation::EmulatedVm,
        driver: DriverName::Qemu.label().to_owned(),
        kvm: Kvm {
            device: true,
            usable: false,
            reason: "the canary did not boot within 5 s".to_owned(),
        },
        pool: PoolView {
            ready: 1,
            target: 2,
            in_use: 3,
        },
        capacity: Some(CapacityView {
            vms: 32,
            free_vms: 28,
            mem_mib: 8192,
            free_mem_mib: 7168,
            overhead_mib: 64,
            vcpus: 16,
            free_vcpus: 12,
        }),
        images: None,
        version: "0.1.0".to_owned(),
    };
    let wanted = concat!(
        r#"{"status":"ok","isolation":"emulated-vm","driver":"qemu","kvm":{"device":true,"usable":false,"#,
        r#""reason":"the canary did not boot within 5 s"},"pool":{"ready":1,"target":2,"in_use":3},"#,
        r#""capacity":{"vms":32,"free_vms":28,"mem_mib":8192,"free_mem_mib":7168,"overhead_mib":64,"vcpus":16,"free_vcpus":12},"version":"0.1.0"}"#
    );
    assert_eq!(round_trip(&health), wanted);
    let allocated = AllocationView {
        id: "vm-1".to_owned(),
        state: VmState::Ready.label().to_owned(),
        source: VmSource::Clone,
        isolation: Some(Isolation::HardwareVm),
        lease_until: Some(UnixMs(0)),
        alloc_ms: 12,
    };
    let wanted = concat!(
        r#"{"id":"vm-1","state":"ready","source":"clone","isolation":"hardware-vm","#,
        r#""lease_until":"1970-01-01T00:00:00.000Z","alloc_ms":12}"#
    );
    assert_eq!(round_trip(&allocated), wanted);
    let released = ReleasedVmList {
        released: vec![ReleasedVm {
            id: "vm-1".to_owned(),
            reason: FailureReason::LeaseOver.label().to_owned(),
        }],
        kept: 2,
    };
    let wanted = r#"{"released":[{"id":"vm-1","reason":"lease_over"}],"kept":2}"#;
    assert_eq!(round_trip(&released), wanted);
}

#[test]
fn labels_are_those_of_the_json() {
    fn check(value: impl Serialize, label: &str) {
        assert_eq!(serde_json::to_value(value).unwrap(), label);
    }
    use FailureReason as R;
    for reason in [
        R::NotStarted,
        R::BootDeadline,
        R::GuestSilent,
        R::ProcessGone,
        R::BadProtocol,
        R::ClockWrong,
        R::LeaseOver,
        R::LeftBehind,
        R::Reclaimed,
    ] {
        check(reason, reason.label());
    }
    for source in [VmSource::Pool, VmSource::Clone, VmSource::Cold] {
        check(source, source.label());
    }
    use VmState as S;
    for state in [
        S::Starting,
        S::Ready,
        S::Busy,
        S::Stopping,
        S::Gone,
        S::Failed,
    ] {
        check(state, state.label());
    }
    for network in [Network::None, Network::User] {
        check(network, network.label());
    }
}
