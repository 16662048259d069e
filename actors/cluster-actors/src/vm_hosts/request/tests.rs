//! VMs asked of managers that answer by a script.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use config_core::Secret;
use http_clients::vmm::{HealthStatus, Isolation, ManagerHealth};
use parking_lot::Mutex;
use store::{Store, StoreOptions};
use vmm_api_core::{CapacityView, Kvm, PoolView, VmHostSettings};

use super::*;
use crate::vm_hosts::cordon::CordonTable;
use crate::vm_hosts::known_host::ReportedImages;

const MADE: (&str, &str) = (
    "201 Created",
    r#"{"id":"vm-1","state":"ready","source":"cold"}"#,
);

/// A VM manager that answers as it is told, by the `Idempotency-Key` of each request.
fn manager(answer: impl Fn(&str) -> (&'static str, &'static str) + Send + 'static) -> String {
    manager_by(move |key, _| answer(key))
}

/// The same by its token as well.
fn manager_by(
    answer: impl Fn(&str, &str) -> (&'static str, &'static str) + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let mut request = BufReader::new(&connection);
            let (mut line, mut bytes) = (String::new(), 0);
            let (mut key, mut token) = (String::new(), String::new());
            while request.read_line(&mut line).is_ok() && line.trim() != "" {
                let (name, value) = line.split_once(':').unwrap_or_default();
                match name.to_lowercase().as_str() {
                    "content-length" => bytes = value.trim().parse().expect("a number"),
                    "idempotency-key" => key = value.trim().to_owned(),
                    "authorization" => token = value.trim().to_owned(),
                    _ => {}
                }
                line.clear();
            }
            let mut body = vec![0; bytes];
            request.read_exact(&mut body).expect("it comes whole");
            let (status, body) = answer(&key, &token);
            let length = body.len();
            // Who has gone hears nothing.
            let _ = (&connection).write_all(
                format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n\
                     content-length: {length}\r\nconnection: close\r\n\r\n{body}"
                )
                .as_bytes(),
            );
        }
    });
    format!("http://{address}")
}

fn host(name: &str, url: &str) -> VmHostSettings {
    VmHostSettings {
        name: name.to_owned(),
        ..VmHostSettings::single(url.parse().expect("an address"), None)
    }
}

