//! What a program that holds secrets does first.

use rustix::process::DumpableBehavior;

/// Makes the files this program writes private to its user, and keeps other processes of that user
/// from reading its memory and environment, secrets in them included.
pub fn harden_process() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // A kernel that refuses leaves what the file system protects.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
