//! What may be reached, by table; requests, by table and by whatever comes.

use std::net::IpAddr;

use proptest::prelude::*;

use super::request::{BodyFraming, ProxyRequest, RequestError, head_end, read};
use super::*;

fn list(texts: &[&str]) -> AllowList {
    AllowList(texts.iter().map(|text| text.parse().unwrap()).collect())
}

fn target(text: &str) -> NetworkTarget {
    NetworkTarget::parse(text, None).unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_list_names_what_is_on_it_and_nothing_else() {
    let table = [
        ("pkg.test", "pkg.test:443", true),
        ("pkg.test", "PKG.Test:80", true),
        ("pkg.test", "pkg.test.:443", true),
        ("PKG.Test.", "pkg.test:443", true),
        ("pkg.test", "pkg.test:22", false),
        ("pkg.test", "files.pkg.test:443", false),
        ("pkg.test", "pkg.test.evil.test:443", false),
        ("pkg.test", "xpkg.test:443", false),
        ("pkg.test:8443", "pkg.test:8443", true),
        ("pkg.test:8443", "pkg.test:443", false),
        ("*.dists.test", "deb.dists.test:80", true),
        ("*.dists.test", "a.b.dists.test:443", true),
        ("*.dists.test", "dists.test:443", false),
        ("*.dists.test", "notdists.test:443", false),
        ("*.dists.test:8080", "deb.dists.test:8080", true),
        ("*.dists.test:8080", "deb.dists.test:80", false),
        ("*", "anything.test:443", true),
        ("*", "anything.test:25", false),
        ("*:25", "anything.test:25", true),
        ("*", "10.0.0.1:80", true),
        ("10.0.0.5", "10.0.0.5:80", true),
        ("10.0.0.5", "10.0.0.6:80", false),
        ("10.0.0.5:8080", "10.0.0.5:8080", true),
        ("10.0.0.5:8080", "10.0.0.5:80", false),
        ("10.0.0.0/8", "10.9.9.9:443", true),
        ("10.0.0.0/8:8080", "10.9.9.9:8080", true),
        ("10.0.0.0/8", "11.0.0.0:443", false),
        ("10.0.0.5", "[::ffff:10.0.0.5]:80", true),
        ("fd00::5", "[fd00::5]:443", true),
        ("[fd00::5]", "[fd00::5]:443", true),
        ("[fd00::5]:8080", "[fd00::5]:8080", true),
        ("[fd00::/8]:8080", "[fd12::5]:8080", true),
        ("fd00::/8", "[fe80::1]:443", false),
        ("0.0.0.0/0", "[::1]:443", false),
        ("10.0.0.5", "pkg.test:443", false),
    ];
    for (place, asked, expected) in table {
        let found = list(&[place]).names(&target(asked));
        assert_eq!(found, expected, "{place} and {asked}");
    }
    assert!(!AllowList::default().names(&target("pkg.test:443")));
}

#[test]
fn an_address_that_is_not_public_must_be_named_itself() {
    let reach = |manager: &[&str]| NetworkPolicy {
        manager: list(manager),
        requested: None,
    };
    let table: [(&[&str], &str, u16, bool, bool); 9] = [
        (&["*"], "1.1.1.1", 443, true, true),
        (&["*"], "127.0.0.1", 80, false, false),
        (&["localhost"], "127.0.0.1", 80, false, false),
        (&["localhost", "127.0.0.1"], "127.0.0.1", 80, false, true),
        (&["localhost", "127.0.0.1"], "127.0.0.2", 80, false, false),
        (&["x:9", "127.0.0.1:8"], "127.0.0.1", 9, false, false),
        (&["127.0.0.1"], "::ffff:127.0.0.1", 80, false, true),
        (&["*", "10.0.0.0/8"], "169.254.169.254", 80, false, false),
        (&["mirror.lan", "10.0.0.0/8"], "10.1.1.1", 80, false, true),
    ];
    for (manager, address, port, public, expected) in table {
        let found = reach(manager).connects(ip(address), port, public);
        assert_eq!(found, expected, "{manager:?} and {address}:{port}");
    }
    // The order's own list opens no way to such an address.
    let reach = NetworkPolicy {
        manager: list(&["*"]),
        requested: Some(list(&["127.0.0.1"])),
    };
    assert!(!reach.connects(ip("127.0.0.1"), 80, false));
}

#[test]
fn an_order_narrows_what_the_manager_allows() {
    let reach = NetworkPolicy {
        manager: list(&["*.dists.test", "pkg.test"]),
        requested: Some(list(&["deb.dists.test", "evil.test"])),
    };
    assert!(reach.names(&target("deb.dists.test:80")));
    assert!(!reach.names(&target("security.dists.test:80")));
    assert!(!reach.names(&target("pkg.test:443")));
    assert!(!reach.names(&target("evil.test:443")));
    let all = NetworkPolicy {
        requested: None,
        ..reach
    };
    assert!(all.names(&target("pkg.test:443")));
}

#[test]
fn what_goes_beyond_the_managers_list_is_found() {
    let table = [
        ("*", "pkg.test", true),
        ("*", "*", true),
        ("*", "pkg.test:22", false),
        ("*", "10.0.0.5", false),
        ("pkg.test", "*", false),
        ("*.a.test", "*.b.a.test", true),
        ("*.a.test", "*.a.test", true),
        ("*.b.a.test", "*.a.test", false),
        ("*.a.test", "x.a.test", true),
        ("*.a.test", "a.test", false),
        ("*.a.test", "x.a.test:443", true),
        ("x.test:443", "x.test", false),
        ("x.test:443", "x.test:443", true),
        ("10.0.0.0/8", "10.1.0.0/16", true),
        ("10.1.0.0/16", "10.0.0.0/8", false),
        ("10.0.0.0/8", "10.2.3.4:80", true),
    ];
    for (manager, asked, covered) in table {
        let (manager, asked) = (list(&[manager]), list(&[asked]));
        assert_eq!(
            manager.first_uncovered(&asked).is_none(),
            covered,
            "{manager:?} and {asked:?}"
        );
    }
}

#[test]
fn what_is_no_place_is_refused_with_words() {
    for text in [
        "",
        ".",
        "a b",
        "a/b",
        "a..b",
        "*a.test",
        "a.*.test",
        "*.",
        "10.0.0.0/33",
        "10.0.0/8",
        "127.1",
        "2130706433",
        "0x7f.1",
        "x:0",
        "x:65536",
        "x:+1",
        "x:",
        "[x]",
        "[10.0.0.1]",
        "fd00::5:8080:z",
        "ä.test",
        "user@host",
    ] {
        assert!(text.parse::<HostPattern>().is_err(), "{text}");
    }
    let url = "https://pkg.test".parse::<HostPattern>().unwrap_err();
    assert_eq!(
        url.to_string(),
        "`https://pkg.test` is a URL: name the host alone, and a port if it is not 80 or 443"
    );
    assert!(serde_json::from_str::<AllowList>(r#"["a b"]"#).is_err());
    let kept = r#"["pkg.test","*.dists.test:8080","10.0.0.0/8","[fd00::5]:80","*"]"#;
    let read: AllowList = serde_json::from_str(kept).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), kept);
}

#[test]
fn hosts_that_only_a_resolver_reads_as_addresses_are_no_targets() {
    for text in [
        "127.1:80",
        "2130706433:80",
        "0x7f000001:80",
        "017700000001:80",
        "a.0x7f:80",
        "u@h:80",
        "h:80:81",
        "[::1%lo]:80",
        "::1:80",
        "[::1]",
        "h",
        "h:",
        ":80",
        "h\u{0}:80",
        "a b:80",
    ] {
        assert_eq!(NetworkTarget::parse(text, None), Err(TargetError), "{text}");
    }
    assert_eq!(target("[::1]:80").to_string(), "[::1]:80");
    assert_eq!(
        NetworkTarget::parse("H.test", Some(80))
            .unwrap()
            .to_string(),
        "h.test:80"
    );
    assert_eq!(
        NetworkTarget::parse("[::1]", Some(80)).unwrap().to_string(),
        "[::1]:80"
    );
}

#[test]
fn a_plain_request_is_passed_on_with_its_path_and_one_host() {
    let asked = "GET http://Files.test:8080/a?b=c#d HTTP/1.1\r\nHost: other.test\r\nAccept: */*\r\nConnection: x-hop, content-length\r\nX-Hop: 1\r\nProxy-Authorization: secret\r\nProxy-Connection: keep-alive\r\nContent-Length: 3\r\n\r\n";
    let Ok(ProxyRequest::Forward { target, head, body }) = read(asked.as_bytes()) else {
        panic!("it is a request");
    };
    assert_eq!(target.to_string(), "files.test:8080");
    assert_eq!(body, BodyFraming::Length(3));
    assert_eq!(
        head,
        "GET /a?b=c HTTP/1.1\r\nHost: files.test:8080\r\nAccept: */*\r\nContent-Length: 3\r\nVia: 1.1 vm-manager\r\nConnection: close\r\n\r\n"
    );
    let Ok(ProxyRequest::Forward { head, .. }) = read(b"GET HTTP://a.test?x HTTP/1.0\r\n\r\n")
    else {
        panic!("it is a request");
    };
    assert!(
        head.starts_with("GET /?x HTTP/1.1\r\nHost: a.test\r\n"),
        "{head}"
    );
    assert_eq!(
        read(b"CONNECT a.test:443 HTTP/1.1\r\nHost: b.test\r\n\r\n"),
        Ok(ProxyRequest::Connect(self::target("a.test:443")))
    );
}

#[test]
fn what_is_asked_of_the_proxy_itself_is_for_the_services_of_the_owner() {
    let expected = "POST /twirp/x?y HTTP/1.1\r\nHost: 127.0.0.1:3128\r\nContent-Length: 2\r\nVia: 1.1 vm-manager\r\nConnection: close\r\n\r\n";
    for asked in ["", "http://127.0.0.1:3128", "http://LOCALHOST:3128"] {
        let asked = format!(
            "POST {asked}/twirp/x?y HTTP/1.1\r\nHost: metadata.test\r\nContent-Length: 2\r\n\r\n"
        );
        let Ok(ProxyRequest::Services { head, body }) = read(asked.as_bytes()) else {
            panic!("{asked}");
        };
        assert_eq!((head.as_str(), body), (expected, BodyFraming::Length(2)));
    }
    let other = read(b"GET http://127.0.0.1:3129/ HTTP/1.1\r\n\r\n");
    assert!(
        matches!(other, Ok(ProxyRequest::Forward { .. })),
        "{other:?}"
    );
}

/// axios asked so until 2026, and was refused.
#[test]
fn i17_a_whole_https_url_is_passed_on_through_tls() {
    for (url, target, host) in [
        ("https://a.test/x?y", "a.test:443", "a.test"),
        ("HTTPS://a.test:80/x?y", "a.test:80", "a.test:80"),
        (
            "https://127.0.0.1:3128/x?y",
            "127.0.0.1:3128",
            "127.0.0.1:3128",
        ),
    ] {
        let asked = format!("GET {url} HTTP/1.1\r\nHost: b\r\nAccept: c\r\n\r\n");
        let expected = ProxyRequest::ForwardByTls {
            target: target.parse().unwrap(),
            head: format!(
                "GET /x?y HTTP/1.1\r\nHost: {host}\r\nAccept: c\r\nVia: 1.1 vm-manager\r\nConnection: close\r\n\r\n"
            ),
            body: BodyFraming::Length(0),
        };
        assert_eq!(read(asked.as_bytes()), Ok(expected), "{url}");
    }
}

#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    use RequestError as E;
    let table = [
        ("GET * HTTP/1.1\r\n\r\n", E::NotForProxies),
        ("GET /\u{e4} HTTP/1.1\r\n\r\n", E::NotForProxies),
        ("GET ftp://a.test/ HTTP/1.1\r\n\r\n", E::NotForProxies),
        ("GET http://a.test/ HTTP/2\r\n\r\n", E::Malformed),
        ("GET http://a.test/ HTTP/1.1 x\r\n\r\n", E::Malformed),
        ("GET http://a.test/\r\n\r\n", E::Malformed),
        (
            "GET http://a.test/ HTTP/1.1\r\n folded: 1\r\n\r\n",
            E::Malformed,
        ),
        ("GET http://a.test/ HTTP/1.1\r\nA : 1\r\n\r\n", E::Malformed),
        (
            "GET http://a.test/ HTTP/1.1\r\nA: 1\nHost: b\r\n\r\n",
            E::Malformed,
        ),
        (
            "GET http://u@a.test/ HTTP/1.1\r\n\r\n",
            E::Target(TargetError),
        ),
        ("GET http:///x HTTP/1.1\r\n\r\n", E::Target(TargetError)),
        ("CONNECT a.test HTTP/1.1\r\n\r\n", E::Target(TargetError)),
        (
            "CONNECT http://a.test:1/ HTTP/1.1\r\n\r\n",
            E::Target(TargetError),
        ),
    ];
    for (head, expected) in table {
        assert_eq!(read(head.as_bytes()), Err(expected), "{head:?}");
    }
    for fields in [
        "Content-Length: 1\r\nTransfer-Encoding: chunked",
        "Content-Length: 1\r\nContent-Length: 2",
        "Content-Length: +1",
        "Content-Length: 1, 1",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    ] {
        let head = format!("POST http://a.test/ HTTP/1.1\r\n{fields}\r\n\r\n");
        assert_eq!(read(head.as_bytes()), Err(E::Body), "{fields}");
    }
    let long = format!(
        "GET http://a.test/{} HTTP/1.1\r\n\r\n",
        "a".repeat(request::MAX_HEAD)
    );
    assert_eq!(read(long.as_bytes()), Err(E::TooLong));
}

