//! The machine the daemon is on: service manager, neighbours, full disks, restarts at bad moments,
//! long runs.

use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Daemon, Site, comment, git, pause, run_of, wait_until};

const AGENTS: &str = "[mentions]\nmax_dispatches_per_tick = 100\nmax_concurrent_mention_agents = 100\n\
    [[agents]]\nproject = \"main\"\nname = \"sleeper\"\ncli = \"sh\"\nscript = \"sleep 600 & sleep 600\"\ngrace_seconds = 1\nmax_parallel = 8\n\
    [[agents]]\nproject = \"main\"\nname = \"quick\"\ncli = \"sh\"\nscript = \"echo quick\"\nmax_parallel = 8\n\
    [[agents]]\nproject = \"main\"\nname = \"based\"\ncli = \"sh\"\nscript = \"echo based\"\nworktree = \"base\"\nmax_parallel = 8\n";

fn start(daemon: &Daemon, id: u64, agent: &str) -> String {
    run_of(
        &daemon
            .hook(&comment(0, id, &format!("@orch:{agent}")))
            .json(),
        agent,
    )
}

fn running(run: &serde_json::Value) -> bool {
    run["state"] == "running"
}

/// What a service manager hears: ready, alive as long as it answers, silence while it hangs,
/// stopping.
#[test]
fn the_service_manager_hears_ready_alive_and_stopping() {
    let site = Site::new("", AGENTS);
    let socket = UnixDatagram::bind(site.path("notify.sock")).expect("a socket");
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a time");
    let daemon = site.start_with(|command| {
        command
            .env("NOTIFY_SOCKET", site.path("notify.sock"))
            .env("WATCHDOG_USEC", "400000");
    });
    let hear = || {
        let mut bytes = [0; 1024];
        let read = socket.recv(&mut bytes).expect("a message in time");
        String::from_utf8_lossy(&bytes[..read]).trim().to_owned()
    };
    let until = |wanted: &str| {
        let mut heard = Vec::new();
        loop {
            let said = hear();
            if said.lines().any(|line| line == wanted) {
                return heard;
            }
            heard.push(said);
        }
    };
    until("READY=1");
    until("WATCHDOG=1");
    until("WATCHDOG=1");
    // Stopped in its tracks it says nothing; going on, it does.
    let signal = |name: &str| {
        let sent = Command::new("kill")
            .args([name, &daemon.pid().to_string()])
            .status();
        assert!(sent.expect("kill is installed").success());
    };
    signal("-STOP");
    socket.set_nonblocking(true).expect("a mode");
    let mut drained = [0; 64];
    pause(Duration::from_millis(100));
    while socket.recv(&mut drained).is_ok() {}
    pause(Duration::from_millis(900));
    assert!(
        socket.recv(&mut drained).is_err(),
        "nothing is said while it hangs"
    );
    socket.set_nonblocking(false).expect("a mode");
    signal("-CONT");
    until("WATCHDOG=1");
    signal("-TERM");
    until("STOPPING=1");
    assert_eq!(daemon.wait(), Some(0));
}

#[test]
fn o17_the_end_of_one_orchestrator_leaves_the_agents_of_another_alone() {
    let (one, other) = (Site::new("", AGENTS), Site::new("", AGENTS));
    let (first, second) = (one.start(), other.start());
    let mine = start(&first, 1, "sleeper");
    let theirs = start(&second, 1, "sleeper");
    let pid = |daemon: &Daemon, run: &str| daemon.wait_for_run(run, running)["pid"].to_string();
    let (mine, kept) = (pid(&first, &mine), pid(&second, &theirs));
    assert_eq!(first.stop(), Some(0));
    assert!(!alive(&mine), "its own are gone");
    assert!(alive(&kept), "the other's are not");
    // Nor does one that finds leftovers of a crash touch them.
    let third = one.start();
    let again = start(&third, 2, "sleeper");
    third.wait_for_run(&again, running);
    third.kill();
    let fourth = one.start();
    assert_eq!(
        fourth.ended(&again)["exit"]["class"],
        "orchestrator_restart"
    );
    assert!(alive(&kept));
    assert_eq!(second.run(&theirs)["state"], "running");
}

fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// A restart while a run is between its row and its process: it is settled, and nothing starts
/// twice.
#[test]
fn o18_a_restart_while_a_run_is_being_started() {
    let site = Site::new("", "");
    // A forge that takes connections and never answers: the fetch before the worktree hangs.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let origin = format!("http://127.0.0.1:{port}/acme/main.git");
    git(&site.path("repo"), &["remote", "add", "origin", &origin]);
    let forge = format!(
        "[forge]\nkind = \"gitea\"\nurl = \"http://127.0.0.1:{port}\"\ntoken = \"forge-token-0123\"\n"
    );
    site.configure("", &format!("{forge}{AGENTS}"));
    let daemon = site.start();
    let run = start(&daemon, 1, "based");
    daemon.wait_for_run(&run, |run| run["state"] == "starting");
    daemon.kill();
    site.configure("", AGENTS);
    let daemon = site.start();
    let ended = daemon.ended(&run);
    assert_eq!(ended["reason"], "orchestrator_restart", "{ended}");
    assert_eq!(
        ended["started_at"],
        serde_json::Value::Null,
        "no process was ever made"
    );
    let spawned = daemon.journal();
    assert!(!spawned.contains(&"agent.spawned".to_owned()));
    let again = start(&daemon, 2, "based");
    assert_eq!(
        daemon.ended(&again)["exit"]["class"],
        "success",
        "the repository is whole"
    );
}

/// F07: an agent that cannot start is put into quarantine; the others do not notice.
#[test]
fn f07_an_agent_that_fails_at_start_is_parked_and_the_others_go_on() {
    let broken = "[[agents]]\nproject = \"main\"\nname = \"broken\"\ncli = \"command\"\ncommand = [\"/nonexistent/agent\"]\nmax_parallel = 8\n";
    let site = Site::new("quarantine_after = 3", &format!("{AGENTS}{broken}"));
    let daemon = site.start();
    for id in 0..3 {
        let run = start(&daemon, id, "broken");
        assert_eq!(daemon.ended(&run)["reason"], "start_failed");
        let other = start(&daemon, 100 + id, "quick");
        assert_eq!(daemon.ended(&other)["exit"]["class"], "success");
    }
    let reply = daemon.hook(&comment(0, 50, "@orch:broken")).json();
    assert_eq!(reply["rejected"][0]["reason"], "quarantined", "{reply}");
    let status = daemon.get("/admin/status");
    assert_eq!(status["quarantined"], serde_json::json!(["main/broken"]));
    assert!(daemon.journal().contains(&"agent.quarantined".to_owned()));
    daemon.post("/admin/reload");
    assert_eq!(
        daemon.get("/admin/status")["quarantined"],
        serde_json::json!([])
    );
}

