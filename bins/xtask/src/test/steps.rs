//! The steps of a test run, cheap ones first.

use std::process::Command;
use std::time::SystemTime;

use anyhow::{Result, bail};

use super::at_once;
use super::counts::{self, Counts};
use super::summary::StepResult;
use crate::prerequisites::{self, PLAYWRIGHT};
use crate::project::Project;
use crate::{docs, fuzz, install, install_test, shell, soak, terminal, tidy, up};

/// What the steps are run with.
#[derive(Debug)]
pub(super) struct Setting<'a> {
    pub(super) project: &'a Project,
    /// Seconds for each fuzz target.
    pub(super) fuzz_seconds: u32,
    /// Run the browser tests whatever has changed.
    pub(super) browser: bool,
}

/// What a step gives: the tests it counted, and its verdict.
type StepReport = Result<(Counts, StepResult)>;

/// One step.
#[derive(Debug)]
pub(super) struct Step {
    /// What `--only` calls it.
    pub(super) name: &'static str,
    /// What it checks.
    pub(super) about: &'static str,
    /// Runs it.
    pub(super) run: fn(&Setting<'_>) -> StepReport,
    /// Whether it takes so long that only `--only` runs it.
    pub(super) on_request: bool,
}

/// All steps in their order.
pub(super) const STEPS: [Step; 15] = [
    Step {
        name: "fmt",
        about: "the formatting",
        run: fmt,
        on_request: false,
    },
    Step {
        name: "tidy",
        about: "layers, owners, headers, links, samples",
        run: check_tidy,
        on_request: false,
    },
    Step {
        name: "deny",
        about: "licences, bans, sources, advisories",
        run: deny,
        on_request: false,
    },
    Step {
        name: "clippy",
        about: "lints of all targets, warnings denied",
        run: clippy,
        on_request: false,
    },
    Step {
        name: "test",
        about: "unit and integration tests",
        run: test,
        on_request: false,
    },
    Step {
        name: "doctest",
        about: "examples in the documentation",
        run: doctest,
        on_request: false,
    },
    Step {
        name: "docs",
        about: "generated pages, and warnings of rustdoc",
        run: check_docs,
        on_request: false,
    },
    Step {
        name: "up",
        about: "the quick start, once",
        run: quick_start,
        on_request: false,
    },
    Step {
        name: "soak",
        about: "kills of all products under load, a few",
        run: short_soak,
        on_request: false,
    },
    Step {
        name: "fuzz",
        about: "each fuzz target for a short time",
        run: short_fuzz,
        on_request: false,
    },
    Step {
        name: "web",
        about: "types, unit tests and built files of the web application",
        run: web,
        on_request: false,
    },
    Step {
        name: "browser",
        about: "the pages in a real Chromium",
        run: browser,
        on_request: false,
    },
    Step {
        name: "hostile",
        about: "hostile guests, agents and pull requests against optimised builds (only with --only)",
        run: hostile,
        on_request: true,
    },
    Step {
        name: "containers",
        about: "containers of workflows in VMs with the image `full`, made first (only with --only)",
        run: containers,
        on_request: true,
    },
    Step {
        name: "install",
        about: "Debian packages on a machine with systemd: install, upgrade, remove (only with --only)",
        run: packages,
        on_request: true,
    },
];

fn fmt(setting: &Setting<'_>) -> StepReport {
    let root = &setting.project.root;
    shell::run(&mut shell::cargo(root, &["fmt", "--all", "--check"]))?;
    if fuzz::exists(setting.project) {
        let manifest = "integration-tests/fuzz/Cargo.toml";
        shell::run(&mut shell::cargo(
            root,
            &["fmt", "--check", "--manifest-path", manifest],
        ))?;
    }
    passed()
}

fn check_tidy(setting: &Setting<'_>) -> StepReport {
    match tidy::report(&tidy::check(setting.project)?, true) {
        0 => passed(),
        errors => bail!("{errors} rules are broken"),
    }
}

fn deny(setting: &Setting<'_>) -> StepReport {
    let tool = install::cargo_tool(setting.project, "cargo-deny")?;
    let root = &setting.project.root;
    // It reads the manifests of the packages of all platforms; a machine that has built nothing yet
    // has none.
    shell::run(&mut shell::cargo(root, &["fetch", "--locked"]))?;
    shell::run(&mut shell::cargo_tool(
        &tool,
        root,
        &["--offline", "check", "licenses", "bans", "sources"],
    ))?;
    // The database of advisories is no package: many machines that build this cannot reach it.
    let mut fetch = shell::command("timeout", root);
    fetch.arg("30").arg(&tool).args(["deny", "fetch", "db"]);
    let fetched = shell::quiet(&mut fetch)?;
    if !fetched.status.success() {
        let reason = fetched
            .err
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty());
        let reason = reason.unwrap_or("no answer in 30 s").trim();
        let reason = format!("without advisories, their database cannot be fetched: {reason}");
        terminal::line(&reason);
        return Ok((Counts::default(), StepResult::Partly(reason)));
    }
    shell::run(&mut shell::cargo_tool(
        &tool,
        root,
        &["check", "--disable-fetch", "advisories"],
    ))?;
    passed()
}

