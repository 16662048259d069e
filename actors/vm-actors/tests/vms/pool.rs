//! The warm pool: filled, taken from, refilled, and never the only way.

use std::sync::atomic::Ordering;
use std::time::Duration;

use vm_actors::VmSettings;
use vm_actors::messages::CreateFailure;
use vm_core::pool::Policy;
use vm_core::{TemplateKey, VmSource};

use crate::common::{Running, brisk, request, run};
use crate::scripted::Lab;

fn warm(clones: usize) -> VmSettings {
    let key = TemplateKey {
        image: "default".parse().unwrap(),
        vcpus: 1,
        mem_mib: 256,
        disk_mib: 2048,
    };
    VmSettings {
        pool: Policy {
            clones,
            ..Policy::default()
        },
        warm: vec![key],
        ..brisk()
    }
}

async fn filled(running: &Running, clones: usize) {
    while running.view.pool().ready < clones {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Ready, target, in use.
fn pool(running: &Running) -> (usize, usize, usize) {
    let pool = running.view.pool();
    (pool.ready, pool.target, pool.in_use)
}

#[test]
fn a_waiting_clone_is_given_out_and_replaced() {
    run(async {
        let lab = Lab::new();
        lab.templates.store(true, Ordering::SeqCst);
        let running = Running::start(&lab, warm(2)).await;
        filled(&running, 2).await;
        assert_eq!(pool(&running), (2, 2, 0));
        let waiting = lab.alive();
        let created = running.create(request("{}")).await.unwrap();
        assert_eq!(created.source, VmSource::Pool);
        assert!(waiting.contains(&created.id));
        filled(&running, 2).await;
        assert_eq!(pool(&running), (2, 2, 1));
        // Of another size there is nothing.
        let other = running.create(request(r#"{"mem_mib":512}"#)).await.unwrap();
        assert_eq!(other.source, VmSource::Cold);
        running.stop().await;
    });
}

#[test]
fn a_key_that_is_asked_for_gets_a_template_and_then_clones_on_demand() {
    run(async {
        let lab = Lab::new();
        lab.templates.store(true, Ordering::SeqCst);
        let running = Running::start(&lab, brisk()).await;
        assert_eq!(
            running.create(request("{}")).await.unwrap().source,
            VmSource::Cold
        );
        loop {
            let created = running.create(request("{}")).await.unwrap();
            let actor = running.vm(&created.id);
            crate::common::gone(
                actor
                    .ask(vm_actors::messages::ReleaseVm { reason: None })
                    .await,
            );
            if created.source == VmSource::Clone {
                break;
            }
        }
        running.stop().await;
    });
}

#[test]
fn a_clone_that_does_not_wake_is_replaced_by_a_boot() {
    run(async {
        let lab = Lab::new();
        lab.templates.store(true, Ordering::SeqCst);
        lab.wakes_fail.store(true, Ordering::SeqCst);
        let running = Running::start(&lab, warm(1)).await;
        filled(&running, 1).await;
        let created = running.create(request("{}")).await;
        assert_eq!(created.unwrap().source, VmSource::Cold);
        running.stop().await;
    });
}

#[test]
fn a_waiting_clone_that_dies_is_replaced() {
    run(async {
        let lab = Lab::new();
        lab.templates.store(true, Ordering::SeqCst);
        let running = Running::start(&lab, warm(1)).await;
        filled(&running, 1).await;
        let first = lab.alive().remove(0);
        lab.machine(&first).crash();
        while lab.alive().contains(&first) || lab.alive().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        filled(&running, 1).await;
        running.stop().await;
    });
}

#[test]
fn f06_two_hundred_rounds_leave_nothing() {
    run(async {
        let lab = Lab::new();
        lab.templates.store(true, Ordering::SeqCst);
        let running = Running::start(&lab, warm(2)).await;
        for _ in 0..200 {
            let created = running.create(request("{}")).await.unwrap();
            running.exec(&created.id, &["echo", "x"]).await.unwrap();
            let actor = running.vm(&created.id);
            crate::common::gone(
                actor
                    .ask(vm_actors::messages::ReleaseVm { reason: None })
                    .await,
            );
        }
        assert_eq!(running.view.vms().len(), 0);
        filled(&running, 2).await;
        assert_eq!(lab.alive().len(), 2, "only what waits");
        running.stop().await;
    });
}

#[test]
fn t8_a_shortage_costs_no_template_and_clones_are_made_when_it_is_over() {
    run(async {
        let lab = Lab::new();
        lab.templates.store(true, Ordering::SeqCst);
        lab.clones_lack.store(true, Ordering::SeqCst);
        let running = Running::start(&lab, warm(1)).await;
        while lab.lacked.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        // A request is told so at once: a boot would need more than the clone does.
        let refused = loop {
            match running.create(request("{}")).await {
                Err(CreateFailure::Shortage { detail, .. }) => break detail,
                Err(other) => panic!("{other}"),
                // There was no template yet: it was booted.
                Ok(created) => assert_eq!(created.source, VmSource::Cold),
            }
        };
        assert!(refused.contains("Too many open files"), "{refused}");
        lab.clones_lack.store(false, Ordering::SeqCst);
        let created = running.create(request("{}")).await.unwrap();
        assert_eq!(created.source, VmSource::Clone);
        assert_eq!(lab.templates_made.load(Ordering::SeqCst), 1);
        running.stop().await;
    });
}

#[test]
fn i18_a_name_that_has_moved_gives_nothing_of_its_former_image() {
    run(async {
        let lab = Lab::new();
        lab.templates.store(true, Ordering::SeqCst);
        let running = Running::start(&lab, warm(2)).await;
        filled(&running, 2).await;
        let former = lab.alive();
        *lab.digest.lock() = "1".to_owned();
        let created = running.create(request("{}")).await.unwrap();
        assert_eq!(created.source, VmSource::Cold);
        // Its clones come from a template of the new image, the former ones are ended.
        while lab.alive().iter().any(|id| former.contains(id)) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        filled(&running, 2).await;
        assert_eq!(lab.templates_made.load(Ordering::SeqCst), 2);
        let created = running.create(request("{}")).await.unwrap();
        assert_eq!(created.source, VmSource::Pool);
        running.stop().await;
    });
}
