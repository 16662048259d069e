//! The network of a real VM: what is on the list is reached, nothing else is, and without one there
//! is none.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use vm_core::ExecEnd;
use vm_core::network::{AllowList, NetworkPolicy};
use vm_engine::network::{NetworkLimits, NetworkTraffic, TrustedAuthorities, Uplink};
use vm_engine::{Machine, StartRequest};

use crate::support::{ExecResult, Lab, TEST_TIMEOUT, clone_of, identity, run};

/// Serves every connection in a thread of its own, until the test's process ends; its port.
fn server(serve: fn(TcpStream)) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for peer in listener.incoming().flatten() {
            std::thread::spawn(move || serve(peer));
        }
    });
    port
}

/// Answers with the path and the host that were asked for.
fn files(mut peer: TcpStream) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && peer.read(&mut byte).unwrap_or(0) == 1 {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let _ = write!(
        peer,
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhere is {path}"
    );
}

fn echo(mut peer: TcpStream) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = peer.read(&mut buffer) {
        if peer.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

/// Two servers of this machine, named `files.test` and `echo.test`.
struct LocalServers {
    files: u16,
    echo: u16,
    traffic: Arc<NetworkTraffic>,
}

impl LocalServers {
    fn new() -> Self {
        Self {
            files: server(files),
            echo: server(echo),
            traffic: Arc::default(),
        }
    }

    fn open(&self, machine: &dyn Machine) {
        let (files, echo) = (self.files, self.echo);
        let places = [
            format!("files.test:{files}"),
            format!("echo.test:{echo}"),
            // The host's own address is reached only because it is named.
            format!("127.0.0.1:{files}"),
            format!("127.0.0.1:{echo}"),
            "private.test".to_owned(),
        ];
        let places = places.iter().map(|text| text.parse().unwrap());
        let uplink = Uplink {
            reach: NetworkPolicy {
                manager: AllowList(places.collect()),
                requested: None,
            },
            services: None,
            limits: NetworkLimits::default(),
            traffic: Arc::clone(&self.traffic),
            resolve: Arc::new(|_| Ok(vec!["127.0.0.1".parse().unwrap()])),
            trust: TrustedAuthorities::default(),
            on_refused: Box::new(|_, _| {}),
        };
        machine
            .open_network(Arc::new(uplink), TEST_TIMEOUT)
            .unwrap();
    }

    fn fetch(&self, machine: &dyn Machine) -> ExecResult {
        let url = format!("http://files.test:{}/greeting", self.files);
        run(
            machine,
            &format!(
                "python3 -c 'import urllib.request as r; print(r.urlopen(\"{url}\").read().decode())'"
            ),
        )
    }
}

/// Asks for what is not on the list, and prints what it is told.
const REFUSED: &str = r#"python3 - <<'P'
import urllib.request as r, urllib.error as e
for url in ["http://example.org/", "https://example.org/", "http://127.0.0.1.nip.test/", "http://private.test/"]:
    try: print("REACHED", r.urlopen(url).status)
    except e.HTTPError as error: print(error.code, error.reason)
    except OSError as error: print(error)
P"#;

fn tunnel(port: u16) -> String {
    format!(
        r#"python3 - <<'P'
import http.client, threading
c = http.client.HTTPConnection("127.0.0.1", 3128)
c.set_tunnel("echo.test", {port})
c.connect()
sent = bytes(range(256)) * 4096
threading.Thread(target=lambda: c.sock.sendall(sent)).start()
got = b""
while len(got) < len(sent):
    got += c.sock.recv(65536)
print("same", got == sent)
P"#
    )
}

#[test]
fn r13_a_vm_reaches_what_its_list_names_and_nothing_else() {
    let lab = Lab::new();
    let peers = LocalServers::new();
    let machine = lab.start("vm-network");
    let vm = &*machine;

    // Before it is given one, and in a VM that is never given one: no proxy, no device, no way out.
    assert_eq!(run(vm, "echo ${HTTP_PROXY-none}").stdout, "none\n");
    assert_ne!(peers.fetch(vm).end, ExecEnd::Exited { code: 0 });
    let closed = run(vm, "(exec 3<>/dev/tcp/127.0.0.1/3128) 2>&1 || true").stdout;
    assert!(closed.contains("refused"), "{closed}");

    peers.open(vm);
    assert_eq!(run(vm, "ls /sys/class/net").stdout, "lo\n", "no device");
    let fetched = peers.fetch(vm);
    assert_eq!(fetched.stdout, "here is /greeting\n", "{fetched:?}");

    let refused = run(vm, REFUSED).stdout;
    let lines: Vec<_> = refused.lines().collect();
    assert_eq!(
        lines[0],
        "403 example.org:80 is not on the allow-list of this VM"
    );
    assert!(
        lines[1].contains("403 example.org:443 is not on the allow-list"),
        "{refused}"
    );
    assert!(
        lines[2].starts_with("403 127.0.0.1.nip.test:80 is not on"),
        "{refused}"
    );
    assert!(
        lines[3].contains("private.test:80 leads to an address that is not public"),
        "{refused}"
    );

    let carried = run(vm, &tunnel(peers.echo));
    assert_eq!(carried.stdout, "same True\n", "{carried:?}");
    let view = peers.traffic.view();
    assert_eq!(view.connections, 2);
    assert!(view.sent > 1 << 20 && view.received > 1 << 20, "{view:?}");

    // More connections than there may be at once wait for one another.
    let many = format!(
        "for i in $(seq 70); do (exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT echo.test:{} HTTP/1.1\\r\\n\\r\\n' >&3; head -c 12 <&3 >/dev/null && echo ok) & done; wait",
        peers.echo
    );
    assert_eq!(run(vm, &many).stdout.matches("ok").count(), 70);

    // A connection that is open does not keep anything of the VM.
    let open = crate::support::begin(
        vm,
        crate::support::script(&format!(
            "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT echo.test:{} HTTP/1.1\\r\\n\\r\\n' >&3; head -n 1 <&3; sleep 1000",
            peers.echo
        )),
    );
    let told = open.news.recv_timeout(TEST_TIMEOUT).unwrap();
    assert!(format!("{told:?}").contains("Output"), "{told:?}");
    machine.kill().unwrap();
    drop(machine);
    lab.assert_nothing_left();
}

/// It said "Network is unreachable" at once, where tests of HTTP clients want a timeout.
#[test]
fn i17_an_address_that_is_not_reached_is_waited_for() {
    let lab = Lab::new();
    let (machine, peers) = (lab.start("vm-route"), LocalServers::new());
    let attempt = r#"python3 - <<'P'
import socket
def how(act):
    try: return act()
    except OSError as error: return type(error).__name__
print(how(lambda: socket.create_connection(("10.255.255.1", 80), 2)))
print(how(lambda: socket.create_connection(("nowhere.test", 80), 60)))
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(how(lambda: (probe.connect(("192.0.2.1", 53)), probe.getsockname()[0])[1]))
P"#;
    let before = "OSError\ngaierror\nOSError\n";
    assert_eq!(run(&*machine, attempt).stdout, before);
    peers.open(&*machine);
    let outcome = run(&*machine, attempt);
    let expected = "TimeoutError\ngaierror\n127.0.0.1\n";
    assert_eq!(outcome.stdout, expected, "{outcome:?}");
    assert_eq!(peers.fetch(&*machine).stdout, "here is /greeting\n");
    machine.kill().unwrap();
}

#[test]
fn a_clone_is_given_a_network_as_a_booted_vm_is() {
    let lab = Lab::new();
    let peers = LocalServers::new();
    let template = lab.template();
    let (online, offline) = (clone_of(&template, "vm-on"), clone_of(&template, "vm-off"));
    for (machine, name) in [(&online, "vm-on"), (&offline, "vm-off")] {
        machine.wake(&identity(name), TEST_TIMEOUT).unwrap();
    }
    peers.open(&*online);
    assert_eq!(peers.fetch(&*online).stdout, "here is /greeting\n");
    assert_ne!(peers.fetch(&*offline).end, ExecEnd::Exited { code: 0 });
    assert_eq!(run(&*offline, "echo ${HTTP_PROXY-none}").stdout, "none\n");
}

#[test]
fn a_sandbox_has_the_same_way_out_and_no_other() {
    use vm_engine::Driver as _;
    crate::support::need("bwrap", "bubblewrap");
    let runtime = tempfile::tempdir().unwrap();
    let driver = vm_engine::bubblewrap::BubblewrapDriver {
        program: "bwrap".into(),
        agent: crate::support::agent(),
        runtime: runtime.path().to_path_buf(),
    };
    let image = vm_engine::image::Image {
        digest: String::new(),
        disk: "/none".into(),
        format: vm_engine::image::DiskFormat::Raw,
        virtual_bytes: 0,
    };
    let request = StartRequest {
        id: "vm-box-net".parse().unwrap(),
        spec: Lab::spec(),
        image: Arc::new(image),
        identity: identity("vm-box-net"),
        boot_deadline: TEST_TIMEOUT,
        on_event: Box::new(|_| {}),
    };
    let machine = driver
        .start(request)
        .unwrap_or_else(|error| panic!("{error}"));
    let peers = LocalServers::new();
    peers.open(&*machine);
    let way = format!(
        "(exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://files.test:{port}/x HTTP/1.1\\r\\n\\r\\n' >&3; tail -n 1 <&3); echo; (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null || echo no other",
        port = peers.files
    );
    let outcome = run(&*machine, &way);
    assert_eq!(outcome.stdout, "here is /x\nno other\n", "{outcome:?}");
}
