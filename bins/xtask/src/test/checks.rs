//! What the steps of a whole run do.

use std::time::SystemTime;

use anyhow::{Result, bail};

use super::at_once;
use super::counts::{self, TestRunCounts};
use super::setting::{StepReport, StepSettings, counted, passed, skipped};
use super::summary::TestStepResult;
use crate::prerequisites::{self, PLAYWRIGHT};
use crate::project::ProjectCheckout;
use crate::{docs, fuzz, install, shell, soak, terminal, tidy, up};

/// What the other steps need of the machine is installed: beside steps that compute, as it waits
/// for registries for most of its time.
pub(super) fn install_tools(setting: &StepSettings<'_>) -> StepReport {
    let project = setting.project;
    setting.tools()?;
    for tool in ["cargo-nextest", "cargo-deny", "cargo-fuzz"] {
        // One that cannot be fetched is built by the step that needs it.
        install::found_or_fetched(project, tool)?;
    }
    super::web::install_packages(project)?;
    passed()
}

/// The programs and the tests are built.
pub(super) fn build(setting: &StepSettings<'_>) -> StepReport {
    setting.build()?;
    passed()
}

/// All code is formatted.
pub(super) fn fmt(setting: &StepSettings<'_>) -> StepReport {
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

/// The project's own rules hold.
pub(super) fn check_tidy(setting: &StepSettings<'_>) -> StepReport {
    match tidy::report(&tidy::check(setting.project)?, true) {
        0 => passed(),
        errors => bail!("{errors} rules are broken"),
    }
}

/// Dependencies are what the project allows.
pub(super) fn deny(setting: &StepSettings<'_>) -> StepReport {
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
        return Ok((TestRunCounts::default(), TestStepResult::Partly(reason)));
    }
    shell::run(&mut shell::cargo_tool(
        &tool,
        root,
        &["check", "--disable-fetch", "advisories"],
    ))?;
    passed()
}

/// No target has a lint's warning.
pub(super) fn clippy(setting: &StepSettings<'_>) -> StepReport {
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

/// The unit and integration tests, by cargo-nextest where it can be had.
pub(super) fn test(setting: &StepSettings<'_>) -> StepReport {
    let tools = setting.tools()?;
    setting.build()?;
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
        tools.apply(&mut runner);
        // Both tries of a property test see the same cases, so a second try hides nothing that it
        // has found.
        runner.env("PROPTEST_RNG_SEED", seed().to_string());
        return counted(&mut runner, counts::parse_nextest);
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
    tools.apply(&mut runner);
    counted(&mut runner, counts::parse_cargo_test)
}

/// Another one in every run; it is shown with the command.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::from(now.unwrap_or_default().subsec_nanos())
}

/// The examples in the documentation.
pub(super) fn doctest(setting: &StepSettings<'_>) -> StepReport {
    let arguments = ["test", "--workspace", "--doc", "--no-fail-fast"];
    counted(
        &mut shell::cargo(&setting.project.root, &arguments),
        counts::parse_cargo_test,
    )
}

/// Generated pages are what their sources give, and rustdoc has no warning.
pub(super) fn check_docs(setting: &StepSettings<'_>) -> StepReport {
    docs::check(setting.project)?;
    docs::check_api(setting.project)?;
    passed()
}

/// Few kills; `cargo xtask soak` for the whole claim.
pub(super) fn short_soak(setting: &StepSettings<'_>) -> StepReport {
    setting.build()?;
    soak::short(setting.project)?;
    passed()
}

/// The quick start runs through.
pub(super) fn quick_start(setting: &StepSettings<'_>) -> StepReport {
    setting.build()?;
    up::demonstrate(setting.project)?;
    passed()
}

/// The fuzz targets are built.
pub(super) fn build_fuzz_targets(setting: &StepSettings<'_>) -> StepReport {
    if !fuzz::exists(setting.project) {
        return skipped("there are no fuzz targets");
    }
    fuzz::build_targets(setting.project)?;
    passed()
}

/// Each fuzz target for a short time.
pub(super) fn short_fuzz(setting: &StepSettings<'_>) -> StepReport {
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

/// The web application's own checks.
pub(super) fn web(setting: &StepSettings<'_>) -> StepReport {
    super::web::check(setting.project)?;
    passed()
}

/// The pages in a real Chromium.
pub(super) fn browser(setting: &StepSettings<'_>) -> StepReport {
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
    setting.build()?;
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
    counted(&mut command, counts::parse_node)
}

fn web_changed(project: &ProjectCheckout) -> Result<bool> {
    let mut git = shell::command("git", &project.root);
    let status = shell::quiet(git.args(["status", "--porcelain", "--", "web"]))?;
    Ok(!status.status.success() || !status.out.trim().is_empty())
}
