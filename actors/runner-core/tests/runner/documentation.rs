//! docs/WORKFLOWS.md names what the code has.

use runner_core::expr::{ContextName, Function};
use runner_core::plan::native_actions;

const PAGE: &str = include_str!("../../../../docs/WORKFLOWS.md");

#[test]
fn the_page_names_every_action_function_and_context() {
    let contexts = ContextName::ALL.iter().map(|context| context.name());
    for name in native_actions().chain(Function::NAMES).chain(contexts) {
        assert!(
            PAGE.contains(&format!("`{name}`")),
            "{name} is not in docs/WORKFLOWS.md"
        );
    }
}
