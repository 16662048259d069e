//! The shapes, letter by letter: other programs are written against them.

use super::*;

fn vm() -> Vm {
    Vm {
        id: "vm-1".parse().unwrap(),
        state: VmState::Busy,
        reason: None,
        driver: DriverName::Qemu,
        isolation: Isolation::EmulatedVm,
        image: ImageRef::default(),
        mem_mib: 256,
        vcpus: 1,
        disk_mib: 2048,
        network: Network::None,
        allow: None,
        created_at: UnixMs(0),
        lease_until: Some(UnixMs(600_000)),
        owner: Some("octo/repo#1".parse().unwrap()),
        last_seen: None,
        source: Source::Pool,
    }
}

#[test]
fn a_vm() {
    let json = serde_json::to_string(&vm()).unwrap();
    let wanted = concat!(
        r#"{"id":"vm-1","state":"busy","driver":"qemu","isolation":"emulated-vm","image":"default","#,
        r#""mem_mib":256,"vcpus":1,"disk_mib":2048,"network":"none","created_at":"1970-01-01T00:00:00.000Z","#,
        r#""lease_until":"1970-01-01T00:10:00.000Z","owner":"octo/repo#1","last_seen":null,"source":"pool"}"#
    );
    assert_eq!(json, wanted);
    assert_eq!(serde_json::from_str::<Vm>(&json).unwrap(), vm());
}

#[test]
fn an_order_needs_nothing_but_can_say_much() {
    let order: CreateVm = serde_json::from_str("{}").unwrap();
    assert_eq!(order.owner.as_str(), "unnamed");
    assert_eq!(
        (order.vcpus, order.mem_mib, order.disk_mib, order.lease_s),
        (1, 256, 2048, 600)
    );
    assert_eq!(
        (order.network, order.isolation_min),
        (Network::None, Isolation::EmulatedVm)
    );
    let spec = VmSpec::from(order);
    assert_eq!(spec.lease, Duration::from_secs(600));
    let order = r#"{"network":"user","allow":["PKG.Test","*.dists.test:8080"]}"#;
    let order: CreateVm = serde_json::from_str(order).unwrap();
    assert_eq!(order.network, Network::User);
    assert_eq!(order.allow.map(|list| list.0.len()), Some(2));
    for wrong in [
        r#"{"network":"user","allow":["http://pkg.test"]}"#,
        r#"{"owner":"me","memory":5}"#,
        r#"{"owner":"me","image":"../x"}"#,
    ] {
        assert!(serde_json::from_str::<CreateVm>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_to_run_is_said_in_exactly_one_way() {
    let start = |json: &str| ExecSpec::try_from(serde_json::from_str::<StartExec>(json).unwrap());
    let spec = start(r#"{"script":"make\n","timeout_ms":5}"#).unwrap();
    assert_eq!(
        (spec.cwd.as_str(), spec.timeout),
        ("/workspace", Some(Duration::from_millis(5)))
    );
    let Program::Script { text, shell } = spec.program else {
        panic!("it is a script")
    };
    assert_eq!((text.as_str(), shell[0].as_str()), ("make\n", "bash"));
    assert_eq!(
        start(r#"{"argv":["ls"]}"#).unwrap().program,
        Program::Argv(vec!["ls".to_owned()])
    );
    assert_eq!(start("{}"), Err(ExecError::ScriptOrArgv));
    assert_eq!(
        start(r#"{"argv":["ls"],"script":"ls"}"#),
        Err(ExecError::ScriptOrArgv)
    );
    assert_eq!(
        start(r#"{"argv":["ls"],"shell":"sh"}"#),
        Err(ExecError::Shell("sh".to_owned()))
    );
    assert!(serde_json::from_str::<StartExec>(r#"{"cmd":"x"}"#).is_err());
}

/// Title, branch and author of a pull request reach a program as arguments; no shell reads them.
#[test]
fn r03_arguments_stay_arguments() {
    let hostile = "$(id) `id`; curl x\n\"'";
    let order = StartExec {
        argv: Some(vec!["echo".to_owned(), hostile.to_owned()]),
        ..StartExec::default()
    };
    let Program::Argv(argv) = ExecSpec::try_from(order).unwrap().program else {
        panic!("it is argv")
    };
    assert_eq!(argv, ["echo", hostile]);
}

#[test]
fn lines_of_a_followed_execution() {
    let text = serde_json::to_string(&Chunk::new(Stream::Stdout, "ä\n".as_bytes())).unwrap();
    assert_eq!(text, r#"{"stream":"stdout","data":"ä\n"}"#);
    let cut = Chunk::new(Stream::Stderr, &[0xc3, 0x00]);
    assert_eq!(
        serde_json::to_string(&cut).unwrap(),
        r#"{"stream":"stderr","b64":"wwA="}"#
    );
    assert_eq!(cut.bytes(), Some(vec![0xc3, 0x00]));
    let end = Exec::new(Some(&ExecEnd::Exited { code: 0 }), 0);
    let json = serde_json::to_string(&end).unwrap();
    assert_eq!(
        json,
        r#"{"state":"exited","exit_code":0,"signal":null,"dropped_bytes":0}"#
    );
    let killed = serde_json::to_string(&Exec::new(Some(&ExecEnd::TimedOut), 7)).unwrap();
    assert_eq!(
        killed,
        r#"{"state":"timed_out","exit_code":null,"signal":null,"dropped_bytes":7}"#
    );
    assert_eq!(Exec::new(None, 0).state, ExecState::Running);
}

#[test]
fn health_and_what_was_released() {
    let health = Health {
        status: HealthStatus::Ok,
        isolation: Isolation::EmulatedVm,
        driver: DriverName::Qemu,
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
        version: "0.1.0".to_owned(),
    };
    let wanted = concat!(
        r#"{"status":"ok","isolation":"emulated-vm","driver":"qemu","kvm":{"device":true,"usable":false,"#,
        r#""reason":"the canary did not boot within 5 s"},"pool":{"ready":1,"target":2,"in_use":3},"version":"0.1.0"}"#
    );
    assert_eq!(serde_json::to_string(&health).unwrap(), wanted);
    let released = Released {
        released: vec![ReleasedVm {
            id: "vm-1".parse().unwrap(),
            reason: FailureReason::LeaseOver,
        }],
        kept: 2,
    };
    let wanted = r#"{"released":[{"id":"vm-1","reason":"lease_over"}],"kept":2}"#;
    assert_eq!(serde_json::to_string(&released).unwrap(), wanted);
}
