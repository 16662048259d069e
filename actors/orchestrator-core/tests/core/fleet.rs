//! A small fleet, events and runs for the other tests.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use config_core::{Environment, UnknownKeys};
use forge_core::{CommitSha, ForgeEvent, Login, ObjectFormats, RunId, WebhookHeaders};
use orchestrator_core::Millis;
use orchestrator_core::config::{AnyHost, Config, ConfigFile, ConfigFiles, check};
use orchestrator_core::health::AgentUsage;
use orchestrator_core::intake::{AgentKey, Dispatch, EventDecision, IntakeContext, decide};
use serde_json::{Value, json};

pub(crate) const MAIN: &str = r#"
main_project = "main"
max_running = 50
[webhook]
secret = "0123456789abcdef"
[forge]
kind = "gitea"
url = "http://127.0.0.1:3000"
token = "t"
[mentions]
[pr_dispatch]
project = "main"
agents = [
    { agent = "build-runner", context = "orch/build" },
    { agent = "reviewer", context = "orch/review" },
]
[[projects]]
id = "main"
repository = "acme/main"
working_dir = "/srv/main"
[[projects]]
id = "tools"
repository = "acme/tools"
working_dir = "/srv/tools"
[[agents]]
project = "main"
name = "build-runner"
cli = "sh"
script = "true"
max_parallel = 4
[[agents]]
project = "main"
name = "reviewer"
cli = "claude"
provider = "anthropic"
task = "Review."
extra_projects = ["tools"]
max_parallel = 4
[[agents]]
project = "main"
name = "guard"
layer = "safety"
cli = "sh"
script = "true"
schedule = "0 * * * *"
[[agents]]
project = "main"
name = "miser"
cli = "sh"
script = "true"
budget_monthly_runs = 2
max_parallel = 4
[[agents]]
project = "main"
name = "asleep"
enabled = false
cli = "sh"
script = "true"
[[agents]]
project = "main"
name = "private"
cli = "sh"
script = "true"
allow = ["alice"]
[[agents]]
project = "tools"
name = "developer"
cli = "sh"
script = "true"
max_parallel = 4
"#;

pub(crate) fn config_of(text: &str) -> Config {
    let files = ConfigFiles {
        folder: "/etc/orch".into(),
        main: ConfigFile::new("orchestrator.toml", text),
        ..ConfigFiles::default()
    };
    let checked = check(
        &files,
        &Environment::default(),
        &AnyHost,
        UnknownKeys::Refuse,
    );
    checked.unwrap_or_else(|wrong| panic!("{wrong}")).config
}

pub(crate) fn config() -> Config {
    config_of(MAIN)
}

pub(crate) fn sha(n: u32) -> CommitSha {
    format!("{:040x}", n + 1).parse().expect("a commit")
}

pub(crate) fn run_id(n: u64) -> RunId {
    format!("{n:012}").parse().expect("a run id")
}

pub(crate) fn key(project: &str, agent: &str) -> AgentKey {
    (
        project.parse().expect("a project"),
        agent.parse().expect("an agent"),
    )
}

pub(crate) fn event(body: &Value) -> ForgeEvent {
    let headers = WebhookHeaders::collect([]);
    let bytes = serde_json::to_vec(body).expect("JSON");
    ForgeEvent::parse(&headers, &bytes, ObjectFormats::Sha1)
        .unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn comment(
    repository: &str,
    issue: u64,
    id: u64,
    author: &str,
    body: &str,
) -> ForgeEvent {
    event(&json!({
        "action": "created",
        "comment": {"id": id, "body": body, "user": {"login": author}, "created_at": "2026-11-21T10:00:00Z"},
        "issue": {"number": issue, "title": "A title", "state": "open"},
        "repository": {"full_name": repository},
    }))
}

pub(crate) fn pull(action: &str, number: u64, head: u32) -> ForgeEvent {
    pull_with(action, number, head, &json!({}))
}

pub(crate) fn pull_with(action: &str, number: u64, head: u32, more: &Value) -> ForgeEvent {
    let mut pull = json!({
        "title": "A change", "html_url": "http://forge/pulls/1", "number": number, "state": "open",
        "user": {"login": "alice"},
        "head": {"ref": "topic", "sha": sha(head).as_str(), "repo": {"full_name": "acme/main"}},
        "base": {"ref": "main", "sha": sha(1000).as_str()},
    });
    for (key, value) in more.as_object().expect("an object") {
        pull[key] = value.clone();
    }
    event(&json!({
        "action": action, "number": number, "pull_request": pull,
        "repository": {"full_name": "acme/main", "clone_url": "http://forge/acme/main.git"},
    }))
}

/// What intake knows, to be changed by a test.
pub(crate) struct World {
    pub(crate) config: Config,
    pub(crate) quarantined: BTreeSet<AgentKey>,
    pub(crate) usage: BTreeMap<AgentKey, AgentUsage>,
    pub(crate) recent: u32,
    pub(crate) queued: usize,
    pub(crate) own: BTreeSet<Login>,
    pub(crate) now: Millis,
    next: Cell<u64>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            config: config(),
            quarantined: BTreeSet::new(),
            usage: BTreeMap::new(),
            recent: 0,
            queued: 0,
            own: BTreeSet::from(["orch-bot".parse().expect("a login")]),
            now: 1_795_255_200_000,
            next: Cell::new(0),
        }
    }

    pub(crate) fn decide(&self, event: &ForgeEvent) -> EventDecision {
        let usage = |key: &AgentKey| self.usage.get(key).copied().unwrap_or_default();
        let new_id = || {
            self.next.set(self.next.get() + 1);
            run_id(self.next.get())
        };
        decide(
            event,
            &IntakeContext {
                config: &self.config,
                own_logins: &self.own,
                now: self.now,
                quarantined: &self.quarantined,
                usage: &usage,
                recent: &|_, _| self.recent,
                queued: self.queued,
                new_id: &new_id,
            },
        )
    }

    pub(crate) fn dispatch(&self, event: &ForgeEvent) -> Dispatch {
        match self.decide(event) {
            EventDecision::Dispatch(dispatch) => *dispatch,
            EventDecision::Ignored(why) => panic!("ignored: {why}"),
        }
    }

    /// `agent` for what is queued, `agent: reason` for what is refused.
    pub(crate) fn outcome(&self, event: &ForgeEvent) -> Vec<String> {
        match self.decide(event) {
            EventDecision::Ignored(why) => vec![format!("ignored: {why}")],
            EventDecision::Dispatch(dispatch) => {
                let queued = dispatch.runs.iter().map(|want| want.run.agent.to_string());
                let refused = dispatch
                    .rejected
                    .iter()
                    .map(|r| format!("{}: {}", r.agent, r.reason));
                queued.chain(refused).collect()
            }
        }
    }
}
