//! What changes while the daemon runs: secrets, tokens, the tick; and what waits for the next
//! start.

use std::os::unix::fs::PermissionsExt;

use scripted_peers::postgres::PostgresServer;
use serde_json::{Value, json};

use crate::forge::Forge;
use crate::harness::{Daemon, SECRET, Site, comment, pause, run_of, wait_until};

const AGENT: &str = "[mentions]\nrequire_write = false\n\
    [[agents]]\nproject = \"main\"\nname = \"greeter\"\ncli = \"sh\"\nscript = \"echo hi\"\nmax_parallel = 8\n";
const OWN: &str = "own-secret-of-tools-0123456789";
const NEW: &str = "the-new-secret-0123456789";

/// The status of a comment on `repository`, signed with `secret`.
fn send(daemon: &Daemon, repository: &str, secret: &str, id: u64) -> (u16, Value) {
    let mut event = comment(7, id, "@orch:greeter");
    event["repository"]["full_name"] = repository.into();
    let body = serde_json::to_vec(&event).expect("JSON");
    let head = forge_core::sign(secret, &body).expect("a secret").hub();
    let answer = daemon.raw_hook(&[("X-Hub-Signature-256", &head)], &body);
    let answer = answer.expect("an answer");
    let json = serde_json::from_str(&answer.body).unwrap_or_default();
    (answer.status, json)
}

/// The site's file with one text for another.
fn change(site: &Site, from: &str, to: &str) {
    let path = site.path("orchestrator.toml");
    let text = std::fs::read_to_string(&path).expect("a file");
    assert!(text.contains(from), "{from} is not in it");
    std::fs::write(&path, text.replace(from, to)).expect("a file");
}

#[test]
fn w17_a_repository_s_own_secret_speaks_for_it_and_for_nothing_else() {
    let site = Site::new("", "");
    let base = site.folder.path().display();
    let tools = format!(
        "[[projects]]\nid = \"tools\"\nrepository = \"acme/tools\"\nworking_dir = \"{base}/repo\"\nwebhook_secret = \"{OWN}\"\n\
         [[agents]]\nproject = \"tools\"\nname = \"greeter\"\ncli = \"sh\"\nscript = \"true\"\n"
    );
    site.configure("", &format!("{tools}{AGENT}"));
    let daemon = site.start();
    for (id, (repository, secret)) in [
        ("acme/main", OWN),
        ("acme/tools", SECRET),
        ("ACME/Tools", SECRET),
        ("evil/repo", OWN),
    ]
    .into_iter()
    .enumerate()
    {
        let (status, answer) = send(&daemon, repository, secret, id as u64);
        assert_eq!(status, 403, "{repository}: {answer}");
    }
    let runs = daemon.get("/admin/runs");
    assert_eq!(runs["runs"], json!([]), "0 rows");
    // Nobody has a secret for it alone, so the shared one speaks for it; no project has it.
    let (_, answer) = send(&daemon, "evil/repo", SECRET, 10);
    assert_eq!(answer["rejected"][0]["reason"], "unknown_project");
    assert_eq!(send(&daemon, "acme/main", SECRET, 11).0, 202);
    assert_eq!(send(&daemon, "acme/tools", OWN, 12).0, 202);
}

#[test]
fn w18_secrets_are_replaced_without_a_restart() {
    let site = Site::new("", AGENT);
    let daemon = site.start();
    let with = |secret: &str, id: u64| send(&daemon, "acme/main", secret, id).0;
    assert_eq!((with(SECRET, 1), with(NEW, 2)), (202, 403));
    let old = format!("secret = \"{SECRET}\"");
    let both = format!("secret = \"{NEW}\"\nprevious_secret = \"{SECRET}\"");
    change(&site, &old, &both);
    assert_eq!(with(NEW, 3), 403, "what is on disk is not in force yet");
    assert_eq!(daemon.post("/admin/reload")["valid"], true);
    assert_eq!((with(NEW, 4), with(SECRET, 5)), (202, 202));
    wait_until("it is said that the old one is used", || {
        daemon.logged().contains("http.previous_secret")
    });
    // A wrong file changes nothing.
    change(&site, &both, "secret = \"short\"");
    assert_eq!(daemon.admin("POST", "/admin/reload").status, 422);
    assert_eq!((with(NEW, 6), with(SECRET, 7)), (202, 202));
    change(&site, "secret = \"short\"", &format!("secret = \"{NEW}\""));
    daemon.signal(rustix::process::Signal::HUP);
    let mut id = 100;
    wait_until("the old secret is refused", || {
        id += 1;
        with(SECRET, id) == 403
    });
    assert_eq!(with(NEW, 8), 202);
}

