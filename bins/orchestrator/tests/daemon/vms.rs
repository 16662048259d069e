//! i18: agents in VMs of several hosts: real VM managers with the namespace driver, which is made
//! in a moment. What a VM of its own kernel adds is tried by the tests of the whole.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use scripted_peers::{VmCache, VmManager};
use serde_json::Value;

use crate::forge::Forge;
use crate::harness::{Daemon, Site, comment, git, pull, run_of, wait_long, wait_until};

/// A VM manager in a folder of the site.
fn manager(site: &Site, name: &str, settings: &str) -> VmManager {
    let folder = site.path(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_orchestrator")).with_file_name("vm-manager");
    VmManager::start(&program, &folder, settings)
}

/// One with the namespace driver.
fn sandboxes(site: &Site, name: &str) -> VmManager {
    manager(site, name, "driver = \"namespace-sandbox\"\n")
}

fn table(manager: &VmManager, name: &str) -> String {
    let (url, token) = (manager.url(), &manager.token);
    format!("[vm_hosts.{name}]\nurl = {url:?}\ntoken = {token:?}\n")
}

/// An emulated VM is made anew, and other tests make theirs.
const EMULATED_TIMEOUT: Duration = Duration::from_secs(240);
const MACHINE: &str = "[machines.default]\nisolation_min = \"namespace-sandbox\"\n";

/// An agent of this script, with more keys.
fn agent(name: &str, script: &str, more: &str) -> String {
    format!(
        "[[agents]]\nproject = \"main\"\nname = \"{name}\"\ncli = \"sh\"\nisolation = \"vm\"\n{more}\nscript = '''{script}'''\n"
    )
}

/// A site with VM hosts of these names.
fn site(hosts: &[&str], top: &str, agents: &str) -> (Site, Vec<VmManager>) {
    let site = Site::new("", "");
    let managers = hosts.iter().map(|name| sandboxes(&site, name));
    let managers: Vec<VmManager> = managers.collect();
    let tables = hosts.iter().zip(&managers);
    let tables: String = tables.map(|(name, manager)| table(manager, name)).collect();
    site.configure("", &format!("{top}[mentions]\n{tables}{MACHINE}{agents}"));
    (site, managers)
}

/// Mentions an agent, with what follows its name.
fn mention(daemon: &Daemon, id: u64, said: &str) -> String {
    let reply = daemon.hook(&comment(0, id, &format!("@orch:{said}")));
    let agent = said.split(' ').next().expect("a name");
    run_of(&reply.json(), agent)
}

fn log(daemon: &Daemon, run: &str) -> String {
    daemon.admin("GET", &format!("/admin/runs/{run}/log")).body
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn i18_an_agent_in_a_vm_works_on_a_copy_and_its_commits_come_back() {
    let script = r#"
        echo "at $PWD on $(git branch --show-current) of $(git log --format=%s -1)"
        git log --format=%s -1 origin/main || echo "no origin"
        echo from-the-vm > new.txt; git add new.txt
        git -c user.name=a -c user.email=a@example.org commit --quiet -m "made in a VM"
        git branch beside; echo uncommitted > other.txt
        mkdir "$ORCH_REPORTS_DIR/deep"; echo report > "$ORCH_REPORTS_DIR/deep/r.txt"
        ln -s /etc/passwd "$ORCH_REPORTS_DIR/link"
        echo "token $ORCH_FORGE_TOKEN given"; env | grep -c ORCH_ ; exit 3"#;
    let agents = agent(
        "maker",
        script,
        "worktree = \"base\"\nenv = { GIVEN = \"value-of-ours\" }",
    );
    let (site, _managers) = site(&["east"], "", &agents);
    let tokens = site.path("agent_tokens.json");
    std::fs::write(&tokens, "{\"maker\": \"token-of-the-maker-0123\"}").expect("a file");
    let daemon = site.start();
    let id = mention(&daemon, 1, "maker");
    let run = daemon.ended(&id);
    let log = log(&daemon, &id);
    let branch = format!("orch/maker/{id}");
    assert!(
        log.contains(&format!("at /workspace on {branch} of first")),
        "{log}"
    );
    assert!(
        log.contains("token *** given") && !log.contains("token-of-the-maker"),
        "{log}"
    );
    assert_eq!(run["exit"]["code"], 3, "{run}");
    let isolation = text(&run["isolation"]);
    assert!(
        isolation.starts_with("namespace-sandbox (vm-"),
        "{isolation}"
    );
    assert!(isolation.ends_with("on east)"), "{isolation}");
    let repository = site.path("repo");
    assert_eq!(
        git(&repository, &["show", &format!("{branch}:new.txt")]),
        "from-the-vm"
    );
    assert_eq!(
        git(&repository, &["rev-parse", "main"]),
        git(&repository, &["rev-parse", &format!("{branch}~1")])
    );
    // The worktree shows what came back, and nothing that was not committed.
    let worktree = PathBuf::from(text(&run["worktree"]));
    assert!(worktree.join("new.txt").exists(), "{worktree:?}");
    assert!(!worktree.join("other.txt").exists());
    let reports = site.path("reports").join(&id);
    let report = std::fs::read_to_string(reports.join("deep/r.txt"));
    assert_eq!(report.expect("a report"), "report\n");
    assert!(std::fs::symlink_metadata(reports.join("link")).is_err());
    assert!(
        log.contains("not all of it could be taken out of the VM"),
        "{log}"
    );
    assert!(
        daemon.journal().contains(&"agent.spawned".to_owned()),
        "{:?}",
        daemon.journal()
    );
}

/// A VM with a kernel of its own: a model's program gets its prompt, and commits.
#[test]
fn i18_an_agent_in_an_emulated_vm_reads_its_prompt_and_commits() {
    let site = Site::new("", "");
    // Of its own kernel, of the image `default`.
    let cache = VmCache::open();
    cache.lend(&site.path("east/vms"), &["images", "kernels"]);
    let lock = cache.lock();
    let settings = "[deadlines]\nboot = \"120s\"\nsilence = \"60s\"\n";
    let manager = manager(&site, "east", settings);
    drop(lock);
    let agents = "[[agents]]\nproject = \"main\"\nname = \"model\"\ncli = \"command\"\nisolation = \"vm\"\nworktree = \"base\"\ntask = \"say what you were told\"\nstall_seconds = 120\n\
        command = [\"bash\", \"-c\", \"cat > told; uname -r > kernel; id -u; git add .; git -c user.name=a -c user.email=a@example.org commit -qm done; diff -q told $ORCH_PROMPT_FILE && grep -c . told\"]\n";
    let tables = table(&manager, "east");
    site.configure("", &format!("[mentions]\n{tables}{agents}"));
    let daemon = site.start();
    let id = mention(&daemon, 1, "model with all your heart");
    // Emulated, beside other things.
    wait_long("the agent ends", EMULATED_TIMEOUT, || {
        daemon.run(&id)["ended"] == true
    });
    let run = daemon.run(&id);
    let log = log(&daemon, &id);
    assert_eq!(text(&run["exit"]["class"]), "success", "{run} {log}");
    assert!(text(&run["isolation"]).contains("-vm (vm-"), "{run}");
    let branch = format!("orch/model/{id}");
    let file = |name: &str| git(&site.path("repo"), &["show", &format!("{branch}:{name}")]);
    let told = file("told");
    assert!(
        told.contains("say what you were told") && told.contains("with all your heart"),
        "{told}"
    );
    let here = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a kernel");
    assert_ne!(file("kernel").trim(), here.trim());
}

#[test]
fn i18_an_agent_in_a_vm_sees_nothing_of_the_orchestrator() {
    let script = "set +e; cat BASE/orchestrator.toml BASE/agent_tokens.json; ls BASE; \
        cat /proc/*/environ | tr '\\0' '\\n' | grep PLANTED; ls -d BASE/data; git -C BASE/repo log; echo end";
    let site = Site::new("", "");
    let manager = sandboxes(&site, "east");
    let base = site.path("").display().to_string();
    let script = script.replace("BASE", base.trim_end_matches('/'));
    let agents = agent("nosy", &script, "");
    let tables = table(&manager, "east");
    site.configure("", &format!("[mentions]\n{tables}{MACHINE}{agents}"));
    let daemon = site.start_with(|command| {
        command.env("PLANTED", "PLANTED-IN-THE-DAEMON");
    });
    let id = mention(&daemon, 1, "nosy");
    daemon.ended(&id);
    let log = log(&daemon, &id);
    assert!(log.contains("end"), "{log}");
    for word in ["webhook", "PLANTED", "redb", "first", "namespace-sandbox\""] {
        assert!(!log.contains(word), "{word}: {log}");
    }
}

#[test]
fn i18_limits_and_cancels_end_an_agent_in_a_vm_and_keep_its_commits() {
    let work = "git -c user.name=a -c user.email=a@example.org commit --quiet --allow-empty -m kept; echo begun; ";
    let agents = [
        agent(
            "slow",
            &format!("{work} sleep 600"),
            "worktree = \"base\"\nmax_wall_seconds = 3\ngrace_seconds = 1",
        ),
        agent(
            "mute",
            "echo begun; sleep 600",
            "stall_seconds = 2\ngrace_seconds = 1",
        ),
        agent(
            "polite",
            &format!("trap 'echo tidied; exit 7' INT TERM; {work} while :; do sleep 0.1; done"),
            "worktree = \"base\"\ngrace_seconds = 20",
        ),
    ];
    let (site, _managers) = site(&["east"], "", &agents.concat());
    let daemon = site.start();
    let [slow, mute, polite] =
        [(1, "slow"), (2, "mute"), (3, "polite")].map(|(id, name)| mention(&daemon, id, name));
    wait_until("polite has begun", || {
        log(&daemon, &polite).contains("begun")
    });
    assert_eq!(
        daemon.post(&format!("/admin/runs/{polite}/cancel"))["cancelled"],
        true
    );
    assert_eq!(text(&daemon.ended(&polite)["state"]), "cancelled");
    assert!(log(&daemon, &polite).contains("tidied"));
    for run in [&slow, &mute] {
        let ended = daemon.ended(run);
        assert_eq!(text(&ended["exit"]["class"]), "timeout", "{ended}");
    }
    for (name, run) in [("slow", &slow), ("polite", &polite)] {
        let branch = format!("orch/{name}/{run}");
        let subject = git(&site.path("repo"), &["log", "--format=%s", "-1", &branch]);
        assert_eq!(subject, "kept", "{name}");
    }
}

#[test]
fn i18_a_killed_orchestrator_gives_the_vm_back_and_ends_the_status() {
    let forge = Forge::start();
    let script = "echo begun; sleep 600";
    let agents = agent("check", script, "worktree = \"head\"");
    let top = format!(
        "{}[pr_dispatch]\nproject = \"main\"\nagents = [{{ agent = \"check\", context = \"orch/check\" }}]\n",
        forge.table()
    );
    let (site, _managers) = site(&["east"], &top, &agents);
    let daemon = site.start();
    let head = site.head();
    let id = run_of(&daemon.hook(&pull("opened", 1, &head)).json(), "check");
    wait_until("it has begun", || log(&daemon, &id).contains("begun"));
    let hosts = daemon.get("/admin/vm-hosts");
    assert_eq!(hosts[0]["jobs"], 1, "{hosts}");
    daemon.kill();
    let mut daemon = site.start();
    let line = daemon.wait_for_line("run.vm_recovered");
    assert!(line.to_string().contains("vm-"), "{line}");
    let run = daemon.ended(&id);
    assert_eq!(text(&run["exit"]["class"]), "orchestrator_restart", "{run}");
    wait_until("its status ends", || {
        let states = forge.states(&head, "orch/check");
        states.last().is_some_and(|state| state != "pending")
    });
}

/// Claude Code, as root, starts only where it is told that it is in a sandbox.
#[test]
fn i18_claude_is_told_that_it_is_in_a_sandbox() {
    let agents = agent(
        "model",
        "",
        "worktree = \"base\"\nprogram = \"/workspace/claude\"\ntask = \"x\"",
    );
    let agents = agents
        .replace("\"sh\"", "\"claude\"")
        .replace("script = ''''''", "");
    let (site, _managers) = site(&["east"], "", &agents);
    let (repository, program) = (site.path("repo"), site.path("repo/claude"));
    std::fs::write(&program, "#!/bin/sh\necho \"sandbox $IS_SANDBOX: $*\"\n").expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("a mode");
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "a program"]);
    let daemon = site.start();
    let id = mention(&daemon, 1, "model");
    daemon.ended(&id);
    let log = log(&daemon, &id);
    assert!(
        log.contains("sandbox 1: -p ") && log.contains("--dangerously-skip-permissions"),
        "{log}"
    );
}

