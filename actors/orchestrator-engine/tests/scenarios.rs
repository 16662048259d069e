//! The browser agent for real: Chromium, playwright-core, and a page served from here.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config_core::Environment;
use orchestrator_core::config::AgentCli;
use orchestrator_engine::adapters::{Start, command_line};
use orchestrator_engine::output::{AgentLogReader, LogSizes, Redactor, RunLog};
use orchestrator_engine::process::{
    ChildEnvironment, Confinement, EndCause, ProcessEnd, ProcessLimits, ProcessSpec, RunVariables,
    RunningAgent, Sandbox, View,
};
use orchestrator_engine::scenario::{ScenarioPlanError, prepare};

const PAGE: &str = "<!doctype html><title>t</title><input id=q><button onclick=\"r.textContent='found '+q.value\">go</button><p id=r></p>";

/// A server of one page; ends with the test.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let _ = reader.read_line(&mut line);
            let status = if line.starts_with("GET / ") {
                "200 OK"
            } else {
                "404 Not Found"
            };
            let mut header = String::new();
            while reader.read_line(&mut header).is_ok_and(|length| length > 2) {
                header.clear();
            }
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{PAGE}",
                PAGE.len()
            );
        }
    });
    url
}

fn scenario(folder: &Path, name: &str, url: &str, steps: &str) {
    fs::create_dir_all(folder).unwrap();
    let text = format!("name = '{name}'\nbase_url = '{url}'\ntimeout_secs = 3\n{steps}");
    fs::write(folder.join(format!("{name}.toml")), text).unwrap();
}

/// Where the project's tasks put npm packages, unless NODE_PATH says otherwise.
fn node_modules() -> PathBuf {
    if let Some(path) = std::env::var_os("NODE_PATH") {
        return path.into();
    }
    let cache = std::env::var_os("ORRERY_CACHE").map(PathBuf::from);
    let cache = cache
        .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/orrery"));
    let npm = fs::read_dir(cache.join("npm"))
        .into_iter()
        .flatten()
        .flatten();
    let mut found: Vec<PathBuf> = npm
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("playwright-core-")
        })
        .collect();
    found.sort();
    found
        .pop()
        .expect("playwright-core is missing: run `cargo xtask test --only browser` once")
        .join("node_modules")
}

fn run(folder: &Path, run: &str) -> (ProcessEnd, String, PathBuf) {
    assert!(
        Path::new("/usr/bin/chromium").exists(),
        "chromium is missing: install Debian's chromium"
    );
    let run_folder = folder.join(run);
    let environment = Environment::default();
    let plan = prepare(
        &folder.join("scenarios"),
        &environment,
        &run_folder,
        &folder.join("reports"),
        run,
    )
    .unwrap();
    let start = Start {
        cli: &AgentCli::Browser,
        program: None,
        args: &[],
        model: None,
        prompt: "",
        prompt_file: Path::new(""),
        workdir: &run_folder,
        browser: Some(&plan),
    };
    let line = command_line(&start).unwrap();
    let daemon = Environment::from_iter([
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", folder.to_str().unwrap()),
    ]);
    let variables = RunVariables {
        run: run.into(),
        ..RunVariables::default()
    };
    let child = ChildEnvironment::new(&daemon, &[], &variables).unwrap();
    let child = child.with("NODE_PATH", node_modules()).unwrap();
    let log = folder.join(format!("log-{run}"));
    let spec = ProcessSpec {
        run: run.parse().unwrap(),
        program: line.program,
        arguments: line.arguments,
        environment: child,
        folder: run_folder,
        input: line.input,
        limits: ProcessLimits {
            wall: Duration::from_secs(120),
            ..ProcessLimits::default()
        },
        sandbox: Sandbox::off(),
        view: View::default(),
    };
    let written = RunLog::create(&log, LogSizes::default(), Redactor::default()).unwrap();
    let agent = RunningAgent::start(spec, &Confinement::detect("test-scenarios"), written).unwrap();
    let ended = agent.run();
    assert_eq!(ended.cause, EndCause::Exited);
    (
        ended.end,
        AgentLogReader::tail(&log, 100_000).unwrap(),
        plan.reports().to_owned(),
    )
}

#[test]
fn scenarios_run_in_a_browser_and_leave_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let url = serve();
    let steps = "[[step]]\ngoto = '/'\n[[step]]\ntype = { into = '#q', text = '$(id) \"x\"' }\n[[step]]\nclick = 'button'\n\
                 [[step]]\nexpect = { in = '#r', text = 'found $(id) \"x\"' }\n[[step]]\nscreenshot = 'after'\n";
    scenario(&folder.path().join("scenarios"), "search", &url, steps);
    let (end, text, reports) = run(folder.path(), "run-good");
    assert_eq!(end, ProcessEnd::Code(0), "{text}");
    assert!(text.contains("1 of 1 scenarios passed"), "{text}");
    assert!(
        fs::metadata(reports.join("search/after.png"))
            .unwrap()
            .len()
            > 1000
    );
    let report = fs::read_to_string(reports.join("report.json")).unwrap();
    assert!(report.contains("\"passed\": true"), "{report}");

    let missing = "[[step]]\ngoto = '/'\n[[step]]\nexpect = { in = '#r', text = 'never' }\n";
    scenario(&folder.path().join("scenarios"), "wrong", &url, missing);
    scenario(
        &folder.path().join("scenarios"),
        "gone",
        &url,
        "[[step]]\ngoto = '/gone'\n",
    );
    let (end, text, reports) = run(folder.path(), "run-bad");
    assert_eq!(end, ProcessEnd::Code(1), "{text}");
    assert!(
        text.contains("the page answered 404") && text.contains("1 of 3 scenarios passed"),
        "{text}"
    );
    assert!(reports.join("wrong/failure.png").is_file());
}

#[test]
fn all_mistakes_of_all_files_are_told_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = folder.path().join("scenarios");
    let prepared = || {
        prepare(
            &scenarios,
            &Environment::default(),
            folder.path(),
            folder.path(),
            "run-1",
        )
    };
    fs::create_dir(&scenarios).unwrap();
    assert!(matches!(prepared(), Err(ScenarioPlanError::Empty(_))));
    scenario(&scenarios, "one", "http://x", "[[step]]\nclik = 'a'\n");
    scenario(&scenarios, "two", "ftp://x", "[[step]]\ngoto = '/'\n");
    let Err(ScenarioPlanError::Wrong(said)) = prepared() else {
        panic!("both are wrong")
    };
    assert!(
        said.contains("one.toml:5") && said.contains("two.toml:2"),
        "{said}"
    );
    std::os::unix::fs::symlink("/dev/zero", scenarios.join("zero.toml")).unwrap();
    assert!(matches!(prepared(), Err(ScenarioPlanError::Refused { .. })));
}
