//! Tasks kept on this machine: Taskwarrior's export, todo.txt, Beads.

mod beads;
mod taskwarrior;
mod todo_txt;

pub use beads::beads;
pub use taskwarrior::taskwarrior;
pub use todo_txt::todo_txt;

/// `status:pending`, `project:x`, …: states are searched like tags.
fn labelled(name: &str, value: &str) -> Option<String> {
    let value = value.trim();
    (!value.is_empty()).then(|| format!("{name}:{value}"))
}
