//! GitHub's documented semantics as a table: every case names the documentation page it comes from.

mod conditions;
mod env_files;
mod expressions;
mod filters;
mod matrices;
mod shells;
mod workflows;

/// How many cases there are: the table is not to shrink.
#[test]
fn the_table_has_at_least_150_cases() {
    let counts = [
        expressions::CASES.len(),
        expressions::ERRORS.len(),
        filters::PATTERNS.len(),
        filters::TRIGGERS.len(),
        conditions::CASES.len(),
        matrices::CASES.len(),
        env_files::CASES.len(),
        shells::CASES.len(),
        workflows::CASES.len(),
    ];
    let total: usize = counts.iter().sum();
    assert!(total >= 190, "{total} cases: {counts:?}");
}
