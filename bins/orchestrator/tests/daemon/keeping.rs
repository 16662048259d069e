//! What is kept, and what is forgotten.

use crate::harness::{Site, comment, run_of, wait_until};

/// Runs that wait for months do not keep the ended ones behind them from being forgotten.
#[test]
fn ended_runs_are_forgotten_behind_hundreds_that_wait() {
    let site = Site::new("", "");
    let base = site.folder.path().display();
    let agents = format!(
        "[mentions]\nmax_dispatches_per_tick = 100\nmax_concurrent_mention_agents = 100\n\
         [[projects]]\nid = \"other\"\nrepository = \"acme/other\"\nworking_dir = \"{base}/repo\"\n\
         [[agents]]\nproject = \"main\"\nname = \"held\"\ncli = \"sh\"\nscript = \"true\"\n\
         [[agents]]\nproject = \"other\"\nname = \"quick\"\ncli = \"sh\"\nscript = \"true\"\nmax_parallel = 8\n"
    );
    site.configure("tick_interval_secs = 1\nkeep_runs = 100", &agents);
    let daemon = site.start();
    daemon.post("/admin/projects/main/pause");
    for id in 1..=201 {
        assert_eq!(daemon.hook(&comment(0, id, "@orch:held")).status, 202);
    }
    let ended = || {
        let list = daemon.get("/admin/runs?project=other&limit=500");
        list["runs"].as_array().map_or(0, Vec::len)
    };
    let mut runs = Vec::new();
    for id in 1000..1110 {
        let mut event = comment(0, id, "@orch:quick");
        event["repository"]["full_name"] = "acme/other".into();
        runs.push(run_of(&daemon.hook(&event).json(), "quick"));
    }
    wait_until("the oldest are forgotten", || ended() == 100);
    assert_eq!(
        daemon
            .admin("GET", &format!("/admin/runs/{}", runs[0]))
            .status,
        404
    );
    wait_until("its log goes with it", || {
        !site.path("data/runs").join(&runs[0]).exists()
    });
    assert_eq!(daemon.get("/admin/status")["queue"]["queued"], 201);
}
