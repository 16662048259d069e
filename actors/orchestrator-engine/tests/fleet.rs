//! The sample configurations: the contract's fleet, and the quick start of shell agents.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use config_core::{Environment, UnknownKeys};
use orchestrator_core::config::{
    AgentCli, AnyHost, CheckedConfig, ConfigFile, ConfigFiles, check, routes,
};
use orchestrator_engine::scenario;

fn samples() -> PathBuf {
    std::path::absolute("../../config-samples/orchestrator").expect("a folder to work in")
}

fn environment() -> Environment {
    Environment::from_iter([
        ("ORCH_PROJECTS_DIR", "/srv"),
        ("ORCH_PROJECT_DIR", "/srv/main"),
        ("ORCH_WEBHOOK_SECRET", "0123456789abcdef0123"),
        ("ORCH_ADMIN_TOKEN", "admin-token"),
        ("FORGE_URL", "http://127.0.0.1:3000"),
        ("FORGE_TOKEN", "forge-token"),
        ("SEARCH_URL", "http://127.0.0.1:8000"),
    ])
}

/// All files of a folder with this ending, named from the configuration's folder.
fn files(base: &Path, folder: &str, ending: &str) -> Vec<ConfigFile> {
    let mut paths: Vec<PathBuf> = fs::read_dir(base.join(folder))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let path = if path.is_dir() {
            path.join("SKILL.md")
        } else {
            path
        };
        let name = path
            .strip_prefix(base)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        name.ends_with(ending)
            .then(|| ConfigFile::new(name, fs::read(path).unwrap()))
    };
    paths.into_iter().filter_map(read).collect()
}

fn checked(sample: &str) -> CheckedConfig {
    let base = samples().join(sample);
    let one = |name: &str| {
        fs::read(base.join(name))
            .ok()
            .map(|bytes| ConfigFile::new(name, bytes))
    };
    let files = ConfigFiles {
        folder: "/etc/orchestrator".into(),
        main: one("orchestrator.toml").unwrap(),
        fragments: files(&base, "conf.d", ".toml"),
        agent_tokens: one("agent_tokens.json"),
        persona_roles: one("persona_roles_config.json"),
        personas: files(&base, "personas", ".toml"),
        skills: files(&base, "skills", "SKILL.md"),
        routing: files(&base, "routing", ".md"),
        problems: Vec::new(),
    };
    check(&files, &environment(), &AnyHost, UnknownKeys::Refuse)
        .unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// The contract's six status checks.
const FAN_OUT: [(&str, &str); 6] = [
    ("build-runner", "orch/build"),
    ("pr-reviewer", "orch/pr-reviewer"),
    ("pr-spec-validator", "orch/spec"),
    ("pr-security-sentinel", "orch/security"),
    ("pr-compliance-watchdog", "orch/compliance"),
    ("pr-test-guardian", "orch/test"),
];

/// The contract's limits, section 8.
const LIMITS: [(&str, &str, u64); 16] = [
    ("main", "build-runner", 1800),
    ("main", "pr-reviewer", 600),
    ("main", "pr-spec-validator", 7200),
    ("main", "pr-security-sentinel", 7200),
    ("main", "pr-compliance-watchdog", 7200),
    ("main", "pr-test-guardian", 7200),
    ("main", "security-sentinel", 1200),
    ("main", "meta-coordinator", 1200),
    ("main", "runtime-guardian", 1200),
    ("main", "compliance-watchdog", 7200),
    ("main", "drift-detector", 7200),
    ("main", "spec-validator", 7200),
    ("main", "test-guardian", 7200),
    ("odilo", "odilo-developer", 7200),
    ("main", "developer", 7200),
    ("main", "implementation-swarm", 7200),
];

#[test]
fn the_fleet_is_the_contract_s() {
    let checked = checked("fleet");
    assert!(checked.warnings.is_empty(), "{}", checked.warnings);
    let config = &checked.config;
    let rows = routes(config);
    assert_eq!(rows.len(), 29, "the routing table of 29 agents");
    let mut by_project: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &rows {
        *by_project.entry(&row.project).or_default() += 1;
    }
    assert_eq!(by_project, [("main", 25), ("odilo", 2), ("site", 2)].into());
    assert_eq!(
        (config.main_project.as_str(), config.personas.len()),
        ("main", 9)
    );
    assert_eq!(config.tick_interval.as_secs(), 300);
    let mentions = config.mentions.as_ref().unwrap();
    let values = (
        mentions.poll_modulo,
        mentions.max_dispatches_per_tick,
        mentions.max_concurrent_mention_agents,
    );
    assert_eq!(values, (2, 3, 8));
    assert!(!config.wake_on_dispatch, "a dispatch waits for the tick");
    let found: Vec<(&str, &str)> = config
        .pr_dispatch
        .iter()
        .flat_map(|pr| &pr.agents)
        .map(|entry| (entry.agent.as_str(), entry.context.as_str()))
        .collect();
    assert_eq!(found, FAN_OUT);
    for (project, agent, seconds) in LIMITS {
        let row = rows
            .iter()
            .find(|row| row.project == project && row.agent == agent);
        assert_eq!(
            row.map(|row| row.max_cpu_seconds),
            Some(seconds),
            "{project}/{agent}"
        );
    }
    let builder = config
        .agents
        .values()
        .find(|agent| agent.name.as_str() == "build-runner")
        .unwrap();
    let AgentCli::Sh { script } = &builder.cli else {
        panic!("the build-runner is a shell agent")
    };
    assert!(script.contains("build-dispatch"));
    assert_eq!(
        builder.worktree.as_str(),
        "none",
        "it runs from the working directory of the main project"
    );
    let used: BTreeSet<&str> = config
        .agents
        .values()
        .filter_map(|agent| agent.persona.as_deref())
        .collect();
    assert_eq!(used.len(), 9, "each persona is used");
}

#[test]
fn the_fleet_s_scenarios_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let plan = scenario::prepare(
        &samples().join("fleet/scenarios"),
        &environment(),
        folder.path(),
        folder.path(),
        "run-1",
    );
    assert!(plan.is_ok(), "{plan:?}");
}

