//! The network of a VM, from the configuration over the order to what a job sees.

use http_clients::vmm::{AllowList, ExecState, Network, NewVm};

use crate::machines::{Home, SETTINGS, run};
use crate::manager::DEADLINE;

/// Answers each connection with its own sentence, until the test's process ends; its port.
fn greeter() -> u16 {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for mut peer in listener.incoming().flatten() {
            // The head is small: one read takes all of it, or enough.
            let _ = peer.read(&mut [0; 4096]);
            let _ = peer.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ngreetings\n");
        }
    });
    port
}

#[test]
fn r13_a_vm_reaches_what_the_configuration_and_its_order_both_name() {
    let home = Home::new();
    let port = greeter();
    // The machine's own address is out of reach unless it is named.
    let network = format!("[network]\nallow = [\"localhost:{port}\", \"127.0.0.1:{port}\"]\n");
    let mut manager = home.start(&format!("{SETTINGS}{network}"));
    let client = home.client(&manager);
    let order = |allow: Option<&str>, network: bool| NewVm {
        network: network.then_some(Network::User),
        allow: allow.map(|place| AllowList(vec![place.parse().expect("a host pattern")])),
        ..NewVm::default()
    };
    let ask = |url: &str| {
        format!(
            "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET {url} HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3"
        )
    };
    let url = format!("http://localhost:{port}/");
    actix_rt::System::new().block_on(async {
        let beyond = order(Some("example.org"), true);
        let refused = client.create("beyond", &beyond, DEADLINE).await;
        let refused = refused.expect_err("not in the configuration").to_string();
        assert!(refused.contains("example.org"), "{refused}");

        let asked = order(Some(&format!("localhost:{port}")), true);
        let online = client
            .create("on", &asked, DEADLINE)
            .await
            .expect("a VM")
            .id;
        let got = run(&client, &online, &ask(&url)).await;
        assert!(got.0.ends_with("greetings\n"), "{got:?}");
        let other = run(&client, &online, &ask("http://example.org/")).await;
        assert!(
            other.0.starts_with("HTTP/1.1 403 example.org:80 is not on"),
            "{other:?}"
        );
        let address = run(&client, &online, &ask(&format!("http://127.0.0.1:{port}/"))).await;
        assert!(
            address.0.starts_with("HTTP/1.1 403 "),
            "the order names the host alone: {address:?}"
        );

        // Whoever wonders why a command failed finds it, i17.
        let refused = client.get(&online).await.expect("a VM").refused;
        let said = |reason: &str| refused.iter().any(|it| it.reason.starts_with(reason));
        assert!(
            said("example.org:80 is not on the allow-list"),
            "{refused:?}"
        );

        let offline = order(None, false);
        let offline = client
            .create("off", &offline, DEADLINE)
            .await
            .expect("a VM")
            .id;
        let got = run(&client, &offline, &ask(&url)).await;
        assert_eq!((got.1, got.2), (ExecState::Exited, Some(1)), "{got:?}");
        for vm in [online, offline] {
            client.delete(&vm).await.expect("released");
        }
    });
    let (code, log) = manager.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("vm.network_refused"), "{log}");
}
