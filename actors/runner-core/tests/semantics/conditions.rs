//! `if` of steps and jobs.

use runner_core::expr::{ExprScope, IfCondition, StatusFlags};
use runner_core::source_location::SourceLocation;

const IF: &str = "Workflow syntax: jobs.<job_id>.steps[*].if";
const STATUS: &str = "Evaluate expressions in workflows and actions: Status check functions";

/// Page, condition (`-` is none), how it went so far, whether it runs.
pub(crate) const CASES: &[(&str, &str, StatusFlags, bool)] = &[
    (STATUS, "-", StatusFlags::SUCCESS, true),
    (STATUS, "-", StatusFlags::FAILURE, false),
    (STATUS, "-", StatusFlags::CANCELLED, false),
    (
        IF,
        "github.event_name == 'push'",
        StatusFlags::SUCCESS,
        true,
    ),
    (
        IF,
        "github.event_name == 'push'",
        StatusFlags::FAILURE,
        false,
    ),
    (
        IF,
        "${{ github.event_name == 'pull_request' }}",
        StatusFlags::SUCCESS,
        false,
    ),
    (
        IF,
        "${{ ! startsWith(github.ref, 'refs/tags/') }}",
        StatusFlags::SUCCESS,
        true,
    ),
    (STATUS, "failure()", StatusFlags::SUCCESS, false),
    (STATUS, "failure()", StatusFlags::FAILURE, true),
    (
        STATUS,
        "failure() && steps.build.conclusion == 'failure'",
        StatusFlags::FAILURE,
        false,
    ),
    (STATUS, "always()", StatusFlags::CANCELLED, true),
    (STATUS, "${{ always() }}", StatusFlags::FAILURE, true),
    (STATUS, "cancelled()", StatusFlags::CANCELLED, true),
    (STATUS, "cancelled()", StatusFlags::FAILURE, false),
    (STATUS, "!cancelled()", StatusFlags::FAILURE, true),
    (STATUS, "success() || failure()", StatusFlags::FAILURE, true),
    (
        STATUS,
        "success() || failure()",
        StatusFlags::CANCELLED,
        false,
    ),
    (
        STATUS,
        "always() && github.event_name == 'x'",
        StatusFlags::FAILURE,
        false,
    ),
    (
        IF,
        "steps.build.outputs.version",
        StatusFlags::SUCCESS,
        true,
    ),
    (
        IF,
        "steps.nothing.outputs.version",
        StatusFlags::SUCCESS,
        false,
    ),
    (IF, "'false'", StatusFlags::SUCCESS, true),
    (IF, "${{ false }} || true", StatusFlags::SUCCESS, true),
    (IF, "${{ false }}", StatusFlags::SUCCESS, false),
    (IF, "${{ false }}\n", StatusFlags::SUCCESS, true),
    (IF, " ${{ false }}", StatusFlags::SUCCESS, true),
    (IF, " ${{ false }}", StatusFlags::FAILURE, false),
    (IF, "false\n", StatusFlags::SUCCESS, false),
];

#[test]
fn steps_run_as_documented() {
    let mut contexts = super::expressions::contexts();
    for (page, text, status, expected) in CASES {
        contexts.set_status(*status);
        let condition =
            (*text != "-").then(|| IfCondition::parse(text, SourceLocation::default()).unwrap());
        let holds =
            IfCondition::holds_or_success(condition.as_ref(), &ExprScope::new(&contexts)).unwrap();
        assert_eq!(holds, *expected, "{page}: {text} after {status:?}");
    }
}

#[test]
fn text_around_an_expression_is_pointed_at() {
    assert!(
        IfCondition::parse("${{ false }} || true", SourceLocation::default())
            .unwrap()
            .always_true
    );
    // GitHub's reader of files takes no spaces away: they are text as well.
    for text in [" ${{ false }}", "${{ false }} ", "${{ false }}\n"] {
        let condition = IfCondition::parse(text, SourceLocation::default()).unwrap();
        assert!(condition.always_true, "{text:?}");
    }
    for text in ["${{ false }}", " false ", "false\n"] {
        let condition = IfCondition::parse(text, SourceLocation::default()).unwrap();
        assert!(!condition.always_true, "{text:?}");
    }
}
