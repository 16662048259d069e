//! i17: VMs that stand still for a while, and whose room others may get.

use std::time::Duration;

use vm_actors::VmSettings;
use vm_actors::messages::{CreateFailure, PauseVm, ResumeVm, VmFailure};
use vm_core::admission::Capacity;
use vm_core::{VmId, VmState};

use crate::common::{ManualClock, Running, brisk, request, run};
use crate::scripted::Lab;

async fn pause(running: &Running, vm: &VmId, reclaimable: bool) -> Result<(), VmFailure> {
    let pause = PauseVm { reclaimable };
    running.vm(vm).ask(pause).await.expect("the VM answers")
}

async fn resume(running: &Running, vm: &VmId) -> Result<(), VmFailure> {
    running.vm(vm).ask(ResumeVm).await.expect("the VM answers")
}

#[test]
fn i17_a_paused_vm_takes_no_work_is_not_stuck_and_goes_on() {
    run(async {
        let clock = ManualClock::new();
        let running = Running::start_at(&Lab::new(), brisk(), &clock).await;
        let vm = running.created().await;
        let exec = running.exec(&vm, &["sleep"]).await.unwrap();
        assert_eq!(pause(&running, &vm, false).await, Err(VmFailure::Working));
        let kill = vm_actors::messages::KillExec::now(exec);
        running.vm(&vm).ask(kill).await.unwrap().unwrap();
        running
            .until(&vm, |state| state == Some(VmState::Ready))
            .await;
        pause(&running, &vm, false).await.unwrap();
        pause(&running, &vm, false).await.unwrap();
        assert!(running.entry(&vm).view().paused);
        let refused = running.exec(&vm, &["echo", "x"]).await;
        assert_eq!(refused, Err(VmFailure::Paused));
        // Longer than a guest may be silent: one that stands still cannot answer.
        clock.advance(Duration::from_secs(120));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(running.entry(&vm).state(), VmState::Ready);
        resume(&running, &vm).await.unwrap();
        resume(&running, &vm).await.unwrap();
        assert!(!running.entry(&vm).view().paused);
        tokio::time::sleep(Duration::from_millis(50)).await;
        running.exec(&vm, &["echo", "x"]).await.unwrap();
        // Its lease ends as every VM's.
        pause(&running, &vm, false).await.unwrap();
        clock.advance(Duration::from_secs(7200));
        running.until(&vm, |state| state.is_none()).await;
        running.stop().await;
    });
}

#[test]
fn i17_who_waits_gets_the_room_of_a_kept_vm_but_not_of_one_that_is_open() {
    run(async {
        let capacity = Capacity {
            mem_mib: 100_000,
            vcpus: 100,
            vms: 2,
            queue: 4,
        };
        let settings = VmSettings {
            capacity,
            wait: Duration::from_millis(300),
            ..brisk()
        };
        let running = Running::start(&Lab::new(), settings).await;
        let (first, second) = (running.created().await, running.created().await);
        // Paused without that, or in use: others wait, and are refused.
        pause(&running, &first, false).await.unwrap();
        let refused = running.create(request("{}")).await.unwrap_err();
        assert!(matches!(refused, CreateFailure::NoRoom { .. }), "{refused}");
        pause(&running, &second, true).await.unwrap();
        resume(&running, &second).await.unwrap();
        let refused = running.create(request("{}")).await.unwrap_err();
        assert!(matches!(refused, CreateFailure::NoRoom { .. }), "{refused}");
        // Kept: it makes room, and only it.
        pause(&running, &second, true).await.unwrap();
        let third = running.created().await;
        assert!(running.view.vm(&second).is_none());
        assert!(running.view.vm(&first).is_some());
        assert_eq!(running.entry(&third).state(), VmState::Ready);
        running.stop().await;
    });
}
