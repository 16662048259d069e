//! O08: twelve planted secrets in five spellings, and every place where one could show.

use std::os::unix::fs::PermissionsExt;

use crate::forge::Forge;
use crate::harness::{Site, comment, run_of, wait_until};

/// Whose each is: the daemon's, another agent's, the leaky agent's own.
const PLANTED: [&str; 12] = [
    "planted-0-webhook-secret-Qz7",
    "planted-1-previous-secret-Qz7",
    "planted-2-admin-token-Qz7",
    "planted-3-forge-token-Qz7",
    "planted-4-token-of-leaky-Qz7",
    "planted-5-token-of-other-Qz7",
    "planted-6-own-variable-Qz7",
    "planted-7-own-variable?&=Qz7",
    "planted-8-variable-of-other-Qz7",
    "planted-9-variable-of-other-Qz7",
    "planted-a-variable\"of\\other-Qz7",
    "planted-b-variable-of-other-Qz7",
];

/// Prints every line of a file in five spellings: plain, base64, hexadecimal, percent-encoded,
/// JSON.
const LEAK: &str = r#"
echo leaking
while IFS= read -r s; do
  echo "plain: $s"
  printf 'base64: '; printf %s "$s" | base64 -w0; echo
  printf 'hex: '; printf %s "$s" | od -An -tx1 -v | tr -d ' \n'; echo
  printf 'percent: '; printf %s "$s" | od -An -tx1 -v | tr -d '\n' | sed 's/ /%/g'; echo
  printf 'json: "'; printf %s "$s" | sed 's/\\/\\\\/g; s/"/\\"/g'; echo '"'
done < planted.txt
echo "cut: plan"; sleep 0.2
env | sort > "$ORCH_REPORTS_DIR/env.txt"
sleep 1
"#;

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The five spellings, and what is enough of base64 to tell.
fn spellings(secret: &str) -> Vec<String> {
    let percent: String = secret.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let json = secret.replace('\\', "\\\\").replace('"', "\\\"");
    let encoded = std::process::Command::new("sh")
        .args(["-c", "printf %s \"$1\" | base64 -w0", "sh", secret])
        .output();
    let encoded = encoded.expect("base64 is installed").stdout;
    let encoded = String::from_utf8_lossy(&encoded).into_owned();
    // The last characters depend on what follows.
    let whole = encoded.trim_end_matches('=').len() - 1;
    vec![
        secret.to_owned(),
        encoded[..whole].to_owned(),
        hex(secret),
        percent,
        json,
    ]
}

fn clean(place: &str, text: &str) {
    for secret in PLANTED {
        for spelling in spellings(secret) {
            assert!(
                !text.contains(&spelling),
                "{spelling} shows in {place}: {text}"
            );
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text")
}

fn planted_site(forge: &Forge) -> Site {
    let site = Site::new("", "");
    let p = PLANTED.map(quoted);
    let table = forge.table().replace("\"forge-token-0123\"", &p[3]);
    let agents = format!(
        "{table}[mentions]\n[[agents]]\nproject = \"main\"\nname = \"leaky\"\ncli = \"sh\"\nscript = '''{LEAK}'''\n\
         env = {{ OWN_A = {}, OWN_B = {} }}\n\
         [[agents]]\nproject = \"main\"\nname = \"other\"\ncli = \"sh\"\nscript = \"env | sort > $ORCH_REPORTS_DIR/env.txt\"\n\
         env = {{ A = {}, B = {}, C = {}, D = {} }}\n",
        p[6], p[7], p[8], p[9], p[10], p[11]
    );
    let top = format!("admin_listen = \"127.0.0.1:0\"\nadmin_token = {}", p[2]);
    site.configure(&top, &agents);
    let path = site.path("orchestrator.toml");
    let text = std::fs::read_to_string(&path).expect("a file");
    let own = format!(
        "secret = {}\nprevious_secret = {}",
        quoted(crate::harness::SECRET),
        p[1]
    );
    let plain = format!("secret = {}", quoted(crate::harness::SECRET));
    std::fs::write(&path, text.replace(&plain, &own)).expect("a file");
    let tokens = site.path("agent_tokens.json");
    std::fs::write(
        &tokens,
        format!("{{\"leaky\": {}, \"other\": {}}}", p[4], p[5]),
    )
    .expect("a file");
    std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    // The harness signs with a secret of its own; the planted one stands in its place for the agent
    // to find.
    let lines: Vec<&str> = PLANTED[1..].to_vec();
    std::fs::write(site.path("repo/planted.txt"), lines.join("\n") + "\n").expect("a file");
    site
}

#[test]
fn o08_twelve_secrets_in_five_spellings_show_nowhere() {
    let forge = Forge::start();
    let site = planted_site(&forge);
    let daemon = site.start();
    let ask = |id: u64, agent: &str| {
        let event = comment(7, id, &format!("@orch:{agent}"));
        run_of(&daemon.hook(&event).json(), agent)
    };
    let leaky = ask(1, "leaky");
    daemon.wait_for_run(&leaky, |run| run["state"] == "running");
    // No command line of this machine holds one while the agents run.
    let lines = std::fs::read_dir("/proc").expect("a folder").flatten();
    for entry in lines {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        // The agent's own `printf` is a builtin; the daemon starts nothing with a secret.
        if line.contains("orchestrator") || line.contains("git") {
            clean("a command line", &line);
        }
    }
    let other = ask(2, "other");
    for run in [&leaky, &other] {
        let class = daemon.ended(run)["exit"]["class"].to_string();
        assert!(class.contains("success"), "{class}");
    }
    let log = daemon
        .admin("GET", &format!("/admin/runs/{leaky}/log"))
        .body;
    assert!(log.contains("leaking") && log.contains("plain: "), "{log}");
    clean("the log", &log);
    wait_until("the comment", || forge.comments().len() == 2);
    daemon.post("/admin/projects/main/pause");
    for path in [
        "/admin/status",
        "/admin/agents",
        "/admin/runs",
        "/admin/journal?limit=1000",
        "/admin/actors",
        "/metrics",
        "/admin/agents/main/leaky/prompt",
    ] {
        clean(path, &daemon.admin("GET", path).body);
    }
    clean("check", &daemon.admin("POST", "/admin/check").body);
    clean("the forge", &forge.everything());
    clean("the daemon's log", &daemon.logged());
    let kept = site.path("data/runs").join(&leaky);
    for entry in walk(&kept) {
        let bytes = std::fs::read(&entry).expect("a file");
        clean(
            &entry.display().to_string(),
            &String::from_utf8_lossy(&bytes),
        );
    }
    // Each environment has its own, and nobody else's.
    let environment = |run: &str| {
        let file = site.path("reports").join(run).join("env.txt");
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    for (run, own) in [(&leaky, &[4, 6, 7][..]), (&other, &[5, 8, 9, 10, 11])] {
        let seen = environment(run);
        for (number, secret) in PLANTED.iter().enumerate() {
            assert_eq!(
                seen.contains(secret),
                own.contains(&number),
                "{secret}: {seen}"
            );
        }
        assert!(!seen.contains(crate::harness::SECRET));
    }
    let checked = site.command().arg("--check").output().expect("it runs");
    assert_eq!(checked.status.code(), Some(0));
    clean(
        "--check",
        &String::from_utf8_lossy(&[checked.stdout, checked.stderr].concat()),
    );
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            files.extend(walk(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files
}