fn clippy(setting: &Setting<'_>) -> StepReport {
    // After `--`: as RUSTFLAGS it would build every dependency a second time.
    let arguments = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--keep-going",
        "--",
        "-D",
        "warnings",
    ];
    shell::run(&mut shell::cargo(&setting.project.root, &arguments))?;
    passed()
}

/// The programs are built too, with the same features: integration tests and later steps start
/// them.
fn build_programs(setting: &Setting<'_>) -> Result<()> {
    shell::run(&mut shell::cargo(
        &setting.project.root,
        &["build", "--workspace", "--bins", "--tests"],
    ))
}

fn test(setting: &Setting<'_>) -> StepReport {
    let environment = prerequisites::prepare(setting.project)?;
    build_programs(setting)?;
    let root = &setting.project.root;
    if let Some(nextest) = install::found_or_fetched(setting.project, "cargo-nextest")? {
        let report = at_once::prepare(setting.project)?;
        let arguments = [
            "run",
            "--tool-config-file",
            &report,
            "--workspace",
            "--no-fail-fast",
            "--status-level",
            "retry",
            "--retries",
            "1",
        ];
        let mut runner = shell::cargo_tool(&nextest, root, &arguments);
        environment.apply(&mut runner);
        // Both tries of a property test see the same cases, so a second try hides nothing that it
        // has found.
        runner.env("PROPTEST_RNG_SEED", seed().to_string());
        return counted(&mut runner, counts::of_nextest);
    }
    let arguments = [
        "test",
        "--workspace",
        "--lib",
        "--bins",
        "--tests",
        "--no-fail-fast",
    ];
    let mut runner = shell::cargo(root, &arguments);
    environment.apply(&mut runner);
    counted(&mut runner, counts::of_cargo_test)
}

/// The packages that meet hostile guests, agents and pull requests. Others need not be built once
/// more.
const ATTACKED: [&str; 22] = [
    "config-core",
    "redaction-core",
    "search-core",
    "orchestrator-core",
    "vm-core",
    "git-engine",
    "orchestrator-engine",
    "vm-engine",
    "search-actors",
    "runner-actors",
    "vm-actors",
    "edge-web",
    "search-web",
    "runner-web",
    "orchestrator-web",
    "daemon",
    "search-server",
    "service-agent",
    "workflow-runner",
    "vm-manager",
    "orchestrator",
    "platform",
];

/// Their tests, by the ids of the attacks.
const ATTACKS: &str = "test(/(^|::)t(1|2|3|4|5|6|9|11)_/)";

fn hostile(setting: &Setting<'_>) -> StepReport {
    let packages = ATTACKED.iter().flat_map(|package| ["-p", *package]);
    let arguments = ["--release", "--retries", "1", "-E", ATTACKS];
    chosen_tests(setting, arguments.into_iter().chain(packages))
}

fn containers(setting: &Setting<'_>) -> StepReport {
    build_programs(setting)?;
    let arguments = ["-p", "workflow-runner", "--test", "containers"];
    chosen_tests(
        setting,
        arguments.into_iter().chain(["--run-ignored", "all"]),
    )
}

/// Runs some tests by cargo-nextest, with all that they need of the machine.
fn chosen_tests<'a>(setting: &Setting<'_>, arguments: impl Iterator<Item = &'a str>) -> StepReport {
    if shell::which("cargo-nextest").is_none() {
        bail!(
            "it needs cargo-nextest: only that builds tests with a profile and chooses them by their ids"
        );
    }
    let parts = prerequisites::prepare(setting.project)?;
    let run = ["nextest", "run", "--no-fail-fast"];
    let mut runner = shell::cargo(&setting.project.root, &run);
    runner.args(arguments);
    parts.apply(&mut runner);
    counted(&mut runner, counts::of_nextest)
}

/// Another one in every run; it is shown with the command.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::from(now.unwrap_or_default().subsec_nanos())
}

fn doctest(setting: &Setting<'_>) -> StepReport {
    let arguments = ["test", "--workspace", "--doc", "--no-fail-fast"];
    counted(
        &mut shell::cargo(&setting.project.root, &arguments),
        counts::of_cargo_test,
    )
}

fn check_docs(setting: &Setting<'_>) -> StepReport {
    docs::check(setting.project)?;
    docs::build_api(setting.project)?;
    passed()
}

/// Few kills; `cargo xtask soak` for the whole claim.
fn short_soak(setting: &Setting<'_>) -> StepReport {
    build_programs(setting)?;
    soak::short(setting.project)?;
    passed()
}

fn quick_start(setting: &Setting<'_>) -> StepReport {
    build_programs(setting)?;
    up::demonstrate(setting.project)?;
    passed()
}

