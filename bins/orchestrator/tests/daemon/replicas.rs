//! Two orchestrators on one PostgreSQL: one leads, the other stands by and takes over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use scripted_peers::postgres::PostgresServer;

use crate::harness::{Daemon, Site, wait_until};
use crate::wire::{comment, run_of};

/// The promise.
const TAKEOVER: Duration = Duration::from_secs(10);
const AGENT: &str = "[mentions]\n\n[[agents]]\nproject = \"main\"\nname = \"greeter\"\ncli = \"sh\"\nscript = \"echo hello\"\n";

const PLAIN_HEALTH: &str = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

fn site(server: &PostgresServer) -> Site {
    Site::new(&format!("[store]\nurl = \"{}\"\n", server.url()), AGENT)
}

fn role(daemon: &Daemon) -> String {
    let health = daemon.get("/health");
    health["replica"]["role"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn until_role(daemon: &Daemon, wanted: &str) {
    wait_until(wanted, || role(daemon) == wanted);
}

/// The newest run: the leader's word is waited for two seconds, and on a loaded machine the answer
/// may be without it.
fn newest_run(daemon: &Daemon) -> String {
    let mut newest = None;
    wait_until("a run", || {
        let runs = daemon.get("/admin/runs");
        newest = runs["runs"][0]["id"].as_str().map(str::to_owned);
        newest.is_some()
    });
    newest.expect("it was waited for")
}

#[test]
fn i18_a_standby_takes_mentions_passes_on_operators_and_takes_over() {
    let server = PostgresServer::start();
    let (first_site, second_site) = (site(&server), site(&server));
    let first = first_site.start();
    until_role(&first, "leader");
    let second = second_site.start();
    until_role(&second, "standby");
    wait_until("a leader that is seen", || {
        second.get("/health")["replica"]["leader"] == format!("127.0.0.1:{}", first.port)
    });

    let mention = comment(1, 11, "@orch:greeter please");
    let taken = second.deliver("one", &mention).unwrap();
    assert_eq!(taken.status, 202, "{}", taken.body);
    let run = newest_run(&second);
    let again = second.deliver("one", &mention).unwrap();
    assert_eq!(
        (again.status, again.json()["outcome"].as_str()),
        (200, Some("duplicate"))
    );
    // What an operator of the standby's machine asks is the leader's.
    assert_eq!(second.run(&run)["id"], run.as_str());
    let ended = second.ended(&run);
    assert_eq!(ended["exit"]["class"], "success", "{ended}");
    assert_eq!(second.get("/admin/actors")["replica"]["role"], "standby");
    for (daemon, line) in [
        (&first, "replica_leader 1\n"),
        (&second, "replica_leader 0\n"),
    ] {
        let metrics = daemon.admin("GET", "/metrics").body;
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    // Beside the receiver nobody finds the admin bridge without the key.
    let hidden = first.plain(
        "GET /passed-on/admin/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(hidden.unwrap().status, 404);

    first.kill();
    let meanwhile = second
        .deliver("two", &comment(2, 12, "@orch:greeter again"))
        .unwrap();
    assert_eq!(meanwhile.status, 202, "{}", meanwhile.body);
    until_role(&second, "leader");
    wait_until("the run of what was taken in without a leader", || {
        // Until it answers as the leader it says that nobody leads.
        let status = second.admin("GET", "/admin/status");
        status.status == 200
            && status.json()["queue"]["queued"].as_u64() == Some(0)
            && second
                .journal()
                .iter()
                .filter(|event| event.starts_with("run."))
                .count()
                > 1
    });
    let again = second
        .deliver("two", &comment(2, 12, "@orch:greeter again"))
        .unwrap();
    assert_eq!(again.status, 200, "{}", again.body);
}

#[test]
fn i18_agents_of_a_leader_that_lost_the_store_do_not_keep_it_from_leading_again() {
    let server = PostgresServer::start();
    let sleeper = AGENT.replace("echo hello", "echo begun; sleep 600");
    let site = || {
        let store = format!("[store]\nurl = \"{}\"\n", server.url());
        Site::new(&store, &sleeper)
    };
    let (first_site, second_site) = (site(), site());
    let first = first_site.start();
    until_role(&first, "leader");
    let second = second_site.start();
    until_role(&second, "standby");
    let taken = first.deliver("one", &comment(1, 11, "@orch:greeter please"));
    let run = run_of(&taken.unwrap().json(), "greeter");
    first.wait_for_run(&run, |run| run["state"] == "running");

    first.signal(Signal::STOP);
    until_role(&second, "leader");
    first.signal(Signal::CONT);
    until_role(&first, "standby");
    let killed = Instant::now();
    second.kill();
    until_role(&first, "leader");
    assert!(killed.elapsed() < TAKEOVER, "{:?}", killed.elapsed());
    wait_until("an answer of the new leader", || {
        first.admin("GET", "/admin/status").status == 200
    });
    let ended = first.ended(&run);
    assert_eq!(ended["exit"]["class"], "orchestrator_restart", "{ended}");
}

#[test]
fn i18_a_drained_orchestrator_hands_over_and_leads_again_after_the_other() {
    let server = PostgresServer::start();
    let (first_site, second_site) = (site(&server), site(&server));
    let first = first_site.start();
    until_role(&first, "leader");
    let second = second_site.start();
    until_role(&second, "standby");
    wait_until("a hand-over", || {
        second.admin("POST", "/admin/drain").status == 202
    });
    until_role(&second, "leader");
    until_role(&first, "standby");
    // Its files are read again in either role.
    first.signal(Signal::HUP);
    assert_eq!(second.stop(), Some(0));
    until_role(&first, "leader");
    let taken = first
        .deliver("one", &comment(1, 11, "@orch:greeter please"))
        .unwrap();
    assert_eq!(taken.status, 202, "{}", taken.body);
    assert_eq!(first.stop(), Some(0));
}

/// Another process has the next epoch, and this one hears of it by what it cannot store.
#[test]
fn i18_an_orchestrator_that_lost_the_store_takes_mentions_in_for_the_next_leader() {
    let server = PostgresServer::start();
    let site = site(&server);
    let daemon = site.start();
    until_role(&daemon, "leader");
    let mention = comment(1, 11, "@orch:greeter please");
    assert_eq!(daemon.deliver("one", &mention).unwrap().status, 202);
    server.sql("UPDATE orchestrator.owner SET epoch = epoch + 1, program = 'other'");
    let mention = comment(2, 12, "@orch:greeter again");
    let taken = daemon.deliver("two", &mention).unwrap();
    assert_eq!(taken.status, 202, "{}", taken.body);
    // Nobody else is there: it leads again, and decides what it took in.
    wait_until("both runs", || {
        let status = daemon.try_admin("GET", "/admin/runs");
        status.is_some_and(|it| {
            let runs = it.json()["runs"].as_array().map(Vec::len);
            it.status == 200 && runs == Some(2)
        })
    });
    let again = daemon.deliver("two", &mention).unwrap();
    assert_eq!(
        (again.status, again.json()["outcome"].as_str()),
        (200, Some("duplicate"))
    );
    assert_eq!(daemon.stop(), Some(0));
}

/// What actix-server does with connections that wait for a worker of a server that is stopped.
#[test]
fn i18_a_change_of_role_leaves_no_request_without_an_answer() {
    let server = PostgresServer::start();
    let (first_site, second_site) = (site(&server), site(&server));
    let first = first_site.start();
    until_role(&first, "leader");
    let second = second_site.start();
    until_role(&second, "standby");
    let is_over = AtomicBool::new(false);
    let count = |ask: &dyn Fn() -> bool| {
        let (mut asked, mut unanswered) = (0, 0);
        while !is_over.load(Ordering::Relaxed) {
            asked += 1;
            unanswered += usize::from(!ask());
        }
        (asked, unanswered)
    };
    std::thread::scope(|scope| {
        let daemons = [&first, &second];
        let askers: Vec<_> = daemons
            .into_iter()
            .flat_map(|daemon| {
                let on_socket = move || daemon.try_admin("GET", "/health").is_some();
                let passed_on = move || daemon.try_admin("GET", "/admin/status").is_some();
                let on_port = move || daemon.plain(PLAIN_HEALTH).is_some();
                [
                    scope.spawn(move || count(&on_socket)),
                    scope.spawn(move || count(&passed_on)),
                    scope.spawn(move || count(&on_port)),
                ]
            })
            .collect();
        for (leader, standby) in [(&first, &second), (&second, &first)].repeat(3) {
            wait_until("a hand-over", || {
                leader
                    .try_admin("POST", "/admin/drain")
                    .is_some_and(|answer| answer.status == 202)
            });
            until_role(standby, "leader");
            until_role(leader, "standby");
        }
        is_over.store(true, Ordering::Relaxed);
        for asker in askers {
            let (asked, unanswered) = asker.join().expect("it counts");
            assert!(asked > 100, "{asked}");
            assert_eq!(unanswered, 0, "of {asked}");
        }
    });
}