/// How often the disk is filled; `ORCH_DISK_ROUNDS=200` for the whole claim.
fn disk_rounds() -> u64 {
    let asked = std::env::var("ORCH_DISK_ROUNDS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// A file system of a few megabytes, unmounted when dropped.
struct Small<'p>(&'p Path);

impl<'p> Small<'p> {
    fn mount(folder: &'p Path) -> Option<Self> {
        std::fs::create_dir(folder).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=6m,mode=700", "tmpfs"])
            .arg(folder)
            .stderr(Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self(folder))
    }

    /// Takes all that is left.
    fn fill(&self) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.0.join("filler")).expect("a name");
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    fn free(&self) {
        std::fs::remove_file(self.0.join("filler")).expect("it is there");
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

/// F08: never an answer of success without a commit, `/readyz` says so, and it recovers by itself.
#[test]
fn f08_a_disk_that_is_full_is_said_and_nothing_acknowledged_is_lost() {
    let site = Site::new("", AGENTS);
    let data = site.path("data");
    let Some(disk) = Small::mount(&data) else {
        println!("this machine lets nobody mount: the store's own F08 tests cover the rest");
        return;
    };
    let daemon = site.start();
    daemon.post("/admin/projects/main/pause");
    let (mut id, mut acknowledged, mut refused) = (0, Vec::new(), 0);
    for round in 0..disk_rounds() {
        disk.fill();
        wait_until("the full disk is noticed", || {
            id += 1;
            let answer = daemon.hook(&comment(0, id, "@orch:quick"));
            match answer.status {
                202 => acknowledged.push(run_of(&answer.json(), "quick")),
                503 => refused += 1,
                other => panic!("{other}: {}", answer.body),
            }
            daemon.admin("GET", "/readyz").status == 503
        });
        disk.free();
        wait_until("it recovers", || {
            daemon.admin("GET", "/readyz").status == 200
        });
        id += 1;
        let answer = daemon.hook(&comment(0, id, "@orch:quick"));
        assert_eq!(answer.status, 202, "round {round}: {}", answer.body);
        acknowledged.push(run_of(&answer.json(), "quick"));
    }
    assert!(refused > 0);
    drop(daemon);
    let daemon = site.start();
    for run in &acknowledged {
        assert_eq!(
            daemon.run(run)["state"],
            "queued",
            "acknowledged and there: {run}"
        );
    }
    drop(daemon);
}

/// T8: a disk without room for a worktree puts starts off, with a reason; nobody is blamed, and
/// each run succeeds once there is room.
#[test]
fn t8_a_full_disk_puts_starts_off_and_blames_nobody() {
    let site = Site::new("quarantine_after = 2", AGENTS);
    let trees = site.path("worktrees");
    let Some(disk) = Small::mount(&trees) else {
        println!("this machine lets nobody mount: the rule has tests of its own");
        return;
    };
    let daemon = site.start();
    disk.fill();
    let runs: Vec<String> = (1..=4).map(|id| start(&daemon, id, "based")).collect();
    for run in &runs {
        let waits = daemon.wait_for_run(run, |run| run["hold"] == "resources");
        assert_eq!(waits["state"], "queued", "{waits}");
    }
    disk.free();
    for run in &runs {
        let ended = daemon.ended(run);
        assert_eq!(ended["exit"]["class"], "success", "{ended}");
    }
    assert_eq!(
        daemon.get("/admin/status")["quarantined"],
        serde_json::json!([])
    );
}

/// Seconds the soak lasts; `ORCH_SOAK_SECS=3600` for the whole claim.
fn soak() -> Duration {
    let asked = std::env::var("ORCH_SOAK_SECS").ok();
    Duration::from_secs(asked.and_then(|text| text.parse().ok()).unwrap_or(12))
}

/// F06: with the tick accelerated 300 times nothing grows: descriptors, threads, processes,
/// worktree entries, memory.
#[test]
fn f06_a_soak_leaks_nothing() {
    let site = Site::new("tick_interval_secs = 1", AGENTS);
    let daemon = site.start();
    let mut id = 0;
    let mut burst = |count: u64| {
        for _ in 0..count {
            id += 2;
            let runs = [start(&daemon, id, "based"), start(&daemon, id + 1, "quick")];
            for run in &runs {
                assert_eq!(daemon.ended(run)["exit"]["class"], "success");
            }
        }
    };
    burst(10);
    let before = Measured::of(daemon.pid());
    let until = Instant::now() + soak();
    let mut bursts = 0;
    while Instant::now() < until {
        burst(5);
        bursts += 1;
    }
    let mut after = Measured::of(daemon.pid());
    wait_until("nothing more is open than before", || {
        after = Measured::of(daemon.pid());
        after.descriptors <= before.descriptors + 2
            && after.threads <= before.threads + 2
            && after.children == 0
    });
    println!("{bursts} bursts: before {before:?}, after {after:?}");
    // The rows of ended runs are kept, and pages of the store as far as its cache goes (16 MiB, and
    // what is being written): 20,000 runs in a row grew by 24 MB, all of it before the cache was
    // full.
    assert!(
        after.kilobytes < before.kilobytes + 32_000,
        "{before:?} {after:?}"
    );
    let status = daemon.get("/admin/status");
    assert_eq!(status["queue"]["running"], 0);
    // Each worktree that stands belongs to a run that the table knows; none is locked or half made.
    let listed = git(&site.path("repo"), &["worktree", "list", "--porcelain"]);
    assert!(
        !listed.contains("prunable") && !listed.contains("locked"),
        "{listed}"
    );
}

#[derive(Debug)]
struct Measured {
    descriptors: usize,
    threads: usize,
    children: usize,
    kilobytes: u64,
}

impl Measured {
    fn of(pid: u32) -> Self {
        let count = |name: &str| {
            let folder = std::fs::read_dir(format!("/proc/{pid}/{name}"));
            folder.map(Iterator::count).unwrap_or(0)
        };
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = resident.and_then(|rest| rest.trim().split(' ').next()?.parse().ok());
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        Self {
            descriptors: count("fd"),
            threads: count("task"),
            children: children.map_or(0, |text| text.split_whitespace().count()),
            kilobytes: kilobytes.unwrap_or(0),
        }
    }
}
