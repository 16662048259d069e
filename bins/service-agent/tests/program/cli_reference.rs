//! The `--help` of these programs and of each subcommand is what docs/CLI.md shows.

#[path = "../../../xtask/src/docs/help.rs"]
mod help;

#[test]
fn the_cli_reference_is_current() {
    help::assert_current("service-agent", env!("CARGO_BIN_EXE_service-agent"));
    help::assert_current("service-cli", env!("CARGO_BIN_EXE_service-cli"));
}
