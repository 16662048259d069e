//! `tests`: what the tests of a run said, and how those of a repository ended, over the API of a
//! runner that serves.

use std::fmt::Write as _;
use std::process::ExitCode;

use config_core::Environment;
use http_clients::http::Request;
use serde_json::Value;

use crate::arguments::TestsOptions;
use crate::runner_api::{RunnerApi, path_part, print_result};

/// Lines of a trace that are shown.
const MAX_TRACE_LINES: usize = 30;

/// Prints tests.
pub(crate) fn run(options: &TestsOptions, environment: &Environment) -> ExitCode {
    print_result(ask(options, environment))
}

fn ask(options: &TestsOptions, environment: &Environment) -> anyhow::Result<String> {
    let api = RunnerApi::from_options(&options.runner, environment)?;
    let mut url = match (&options.run, &options.history) {
        (Some(run), _) => api.url(&format!("runs/{}/tests", path_part(run)?))?,
        (None, Some(_)) => api.url("tests/history")?,
        (None, None) => api.url("tests")?,
    };
    url.query_pairs_mut().extend_pairs(query(options));
    let answer = api.ask(Request::get(url))?;
    if options.json {
        return Ok(format!("{answer:#}\n"));
    }
    Ok(match (&options.run, &options.history) {
        (Some(_), _) => of_run(&answer),
        (None, Some(_)) => history(&answer),
        (None, None) => of_repository(&answer),
    })
}

fn query(options: &TestsOptions) -> Vec<(&'static str, String)> {
    let mut query = Vec::new();
    if let Some(repository) = &options.repository {
        query.push(("repository", repository.clone()));
    }
    if let Some(runs) = options.runs {
        query.push(("runs", runs.to_string()));
    }
    if let Some(test) = &options.history {
        let (suite, name) = test.rsplit_once(" > ").unwrap_or(("", test));
        query.extend([("suite", suite.to_owned()), ("name", name.to_owned())]);
        return query;
    }
    let kinds = [
        (options.flaky, "flaky"),
        (options.quarantined, "quarantined"),
        (options.failed, "failed"),
    ];
    let kind = kinds.iter().find(|(asked, _)| *asked);
    query.extend(kind.map(|(_, kind)| ("kind", (*kind).to_owned())));
    if options.slowest {
        query.push(("sort", "slowest".to_owned()));
    }
    query.extend(options.text.clone().map(|text| ("text", text)));
    query.push(("limit", options.limit.to_string()));
    query
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn full_name(test: &Value) -> String {
    match text(test, "suite") {
        "" => text(test, "name").to_owned(),
        suite => format!("{suite} > {}", text(test, "name")),
    }
}

fn time(value: &Value) -> String {
    let time = value.as_u64();
    time.map_or_else(String::new, |ms| {
        format!("  {}.{:03} s", ms / 1000, ms % 1000)
    })
}

/// Counts, then the tests: of those that failed the message and the trace.
fn of_run(answer: &Value) -> String {
    let counts = &answer["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap_or_default();
    if count("total") == 0 && answer["jobs"].as_array().is_none_or(Vec::is_empty) {
        return "the run's jobs left no reports of tests\n".to_owned();
    }
    let mut out = format!(
        "{} tests: {} failed ({} in quarantine), {} passed, {} skipped, {} flaky\n",
        count("total"),
        count("failed"),
        count("quarantined"),
        count("passed"),
        count("skipped"),
        count("flaky")
    );
    for job in answer["jobs"].as_array().into_iter().flatten() {
        for note in job["notes"].as_array().into_iter().flatten() {
            let note = note.as_str().unwrap_or_default();
            let _ = writeln!(out, "note of {}: {note}", text(job, "name"));
        }
    }
    for test in answer["tests"].as_array().into_iter().flatten() {
        one(&mut out, test);
    }
    out
}

fn one(out: &mut String, test: &Value) {
    let mut word = text(test, "outcome").to_owned();
    if test["flaky_on_commit"] == true {
        word += ", flaky";
    }
    if let Some(why) = test["quarantine"].as_str() {
        let _ = write!(word, ", in quarantine: {why}");
    }
    let place = match (text(test, "file"), test["line"].as_u64()) {
        ("", _) => String::new(),
        (file, Some(line)) => format!("  {file}:{line}"),
        (file, None) => format!("  {file}"),
    };
    let _ = writeln!(
        out,
        "\n{}  [{}]  {word}{}{place}",
        full_name(test),
        text(test, "job"),
        time(&test["duration_ms"])
    );
    let failure = &test["failure"];
    let (message, detail) = (text(failure, "message"), text(failure, "detail"));
    let repeats = detail
        .trim_start()
        .starts_with(message.trim_end_matches('…'));
    let shown = [
        (message, !repeats),
        (detail, true),
        (text(failure, "output"), true),
    ];
    for (part, _) in shown
        .iter()
        .filter(|(part, is_shown)| *is_shown && !part.is_empty())
    {
        for line in part.lines().take(MAX_TRACE_LINES) {
            let _ = writeln!(out, "    {line}");
        }
        if part.lines().nth(MAX_TRACE_LINES).is_some() {
            out.push_str("    … (--json has all that is kept)\n");
        }
    }
}

fn of_repository(answer: &Value) -> String {
    let tests = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    if tests.is_empty() {
        return "no test of the newest runs is like that\n".to_owned();
    }
    let mut out = String::new();
    for test in tests {
        let count = |name: &str| test[name].as_u64().unwrap_or_default();
        let flaky = test["flaky_on"]
            .as_array()
            .map(Vec::len)
            .unwrap_or_default();
        let _ = write!(
            out,
            "{}  [{}]  {} runs, {} failed",
            full_name(test),
            text(test, "job"),
            count("runs"),
            count("failed")
        );
        if flaky > 0 {
            let _ = write!(out, ", flaky on {flaky} commits");
        }
        if test["quarantined"] == true {
            out.push_str(", in quarantine");
        }
        let last = &test["last"];
        let _ = writeln!(
            out,
            ", last {}{}",
            text(last, "outcome"),
            time(&test["mean_ms"])
        );
    }
    out
}

fn history(answer: &Value) -> String {
    let histories = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    if histories.is_empty() {
        return "no run that is kept has this test: name it as `suite > name`\n".to_owned();
    }
    let mut out = String::new();
    for history in histories {
        let (workflow, job) = (text(history, "workflow"), text(history, "job"));
        let _ = writeln!(out, "{}  [{workflow}, {job}]", full_name(history));
        for run in history["runs"].as_array().into_iter().flatten() {
            let flaky = if run["flaky"] == true { ", flaky" } else { "" };
            let held = if run["quarantined"] == true {
                ", in quarantine"
            } else {
                ""
            };
            let sha = text(run, "sha");
            let _ = writeln!(
                out,
                "  {}  {}  {}{flaky}{held}{}",
                text(run, "run"),
                sha.get(..12).unwrap_or(sha),
                text(run, "outcome"),
                time(&run["duration_ms"])
            );
        }
    }
    out
}
