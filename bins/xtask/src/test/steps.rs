//! The steps of a test run, in the order in which they begin where they can.

use super::setting::{StepReport, StepSettings};
use super::work::Work;
use super::{checks, requested};

/// One step.
#[derive(Debug)]
pub(super) struct TestStep {
    /// What `--only` calls it.
    pub(super) name: &'static str,
    /// What it checks.
    pub(super) about: &'static str,
    /// Runs it.
    pub(super) run: fn(&StepSettings<'_>) -> StepReport,
    /// What it does to the machine: which others may stand beside it.
    pub(super) work: Work,
    /// The steps that it waits for, where they are run.
    pub(super) after: &'static [&'static str],
    /// Whether it takes so long that only `--only` runs it.
    pub(super) on_request: bool,
}

/// All steps in their order.
pub(super) const STEPS: [TestStep; 18] = [
    TestStep {
        name: "tools",
        about: "what the tests need of the machine, installed where it is missing",
        run: checks::install_tools,
        work: Work::Installs,
        after: &[],
        on_request: false,
    },
    TestStep {
        name: "clippy",
        about: "lints of all targets, warnings denied",
        run: checks::clippy,
        work: Work::Compiles,
        after: &[],
        on_request: false,
    },
    TestStep {
        name: "fmt",
        about: "the formatting",
        run: checks::fmt,
        work: Work::Reads,
        after: &[],
        on_request: false,
    },
    TestStep {
        name: "tidy",
        about: "layers, owners, headers, links, samples",
        run: checks::check_tidy,
        work: Work::Reads,
        after: &[],
        on_request: false,
    },
    TestStep {
        name: "deny",
        about: "licences, bans, sources, advisories",
        run: checks::deny,
        work: Work::Reads,
        after: &["tools"],
        on_request: false,
    },
    TestStep {
        name: "build",
        about: "the programs and the tests",
        run: checks::build,
        work: Work::Compiles,
        after: &[],
        on_request: false,
    },
    TestStep {
        name: "test",
        about: "unit and integration tests",
        run: checks::test,
        work: Work::Tests,
        after: &["tools", "build"],
        on_request: false,
    },
    TestStep {
        name: "fuzzers",
        about: "the fuzz targets are built",
        run: checks::build_fuzz_targets,
        work: Work::CompilesApart,
        after: &["tools"],
        on_request: false,
    },
    TestStep {
        name: "up",
        about: "the quick start, once",
        run: checks::quick_start,
        work: Work::Programs,
        after: &["tools", "build"],
        on_request: false,
    },
    TestStep {
        name: "doctest",
        about: "examples in the documentation",
        run: checks::doctest,
        work: Work::Compiles,
        after: &["build"],
        on_request: false,
    },
    TestStep {
        name: "soak",
        about: "kills of all products under load, a few",
        run: checks::short_soak,
        work: Work::Programs,
        after: &["tools", "build"],
        on_request: false,
    },
    TestStep {
        name: "docs",
        about: "generated pages, and warnings of rustdoc",
        run: checks::check_docs,
        work: Work::Compiles,
        after: &["build"],
        on_request: false,
    },
    TestStep {
        name: "web",
        about: "types, unit tests and built files of the web application",
        run: checks::web,
        work: Work::Writes,
        after: &["tools"],
        on_request: false,
    },
    TestStep {
        name: "fuzz",
        about: "each fuzz target for a short time",
        run: checks::short_fuzz,
        work: Work::Fuzzes,
        after: &["fuzzers"],
        on_request: false,
    },
    TestStep {
        name: "browser",
        about: "the pages in a real Chromium",
        run: checks::browser,
        work: Work::Alone,
        after: &[],
        on_request: false,
    },
    TestStep {
        name: "hostile",
        about: "hostile guests, agents and pull requests against optimised builds (only with --only)",
        run: requested::hostile,
        work: Work::Alone,
        after: &[],
        on_request: true,
    },
    TestStep {
        name: "containers",
        about: "containers of workflows in VMs with the image `full`, made first (only with --only)",
        run: requested::containers,
        work: Work::Alone,
        after: &[],
        on_request: true,
    },
    TestStep {
        name: "install",
        about: "Debian packages on a machine with systemd: install, upgrade, remove (only with --only)",
        run: requested::packages,
        work: Work::Alone,
        after: &[],
        on_request: true,
    },
];
