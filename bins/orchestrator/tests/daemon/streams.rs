//! What happens, as it happens; and repositories that want a token.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::harness::{Site, comment, git, run_of, runs_of, wait_until};

const AGENTS: &str = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"quick\"\ncli = \"sh\"\nscript = \"echo hi\"\nmax_parallel = 4\n";

#[test]
fn the_journal_and_a_run_are_streamed_as_they_change() {
    let site = Site::new("", AGENTS);
    let daemon = site.start();
    daemon.post("/admin/projects/main/pause");
    let newest = daemon.get("/admin/journal")["last"]
        .as_u64()
        .expect("a number");
    let run = run_of(&daemon.hook(&comment(0, 1, "@orch:quick")).json(), "quick");
    std::thread::scope(|scope| {
        let followed = scope.spawn(|| daemon.admin("GET", &format!("/admin/runs/{run}/events")));
        let journal =
            scope.spawn(|| daemon.follow(&format!("/admin/events?after={newest}"), "agent.exited"));
        daemon.wait_for_run(&run, |run| run["hold"] == "paused");
        daemon.post("/admin/projects/main/resume");
        let body = followed.join().expect("no panic").body;
        let states: Vec<String> = body
            .lines()
            .filter_map(|line| line.strip_prefix("data: {\"id\""))
            .map(|rest| {
                rest.split("\"state\":\"")
                    .nth(1)
                    .expect("a state")
                    .to_owned()
            })
            .map(|rest| rest.split('"').next().expect("a word").to_owned())
            .collect();
        assert_eq!(states.first().map(String::as_str), Some("queued"), "{body}");
        assert_eq!(states.last().map(String::as_str), Some("exited"), "{body}");
        assert!(body.trim_end().ends_with("event: end\ndata: {}"), "{body}");
        let lines = journal.join().expect("no panic");
        let wanted = [
            "run.queued",
            "project.resumed",
            "agent.spawned",
            "agent.exited",
        ];
        let mut at = 0;
        for name in wanted {
            let found = lines[at..].find(&format!("\"event\":\"{name}\""));
            at += found.unwrap_or_else(|| panic!("{name} after {at} in {lines}"));
        }
        assert!(
            lines.contains(&format!("id: {}", newest + 1)),
            "no gap: {lines}"
        );
    });
    assert_eq!(daemon.admin("GET", "/admin/runs/none/events").status, 404);
}

/// A repository over HTTP that answers only whoever has the token, as a forge's does (git's "dumb"
/// protocol: files).
struct Private {
    port: u16,
    let_in: Arc<Mutex<Vec<String>>>,
}

impl Private {
    fn start(folder: PathBuf, token: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let let_in = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&let_in);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, &folder, token, &seen);
            }
        });
        Self { port, let_in }
    }
}

fn serve(mut stream: impl Read + Write, folder: &Path, token: &str, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(&mut stream);
    let mut request = String::new();
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        request += &line;
        line.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let path = path.split('?').next().unwrap_or_default().to_owned();
    let wanted = format!("Basic {}", base64(&format!("orchestrator:{token}")));
    let known = request.lines().any(|line| line.ends_with(&wanted));
    let inside = path
        .strip_prefix("/acme/main.git/")
        .filter(|rest| !rest.contains(".."));
    let answer = match (known, inside.map(|rest| std::fs::read(folder.join(rest)))) {
        (false, _) => {
            b"HTTP/1.1 401 X\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec()
        }
        (true, Some(Ok(bytes))) => {
            seen.lock().expect("not poisoned").push(path);
            let head = format!("HTTP/1.1 200 X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
            [head.into_bytes(), bytes].concat()
        }
        (true, _) => b"HTTP/1.1 404 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
    };
    let _ = stream.write_all(&answer);
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits = three
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= three.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    out
}

#[test]
fn a_private_repository_is_fetched_with_the_forge_s_token_which_shows_nowhere() {
    let token = "planted-token-of-the-forge";
    let site = Site::new("", "");
    let bare = site.path("bare.git");
    let bare_text = bare.display().to_string();
    git(
        &site.path("repo"),
        &["clone", "--quiet", "--bare", ".", &bare_text],
    );
    // The forge is one commit ahead.
    let work = site.path("elsewhere").display().to_string();
    git(&site.path("repo"), &["clone", "--quiet", &bare_text, &work]);
    git(
        &site.path("elsewhere"),
        &["commit", "--quiet", "--allow-empty", "-m", "newer"],
    );
    git(
        &site.path("elsewhere"),
        &["push", "--quiet", "origin", "HEAD"],
    );
    let newer = git(&bare, &["rev-parse", "HEAD"]);
    assert_ne!(newer, site.head());
    git(&bare, &["update-server-info"]);
    let forge = Private::start(bare, token);
    let address = format!("http://127.0.0.1:{}", forge.port);
    git(
        &site.path("repo"),
        &[
            "remote",
            "add",
            "origin",
            &format!("{address}/acme/main.git"),
        ],
    );
    let agent = "[[agents]]\nproject = \"main\"\nname = \"looker\"\ncli = \"sh\"\nscript = \"git rev-parse HEAD; git remote -v; env\"\n\
        worktree = \"base\"\ncomment = false\n";
    let table = format!("[forge]\nkind = \"gitea\"\nurl = \"{address}\"\ntoken = \"{token}\"\n");
    site.configure("", &format!("{table}[mentions]\n{agent}"));
    let daemon = site.start();
    let reply = daemon.hook(&comment(0, 1, "@orch:looker")).json();
    let (_, run) = runs_of(&reply).remove(0);
    assert_eq!(daemon.ended(&run)["exit"]["class"], "success");
    let log = daemon.admin("GET", &format!("/admin/runs/{run}/log")).body;
    assert!(log.contains(&newer), "the forge's newest commit: {log}");
    assert!(
        !forge.let_in.lock().expect("not poisoned").is_empty(),
        "it was let in"
    );
    let config = std::fs::read_to_string(site.path("repo/.git/config")).expect("a file");
    for (place, text) in [
        ("log", log),
        ("config", config),
        ("daemon", daemon.logged()),
    ] {
        assert!(!text.contains(token), "{place}: {text}");
    }
    // Without the right token the commit that is there has to do, and it is said.
    let wrong = table.replace(token, "a-wrong-token-0123");
    site.configure("", &format!("{wrong}[mentions]\n{agent}"));
    assert_eq!(daemon.post("/admin/reload")["valid"], true);
    let run = run_of(
        &daemon.hook(&comment(0, 2, "@orch:looker")).json(),
        "looker",
    );
    assert_eq!(daemon.ended(&run)["exit"]["class"], "success");
    wait_until("it is said", || {
        daemon.logged().contains("worktree.not_fetched")
    });
}
