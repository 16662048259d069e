//! The `--help` of these programs and of each subcommand is what docs/CLI.md shows.

#[path = "../../xtask/src/docs/help.rs"]
mod help;

#[test]
fn the_cli_reference_is_current() {
    help::assert_current("orchctl", env!("CARGO_BIN_EXE_orchctl"));
    help::assert_current("build-dispatch", env!("CARGO_BIN_EXE_build-dispatch"));
}
