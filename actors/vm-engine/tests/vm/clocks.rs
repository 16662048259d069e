//! A guest's clock: the host's time from the first command on, and a guest whose clock does not go
//! as the host's is no VM and no template.

use std::time::{Duration, SystemTime};

use vm_core::FailureReason;
use vm_engine::qemu::QemuDriver;
use vm_engine::{Driver as _, Machine, StartRequest};

use crate::support::{Lab, TEST_TIMEOUT, clone_of, identity, run, warm_clone_of};

fn host() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap()
}

/// The guest's time lies between the host's before and after it was asked.
fn assert_on_time(machine: &dyn Machine) {
    let before = host();
    let said = run(machine, "date +%s.%N").stdout;
    let after = host();
    let guest = Duration::from_secs_f64(said.trim().parse().unwrap());
    let slack = Duration::from_secs(1);
    assert!(
        before < guest + slack && guest < after + slack,
        "{before:?} {guest:?} {after:?}"
    );
}

#[test]
fn u9_cold_vms_and_clones_have_the_host_s_time() {
    let lab = Lab::new();
    let cold = lab.start("vm-cold");
    assert_on_time(&*cold);
    drop(cold);
    let template = lab.template();
    for clone in [
        clone_of(&template, "vm-clone"),
        warm_clone_of(&template, "vm-warm"),
    ] {
        let id = clone.id().as_str().to_owned();
        clone.wake(&identity(&id), TEST_TIMEOUT).unwrap();
        assert_on_time(&*clone);
    }
    drop(template);
    lab.assert_nothing_left();
}

/// What a calibration under load does, done on purpose: the kernel takes its processor for one of a
/// few hundred megahertz, so its seconds are short.
#[test]
fn u9_a_guest_whose_clock_runs_away_is_no_template_and_no_vm() {
    let lab = Lab::new();
    let mut config = lab.config.clone();
    config.kernel_words = vec!["tsc_early_khz=300000".to_owned()];
    let driver = QemuDriver::new(config);
    let error = driver
        .template(&Lab::spec().template_key(), &lab.image)
        .err()
        .expect("its clock is wrong");
    assert_eq!(error.reason(), FailureReason::ClockWrong, "{error}");
    assert!(error.to_string().contains("times as fast"), "{error}");
    let request = StartRequest {
        id: "vm-fast".parse().unwrap(),
        spec: Lab::spec(),
        image: lab.image.clone(),
        identity: identity("vm-fast"),
        boot_deadline: TEST_TIMEOUT,
        on_event: Box::new(|_| {}),
    };
    let error = driver.start(request).err().expect("its clock is wrong");
    assert_eq!(error.reason(), FailureReason::ClockWrong, "{error}");
    lab.assert_nothing_left();
}
