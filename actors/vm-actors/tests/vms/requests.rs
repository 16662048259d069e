//! Requests for VMs: admitted, waiting, refused, sent twice.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::select;
use store::{Store, StoreOptions};
use vm_actors::images::ImageFailure;
use vm_actors::messages::{CreateFailure, ReleaseVm};
use vm_actors::{Clock, VmSettings};
use vm_core::admission::Capacity;
use vm_core::{FailureReason, Isolation, VmSource, VmState};

use crate::common::{Running, brisk, gone, keyed, request, run};
use crate::scripted::{Lab, Next};

fn small(vms: u32, queue: usize) -> VmSettings {
    let capacity = Capacity {
        mem_mib: 100_000,
        vcpus: 100,
        vms,
        queue,
    };
    VmSettings {
        capacity,
        ..brisk()
    }
}

#[test]
fn a_vm_is_given_out_ready_and_released() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        let created = running.create(request("{}")).await.unwrap();
        assert_eq!(
            (created.state, created.source),
            (VmState::Ready, VmSource::Cold)
        );
        assert_eq!(created.isolation, Isolation::EmulatedVm);
        assert_eq!(running.lab.alive(), std::slice::from_ref(&created.id));
        let view = running.entry(&created.id).view();
        assert_eq!(view.owner.as_deref(), Some("me"));
        gone(
            running
                .vm(&created.id)
                .ask(ReleaseVm { reason: None })
                .await,
        );
        assert!(running.view.vm(&created.id).is_none());
        assert_eq!(running.lab.alive(), []);
        running.stop().await;
    });
}

#[test]
fn less_isolation_than_asked_for_is_refused_before_anything_starts() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        let wanted = request(r#"{"isolation_min":"hardware-vm"}"#);
        let refused = running.create(wanted).await.unwrap_err();
        assert!(matches!(refused, CreateFailure::Isolation(_)), "{refused}");
        let large = running
            .create(request(r#"{"mem_mib":9000}"#))
            .await
            .unwrap_err();
        assert!(matches!(large, CreateFailure::Limits(_)), "{large}");
        let never = running
            .create(request(r#"{"mem_mib":4000}"#))
            .await
            .unwrap_err();
        assert!(
            matches!(never, CreateFailure::Never { mem_mib: 4016, .. }),
            "{never}"
        );
        let unknown = running
            .create(request(r#"{"image":"other"}"#))
            .await
            .unwrap_err();
        assert!(
            unknown.to_string().contains("there are: default"),
            "{unknown}"
        );
        assert_eq!(running.lab.started.load(Ordering::SeqCst), 0);
        running.stop().await;
    });
}

/// Who asks for VMs does not ask here when there is no room.
#[test]
fn i18_what_is_free_of_the_host_counts_processors() {
    run(async {
        let settings = VmSettings {
            capacity: Capacity {
                mem_mib: 100_000,
                vcpus: 3,
                vms: 8,
                queue: 0,
            },
            ..brisk()
        };
        let running = Running::start(&Lab::new(), settings).await;
        let free = || {
            let capacity = running.view.capacity();
            (capacity.vcpus, capacity.free_vcpus, capacity.free_vms)
        };
        assert_eq!(free(), (3, 3, 3));
        running.create(request(r#"{"vcpus":2}"#)).await.unwrap();
        assert_eq!(free(), (3, 1, 1));
        let last = running.created().await;
        assert_eq!(free(), (3, 0, 0));
        let refused = running.create(request("{}")).await.unwrap_err();
        assert!(matches!(refused, CreateFailure::NoRoom { .. }), "{refused}");
        gone(running.vm(&last).ask(ReleaseVm { reason: None }).await);
        assert_eq!(free(), (3, 1, 1));
        running.stop().await;
    });
}

#[test]
fn requests_wait_in_turn_and_past_the_queue_they_are_refused() {
    run(async {
        let running = Running::start(&Lab::new(), small(1, 1)).await;
        let first = running.created().await;
        // Their images are looked for on threads: either may come first.
        let ask = || Box::pin(running.scheduler.ask(request("{}")));
        let (second, third) = (ask(), ask());
        let (refused, waiting) = select(second, third).await.factor_first();
        match refused.unwrap() {
            Err(CreateFailure::NoRoom {
                waiting: 1,
                in_use: 1,
                retry_after,
            }) => assert!(retry_after >= Duration::from_secs(1)),
            other => panic!("{other:?}"),
        }
        gone(running.vm(&first).ask(ReleaseVm { reason: None }).await);
        let given = waiting.await.unwrap().unwrap();
        assert_eq!(running.lab.alive(), [given.id]);
        running.stop().await;
    });
}

#[test]
fn a_request_that_waits_too_long_is_refused_with_a_time_to_come_again() {
    run(async {
        let settings = VmSettings {
            wait: Duration::from_millis(50),
            ..small(1, 4)
        };
        let running = Running::start(&Lab::new(), settings).await;
        running.created().await;
        let refused = running.create(request("{}")).await.unwrap_err();
        assert!(matches!(refused, CreateFailure::NoRoom { .. }), "{refused}");
        running.stop().await;
    });
}

#[test]
fn a_vm_that_does_not_start_leaves_nothing_and_says_why() {
    run(async {
        let running = Running::start(&Lab::new(), small(1, 0)).await;
        for (next, wanted) in [
            (Next::Dies, FailureReason::ProcessGone),
            (Next::TooSlow, FailureReason::BootDeadline),
            (Next::Panics, FailureReason::NotStarted),
        ] {
            running.lab.next(next);
            match running.create(request("{}")).await {
                Err(CreateFailure::NotStarted { reason, .. }) => assert_eq!(reason, wanted),
                other => panic!("{next:?}: {other:?}"),
            }
            assert_eq!(running.view.vms().len(), 0);
        }
        running.lab.next(Next::Unsupported);
        let refused = running.create(request("{}")).await.unwrap_err();
        assert!(
            matches!(refused, CreateFailure::Unsupported(_)),
            "{refused}"
        );
        // With room for one, the next proves that the place was given back.
        running.created().await;
        running.stop().await;
    });
}

#[test]
fn an_image_that_is_being_made_is_said_so() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        *running.lab.making.lock() = Some("packages 3 of 90".to_owned());
        let refused = running.create(request("{}")).await.unwrap_err();
        assert!(
            refused.to_string().contains("packages 3 of 90"),
            "{refused}"
        );
        *running.lab.making.lock() = None;
        running.created().await;
        running.stop().await;
    });
}

#[test]
fn i18_a_request_waits_for_an_image_that_is_fetched_as_long_as_for_room() {
    run(async {
        let lab = Lab::new();
        *lab.fetching.lock() = Some("1 of 2 MiB".to_owned());
        let impatient = VmSettings {
            wait: Duration::from_millis(50),
            ..brisk()
        };
        let running = Running::start(&lab, impatient).await;
        let refused = running.create(request("{}")).await.unwrap_err();
        assert!(
            matches!(refused, CreateFailure::Image(ImageFailure::Fetching { .. })),
            "{refused}"
        );
        assert!(refused.to_string().contains("1 of 2 MiB"), "{refused}");
        running.stop().await;

        let running = Running::start(&lab, brisk()).await;
        let scheduler = running.scheduler.clone();
        let asked = actix_rt::spawn(async move { scheduler.ask(request("{}")).await });
        while lab.fetches.receiver_count() == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        // Another fetch has ended.
        lab.fetches.send_modify(|count| *count += 1);
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!asked.is_finished());
        *lab.fetching.lock() = None;
        lab.fetches.send_modify(|count| *count += 1);
        asked.await.unwrap().unwrap().unwrap();
        running.stop().await;
    });
}

#[test]
fn a_request_sent_twice_makes_one_vm() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        running.lab.next(Next::Waits);
        let ask = |json: &'static str, key: &'static str| {
            let scheduler = running.scheduler.clone();
            actix_rt::spawn(async move { scheduler.ask(keyed(json, key)).await.unwrap() })
        };
        let (one, two) = (ask("{}", "k"), ask("{}", "k"));
        let other = ask(r#"{"vcpus":2}"#, "k").await.unwrap().unwrap_err();
        assert!(matches!(other, CreateFailure::OtherRequest), "{other}");
        running.lab.open();
        let (one, two) = (one.await.unwrap().unwrap(), two.await.unwrap().unwrap());
        assert_eq!(one.id, two.id);
        assert_eq!(
            ask("{}", "k").await.unwrap().unwrap().id,
            one.id,
            "long after"
        );
        assert_ne!(
            ask("{}", "l").await.unwrap().unwrap().id,
            one.id,
            "another key"
        );
        assert_eq!(running.lab.alive().len(), 2);
        gone(running.vm(&one.id).ask(ReleaseVm { reason: None }).await);
        let late = ask("{}", "k").await.unwrap().unwrap_err();
        assert!(matches!(late, CreateFailure::Ended(_)), "{late}");
        assert_eq!(running.lab.alive().len(), 1, "a late copy makes no VM");
        running.stop().await;
    });
}