/// The request of a run whose orchestrator was killed before it had the answer.
#[test]
fn i18_a_vm_that_no_run_has_is_given_back() {
    let (site, managers) = site(&["east"], "", &agent("short", "echo done", ""));
    let mut daemon = site.start();
    let id = mention(&daemon, 1, "short");
    daemon.ended(&id);
    let ask = |owner: &str| {
        let body = format!("{{\"owner\": \"{owner}\", \"isolation_min\": \"namespace-sandbox\"}}");
        managers[0].ask("POST /vms", &body).json()["id"].clone()
    };
    let [left, other] =
        [format!("orch-{id}"), "orch-of-others".to_owned()].map(|owner| ask(&owner));
    let line = daemon.wait_for_line("run.vm_recovered");
    assert!(line.to_string().contains(text(&left)), "{line}");
    let vms = managers[0].vms();
    let vms: Vec<&Value> = vms.iter().map(|vm| &vm["id"]).collect();
    assert_eq!(vms, [&other]);
}

#[test]
fn i18_a_host_that_vanishes_costs_its_agent_and_others_go_elsewhere() {
    let script = "echo begun; sleep 600";
    let agents = agent("long", script, "") + &agent("short", "echo done", "");
    let (site, managers) = site(&["east", "west"], "", &agents);
    let daemon = site.start();
    wait_until("both are known", || {
        let hosts = daemon.get("/admin/vm-hosts");
        hosts
            .as_array()
            .is_some_and(|hosts| hosts.iter().all(|host| host["facts"].is_object()))
    });
    let id = mention(&daemon, 1, "long");
    wait_until("it has begun", || log(&daemon, &id).contains("begun"));
    let isolation = daemon.run(&id)["isolation"].to_string();
    let (at, other) = if isolation.contains("on east") {
        (0, "west")
    } else {
        (1, "east")
    };
    managers[at].program.signal(Signal::KILL);
    let run = daemon.ended(&id);
    assert_eq!(text(&run["exit"]["class"]), "unknown", "{run}");
    assert!(
        text(&run["exit"]["detail"]).contains("how it ended is not known"),
        "{run}"
    );
    let next = daemon.ended(&mention(&daemon, 2, "short"));
    assert_eq!(text(&next["exit"]["class"]), "success", "{next}");
    assert!(text(&next["isolation"]).contains(other), "{next}");
    wait_until("the metrics say which is silent", || {
        let metrics = daemon.admin("GET", "/metrics").body;
        let gone = if other == "west" { "east" } else { "west" };
        [(gone, 0), (other, 1)].iter().all(|(host, answers)| {
            let line = format!("orchestrator_vm_host_answers{{host=\"{host}\"}} {answers}\n");
            metrics.contains(&line)
        })
    });
}

