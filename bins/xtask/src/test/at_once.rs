//! What cargo-nextest is told: how many tests run at once, which first, and where its report goes.

use std::path::Path;
use std::thread;

use anyhow::{Context, Result};

use super::slowest;
use crate::project::ProjectCheckout;

/// Tests at once for each processor: they wait for disks, processes and clocks for more than half
/// of their time.
const FOR_EACH_PROCESSOR: usize = 2;

/// Tests that emulate a machine, which takes a processor whole: each counts as two.
const MACHINES: &str = "package(vm-engine) | package(vm-manager) | package(integration-tests) \
    | (package(workflow-runner) & (binary(containers) \
    | test(/^(go_back|job_token|shells)::/)))";

/// Tests of a minute and more: begun first, so that none is waited for alone at the end.
const LONG: &str = "(package(search-server) & binary(snapshots)) \
    | (package(runner-web) & test(/^(application|browser)::people_/)) \
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
    let at_once = processors * FOR_EACH_PROCESSOR;
    format!(
        "[profile.default]\ntest-threads = {at_once}\n\n\
         [profile.default.junit]\npath = '{}'\n\n\
         [[profile.default.overrides]]\nfilter = '{MACHINES}'\nthreads-required = 2\n\n\
         [[profile.default.overrides]]\nfilter = '{LONG}'\npriority = 100\n",
        report.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_two_tests_run_for_each_processor_and_machines_count_twice() {
        let config: toml::Table = text(Path::new("/target/report.xml"), 2).parse().unwrap();
        let profile = &config["profile"]["default"];
        assert_eq!(profile["test-threads"].as_integer(), Some(4));
        assert_eq!(
            profile["junit"]["path"].as_str(),
            Some("/target/report.xml")
        );
        let overrides = profile["overrides"].as_array().unwrap();
        assert_eq!(overrides[0]["threads-required"].as_integer(), Some(2));
        assert_eq!(overrides[1]["priority"].as_integer(), Some(100));
    }
}
