//! F14 for the admin socket: its file is removed or replaced, and others want its place.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;

use crate::harness::{Daemon, Site, wait_until};

const AGENT: &str = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"greeter\"\ncli = \"sh\"\nscript = \"echo hi\"\n";

fn answers(site: &Site) -> bool {
    let socket = UnixStream::connect(site.path("admin.sock"));
    let head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let answer = socket
        .ok()
        .and_then(|socket| crate::wire::exchange(socket, head, b""));
    answer.is_some_and(|answer| answer.status == 200)
}

fn until_it_answers(site: &Site) {
    wait_until("the admin socket answers again", || answers(site));
}

fn works(site: &Site, daemon: &Daemon) {
    until_it_answers(site);
    assert!(daemon.get("/admin/status")["projects"].is_array());
    let mode = std::fs::metadata(site.path("admin.sock"))
        .expect("it is there")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600, "for this user only");
}

#[test]
fn f14_an_admin_socket_that_somebody_removes_comes_back() {
    let site = Site::new("", AGENT);
    let socket = site.path("admin.sock");
    let daemon = site.start();
    works(&site, &daemon);
    for _ in 0..2 {
        std::fs::remove_file(&socket).expect("it is there");
        assert!(!answers(&site));
        works(&site, &daemon);
    }
    // Replaced by a dead one, as a copy of the folder would leave it.
    std::fs::remove_file(&socket).expect("it is there");
    drop(UnixListener::bind(&socket).expect("a socket"));
    works(&site, &daemon);
    // Replaced by somebody who listens: it is theirs as long as they do.
    std::fs::remove_file(&socket).expect("it is there");
    let other = UnixListener::bind(&socket).expect("a socket");
    wait_until("it is said", || {
        daemon.logged().contains("admin.socket_lost")
    });
    drop(other);
    works(&site, &daemon);
    assert_eq!(daemon.stop(), Some(0));
    assert!(!socket.exists(), "the file goes with the daemon");
}

#[test]
fn f14_a_stale_socket_is_replaced_at_the_start_and_a_file_is_not() {
    let site = Site::new("", AGENT);
    let daemon = site.start();
    daemon.kill();
    assert!(
        site.path("admin.sock").exists(),
        "a killed daemon leaves it"
    );
    let daemon = site.start();
    works(&site, &daemon);
    assert_eq!(daemon.stop(), Some(0));
    // A path that is somebody's file by mistake.
    std::fs::write(site.path("admin.sock"), "precious").expect("a file");
    let refused = site.command().output().expect("it runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("no socket stands there"), "{said}");
    let kept = std::fs::read_to_string(site.path("admin.sock"));
    assert_eq!(kept.expect("it is there"), "precious");
}

/// Two configurations that name the same socket: the data folders differ, so their locks do not
/// help.
#[test]
fn f14_o17_a_second_daemon_does_not_take_the_socket_of_the_first() {
    let (site, other) = (Site::new("", AGENT), Site::new("", AGENT));
    let daemon = site.start();
    let path = other.path("orchestrator.toml");
    let text = std::fs::read_to_string(&path).expect("a file");
    let shared = site.path("admin.sock").display().to_string();
    std::fs::write(&path, text.replace("admin.sock", &shared)).expect("a file");
    let mut second: Command = other.command();
    let refused = second.output().expect("it runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("another program listens there"), "{said}");
    works(&site, &daemon);
}
