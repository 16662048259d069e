//! The `--help` of this program and of each subcommand is what docs/CLI.md shows.

#[path = "../../../xtask/src/docs/help.rs"]
mod help;

#[test]
fn the_cli_reference_is_current() {
    help::assert_current("workflow-runner", env!("CARGO_BIN_EXE_workflow-runner"));
}