#[test]
fn the_quick_start_has_shell_agents_only_and_each_of_them_runs() {
    let checked = checked("quick-start");
    let config = &checked.config;
    assert!(config.wake_on_dispatch);
    let found: Vec<(&str, &str)> = config
        .pr_dispatch
        .iter()
        .flat_map(|pr| &pr.agents)
        .map(|entry| (entry.agent.as_str(), entry.context.as_str()))
        .collect();
    assert_eq!(found, FAN_OUT);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("README.md"), "# A project with a test\n").unwrap();
    for args in [
        &["init", "-q", "."][..],
        &["add", "."],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-q",
            "-m",
            "first",
        ],
    ] {
        assert!(
            Command::new("git")
                .current_dir(folder.path())
                .args(args)
                .status()
                .unwrap()
                .success()
        );
    }
    for agent in config.agents.values() {
        let AgentCli::Sh { script } = &agent.cli else {
            panic!("{} is no shell agent", agent.name)
        };
        let mut shell = Command::new("sh");
        shell
            .current_dir(folder.path())
            .args(["-eu", "-c", script, "agent"]);
        let output = shell
            .env("ORCH_AGENT", agent.name.as_str())
            .env("ORCH_RUN_ID", "run-1")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}: {}",
            agent.name,
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Names in a text that look like the platform's metrics.
fn metric_names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit()));
    let ours = words.filter(|word| word.starts_with("orchestrator_") || word.starts_with("http_"));
    // What Prometheus makes of a histogram.
    let base = |word: &str| {
        word.trim_end_matches("_count")
            .trim_end_matches("_bucket")
            .to_owned()
    };
    ours.map(base).collect()
}

#[test]
fn alerts_and_board_use_metrics_that_exist() {
    let root = std::path::absolute("../..").expect("a folder to work in");
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let exist: BTreeSet<String> = [
        "web/edge-web/src/metrics.rs",
        "web/orchestrator-web/src/metrics.rs",
    ]
    .iter()
    .flat_map(|path| metric_names(&read(path)))
    .collect();
    for sample in ["alerts.yml", "board.json"] {
        let used = metric_names(&read(&format!("config-samples/monitoring/{sample}")));
        assert!(used.len() > 8, "{sample}: {used:?}");
        let missing: Vec<&String> = used.difference(&exist).collect();
        assert!(
            missing.is_empty(),
            "{sample} uses metrics that nobody writes: {missing:?}"
        );
    }
    let board: serde_json::Value =
        serde_json::from_str(&read("config-samples/monitoring/board.json")).unwrap();
    assert!(
        board["panels"]
            .as_array()
            .is_some_and(|panels| panels.len() >= 8)
    );
}
