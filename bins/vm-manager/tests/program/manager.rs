//! The manager's program.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Long enough on a machine that does other things as well; the first run builds an image.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);

/// The program, with nothing in its environment but `PATH` and a home.
pub(crate) fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vm-manager"));
    command
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("VM_MANAGER_DATA", home.join("data"))
        .env("VM_MANAGER_LISTEN", "127.0.0.1:0")
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

pub(crate) fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}