proptest! {
    /// A name is a place and a target in the same way, and a place of one host names only that.
    #[test]
    fn a_place_names_its_host_alone(
        own in "[a-z]{1,8}(\\.[a-z]{1,8}){0,3}",
        other in "[a-z]{1,8}(\\.[a-z]{1,8}){0,3}",
    ) {
        let place = list(&[&own]);
        let (itself, child) = (target(&format!("{own}:443")), target(&format!("x.{own}:443")));
        prop_assert!(place.names(&itself));
        let asked = target(&format!("{other}:443"));
        prop_assert_eq!(place.names(&asked), own == other);
        let below = list(&[&format!("*.{own}")]);
        prop_assert!(below.names(&child));
        let below_own = other.ends_with(&format!(".{own}"));
        prop_assert_eq!(below.names(&asked), below_own);
    }

    /// No bytes make the reader panic; what it passes on is one head with one host, and nothing in
    /// it ends a line or the head early.
    #[test]
    fn any_head(
        path in "[ -~\u{7f}-\u{ff}\r\n]{0,40}",
        fields in "([A-Za-z-]{1,20}: [ -~\r\n]{0,20}\r\n){0,5}",
    ) {
        let text = format!("GET http://a.test/{path} HTTP/1.1\r\n{fields}\r\n");
        let end = head_end(text.as_bytes()).unwrap_or(text.len());
        if let Ok(ProxyRequest::Forward { head, .. }) = read(&text.as_bytes()[..end]) {
            prop_assert_eq!(head_end(head.as_bytes()), Some(head.len()));
            let hosts = head.split("\r\n").filter(|line| {
                line.split(':').next().is_some_and(|name| name.eq_ignore_ascii_case("host"))
            });
            prop_assert_eq!(hosts.count(), 1);
            prop_assert!(!head.replace("\r\n", "").contains(['\r', '\n']));
        }
    }

    /// Nor do bytes that are nothing at all.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = (read(&bytes), head_end(&bytes));
        let text = String::from_utf8_lossy(&bytes);
        let _ = (text.parse::<HostPattern>(), NetworkTarget::parse(&text, Some(80)));
    }
}
