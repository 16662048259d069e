//! Jobs whose steps run in a real shell here, in the place of the machine, beside the runner's
//! gateway.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;

use runner_actors::RunnerSettings;
use scripted_peers::Play;
use tempfile::TempDir;

use crate::gateway::lines;
use crate::harness::{Runner, Setup, Site};

pub(crate) struct Stage {
    pub(crate) site: Site,
    pub(crate) runner: Runner,
}

/// What a step's shell has in its environment.
pub(crate) type Variables = Vec<(String, String)>;

/// Runs the scripts of steps in `home`, behind `begin`, with variables that are made of those that
/// they have in the machine and of where the services listen.
pub(crate) fn stage(
    change: fn(&mut RunnerSettings),
    home: TempDir,
    listener: TcpListener,
    begin: &'static str,
    variables: fn(&scripted_peers::Command, &Path, SocketAddr) -> Variables,
) -> Stage {
    let services = listener.local_addr().unwrap();
    let site = Site::playing(move |command| {
        // What makes room for a checkout is no step.
        if !command.env.contains_key("REPOSITORY") {
            return Play::exit(0);
        }
        let mut bash = Command::new("bash");
        bash.args(["-c", &format!("{begin}{}", command.script)]);
        bash.current_dir(home.path()).env_clear();
        bash.envs(variables(command, home.path(), services));
        bash.env("HOME", home.path());
        bash.env("PATH", std::env::var_os("PATH").unwrap());
        let output = bash.output().expect("bash is installed");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        Play::exit(output.status.code().unwrap_or(255)).out(said)
    });
    site.git_init();
    let runner = site.start_with(Setup {
        services: Some(listener),
        change,
        ..Setup::default()
    });
    Stage { site, runner }
}

/// A workflow with one step, which has its token in this variable; pushes of others run it.
pub(crate) fn workflow(permissions: &str, script: &str, token: &str, site: &Site) -> String {
    let script = script.lines().map(|line| format!("          {line}\n"));
    format!(
        "name: CI\non: [push, create, pull_request]\npermissions: {permissions}\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: |\n{}        env: {{REPOSITORY: '{}', {token}: '${{{{ github.token }}}}'}}\n",
        script.collect::<String>(),
        site.clone_url()
    )
}

impl Stage {
    /// Runs a workflow for a push, and gives the run's id and what it said.
    pub(crate) fn run_workflow(&self, text: &str, delivery: &str) -> (String, Vec<String>) {
        let sha = self.site.commit(text);
        let run = self.runner.run("push", delivery, &self.site.push(&sha));
        (run.clone(), self.succeeded(&run))
    }

    /// What a run said that has succeeded.
    pub(crate) fn succeeded(&self, run: &str) -> Vec<String> {
        let record = self.runner.ended(run);
        let said = lines(&self.runner, run);
        assert_eq!(record["state"], "succeeded", "{record:#} {said:#?}");
        said
    }
}
