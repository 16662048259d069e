//! How runs are of Gitea and Forgejo: variables, shells, and pushes that end the runs before them.

use forge_core::Forge;
use runner_core::state::RunState;
use scripted_peers::Play;

use crate::harness::{REPOSITORY, Site};

const WORKFLOW: &str = "\
on: push
jobs:
  a:
    runs-on: docker
    env: {GITEA_TOKEN: mine}
    steps:
    - run: make ${{ env.FORGEJO_SERVER_URL || 'nothing' }} ${{ env.GITHUB_REPOSITORY }}
";

#[actix_rt::test]
async fn i17_steps_find_what_the_runner_of_forgejo_gives_them() {
    for (forge, sent_by, shell) in [
        (Forge::Gitea, Some(Forge::Forgejo), "pipefail"),
        (Forge::Forgejo, None, "pipefail"),
        (Forge::GitHub, Some(Forge::Forgejo), ""),
    ] {
        let site = Site::new();
        let start = site.start_with(|settings| {
            settings.forge = forge;
            settings.services = "127.0.0.1:3002".parse().ok();
        });
        let runner = start.await;
        let sha = site.commit(WORKFLOW);
        let event = site.push(REPOSITORY, "main", &sha).sent_by(sent_by);
        let run = runner.start_event(event).await;
        let ended = runner.ended(&run).await;
        assert_eq!(ended.state, RunState::Succeeded, "{ended:#?}");
        let commands = site.vmm.commands();
        let made = commands
            .iter()
            .find(|command| command.script.contains("make"));
        let made = made.expect("its script runs");
        let is_forge = forge != Forge::GitHub;
        for name in [
            "FORGEJO_OUTPUT",
            "GITEA_OUTPUT",
            "FORGEJO_ACTIONS",
            "FORGEJO_REPOSITORY",
        ] {
            assert_eq!(made.env.contains_key(name), is_forge, "{forge:?}: {name}");
        }
        if is_forge {
            assert_eq!(made.env["FORGEJO_OUTPUT"], made.env["GITHUB_OUTPUT"]);
        }
        assert_eq!(
            made.script.contains(REPOSITORY),
            is_forge,
            "{}",
            made.script
        );
        // The job's token, but what the workflow calls so is its own.
        let token = made.env.get("FORGEJO_TOKEN").map(String::len);
        assert_eq!(token.is_some_and(|long| long > 20), is_forge, "{forge:?}");
        let own = made.env.get("GITEA_TOKEN").map(String::as_str);
        assert_eq!(own, Some("mine"));
        let argv = made.argv.join(" ");
        assert_eq!(argv.contains("pipefail"), !shell.is_empty(), "{argv}");
        let log = runner.log(&run).await;
        assert_eq!(
            log.contains("no machine is configured for the label docker"),
            is_forge
        );
        runner.stop().await;
    }
}

#[actix_rt::test]
async fn i17_a_push_ends_the_run_of_the_one_before_it() {
    let site = Site::playing(|command| match command.script.contains("deploy 1") {
        true => Play::hang(),
        false => Play::exit(0),
    });
    let runner = site
        .start_with(|settings| settings.cancel_previous = Some(true))
        .await;
    let mut runs = Vec::new();
    for number in 1..3 {
        let text =
            format!("on: push\njobs: {{a: {{runs-on: x, steps: [{{run: deploy {number}}}]}}}}\n");
        let sha = site.commit(&text);
        let run = runner
            .start_event(site.push(REPOSITORY, "main", &sha))
            .await;
        if number == 1 {
            runner
                .reached(&run, |it| it.state == RunState::Running)
                .await;
        }
        runs.push(run);
    }
    assert_eq!(runner.ended(&runs[1]).await.state, RunState::Succeeded);
    assert_eq!(runner.ended(&runs[0]).await.state, RunState::Cancelled);
    runner.stop().await;
}
