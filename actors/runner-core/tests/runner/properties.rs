//! Whatever comes in: no panic, bounded answers, and what is written comes back.

use proptest::prelude::*;
use runner_core::expr::{Contexts, Expr, ExprScope, ExprValue};
use runner_core::glob::GlobPattern;
use runner_core::workflow::parse;

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "[a-z:{}\\[\\]\\-\\n &*!|>'\"#$?,0-9]{0,200}") {
        let _ = parse("ci.yml", text.as_bytes());
    }

    #[test]
    fn no_change_to_a_good_file_breaks_the_reader(at in 0_usize..200, with in "\\PC{0,8}") {
        let good = "on: {push: {branches: [main]}}\njobs:\n  a:\n    runs-on: x\n    strategy: {matrix: {v: [1, '2']}}\n    steps:\n      - run: echo ${{ matrix.v }}\n        if: ${{ always() }}\n";
        let at = good.floor_char_boundary(at.min(good.len()));
        let text = format!("{}{with}{}", &good[..at], &good[at..]);
        if let Err(wrong) = parse("ci.yml", text.as_bytes()) {
            prop_assert!(!wrong.is_empty());
        }
    }

    #[test]
    fn no_expression_breaks_the_evaluator(text in "[a-z.\\[\\]()*!<>=&|', 0-9{}]{0,60}") {
        if let Ok(expr) = Expr::parse(&text) {
            let _ = expr.eval(&ExprScope::new(&Contexts::default()));
        }
    }

    #[test]
    fn json_comes_back(text in "\\PC{0,20}", number in -1e6_f64..1e6, flag: bool) {
        let value = ExprValue::object([("t", ExprValue::text(&text)), ("n", ExprValue::Number(number.round())), ("l", ExprValue::list(vec![flag.into(), ExprValue::Null]))]);
        let back: ExprValue = serde_json::from_str(&value.to_json()).unwrap();
        prop_assert_eq!(back, value);
    }

    #[test]
    fn a_name_without_marks_matches_itself_only(name in "[a-z/.-]{1,20}", other in "[a-z/.-]{1,20}") {
        let pattern = GlobPattern::parse(&name).unwrap();
        prop_assert!(pattern.matches(&name));
        prop_assert_eq!(pattern.matches(&other), name == other);
        prop_assert!(GlobPattern::parse("**").unwrap().matches(&other));
    }
}

/// A path with each `%XX` as its byte, `times` times, and its dots taken out.
fn read_by_a_server(path: &str, times: usize) -> String {
    let mut text = path.to_owned();
    for _ in 0..times {
        for (escape, plain) in [("%2e", "."), ("%2f", "/"), ("%5c", "\\"), ("%25", "%")] {
            text = text.replace(escape, plain);
        }
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

proptest! {
    #[test]
    fn i17_no_path_that_is_passed_on_leads_to_another_repository(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "/", "//", ".", "..", "%2e", "%2f", "%5c", "%25", "2e", "2f", "repos", "acme",
                "rocket", "other", "contents", "issues", "a", "\\", ";", "/repos/acme/rocket/",
                "/repos/acme/rocket/contents/",
            ]),
            0..10,
        ),
    ) {
        use runner_core::workflow::{PermissionLevel, Permissions};
        let all = Permissions { all: Some(PermissionLevel::Write), ..Permissions::default() };
        let path = parts.concat();
        if runner_core::gateway::decide("GET", &path, "acme/rocket", &all).is_ok() {
            for times in 0..3 {
                let read = read_by_a_server(&path, times);
                prop_assert!(
                    read == "repos/acme/rocket" || read.starts_with("repos/acme/rocket/"),
                    "{path} is read as {read}"
                );
            }
        }
    }
}