fn request_of(settings: &[VmHostSettings]) -> VmRequest {
    let store = Store::in_memory(&StoreOptions::new("test")).expect("memory");
    let hosts = VmHosts::open(settings, &store, CordonTable::new("cordons"));
    VmRequest {
        key: "key".to_owned(),
        repository: "acme/rocket".to_owned(),
        hosts: hosts.expect("memory"),
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Managers list their images every few seconds, and without those that can be fetched while
/// the storage is away: the one that is asked knows better.
#[actix_rt::test]
async fn i18_an_image_that_no_host_lists_is_asked_for_all_the_same() {
    let knows = Arc::new(AtomicBool::new(false));
    let settings = ["one", "two"].map(|name| {
        let knows = Arc::clone(&knows);
        let url = manager(move |_| match knows.load(Ordering::SeqCst) {
            true => MADE,
            false => ("422 Unprocessable Content", r#"{"title":"no image full"}"#),
        });
        host(name, &url)
    });
    let request = request_of(&settings);
    for index in 0..2 {
        request.hosts.record_facts(index, &health(), listed());
    }
    let image = Some("full".parse().expect("a name"));
    let machine = MachineType::from(NewVm {
        image,
        ..NewVm::default()
    });
    let none = request.ask_until(&machine, soon(), async |_| ()).await;
    let none = none.err().expect("there is no such image");
    assert!(!none.is_temporary, "{none:?}");
    assert!(none.reason.contains("no image full"), "{none:?}");
    knows.store(true, Ordering::SeqCst);
    let vm = request.ask_until(&machine, soon(), async |_| ()).await;
    vm.expect("it has been pushed").detach();
}

/// Hosts that have just booted do not know yet whether they have KVM.
#[actix_rt::test]
async fn i18_a_job_waits_for_hosts_that_find_out_what_isolation_they_have() {
    let is_ready = Arc::new(AtomicBool::new(false));
    let settings = ["one", "two"].map(|name| {
        let is_ready = Arc::clone(&is_ready);
        let url = manager(move |_| match is_ready.load(Ordering::SeqCst) {
            true => MADE,
            false => ("503 Service Unavailable", r#"{"detail":"it is made"}"#),
        });
        host(name, &url)
    });
    let request = request_of(&settings);
    let preparing = ManagerHealth {
        status: HealthStatus::Degraded,
        preparing: Some("the canary boots".to_owned()),
        isolation: Isolation::EmulatedVm,
        ..health()
    };
    for index in 0..2 {
        request.hosts.record_facts(index, &preparing, listed());
    }
    let machine = MachineType::from(NewVm {
        isolation_min: Some(Isolation::HardwareVm),
        ..NewVm::default()
    });
    let none = request.ask_until(&machine, Instant::now(), async |_| ());
    let none = none.await.err().expect("none is ready");
    assert!(none.is_temporary, "{none:?}");
    is_ready.store(true, Ordering::SeqCst);
    let vm = request.ask_until(&machine, soon(), async |_| ()).await;
    vm.expect("it is ready").detach();
    // What it turns out to be is no secret then.
    for index in 0..2 {
        let emulated = ManagerHealth {
            isolation: Isolation::EmulatedVm,
            ..health()
        };
        request.hosts.record_facts(index, &emulated, listed());
    }
    let none = request.ask_until(&machine, soon(), async |_| ()).await;
    assert!(none.is_err_and(|none| !none.is_temporary));
}

/// The answer was lost, and the VM has ended by its lease since.
#[actix_rt::test]
async fn i18_an_order_whose_vm_has_ended_is_made_again() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let url = manager(move |key| {
        seen.lock().push(key.to_owned());
        match key {
            "key" | "key+1" => ("410 Gone", r#"{"detail":"the VM of this key has ended"}"#),
            _ => MADE,
        }
    });
    let request = request_of(&[host("one", &url)]);
    let machine = MachineType::from(NewVm::default());
    let vm = request.ask_until(&machine, soon(), async |_| ()).await;
    vm.expect("it is made with another key").detach();
    assert_eq!(*asked.lock(), ["key", "key+1", "key+2"]);
    // Not without end.
    let url = manager(|_| ("410 Gone", "{}"));
    let request = request_of(&[host("one", &url)]);
    let none = request.ask_until(&machine, soon(), async |_| ()).await;
    assert!(none.is_err_and(|none| !none.is_temporary));
}

#[actix_rt::test]
async fn i18_a_job_waits_for_managers_that_are_upgraded_after_the_runner() {
    let is_old = Arc::new(AtomicBool::new(true));
    let of_manager = Arc::clone(&is_old);
    let url = manager(move |_| match of_manager.load(Ordering::SeqCst) {
        true => (
            "422 Unprocessable Content",
            r#"{"detail":"the body is wrong: nested: unknown field `nested`, expected `image`"}"#,
        ),
        false => MADE,
    });
    let request = request_of(&[host("one", &url)]);
    let machine = MachineType::from(NewVm::default());
    let mut reasons = Vec::new();
    let told = async |none: &NoVm| {
        reasons.push(none.reason.clone());
        is_old.store(false, Ordering::SeqCst);
    };
    let vm = request.ask_until(&machine, soon(), told).await;
    vm.expect("it was upgraded").detach();
    assert_eq!(reasons.len(), 1);
    assert!(
        reasons[0].contains("upgrade VM managers first"),
        "{reasons:?}"
    );
}

/// Its manager has it wait for room, or answers no more.
#[actix_rt::test]
async fn i18_a_job_that_asks_a_host_which_is_removed_asks_the_next() {
    let (asked, was_asked) = tokio::sync::oneshot::channel();
    let asked = Mutex::new(Some(asked));
    let silent = manager(move |_| {
        if let Some(asked) = asked.lock().take() {
            let _ = asked.send(());
        }
        loop {
            std::thread::park();
        }
    });
    let request = request_of(&[host("silent", &silent)]);
    let hosts = request.hosts.clone();
    let waiting = actix_rt::spawn(async move {
        let machine = MachineType::from(NewVm::default());
        request.ask_until(&machine, soon(), async |_| ()).await
    });
    was_asked.await.expect("it is asked");
    let other = host("other", &manager(|_| MADE));
    let changes = hosts.renew(&[other]).expect("memory");
    assert_eq!(
        (changes.added, changes.removed),
        (vec!["other".to_owned()], vec!["silent".to_owned()])
    );
    let vm = waiting.await.expect("it ends").expect("another has room");
    assert_eq!(vm.host, "other");
    vm.detach();
}

#[actix_rt::test]
async fn i18_a_job_without_a_host_that_answers_takes_one_that_is_new() {
    let request = request_of(&[host("away", "http://127.0.0.1:9")]);
    let hosts = request.hosts.clone();
    let new = host("new", &manager(|_| MADE));
    let machine = MachineType::from(NewVm::default());
    let told = async |none: &NoVm| {
        assert!(none.is_temporary, "{none:?}");
        let away = host("away", "http://127.0.0.1:9");
        hosts.renew(&[away, new.clone()]).expect("memory");
    };
    let vm = request.ask_until(&machine, soon(), told).await;
    let vm = vm.expect("the new one has room");
    assert_eq!(vm.host, "new");
    vm.detach();
}

#[actix_rt::test]
async fn i18_a_vm_is_given_back_with_the_token_that_is_new_and_where_it_is() {
    let (seen, mut tokens) = tokio::sync::watch::channel(String::new());
    let url = manager_by(move |_, token| {
        seen.send_replace(token.to_owned());
        MADE
    });
    let with = |token: &str, url: &str| VmHostSettings {
        token: Some(Secret::new(token.to_owned())),
        ..host("one", url)
    };
    let request = request_of(&[with("former", &url)]);
    let machine = MachineType::from(NewVm::default());
    let vm = request.ask_until(&machine, soon(), async |_| ()).await;
    let vm = vm.expect("it has room");
    assert_eq!(*tokens.borrow_and_update(), "Bearer former");
    request.hosts.renew(&[with("newer", &url)]).expect("memory");
    // At another address it is another host: what has a VM goes on at the former.
    let moved = with("moved", "http://127.0.0.1:9");
    let changes = request.hosts.renew(&[moved]).expect("memory");
    assert_eq!(changes.changed, ["one"]);
    let shown = request.hosts.list();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(
        shown[1].to_string().contains("it is not listed any more"),
        "{}",
        shown[1]
    );
    assert_eq!(request.hosts.answering(), [("one".to_owned(), true)]);
    vm.release().await;
    assert_eq!(*tokens.borrow_and_update(), "Bearer newer");
    assert_eq!(request.hosts.list().len(), 1);
}

#[actix_rt::test]
async fn i18_each_host_is_tended_for_as_long_as_it_is_listed() {
    let east = host("east", "http://127.0.0.1:9");
    let request = request_of(std::slice::from_ref(&east));
    let running = Arc::new(Mutex::new(Vec::new()));
    let now = Arc::clone(&running);
    let hosts = request.hosts.clone();
    let tending = actix_rt::spawn(hosts.clone().run_for_each(move |index| {
        let (running, name) = (Arc::clone(&running), hosts.name(index));
        async move {
            running.lock().push(name.clone());
            let ended = Ended(running, name);
            std::future::pending::<()>().await;
            drop(ended);
        }
    }));
    let until = async |expected: &[&str]| {
        while *now.lock() != expected {
            tokio::task::yield_now().await;
        }
    };
    until(&["east"]).await;
    let west = host("west", "http://127.0.0.1:9");
    request.hosts.renew(&[east, west.clone()]).expect("memory");
    until(&["east", "west"]).await;
    request.hosts.renew(&[west]).expect("memory");
    until(&["west"]).await;
    tending.abort();
}

/// Takes a name away when its task ends.
struct Ended(Arc<Mutex<Vec<String>>>, String);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.lock().retain(|name| *name != self.1);
    }
}

#[actix_rt::test]
async fn i18_a_machine_larger_than_any_host_does_not_wait_for_room() {
    let refuse = || manager(|_| ("503 Service Unavailable", "{}"));
    let request = request_of(&[host("one", &refuse()), host("two", &refuse())]);
    let small = ManagerHealth {
        capacity: Some(CapacityView {
            vms: 8,
            free_vms: 8,
            mem_mib: 8192,
            free_mem_mib: 8192,
            overhead_mib: 40,
            vcpus: 8,
            free_vcpus: 8,
        }),
        ..health()
    };
    for index in 0..2 {
        request.hosts.record_facts(index, &small, listed());
    }
    let machine = MachineType::from(NewVm {
        mem_mib: Some(8192),
        ..NewVm::default()
    });
    let none = request.ask_until(&machine, soon(), async |_| ()).await;
    let none = none.err().expect("no host is so large");
    assert!(!none.is_temporary, "{none:?}");
    assert!(none.reason.contains("8152 MiB"), "{none:?}");
}

#[test]
fn i18_the_memory_of_a_host_is_known_in_whatever_case_its_label_is_asked_for() {
    let gpu = VmHostSettings {
        labels: vec!["GPU".to_owned()],
        ..host("one", "http://127.0.0.1:9")
    };
    let hosts = request_of(&[gpu]).hosts;
    let large = ManagerHealth {
        capacity: Some(CapacityView {
            mem_mib: 8192,
            ..CapacityView::default()
        }),
        ..health()
    };
    hosts.record_facts(0, &large, listed());
    for (label, known) in [("gpu", Some(8192)), ("GPU", Some(8192)), ("arm", None)] {
        assert_eq!(hosts.most_memory(&[label.to_owned()]), known, "{label}");
    }
}

#[test]
fn i18_a_host_whose_token_ends_soon_is_told_of() {
    // {"exp": …}, in 1970 and in the year 2286.
    let token = |claims: &str| Some(Secret::new(format!("e30.{claims}.c2ln")));
    let settings = [
        VmHostSettings {
            token: token("eyJleHAiOjF9"),
            ..host("old", "http://127.0.0.1:9")
        },
        VmHostSettings {
            token: token("eyJleHAiOjk5OTk5OTk5OTl9"),
            ..host("new", "http://127.0.0.1:9")
        },
        host("open", "http://127.0.0.1:9"),
    ];
    let hosts = request_of(&settings).hosts;
    let said = hosts.token_notices().expect("one has ended");
    assert!(
        said.starts_with("the VM host old: its token has ended (1970-01-01T00:00:01.000Z)"),
        "{said}"
    );
    assert!(!said.contains("new") && !said.contains("open"), "{said}");
    let shown = hosts.list();
    assert!(shown[0].to_string().contains("its token has ended"));
    assert_eq!(shown[1].token_notice, None);
}

#[test]
fn i18_each_host_that_is_away_is_told_of_also_while_another_gives_vms() {
    let settings = ["east", "west"].map(|name| host(name, "http://127.0.0.1:9"));
    let hosts = request_of(&settings).hosts;
    assert_eq!(hosts.away_notices(), None);
    hosts.record_trouble(1, Some("it is silent".to_owned()));
    let said = hosts.away_notices();
    assert_eq!(
        said.as_deref(),
        Some("no VMs of the host west: it is silent")
    );
    hosts.record_trouble(0, Some("it is full".to_owned()));
    let said = hosts.away_notices();
    assert_eq!(
        said.as_deref(),
        Some("no VMs: east: it is full; west: it is silent")
    );
    hosts.record_trouble(0, None);
    hosts.record_trouble(1, None);
    assert_eq!(hosts.away_notices(), None);
}

fn listed() -> ReportedImages {
    ReportedImages {
        here: vec!["default".to_owned()],
        fetchable: Vec::new(),
    }
}

fn health() -> ManagerHealth {
    ManagerHealth {
        status: HealthStatus::Ok,
        preparing: None,
        isolation: Isolation::HardwareVm,
        driver: "qemu".to_owned(),
        kvm: Kvm::default(),
        pool: PoolView::default(),
        capacity: None,
        images: None,
        version: "0.0.1".to_owned(),
    }
}
