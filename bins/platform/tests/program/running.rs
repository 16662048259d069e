//! All products in one process, and their end.

use std::os::unix::net::UnixDatagram;

use rustix::process::Signal;
use serde_json::Value;

use crate::site::{Site, complaint};

/// The names below the root of the tree that a product shows.
fn children(body: &str) -> Vec<String> {
    let tree: Value = serde_json::from_str(body).expect("JSON");
    let children = tree["children"].as_array().expect("a root has children");
    let name = |child: &Value| child["name"].as_str().expect("a name").to_owned();
    children.iter().map(name).collect()
}

#[test]
fn one_process_has_one_tree_and_one_signal_ends_it_in_reverse() {
    let site = Site::new();
    let mut platform = site.start();
    assert_eq!(platform.get("search", "/readyz").0, 200);
    assert_eq!(platform.get("runner", "/readyz").0, 200);
    assert_eq!(platform.get("orchestrator", "/readyz").0, 200);
    assert_eq!(platform.get("vm_manager", "/livez").0, 200);
    let (_, tree) = platform.get("search", "/admin/actors");
    let names = children(&tree);
    for part in ["search", "chats", "vms", "runner", "orchestrator"] {
        assert!(names.iter().any(|name| name == part), "{part} in {names:?}");
    }
    let (_, same) = platform.get("runner", "/admin/actors");
    assert_eq!(children(&same), names, "each edge shows the whole tree");
    for folder in ["search", "vm-manager", "workflow-runner", "orchestrator"] {
        let folder = site.path("state").join(folder);
        assert!(folder.is_dir(), "{}", folder.display());
    }
    assert!(site.path("orchestrator/admin.sock").exists());
    assert_eq!(platform.end(Signal::INT), Some(0));
    assert_eq!(
        platform.printed("platform.product_stopped", "product"),
        ["orchestrator", "runner", "vm_manager", "search"]
    );
    assert_eq!(platform.printed("platform.stopping", "signal"), ["SIGINT"]);
    assert!(!site.path("orchestrator/admin.sock").exists());
    // Everything was given back: it starts again in the same folder.
    let mut again = site.start();
    assert_eq!(again.end(Signal::TERM), Some(0));
}

#[test]
fn the_service_manager_hears_that_it_is_up_alive_and_ending() {
    let site = Site::new();
    let socket = UnixDatagram::bind(site.path("notify.sock")).expect("a socket");
    let patience = std::time::Duration::from_secs(60);
    socket.set_read_timeout(Some(patience)).expect("a time");
    let until = |wanted: &str| {
        let mut bytes = [0; 1024];
        loop {
            let read = socket.recv(&mut bytes).expect("a message in time");
            let printed = String::from_utf8_lossy(&bytes[..read]);
            if printed.lines().any(|line| line == wanted) {
                break;
            }
        }
    };
    let mut platform = site.start_with(|command| {
        command
            .env("NOTIFY_SOCKET", site.path("notify.sock"))
            .env("WATCHDOG_USEC", "400000");
    });
    until("READY=1");
    until("WATCHDOG=1");
    until("WATCHDOG=1");
    assert_eq!(platform.end(Signal::TERM), Some(0));
    until("STOPPING=1");
}

#[test]
fn a_second_platform_on_the_same_data_is_refused() {
    let site = Site::new();
    let mut platform = site.start();
    let output = site.command(&site.path("platform.toml")).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let printed = complaint(&output);
    assert!(
        printed.contains("the search server cannot be started"),
        "{printed}"
    );
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

#[test]
fn products_that_are_not_configured_do_not_run() {
    let site = Site::new();
    site.write(
        "platform.toml",
        "data_dir = \"state\"\n[orchestrator]\nsettings = \"orchestrator/orchestrator.toml\"\n",
    );
    let mut platform = site.start();
    assert_eq!(
        platform.printed("platform.listening", "product"),
        ["orchestrator"]
    );
    assert!(!site.path("state/search").exists());
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

#[test]
fn the_runner_s_token_for_the_vm_manager_is_in_no_argument_and_no_file() {
    let site = Site::new();
    let mut platform = site.start();
    // A token is needed, and nobody was told one.
    assert_eq!(platform.get("vm_manager", "/vms").0, 401);
    let mut files = vec![site.path("state")];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("it is ours");
            files.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else if let Ok(bytes) = std::fs::read(&path) {
            // How every token of the manager begins.
            let token = b"eyJhbGciOiJIUzI1NiI";
            let found = bytes.windows(token.len()).any(|part| part == token);
            assert!(!found, "{}", path.display());
        }
    }
    assert_eq!(platform.end(Signal::TERM), Some(0));
}
