//! Matrices: the product, `exclude`, `include`.

use runner_core::expr::{Contexts, ExprValue};
use runner_core::plan::{combinations, expand};
use runner_core::workflow::parse;

const MATRIX_BUILDER: &str = "actions/runner, MatrixBuilder";
const PAGE: &str = "Running variations of jobs in a workflow";

/// Page, matrix, combinations.
pub(crate) const CASES: &[(&str, &str, &str)] = &[
    (
        PAGE,
        r#"{"version": [10, 12]}"#,
        r#"[{"version":10},{"version":12}]"#,
    ),
    (
        PAGE,
        r#"{"os": ["u", "w"], "v": [10, 12]}"#,
        r#"[{"os":"u","v":10},{"os":"u","v":12},{"os":"w","v":10},{"os":"w","v":12}]"#,
    ),
    (
        PAGE,
        r#"{"fruit": ["apple", "pear"], "animal": ["cat", "dog"], "include": [
            {"color": "green"}, {"color": "pink", "animal": "cat"}, {"fruit": "apple", "shape": "circle"},
            {"fruit": "banana"}, {"fruit": "banana", "animal": "cat"}]}"#,
        r#"[{"fruit":"apple","animal":"cat","color":"pink","shape":"circle"},{"fruit":"apple","animal":"dog","color":"green","shape":"circle"},{"fruit":"pear","animal":"cat","color":"pink"},{"fruit":"pear","animal":"dog","color":"green"},{"fruit":"banana"},{"fruit":"banana","animal":"cat"}]"#,
    ),
    (
        PAGE,
        r#"{"os": ["w", "u"], "node": [14, 16], "include": [{"os": "w", "node": 16, "npm": 6}]}"#,
        r#"[{"os":"w","node":14},{"os":"w","node":16,"npm":6},{"os":"u","node":14},{"os":"u","node":16}]"#,
    ),
    (
        PAGE,
        r#"{"os": ["m", "w"], "version": [12, 14], "include": [{"os": "w", "version": 17}]}"#,
        r#"[{"os":"m","version":12},{"os":"m","version":14},{"os":"w","version":12},{"os":"w","version":14},{"os":"w","version":17}]"#,
    ),
    (
        PAGE,
        r#"{"include": [{"site": "production", "dc": "a"}, {"site": "staging", "dc": "b"}]}"#,
        r#"[{"site":"production","dc":"a"},{"site":"staging","dc":"b"}]"#,
    ),
    (
        PAGE,
        r#"{"os": ["m", "w"], "version": [12, 14], "environment": ["staging", "production"], "exclude": [
            {"os": "m", "version": 12, "environment": "production"}, {"os": "w", "version": 14}]}"#,
        r#"[{"os":"m","version":12,"environment":"staging"},{"os":"m","version":14,"environment":"staging"},{"os":"m","version":14,"environment":"production"},{"os":"w","version":12,"environment":"staging"},{"os":"w","version":12,"environment":"production"}]"#,
    ),
    (
        PAGE,
        r#"{"o": [{"a": 1, "b": 2}, {"a": 3}], "exclude": [{"o": {"a": 1}}]}"#,
        r#"[{"o":{"a":3}}]"#,
    ),
    (
        PAGE,
        r#"{"v": [1, 2], "exclude": [{"v": 1}], "include": [{"v": 1}]}"#,
        r#"[{"v":2},{"v":1}]"#,
    ),
    // Rows and `include` are compared by `==`; what a row has stays as it is.
    (
        MATRIX_BUILDER,
        r#"{"v": ["3.9", "3.11"], "os": ["Ubuntu"], "include": [{"v": 3.9, "extra": "m"}, {"os": "ubuntu", "x": 1}]}"#,
        r#"[{"v":"3.9","os":"Ubuntu","extra":"m","x":1},{"v":"3.11","os":"Ubuntu","x":1}]"#,
    ),
    (
        MATRIX_BUILDER,
        r#"{"o": [{"a": 1, "b": 2}], "include": [{"o": {"a": 1}, "c": 3}, {"d": 4, "o": {"a": 5}}]}"#,
        r#"[{"o":{"a":1,"b":2},"c":3},{"o":{"a":5},"d":4}]"#,
    ),
];

fn json(text: &str) -> ExprValue {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn combinations_are_as_documented() {
    for (page, matrix, expected) in CASES {
        let all = combinations(&json(matrix)).unwrap_or_else(|error| panic!("{matrix}: {error}"));
        assert_eq!(
            serde_json::to_string(&all).unwrap(),
            *expected,
            "{page}: {matrix}"
        );
    }
}

#[test]
fn what_is_no_matrix_is_explained() {
    let many: Vec<u32> = (0..17).collect();
    let big = serde_json::json!({"a": many, "b": many}).to_string();
    let huge = serde_json::json!({"a": vec![0; 3_000], "b": vec![0; 3_000], "c": vec![0; 3_000]})
        .to_string();
    for (matrix, part) in [
        ("[1]", "a list, expected an object"),
        (r#"{"v": 1}"#, "`v` of the matrix is a number"),
        (
            r#"{"v": [1], "include": [2]}"#,
            "include of the matrix holds a number",
        ),
        (r#"{"v": [], "exclude": [{"v": 1}]}"#, "no combinations"),
        (
            r#"{"v": [1], "exclude": [{"other": 1}]}"#,
            "no key `other` to exclude",
        ),
        ("{}", "no combinations"),
        (&big, "289 combinations, 256 at most"),
        (&huge, "more than 256"),
    ] {
        let error = combinations(&json(matrix)).unwrap_err();
        assert!(error.contains(part), "{matrix}: {error}");
    }
}

/// `WorkflowTemplateEvaluator.EvaluateStrategy` of GitHub's runner: without a configuration the job
/// has one, whose `matrix` is null.
#[test]
fn i17_a_job_whose_matrix_is_all_excluded_has_one_copy_without_a_matrix() {
    let excluded = r#"{"v": [1, 2], "exclude": [{"v": 1}, {"v": 2}]}"#;
    assert_eq!(combinations(&json(excluded)).map(|all| all.len()), Ok(0));
    let text = "on: push\njobs:\n  a:\n    runs-on: x\n    strategy: {matrix: {v: [1, 2], exclude: [{v: 1}, {v: 2}]}}\n    steps: [{run: 'echo ${{ matrix.v }}'}]\n";
    let workflow = parse(".github/workflows/a.yml", text.as_bytes())
        .expect("a workflow")
        .value;
    let all = expand(&workflow.jobs[0], &Contexts::default()).expect("copies");
    let names: Vec<&str> = all.iter().map(|copy| copy.name.as_str()).collect();
    assert_eq!(names, ["a"]);
}
