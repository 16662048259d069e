//! Commands in the output of scripts that GitHub has given up (page "Workflow commands").

use super::reader::WorkflowReader;
use super::types::Step;
use super::types::StepWork;

/// The command, what it is called in a script, and what is written instead.
const GIVEN_UP: [(&str, &str, &str); 4] = [
    (
        "set-output",
        "::set-output ",
        "`echo \"name=value\" >> \"$GITHUB_OUTPUT\"`",
    ),
    (
        "save-state",
        "::save-state ",
        "`echo \"name=value\" >> \"$GITHUB_STATE\"`",
    ),
    (
        "set-env",
        "::set-env ",
        "`echo \"NAME=value\" >> \"$GITHUB_ENV\"`; this command fails its step",
    ),
    (
        "add-path",
        "::add-path::",
        "`echo \"directory\" >> \"$GITHUB_PATH\"`; this command fails its step",
    ),
];

/// Warns of each such command of a script, once.
pub(super) fn check(reader: &WorkflowReader<'_>, step: &Step) {
    let StepWork::Run { script, .. } = &step.work else {
        return;
    };
    for (name, written, instead) in GIVEN_UP {
        let Some(at) = script.source.find(written) else {
            continue;
        };
        let quoted_before = script.source[..at].ends_with(['"', '\'', ' ', '\n', '\t', 'e']);
        if at == 0 || quoted_before {
            let message = format!("the command `{name}` is given up");
            reader.warn(script.place, message, format!("write {instead}"));
        }
    }
}
