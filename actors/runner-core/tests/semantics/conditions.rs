//! `if` of steps and jobs.

use runner_core::expr::{Condition, Scope, Status};
use runner_core::source_location::SourceLocation;

const IF: &str = "Workflow syntax: jobs.<job_id>.steps[*].if";
const STATUS: &str = "Evaluate expressions in workflows and actions: Status check functions";

/// Page, condition (`-` is none), how it went so far, whether it runs.
pub(crate) const CASES: &[(&str, &str, Status, bool)] = &[
    (STATUS, "-", Status::SUCCESS, true),
    (STATUS, "-", Status::FAILURE, false),
    (STATUS, "-", Status::CANCELLED, false),
    (IF, "github.event_name == 'push'", Status::SUCCESS, true),
    (IF, "github.event_name == 'push'", Status::FAILURE, false),
    (
        IF,
        "${{ github.event_name == 'pull_request' }}",
        Status::SUCCESS,
        false,
    ),
    (
        IF,
        "${{ ! startsWith(github.ref, 'refs/tags/') }}",
        Status::SUCCESS,
        true,
    ),
    (STATUS, "failure()", Status::SUCCESS, false),
    (STATUS, "failure()", Status::FAILURE, true),
    (
        STATUS,
        "failure() && steps.build.conclusion == 'failure'",
        Status::FAILURE,
        false,
    ),
    (STATUS, "always()", Status::CANCELLED, true),
    (STATUS, "${{ always() }}", Status::FAILURE, true),
    (STATUS, "cancelled()", Status::CANCELLED, true),
    (STATUS, "cancelled()", Status::FAILURE, false),
    (STATUS, "!cancelled()", Status::FAILURE, true),
    (STATUS, "success() || failure()", Status::FAILURE, true),
    (STATUS, "success() || failure()", Status::CANCELLED, false),
    (
        STATUS,
        "always() && github.event_name == 'x'",
        Status::FAILURE,
        false,
    ),
    (IF, "steps.build.outputs.version", Status::SUCCESS, true),
    (IF, "steps.nothing.outputs.version", Status::SUCCESS, false),
    (IF, "'false'", Status::SUCCESS, true),
    (IF, "${{ false }} || true", Status::SUCCESS, true),
    (IF, "${{ false }}", Status::SUCCESS, false),
    (IF, "${{ false }}\n", Status::SUCCESS, true),
    (IF, " ${{ false }}", Status::SUCCESS, true),
    (IF, " ${{ false }}", Status::FAILURE, false),
    (IF, "false\n", Status::SUCCESS, false),
];

#[test]
fn steps_run_as_documented() {
    let mut contexts = super::expressions::contexts();
    for (page, text, status, expected) in CASES {
        contexts.set_status(*status);
        let condition =
            (*text != "-").then(|| Condition::parse(text, SourceLocation::default()).unwrap());
        let holds =
            Condition::holds_or_success(condition.as_ref(), &Scope::new(&contexts)).unwrap();
        assert_eq!(holds, *expected, "{page}: {text} after {status:?}");
    }
}

#[test]
fn text_around_an_expression_is_pointed_at() {
    assert!(
        Condition::parse("${{ false }} || true", SourceLocation::default())
            .unwrap()
            .always_true
    );
    // GitHub's reader of files takes no spaces away: they are text as well.
    for text in [" ${{ false }}", "${{ false }} ", "${{ false }}\n"] {
        let condition = Condition::parse(text, SourceLocation::default()).unwrap();
        assert!(condition.always_true, "{text:?}");
    }
    for text in ["${{ false }}", " false ", "false\n"] {
        let condition = Condition::parse(text, SourceLocation::default()).unwrap();
        assert!(!condition.always_true, "{text:?}");
    }
}