#[test]
fn i18_a_cordoned_host_gets_no_agents_and_one_that_waits_can_be_cancelled() {
    let (site, _managers) = site(&["east"], "", &agent("short", "echo done", ""));
    let daemon = site.start();
    assert_eq!(
        daemon.admin("POST", "/admin/vm-hosts/north/cordon").status,
        404
    );
    let host = daemon.post("/admin/vm-hosts/east/cordon?by=tests");
    assert_eq!(host["cordon"]["by"], "tests", "{host}");
    drop(daemon);
    // It stays so.
    let mut daemon = site.start();
    let id = mention(&daemon, 1, "short");
    daemon.wait_for_line("run.vm_waited_for");
    assert_eq!(
        daemon.post(&format!("/admin/runs/{id}/cancel"))["cancelled"],
        true
    );
    assert_eq!(text(&daemon.ended(&id)["state"]), "cancelled");
    let id = mention(&daemon, 2, "short");
    daemon.wait_for_line("run.vm_waited_for");
    assert_eq!(
        daemon.admin("DELETE", "/admin/vm-hosts/east/cordon").status,
        200
    );
    assert_eq!(text(&daemon.ended(&id)["exit"]["class"]), "success");
}

#[test]
fn i18_what_cannot_be_done_is_said_and_is_no_fault_of_the_machine() {
    let agents = agent("lost", "echo done", "machine = \"other\"")
        + "[machines.other]\nisolation_min = \"hardware-vm\"\n"
        + &agent("model", "echo done", "")
            .replace("cli = \"sh\"", "cli = \"claude\"\ntask = \"x\"")
            .replace("script", "description");
    let (site, _managers) = site(&["east"], "", &agents);
    let daemon = site.start();
    let run = daemon.ended(&mention(&daemon, 1, "lost"));
    assert_eq!(text(&run["exit"]["class"]), "config_error", "{run}");
    assert!(text(&run["exit"]["detail"]).contains("no VM:"), "{run}");
    // Its program is looked for in the image, where it is not.
    let id = mention(&daemon, 2, "model");
    let run = daemon.ended(&id);
    assert_eq!(run["exit"]["code"], 127, "{run} {}", log(&daemon, &id));
}
