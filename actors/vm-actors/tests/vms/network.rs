//! Orders that ask for a network.

use std::sync::atomic::Ordering;

use vm_actors::VmSettings;
use vm_actors::messages::CreateFailure;
use vm_actors::network::NetworkUnmet;
use vm_core::VmSource;
use vm_core::network::{AllowList, NetworkTarget};

use crate::common::{Running, brisk, request, run};
use crate::scripted::Lab;

fn allowing(places: &[&str]) -> VmSettings {
    let places = places.iter().map(|text| text.parse().unwrap()).collect();
    VmSettings {
        allow: AllowList(places),
        ..brisk()
    }
}

#[test]
fn r13_a_network_is_within_what_the_manager_allows_or_there_is_no_vm() {
    run(async {
        let lab = Lab::new();
        let running = Running::start(&lab, allowing(&["*.dists.test", "pkg.test"])).await;
        let unmet = async |json| match running.create(request(json)).await {
            Err(CreateFailure::Network(unmet)) => unmet,
            other => panic!("{other:?}"),
        };
        let beyond = unmet(r#"{"network":"user","allow":["pkg.test","evil.test"]}"#).await;
        assert!(
            beyond.to_string().starts_with("`evil.test` goes beyond"),
            "{beyond}"
        );
        let everything = unmet(r#"{"network":"user","allow":["*"]}"#).await;
        assert!(matches!(everything, NetworkUnmet::Beyond(_)));
        let list_alone = unmet(r#"{"allow":["pkg.test"]}"#).await;
        assert_eq!(list_alone, NetworkUnmet::WithoutNetwork);
        assert_eq!(lab.started.load(Ordering::SeqCst), 0);
        running.stop().await;

        let running = Running::start(&Lab::new(), brisk()).await;
        let refused = running.create(request(r#"{"network":"user"}"#)).await;
        assert!(
            matches!(refused, Err(CreateFailure::Network(NetworkUnmet::None))),
            "none is allowed unless the configuration names something"
        );
        running.stop().await;
    });
}

#[test]
fn a_vm_gets_the_network_of_its_request_and_others_none() {
    run(async {
        let lab = Lab::new();
        lab.templates.store(true, Ordering::SeqCst);
        let mut settings = allowing(&["*.dists.test", "pkg.test"]);
        settings.warm = vec![request("{}").spec.template_key()];
        settings.pool.clones = 1;
        let running = Running::start(&lab, settings).await;
        while running.view.pool().ready < 1 {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        let asked = request(r#"{"network":"user","allow":["deb.dists.test"]}"#);
        let created = running.create(asked).await.unwrap();
        assert_eq!(created.source, VmSource::Pool, "a clone is as good as any");
        let view = running.entry(&created.id).view();
        assert_eq!(
            serde_json::to_value(view).unwrap()["allow"],
            serde_json::json!(["deb.dists.test"])
        );
        let names = |id, text| {
            let machine = lab.machine(id);
            let network = machine.network.lock();
            let target = NetworkTarget::parse(text, None).unwrap();
            network.as_ref().map(|uplink| uplink.reach.names(&target))
        };
        assert_eq!(names(&created.id, "deb.dists.test:80"), Some(true));
        assert_eq!(names(&created.id, "pkg.test:443"), Some(false));
        let all = running
            .create(request(r#"{"network":"user"}"#))
            .await
            .unwrap();
        assert_eq!(names(&all.id, "pkg.test:443"), Some(true));
        let none = running.created().await;
        assert_eq!(names(&none, "pkg.test:443"), None);
        running.stop().await;
    });
}

#[test]
fn a_machine_that_cannot_have_one_is_not_given_out() {
    run(async {
        let lab = Lab::new();
        lab.no_networks.store(true, Ordering::SeqCst);
        let running = Running::start(&lab, allowing(&["*"])).await;
        let refused = running.create(request(r#"{"network":"user"}"#)).await;
        let Err(CreateFailure::Unsupported(detail)) = refused else {
            panic!("{refused:?}");
        };
        assert!(detail.contains("give a VM a network"), "{detail}");
        assert_eq!(lab.alive(), [], "nothing of it is left");
        running.stop().await;
    });
}

#[test]
fn services_of_an_owner_are_those_that_the_manager_names_or_there_is_no_vm() {
    run(async {
        let lab = Lab::new();
        let settings = VmSettings {
            services: AllowList(vec!["127.0.0.1:3002".parse().unwrap()]),
            ..brisk()
        };
        let running = Running::start(&lab, settings).await;
        let other = running
            .create(request(r#"{"services":"127.0.0.1:22"}"#))
            .await;
        let Err(CreateFailure::Network(unmet)) = other else {
            panic!("{other:?}");
        };
        let expected =
            "this manager's configuration does not name `127.0.0.1:22` in [network] `services`";
        assert_eq!(unmet.to_string(), expected);
        assert_eq!(lab.started.load(Ordering::SeqCst), 0);
        // Without a network nothing but them is reached.
        let own = running
            .create(request(r#"{"services":"127.0.0.1:3002"}"#))
            .await
            .unwrap();
        let machine = lab.machine(&own.id);
        {
            let network = machine.network.lock();
            let uplink = network.as_ref().unwrap();
            let services = uplink.services.as_ref().unwrap();
            assert_eq!(services.target.to_string(), "127.0.0.1:3002");
            assert!(services.reach.names(&services.target));
            assert!(!uplink.reach.names(&services.target));
        }
        running.stop().await;
    });
}
