//! Literals, operators, coercions, functions, contexts, object filters.

use runner_core::expr::{ContextName, Contexts, Expr, ExprScope, ExprValue, StatusFlags};

const LITERALS: &str = "Evaluate expressions in workflows and actions: Literals";
const OPERATORS: &str = "Evaluate expressions in workflows and actions: Operators";
const JSON_READER: &str = "actions/runner, FromJson (Newtonsoft.Json)";
const FUNCTIONS: &str = "Evaluate expressions in workflows and actions: Functions";
const STATUS: &str = "Evaluate expressions in workflows and actions: Status check functions";
const FILTERS: &str = "Evaluate expressions in workflows and actions: Object filters";
const CONTEXTS: &str = "Contexts reference";

/// Page, expression, value as JSON.
pub(crate) const CASES: &[(&str, &str, &str)] = &[
    (LITERALS, "null", "null"),
    (LITERALS, "true", "true"),
    (LITERALS, "711", "711"),
    (LITERALS, "-9.2", "-9.2"),
    (LITERALS, "0xff", "255"),
    (LITERALS, "0o17", "15"),
    (LITERALS, "-2.99e-2", "-0.0299"),
    (LITERALS, "1e20", "1E+20"),
    (LITERALS, "'Mona the Octocat'", r#""Mona the Octocat""#),
    (LITERALS, "'It''s open source!'", r#""It's open source!""#),
    (LITERALS, "''", r#""""#),
    (OPERATORS, "!true", "false"),
    (OPERATORS, "!''", "true"),
    (OPERATORS, "!0", "true"),
    (OPERATORS, "!'false'", "false"),
    (OPERATORS, "!null", "true"),
    (OPERATORS, "1 < 2", "true"),
    (OPERATORS, "2 <= 2", "true"),
    (OPERATORS, "1 > 2", "false"),
    (OPERATORS, "2 >= 3", "false"),
    (OPERATORS, "1 == 1", "true"),
    (OPERATORS, "1 != 1", "false"),
    (OPERATORS, "'a' && 'b'", r#""b""#),
    (OPERATORS, "'' && 'b'", r#""""#),
    (OPERATORS, "'a' || 'b'", r#""a""#),
    (OPERATORS, "null || 0 || 'c'", r#""c""#),
    (OPERATORS, "(1 == 2 || 2 == 2) && true", "true"),
    (OPERATORS, "true || false && false", "true"),
    (OPERATORS, "!false == true", "true"),
    (OPERATORS, "1 < 2 == true", "true"),
    (OPERATORS, "null == 0", "true"),
    (OPERATORS, "true == 1", "true"),
    (OPERATORS, "false == 0", "true"),
    (OPERATORS, "'' == 0", "true"),
    (OPERATORS, "' 12 ' == 12", "true"),
    (OPERATORS, "'1e2' == 100", "true"),
    (OPERATORS, "'0x10' == 16", "true"),
    (OPERATORS, "'abc' == 0", "false"),
    (OPERATORS, "'abc' != 0", "true"),
    (OPERATORS, "'abc' < 1", "false"),
    (OPERATORS, "'abc' >= 1", "false"),
    (OPERATORS, "null == ''", "true"),
    (OPERATORS, "'true' == true", "false"),
    (OPERATORS, "'ABC' == 'abc'", "true"),
    (OPERATORS, "'a' < 'B'", "true"),
    (OPERATORS, "'ÄRGER' == 'ärger'", "true"),
    (OPERATORS, "github.event == github.event", "true"),
    (OPERATORS, "fromJSON('{}') == fromJSON('{}')", "false"),
    (OPERATORS, "fromJSON('[1]') == 1", "false"),
    (
        OPERATORS,
        "github.ref == 'refs/heads/main' && 'value_for_main' || 'other'",
        r#""value_for_main""#,
    ),
    (OPERATORS, "matrix.list[0]", "1"),
    (OPERATORS, "matrix.list['1']", "2"),
    (OPERATORS, "matrix.list[1.9]", "2"),
    (OPERATORS, "matrix.list[9]", "null"),
    (OPERATORS, "matrix.list[-1]", "null"),
    (OPERATORS, "github['event_name']", r#""push""#),
    (
        OPERATORS,
        "github[format('{0}_name', 'event')]",
        r#""push""#,
    ),
    (FUNCTIONS, "contains('Hello world', 'llo')", "true"),
    (FUNCTIONS, "contains('Hello world', 'LLO')", "true"),
    (
        FUNCTIONS,
        "contains(fromJSON('[\"push\", \"pull_request\"]'), github.event_name)",
        "true",
    ),
    (FUNCTIONS, "contains(fromJSON('[1, 2]'), '2')", "true"),
    (
        FUNCTIONS,
        "contains(fromJSON('[\"push\"]'), 'pus')",
        "false",
    ),
    (FUNCTIONS, "contains(github.event, 'x')", "false"),
    (FUNCTIONS, "contains('', '')", "true"),
    (FUNCTIONS, "startsWith('Hello world', 'he')", "true"),
    (FUNCTIONS, "startsWith('Hello world', 'world')", "false"),
    (FUNCTIONS, "startsWith(1234, '12')", "true"),
    (FUNCTIONS, "endsWith('Hello world', 'LD')", "true"),
    (FUNCTIONS, "endsWith('Hello world', 'Hello')", "false"),
    (
        FUNCTIONS,
        "format('Hello {0} {1} {2}', 'Mona', 'the', 'Octocat')",
        r#""Hello Mona the Octocat""#,
    ),
    (
        FUNCTIONS,
        "format('{{Hello {0} {1} {2}!}}', 'Mona', 'the', 'Octocat')",
        r#""{Hello Mona the Octocat!}""#,
    ),
    (
        FUNCTIONS,
        "format('{1}{0}{1}', null, true)",
        r#""truetrue""#,
    ),
    (FUNCTIONS, "format('{0}', 3.10)", r#""3.1""#),
    (
        FUNCTIONS,
        "format('{0} {1}', github.event, matrix.list)",
        r#""Object Array""#,
    ),
    (FUNCTIONS, "join(matrix.list, ', ')", r#""1, 2, 3""#),
    (FUNCTIONS, "join(matrix.list)", r#""1,2,3""#),
    (FUNCTIONS, "join('a', 'b')", r#""a""#),
    (
        FUNCTIONS,
        "join(github.event.issue.labels.*.name, ', ')",
        r#""bug, help wanted""#,
    ),
    (FUNCTIONS, "toJSON('a\"b')", r#""\"a\\\"b\"""#),
    (
        FUNCTIONS,
        "toJSON(matrix.list)",
        r#""[\n  1,\n  2,\n  3\n]""#,
    ),
    (FUNCTIONS, "toJSON(fromJSON('{}'))", r#""{}""#),
    (FUNCTIONS, "toJSON(null)", r#""null""#),
    (FUNCTIONS, "toJSON(true)", r#""true""#),
    (
        FUNCTIONS,
        "fromJSON('{\"a\": [true, null, 1.5]}').a[2]",
        "1.5",
    ),
    (FUNCTIONS, "fromJSON('true')", "true"),
    (
        JSON_READER,
        "fromJSON('[''8.2'', ''8.3'',]')[1]",
        r#""8.3""#,
    ),
    (
        JSON_READER,
        "fromJSON('{os: \"a\", /* b */ \"n\": 0x10}').n",
        "16",
    ),
    (
        JSON_READER,
        "fromJSON('{b: {x: true} /* as Python writes it */}').b.x",
        "true",
    ),
    (FUNCTIONS, "fromJSON('3')", "3"),
    (FUNCTIONS, "fromJson(ToJson(matrix.list))[2]", "3"),
    (
        FUNCTIONS,
        "hashFiles('**/package-lock.json', '**/Gemfile.lock')",
        r#""hash of **/package-lock.json **/Gemfile.lock""#,
    ),
    (
        FUNCTIONS,
        "case(github.ref == 'refs/heads/main', 'production', 'development')",
        r#""production""#,
    ),
    (FUNCTIONS, "case(false, 1, false, 2, 3)", "3"),
    (STATUS, "success()", "true"),
    (STATUS, "failure()", "false"),
    (STATUS, "always()", "true"),
    (STATUS, "cancelled()", "false"),
    (STATUS, "!cancelled()", "true"),
    (
        FILTERS,
        "toJSON(github.event.fruits.*.name)",
        r#""[\n  \"apple\",\n  \"orange\",\n  \"pear\"\n]""#,
    ),
    (
        FILTERS,
        "contains(github.event.issue.labels.*.name, 'bug')",
        "true",
    ),
    (
        FILTERS,
        "join(github.event.vegetables.*.ediblePortions.*, '+')",
        r#""roots+stalks+leaves+seeds""#,
    ),
    (
        FILTERS,
        "join(github.event.issue.labels[*].missing, ',')",
        r#""""#,
    ),
    (FILTERS, "join(github.event.*.x)", r#""""#),
    (CONTEXTS, "github.missing", "null"),
    (CONTEXTS, "github.missing.deeper", "null"),
    (CONTEXTS, "GitHub.Event_Name", r#""push""#),
    (CONTEXTS, "env.PATH_LIKE", r#""/bin""#),
    (CONTEXTS, "steps.build.outputs.version", r#""1.2""#),
    (CONTEXTS, "steps.build.conclusion == 'success'", "true"),
    (CONTEXTS, "needs.job1.outputs.out-put", r#""value""#),
    (CONTEXTS, "needs.*.result", r#"["success","failure"]"#),
    (CONTEXTS, "contains(needs.*.result, 'failure')", "true"),
    (CONTEXTS, "secrets.ABSENT == ''", "true"),
];

/// Page, expression, a part of what is said of it.
pub(crate) const ERRORS: &[(&str, &str, &str)] = &[
    (LITERALS, "\"double\"", "single quotes"),
    (LITERALS, "'open", "no closing quote"),
    (LITERALS, "0b11", "is not a number"),
    (OPERATORS, "1 + 1", "no arithmetic"),
    (OPERATORS, "github.ref = 1", "equality is `==`"),
    (OPERATORS, "true & false", "`&&`"),
    (OPERATORS, "1 ==", "ends too early"),
    (OPERATORS, "(1", "expected `)`"),
    (OPERATORS, "github.", "property name"),
    (OPERATORS, "1 2", "unexpected `2`"),
    (
        FUNCTIONS,
        "startWith('a', 'b')",
        "unknown function `startWith`",
    ),
    (FUNCTIONS, "contains('a')", "takes 2"),
    (FUNCTIONS, "always('job')", "takes none"),
    (FUNCTIONS, "case(true, 1)", "at least 3"),
    (CONTEXTS, "gihub.ref", "did you mean `github`?"),
    (CONTEXTS, "main", "single quotes"),
];

fn json(text: &str) -> ExprValue {
    serde_json::from_str(text).expect("JSON")
}

pub(crate) fn contexts() -> Contexts {
    let event = r#"{
        "issue": {"labels": [{"name": "bug"}, {"name": "help wanted"}]},
        "fruits": [{"name": "apple", "quantity": 1}, {"name": "orange", "quantity": 2}, {"name": "pear", "quantity": 1}],
        "vegetables": {
            "scallions": {"ediblePortions": ["roots", "stalks"]},
            "beets": {"ediblePortions": ["leaves", "seeds"]}
        }
    }"#;
    let github = ExprValue::object([
        ("event_name", ExprValue::text("push")),
        ("ref", ExprValue::text("refs/heads/main")),
        ("event", json(event)),
    ]);
    let mut contexts = Contexts::default()
        .with(ContextName::Github, github)
        .with(ContextName::Env, json(r#"{"PATH_LIKE": "/bin"}"#))
        .with(ContextName::Matrix, json(r#"{"list": [1, 2, 3]}"#))
        .with(
            ContextName::Steps,
            json(r#"{"build": {"outputs": {"version": "1.2"}, "conclusion": "success"}}"#),
        )
        .with(
            ContextName::Needs,
            json(r#"{"job1": {"result": "success", "outputs": {"out-put": "value"}}, "job2": {"result": "failure"}}"#),
        );
    contexts.set_status(StatusFlags::SUCCESS);
    contexts
}

#[test]
fn values_are_as_documented() {
    let contexts = contexts();
    let hash = |patterns: &[String]| Ok(format!("hash of {}", patterns.join(" ")));
    let scope = ExprScope {
        contexts: &contexts,
        hash_files: Some(&hash),
    };
    for (page, text, expected) in CASES {
        let value = Expr::parse(text).unwrap_or_else(|error| panic!("{page}: {text}: {error}"));
        let value = value
            .eval(&scope)
            .unwrap_or_else(|error| panic!("{page}: {text}: {error}"));
        let compact = value.to_json().replace("\n  ", "").replace("\n]", "]");
        assert_eq!(compact, *expected, "{page}: {text}");
    }
}

/// Of the `if` of a job, as the schema of workflows has it (`success(0,MAX)`).
#[test]
fn i17_success_and_failure_take_names_of_needed_jobs() {
    let result = |result: &str| ExprValue::object([("result", ExprValue::text(result))]);
    let needs = [("a", result("success")), ("b", result("failure"))];
    let contexts = Contexts::default().with(ContextName::Needs, ExprValue::object(needs));
    let scope = ExprScope::new(&contexts);
    for (text, expected) in [
        ("success('a')", true),
        ("success('A', 'b')", false),
        ("failure('b')", true),
        ("failure('a', 'c')", false),
    ] {
        let value = Expr::parse(text).unwrap().eval(&scope).unwrap();
        assert_eq!(value, ExprValue::Bool(expected), "{text}");
    }
}

#[test]
fn wrong_expressions_are_explained() {
    for (page, text, part) in ERRORS {
        let error = Expr::parse(text).expect_err(text);
        let said = format!(
            "{} {}",
            error.message,
            error.help.clone().unwrap_or_default()
        );
        assert!(said.contains(part), "{page}: {text}: {said}");
        assert!(error.at <= text.len(), "{text}");
    }
}

#[test]
fn no_expression_takes_more_than_it_may() {
    let contexts = contexts();
    let scope = ExprScope::new(&contexts);
    let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    let wide = "true ||".repeat(2_900) + "true";
    let nots = "!".repeat(20_000) + "true";
    let links = format!("github{}", ".a".repeat(9_000));
    for text in [
        deep,
        wide,
        nots,
        links,
        "'".to_owned() + &"a".repeat(30_000) + "'",
    ] {
        assert!(Expr::parse(&text).is_err(), "{}", &text[..20]);
    }
    // Each level makes the text ten times longer: a megabyte is the end.
    let bomb = (0..8).fold("'aaaaaaaaaa'".to_owned(), |inner, _| {
        format!("format('{{0}}{{0}}{{0}}{{0}}{{0}}{{0}}{{0}}{{0}}{{0}}{{0}}', {inner})")
    });
    let error = Expr::parse(&bomb).unwrap().eval(&scope).unwrap_err();
    assert!(error.to_string().contains("larger than 1 MiB"), "{error}");
    let no_files = Expr::parse("hashFiles('a')")
        .unwrap()
        .eval(&scope)
        .unwrap_err();
    assert!(no_files.to_string().contains("in steps only"));
    for wrong in [
        "fromJSON('')",
        "fromJSON('{')",
        "format('{0')",
        "format('{1}', 0)",
        "format('}')",
    ] {
        assert!(Expr::parse(wrong).unwrap().eval(&scope).is_err(), "{wrong}");
    }
}

#[test]
fn an_expression_looks_at_a_bounded_amount() {
    let text = ExprValue::text("x".repeat(900_000));
    let contexts =
        Contexts::default().with(ContextName::Github, ExprValue::object([("big", text)]));
    let scope = ExprScope::new(&contexts);
    let few = ["contains(github.big, 'y')"; 10].join(" || ");
    assert_eq!(
        Expr::parse(&few).expect("good").eval(&scope),
        Ok(false.into())
    );
    let many = ["contains(github.big, 'y')"; 40].join(" || ");
    let error = Expr::parse(&many)
        .expect("good")
        .eval(&scope)
        .expect_err("too much");
    assert!(error.to_string().contains("more than 16 MiB"), "{error}");
}