/// A forge repeats no delivery that was refused: those that stand by take the new secret as soon as
/// the leader does.
#[test]
fn i18_a_reload_of_the_leader_reaches_those_that_stand_by() {
    let server = PostgresServer::start();
    let store = format!("[store]\nurl = \"{}\"\n", server.url());
    let sites = [Site::new(&store, AGENT), Site::new(&store, AGENT)];
    let role = |daemon: &Daemon| daemon.get("/health")["replica"]["role"].clone();
    let leader = sites[0].start();
    wait_until("a leader", || role(&leader) == "leader");
    let standby = sites[1].start();
    wait_until("a standby that knows it", || {
        standby.get("/health")["replica"]["leader"].is_string()
    });
    let with = |daemon: &Daemon, secret: &str, id: u64| send(daemon, "acme/main", secret, id).0;
    let old = format!("secret = \"{SECRET}\"");
    let both = format!("secret = \"{NEW}\"\nprevious_secret = \"{SECRET}\"");
    // Its file is not changed yet: it says so, and refuses still.
    change(&sites[0], &old, &both);
    assert_eq!(standby.post("/admin/reload")["valid"], true);
    assert_eq!(with(&leader, NEW, 1), 202);
    assert_eq!(with(&standby, NEW, 2), 403);
    wait_until("the difference", || {
        let health = standby.get("/health");
        let reason = health["reason"].as_str().unwrap_or_default();
        reason.contains("differ from the leader's: webhook secret")
    });
    // Whoever chooses between processes sends no webhook where it would be refused.
    let ready = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let readiness = || standby.plain(ready).map(|answer| answer.status);
    assert_eq!(readiness(), Some(503));
    change(&sites[1], &old, &both);
    assert_eq!(standby.post("/admin/reload")["valid"], true);
    let mut id = 100;
    wait_until("the new secret is taken", || {
        id += 1;
        with(&standby, NEW, id) != 403
    });
    assert_ne!(with(&standby, SECRET, 3), 403);
    wait_until("they are equal", || {
        standby.get("/health")["status"] == "ok"
    });
    assert_eq!(readiness(), Some(200));
}

#[test]
fn tokens_are_replaced_without_a_restart() {
    let forge = Forge::start();
    let top = "admin_listen = \"127.0.0.1:0\"\nadmin_token = \"first-admin-token\"";
    let site = Site::new(top, &format!("{}{AGENT}", forge.table()));
    let tokens = |text: &str| {
        let path = site.path("agent_tokens.json");
        std::fs::write(&path, text).expect("a file");
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, mode).expect("permissions");
    };
    let daemon = site.start();
    let posted = |id: u64| {
        let before = forge.comments().len();
        let event = comment(7, id, "@orch:greeter");
        daemon.ended(&run_of(&daemon.hook(&event).json(), "greeter"));
        wait_until("the comment", || forge.comments().len() > before);
        forge.last_token()
    };
    assert!(posted(1).ends_with("forge-token-0123"));
    let allowed = |token: &str| {
        let port = daemon.admin_port.expect("a port");
        let head = format!(
            "GET /admin/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n"
        );
        let stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        let answer = crate::wire::exchange(stream, &head, b"");
        answer.expect("an answer").status
    };
    assert_eq!(allowed("first-admin-token"), 200);
    change(&site, "first-admin-token", "second-admin-token");
    change(&site, "forge-token-0123", "forge-token-4567");
    daemon.post("/admin/reload");
    assert_eq!(
        (allowed("first-admin-token"), allowed("second-admin-token")),
        (401, 200)
    );
    assert!(posted(2).ends_with("forge-token-4567"));
    tokens("{\"greeter\": \"token-of-the-greeter\"}");
    daemon.post("/admin/reload");
    assert!(posted(3).ends_with("token-of-the-greeter"));
    tokens("{\"greeter\": \"another-of-the-greeter\"}");
    daemon.post("/admin/reload");
    assert!(posted(4).ends_with("another-of-the-greeter"));
}