#[test]
fn a_request_that_came_to_nothing_can_be_sent_again_with_its_key() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        running.lab.next(Next::Dies);
        running.create(keyed("{}", "k")).await.unwrap_err();
        running.create(keyed("{}", "k")).await.unwrap();
        assert_eq!(running.lab.alive().len(), 1);
        running.stop().await;
    });
}

#[test]
fn keys_outlive_the_manager_but_not_the_vms_it_took_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Store::open(folder.path(), &StoreOptions::new("test")).unwrap();
    let store = open();
    let unfinished = run(async {
        let running =
            Running::start_with(&Lab::new(), brisk(), store.clone(), Clock::start()).await;
        let done = running.create(keyed("{}", "done")).await.unwrap();
        gone(running.vm(&done.id).ask(ReleaseVm { reason: None }).await);
        let unfinished = running.create(keyed("{}", "unfinished")).await.unwrap();
        // As after a kill: nothing more is written down.
        store.close();
        unfinished.id
    });
    drop(store);
    let store = open();
    run(async {
        let running = Running::start_with(&Lab::new(), brisk(), store, Clock::start()).await;
        let late = running.create(keyed("{}", "done")).await.unwrap_err();
        assert!(matches!(late, CreateFailure::Ended(_)), "{late}");
        let again = running.create(keyed("{}", "unfinished")).await.unwrap();
        assert_ne!(again.id, unfinished);
        running.stop().await;
    });
}

#[test]
fn t8_a_machine_that_lacks_something_is_no_broken_template() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        running.lab.next(Next::Shortage);
        let refused = running.create(keyed("{}", "k1")).await.unwrap_err();
        let CreateFailure::Shortage {
            detail,
            retry_after,
        } = refused
        else {
            panic!("{refused}")
        };
        assert!(detail.contains("Too many open files"), "{detail}");
        assert!(retry_after > Duration::ZERO);
        assert_eq!(running.lab.alive(), []);
        // The same request again is not the end of it.
        running.create(keyed("{}", "k1")).await.unwrap();
        running.stop().await;
    });
}
