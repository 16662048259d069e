//! What is asked of the proxy: passed on, or refused with the reason.

use super::*;

#[test]
fn a_plain_request_reaches_the_host_that_is_named() {
    let (port, served) = server(|mut peer| {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\nbody") {
            peer.read_exact(&mut byte).unwrap();
            head.extend_from_slice(&byte);
        }
        peer.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
            .unwrap();
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        // What came behind the request, if it was passed on.
        let mut rest = Vec::new();
        peer.read_to_end(&mut rest).unwrap();
        (String::from_utf8(head).unwrap(), rest)
    });
    let mut world = world(&allowed(port), NetworkLimits::default());
    let request = format!(
        "POST http://files.test:{port}/x HTTP/1.1\r\nHost: other\r\nContent-Length: 4\r\n\r\nbodyGET http://169.254.169.254/ HTTP/1.1\r\n\r\n"
    );
    world.agent.open(S, &request);
    assert!(world.agent.text(S).ends_with("\r\n\r\nhello"));
    let (head, rest) = served.join().unwrap();
    assert!(
        head.starts_with(&format!("POST /x HTTP/1.1\r\nHost: files.test:{port}\r\n")),
        "{head}"
    );
    assert!(head.contains("Connection: close\r\n"), "{head}");
    assert_eq!(rest, b"", "only the request that was checked is passed on");
    let view = world.traffic.view();
    assert_eq!((view.connections, view.sent), (1, head.len() as u64));
    assert!(view.received > 0);
    assert_eq!(world.lookups.load(Ordering::SeqCst), 1, "looked up once");
}

#[test]
fn the_services_of_the_owner_are_reached_without_a_network_and_nothing_else_is() {
    let (port, served) = server(|mut peer| {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            peer.read_exact(&mut byte).unwrap();
            head.extend_from_slice(&byte);
        }
        peer.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nyours")
            .unwrap();
        String::from_utf8(head).unwrap()
    });
    let target = NetworkTarget::parse(&format!("127.0.0.1:{port}"), None).unwrap();
    let reach = |named: &str| NetworkPolicy {
        manager: AllowList(vec![named.parse().unwrap()]),
        requested: None,
    };
    let services = |named: &str| OwnerServices {
        led: Vec::new(),
        target: target.clone(),
        reach: reach(named),
    };
    // The configuration names another place: nobody's order changes that.
    let other = services("127.0.0.1:9");
    let mut world = world_with(&[], NetworkLimits::default(), Some(other));
    world.agent.open(S, "GET /x HTTP/1.1\r\n\r\n");
    assert!(world.agent.text(S).starts_with("HTTP/1.1 403 "));
    let own = services(&format!("127.0.0.1:{port}"));
    let mut world = world_with(&[], NetworkLimits::default(), Some(own));
    // Its address is no host that a program may name.
    world
        .agent
        .open(S, &format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n"));
    assert!(world.agent.text(S).starts_with("HTTP/1.1 403 "));
    world
        .agent
        .open(S + 1, "GET /x HTTP/1.1\r\nHost: evil.test\r\n\r\n");
    assert!(world.agent.text(S + 1).ends_with("\r\n\r\nyours"));
    let head = served.join().unwrap();
    assert!(
        head.starts_with("GET /x HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n"),
        "{head}"
    );
}

/// Requests, and the status and reason that each is refused with.
fn refused(port: u16, other: u16) -> Vec<(String, &'static str, &'static str)> {
    vec![
        (
            format!("CONNECT example.org:{port} HTTP/1.1\r\n\r\n"),
            "403",
            "not_listed",
        ),
        (
            format!("CONNECT a.test:{other} HTTP/1.1\r\n\r\n"),
            "403",
            "not_listed",
        ),
        (
            format!("GET http://10.0.0.1:{port}/ HTTP/1.1\r\n\r\n"),
            "403",
            "not_listed",
        ),
        // Names that lead into the machine or its network, and addresses of it.
        (
            "CONNECT metadata.test:80 HTTP/1.1\r\n\r\n".to_owned(),
            "403",
            "address",
        ),
        (
            "CONNECT rebound.example:443 HTTP/1.1\r\n\r\n".to_owned(),
            "403",
            "address",
        ),
        (
            "GET http://169.254.169.254/latest HTTP/1.1\r\n\r\n".to_owned(),
            "403",
            "address",
        ),
        (
            "CONNECT [::1]:443 HTTP/1.1\r\n\r\n".to_owned(),
            "403",
            "address",
        ),
        (
            "CONNECT [::ffff:7f00:1]:443 HTTP/1.1\r\n\r\n".to_owned(),
            "403",
            "address",
        ),
        (
            "CONNECT 127.1:443 HTTP/1.1\r\n\r\n".to_owned(),
            "400",
            "bad_request",
        ),
        (
            "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n".to_owned(),
            "400",
            "bad_request",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n".to_owned(),
            "400",
            "bad_request",
        ),
        (
            "\x16\x03\x01 not HTTP at all\r\n\r\n".to_owned(),
            "400",
            "bad_request",
        ),
        (
            "CONNECT nowhere.test:443 HTTP/1.1\r\n\r\n".to_owned(),
            "502",
            "unresolved",
        ),
        (
            "CONNECT gone.test:1 HTTP/1.1\r\n\r\n".to_owned(),
            "502",
            "unreachable",
        ),
    ]
}