#[test]
fn a_reload_says_what_waits_for_the_next_start() {
    let site = Site::new("", AGENT);
    let daemon = site.start();
    let before = run_of(
        &daemon.hook(&comment(0, 1, "@orch:greeter")).json(),
        "greeter",
    );
    daemon.ended(&before);
    let top = "data_dir = \"elsewhere\"\nhosts = [\"orch.example.org\"]\nquarantine_after = 7";
    site.configure(top, AGENT);
    let reply = daemon.post("/admin/reload");
    let said = reply["diagnostics"].to_string();
    for key in ["data_dir", "hosts"] {
        let text = format!("`{key}` was changed: it takes effect at the next start");
        assert!(said.contains(&text), "{said}");
    }
    assert!(!said.contains("quarantine_after"), "{said}");
    let warnings = daemon.get("/admin/status")["warnings"].to_string();
    assert!(warnings.contains("`data_dir` was changed"), "{warnings}");
    // Logs are where they were, and new ones go there.
    let after = run_of(
        &daemon.hook(&comment(0, 2, "@orch:greeter")).json(),
        "greeter",
    );
    daemon.ended(&after);
    for run in [&before, &after] {
        let log = daemon.admin("GET", &format!("/admin/runs/{run}/log"));
        assert_eq!((log.status, &*log.body), (200, "hi\n"), "{run}");
    }
    assert!(!site.path("elsewhere").exists());
}

#[test]
fn the_tick_follows_its_interval() {
    let site = Site::new("", AGENT);
    change(
        &site,
        "wake_on_dispatch = true",
        "tick_interval_secs = 86400",
    );
    let daemon = site.start();
    wait_until("the first tick", || {
        daemon.get("/admin/status")["ticks"] == 1
    });
    let run = run_of(
        &daemon.hook(&comment(0, 1, "@orch:greeter")).json(),
        "greeter",
    );
    pause(std::time::Duration::from_millis(300));
    assert_eq!(daemon.run(&run)["state"], "queued", "a day has to pass");
    change(
        &site,
        "tick_interval_secs = 86400",
        "tick_interval_secs = 1",
    );
    daemon.post("/admin/reload");
    assert_eq!(daemon.ended(&run)["exit"]["class"], "success");
}

#[test]
fn z6_a_reload_ticks_at_once() {
    let site = Site::new("tick_interval_secs = 3000", AGENT);
    change(&site, "wake_on_dispatch = true", "wake_on_dispatch = false");
    let mut daemon = site.start();
    // The first tick comes with the start: what is accepted after it waits for the next.
    wait_until("the first tick", || {
        daemon.get("/admin/status")["last_tick_at"].is_string()
    });
    let run = run_of(
        &daemon.hook(&comment(7, 1, "@orch:greeter")).json(),
        "greeter",
    );
    assert_eq!(daemon.run(&run)["state"], "queued");
    daemon.signal(rustix::process::Signal::HUP);
    daemon.wait_for_line("config.reloaded");
    daemon.ended(&run);
}

#[test]
fn i18_vm_hosts_are_added_and_removed_by_a_reload() {
    let site = Site::new("", AGENT);
    let daemon = site.start();
    let names = || -> Vec<String> {
        let hosts = daemon.get("/admin/vm-hosts");
        let hosts = hosts.as_array().expect("a list").iter();
        let names = hosts.map(|host| host["name"].as_str().expect("a name").to_owned());
        names.collect()
    };
    assert_eq!(names(), Vec::<String>::new());
    for listed in [&["east", "west"][..], &["west"], &[]] {
        let host = |name: &&str| format!("[vm_hosts.{name}]\nurl = \"http://127.0.0.1:9\"\n");
        let hosts: String = listed.iter().map(host).collect();
        site.configure("", &format!("{hosts}{AGENT}"));
        let reply = daemon.post("/admin/reload");
        assert_eq!(reply["valid"], true, "{reply}");
        assert!(!reply.to_string().contains("next start"), "{reply}");
        assert_eq!(names(), listed);
    }
}