fn short_fuzz(setting: &Setting<'_>) -> StepReport {
    if !fuzz::exists(setting.project) {
        return skipped("there are no fuzz targets");
    }
    let targets = fuzz::targets(setting.project)?;
    let broken = fuzz::run_targets(setting.project, &targets, setting.fuzz_seconds)?;
    if !broken.is_empty() {
        bail!("broken by an input: {}", broken.join(", "));
    }
    passed()
}

fn web(setting: &Setting<'_>) -> StepReport {
    super::web::check(setting.project)?;
    passed()
}

fn browser(setting: &Setting<'_>) -> StepReport {
    let project = setting.project;
    let tests = project.root.join("web/ui/tests");
    if !tests.is_dir() {
        return skipped("there are no browser tests");
    }
    if !setting.browser && !web_changed(project)? {
        return skipped("nothing under web/ differs from HEAD; --browser runs them all the same");
    }
    let node = install::program(&["node"], "nodejs")?;
    let chromium = install::program(
        &["chromium", "chromium-browser", "google-chrome"],
        "chromium",
    )?;
    let modules = install::node_package(project, PLAYWRIGHT.0, PLAYWRIGHT.1)?;
    super::web::install_packages(project)?;
    prerequisites::prepare_machines()?;
    build_programs(setting)?;
    let mut files: Vec<_> = std::fs::read_dir(&tests)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.retain(|file| file.to_string_lossy().ends_with(".test.mjs"));
    files.sort();
    let mut command = shell::command(&node.to_string_lossy(), &project.root);
    command.args(["--test", "--test-reporter=spec"]).args(files);
    command.env("NODE_PATH", modules).env("CHROMIUM", chromium);
    let programs = project.target()?.join("debug");
    command.env("SEARCH_SERVER", programs.join("search-server"));
    command.env("PLATFORM", programs.join("platform"));
    command.env("VM_GUEST", prerequisites::vm_guest(project)?);
    command.env("VM_CACHE", project.cache.join("vm"));
    counted(&mut command, counts::of_node)
}

fn packages(setting: &Setting<'_>) -> StepReport {
    let report = install_test::run(setting.project)?;
    for (name, seconds) in &report.figures {
        terminal::line(&format!("{name}: {seconds} s"));
    }
    let counts = Counts {
        passed: report.passed,
        failed: report.failed,
        ..Counts::default()
    };
    let missed = report.missed();
    let outcome = if report.failed > 0 {
        StepResult::Failed("a step on the machine failed".to_owned())
    } else if missed.is_empty() {
        StepResult::Passed
    } else {
        StepResult::Failed(missed.join("; "))
    };
    Ok((counts, outcome))
}

fn web_changed(project: &Project) -> Result<bool> {
    let mut git = shell::command("git", &project.root);
    let status = shell::quiet(git.args(["status", "--porcelain", "--", "web"]))?;
    Ok(!status.status.success() || !status.out.trim().is_empty())
}

/// Tests start real processes, machines and browsers, and wait for them; on a machine that is held
/// up one or two may miss a deadline. They are tried once more and counted; more of them are a
/// fault.
const MAX_FLAKY: u64 = 3;

/// Runs a test runner: its exit code decides, its closing line is counted.
fn counted(command: &mut Command, read: fn(&str) -> Option<Counts>) -> StepReport {
    let finished = shell::tee(command)?;
    let counts = read(&finished.text());
    let outcome = match (finished.status.success(), counts) {
        (true, Some(counts)) if counts.flaky > MAX_FLAKY => {
            StepResult::Failed(format!("more than {MAX_FLAKY} tests needed a second try"))
        }
        (true, Some(_)) => StepResult::Passed,
        (true, None) => {
            StepResult::Failed("it ended well, but without its closing line".to_owned())
        }
        (false, _) => {
            StepResult::Failed(format!("`{}`: {}", shell::shown(command), finished.status))
        }
    };
    Ok((counts.unwrap_or_default(), outcome))
}

fn passed() -> StepReport {
    Ok((Counts::default(), StepResult::Passed))
}

fn skipped(reason: &str) -> StepReport {
    Ok((Counts::default(), StepResult::Skipped(reason.to_owned())))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn outcome_of(script: &str) -> (Counts, StepResult) {
        let mut sh = shell::command("sh", Path::new("/"));
        counted(sh.args(["-c", script]), counts::of_node).expect("sh starts")
    }

    #[test]
    fn a_runner_passes_only_with_its_exit_code_and_its_closing_line() {
        let both = "echo '# pass 2'; echo '# fail 0'";
        assert_eq!(
            outcome_of(both),
            (
                Counts {
                    passed: 2,
                    ..Counts::default()
                },
                StepResult::Passed
            )
        );
        assert!(
            matches!(outcome_of("true").1, StepResult::Failed(_)),
            "no closing line"
        );
        let (counts, outcome) = outcome_of(&format!("{both}; exit 1"));
        assert!(matches!(outcome, StepResult::Failed(_)), "a bad exit");
        assert_eq!(counts.passed, 2);
    }
}