#[test]
fn what_no_list_names_is_refused_with_the_reason() {
    let (port, _served) = server(drop);
    let other = port.wrapping_add(1).max(1);
    let allow = [
        allowed(port),
        vec![
            "*".to_owned(),
            "metadata.test".to_owned(),
            "gone.test:1".to_owned(),
            "127.0.0.1:1".to_owned(),
        ],
    ];
    let mut world = world(&allow.concat(), NetworkLimits::default());
    for (number, (request, status, label)) in (S..).zip(refused(port, other)) {
        let before = world.traffic.view();
        world.agent.open(number, &request);
        let text = world.agent.text(number);
        assert!(
            text.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {text}"
        );
        let reason = world.refusals.recv_timeout(TEST_TIMEOUT).unwrap();
        assert!(text.ends_with(&format!("\r\n\r\n{reason}\n")), "{text}");
        let counted = |view: &TrafficView| view.refused.iter().find(|it| it.0 == label).unwrap().1;
        assert_eq!(
            counted(&world.traffic.view()),
            counted(&before) + 1,
            "{request}"
        );
    }
    assert_eq!(world.traffic.view().connections, 0);
}

#[test]
fn of_several_addresses_only_those_that_are_allowed_are_tried() {
    let (port, served) = server(|mut peer| peer.write_all(b"here").unwrap());
    let mut world = world(&allowed(port), NetworkLimits::default());
    world
        .agent
        .open(S, &format!("CONNECT mixed.test:{port} HTTP/1.1\r\n\r\n"));
    assert!(world.agent.text(S).ends_with("\r\n\r\nhere"));
    served.join().unwrap();
}

#[test]
fn the_machines_own_addresses_are_not_foreign() {
    for own in [
        "127.0.0.1",
        "::1",
        "10.0.0.1",
        "169.254.169.254",
        "::ffff:127.0.0.1",
        "fd00::1",
    ] {
        assert!(!is_foreign(own.parse().unwrap()), "{own}");
    }
}

/// A server that asks for TLS as `name`, answers one request, and what signs its certificate.
fn tls_server(name: &str) -> (u16, JoinHandle<String>, Vec<u8>) {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let authority = certificate.to_vec();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    let (port, served) = server(move |peer| {
        let connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        let mut peer = rustls::StreamOwned::new(connection, peer);
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && matches!(peer.read(&mut byte), Ok(1)) {
            head.push(byte[0]);
        }
        let body = "y".repeat(300_000);
        let _ = peer.write_all(format!("HTTP/1.1 200 OK\r\n\r\n{body}").as_bytes());
        // Without a word at its end, as many do.
        let _ = peer.flush();
        String::from_utf8(head).unwrap()
    });
    (port, served, authority)
}

fn trust_in(authority: Vec<u8>) -> TrustedAuthorities {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.into()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    TrustedAuthorities::with_config(move || Ok(Arc::clone(&config)))
}

/// It was refused, and with it each program that asks a proxy so.
#[test]
fn i17_a_whole_https_url_is_answered_through_tls_of_the_manager() {
    let get = |port: u16| format!("GET https://files.test:{port}/x HTTP/1.1\r\n\r\n");
    let (port, served, authority) = tls_server("files.test");
    let trust = trust_in(authority);
    let mut world = world_of(
        (&allowed(port), NetworkLimits::default()),
        None,
        trust.clone(),
    );
    world.agent.open(S, &get(port));
    let answer = world.agent.text(S);
    let body = answer.strip_prefix("HTTP/1.1 200 OK\r\n\r\n").unwrap();
    assert_eq!(body.len(), 300_000);
    let head = served.join().unwrap();
    let begin = format!("GET /x HTTP/1.1\r\nHost: files.test:{port}\r\n");
    assert!(head.starts_with(&begin), "{head}");

    // What is not on the list is not spoken to, and who is not the one named is not believed.
    world
        .agent
        .open(S + 1, "GET https://other.example/ HTTP/1.1\r\n\r\n");
    assert!(world.agent.text(S + 1).starts_with("HTTP/1.1 403 "));
    for (name, authority) in [("other.test", true), ("files.test", false)] {
        let (port, served, own) = tls_server(name);
        let trust = match authority {
            true => trust_in(own),
            false => trust.clone(),
        };
        let mut world = world_of((&allowed(port), NetworkLimits::default()), None, trust);
        world.agent.open(S, &get(port));
        let answer = world.agent.text(S);
        let said = format!("HTTP/1.1 502 files.test:{port} cannot be spoken to through TLS: ");
        assert!(answer.starts_with(&said), "{answer}");
        assert!(
            world
                .refusals
                .recv_timeout(TEST_TIMEOUT)
                .unwrap()
                .contains("certificate")
        );
        served.join().unwrap();
    }
}
