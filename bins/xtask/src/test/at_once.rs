//! What cargo-nextest is told: how many tests run at once, which first, and where its report goes.

use std::path::Path;
use std::thread;

use anyhow::{Context, Result};

use super::slowest;
use crate::project::ProjectCheckout;

/// Tests at once for each processor: they wait for disks, processes and clocks for more than half
/// of their time.
const FOR_EACH_PROCESSOR: usize = 2;

/// What a test counts for, so that some can count for less.
const EACH: usize = 4;

/// Tests that stand still for a minute or two, until a runner collects what ended runs left: there
/// is room for all of them beside the others.
const WAITING: &str = "package(workflow-runner) & test(/^(objects|upload_kills)::/)";

/// How many those are.
const COUNT_WAITING: usize = 3;

/// Tests that emulate a machine, which takes a processor whole: each counts as two.
const MACHINES: &str = "package(vm-engine) | package(vm-manager) | package(integration-tests) \
    | (package(workflow-runner) & (binary(containers) \
    | test(/^(go_back|job_token|shells)::/)))";

/// Tests of a minute and more: begun first, so that none is waited for alone at the end.
const LONG: &str = "(package(search-server) & binary(snapshots)) \
    | (package(workflow-runner) & test(/^(objects|upload_kills)::/)) \
    | (package(store) & test(/^crash_kills::/))";

/// Writes nextest's configuration of a run; returns the value of `--tool-config-file`.
///
/// # Errors
/// When the build folder cannot be written to.
pub(super) fn prepare(project: &ProjectCheckout) -> Result<String> {
    let config = project.target()?.join("xtask-nextest.toml");
    // A relative path would be below `target` of the checkout, wherever cargo builds.
    let report = slowest::file(project)?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    std::fs::write(&config, text(&report, processors))
        .with_context(|| format!("{} cannot be written", config.display()))?;
    Ok(format!("xtask:{}", config.display()))
}

fn text(report: &Path, processors: usize) -> String {
    let at_once = processors * FOR_EACH_PROCESSOR * EACH + COUNT_WAITING;
    let machine = 2 * EACH;
    format!(
        "[profile.default]\ntest-threads = {at_once}\nthreads-required = {EACH}\n\n\
         [profile.default.junit]\npath = '{}'\n\n\
         [[profile.default.overrides]]\nfilter = '{WAITING}'\nthreads-required = 1\n\n\
         [[profile.default.overrides]]\nfilter = '{MACHINES}'\nthreads-required = {machine}\n\n\
         [[profile.default.overrides]]\nfilter = '{LONG}'\npriority = 100\n",
        report.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_two_tests_run_for_each_processor_machines_count_twice_and_who_waits_has_room() {
        let config: toml::Table = text(Path::new("/target/report.xml"), 2).parse().unwrap();
        let profile = &config["profile"]["default"];
        let all = profile["test-threads"].as_integer().unwrap();
        let each = profile["threads-required"].as_integer().unwrap();
        assert_eq!(all / each, 4);
        assert_eq!(
            profile["junit"]["path"].as_str(),
            Some("/target/report.xml")
        );
        let overrides = profile["overrides"].as_array().unwrap();
        let required = |at: usize| overrides[at]["threads-required"].as_integer();
        // All three that wait, beside four others.
        assert_eq!(3 * required(0).unwrap() + 4 * each, all);
        assert_eq!(required(1), Some(2 * each));
        assert_eq!(overrides[2]["priority"].as_integer(), Some(100));
    }
}
