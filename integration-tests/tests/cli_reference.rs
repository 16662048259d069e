//! The `--help` of the soak is what docs/CLI.md shows.

#[path = "../../bins/xtask/src/docs/help.rs"]
mod help;

#[test]
fn the_cli_reference_is_current() {
    help::assert_current("soak", env!("CARGO_BIN_EXE_soak"));
}
