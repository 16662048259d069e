//! Regular expressions and exact text in queries.

use super::*;

#[test]
fn i16_expressions_and_exact_text_are_conditions() {
    for (text, patterns, words) in [
        (r"re:/fn read_\w+/", vec![r"re:/fn read_\w+/"], vec![]),
        (r"re:/a\/bc[/]d/i", vec![r"re:/a\/bc[/]d/"], vec![]),
        (
            "lock re:/ab c/ fair",
            vec!["re:/ab c/"],
            vec!["lock", "fair"],
        ),
        ("(re:/abc/ OR x)", vec!["re:/abc/"], vec!["x"]),
        ("\"a b(\" case:yes", vec!["\"a b(\""], vec![]),
        ("case:no \"HashMap\"", vec!["\"HashMap\""], vec![]),
        (
            r"re:/\w{10}/ re:/=.{0,200};/",
            vec![r"re:/\w{10}/", "re:/=.{0,200};/"],
            vec![],
        ),
        (
            "re:/x{20}/ -re:/yyy/",
            vec!["re:/x{20}/", "re:/yyy/"],
            vec![],
        ),
        (
            "re:/( parse_query )/",
            vec!["re:/( parse_query )/"],
            vec!["parse_query"],
        ),
        ("case: re: /x", vec![], vec!["case", "re", "x"]),
        ("\"a b\"", vec![], vec!["a", "b"]),
    ] {
        let query = parse(&SearchRequest::for_text(text)).expect(text);
        let found: Vec<_> = query.patterns().iter().map(|one| one.typed()).collect();
        assert_eq!(found, patterns, "{text}");
        let found: Vec<_> = query.words().iter().map(|one| &one.surface).collect();
        assert_eq!(found, words, "{text}");
    }
}

#[test]
fn i16_a_wrong_expression_is_refused_where_it_is_wrong() {
    let nine =
        "re:/abc/ ".to_owned() + &(0..8).map(|n| format!("re:/abc{n}/ ")).collect::<String>();
    for (text, position, says) in [
        ("é re:/ab(c/", 8, "unclosed group"),
        ("re:/a*/", 4, "empty text"),
        (r"re:/(?:\w{99}){9}/", 4, "once compiled"),
        (r"re:/(?:\w{99}){99}/", 4, "has 9801 steps"),
        (
            r"re:/[ -~\n]{15000}[\x01-\x08]/",
            4,
            "lower the numbers in braces",
        ),
        (r"re:/[ -~\n]{500,}[\x01-\x08]/", 4, "matches without end"),
        (nine.as_str(), 83, "at most 8"),
        (&format!("re:/{}/", "a".repeat(1025)), 4, "longer than 1024"),
    ] {
        match parse_lenient(&SearchRequest::for_text(text)) {
            Err(QueryError::Pattern {
                position: at,
                message,
            }) => {
                assert!(message.contains(says), "{text}: {message}");
                assert_eq!(at, position, "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    for (text, position) in [
        ("re:/var/log is full", 8),
        ("a re:/fn open", 2),
        ("re:/abc/i)", 9),
    ] {
        let found = parse_lenient(&SearchRequest::for_text(text)).expect("words alone");
        let fault = found.fault.expect("a note");
        assert_eq!(fault.position(), Some(position), "{text}: {fault}");
    }
}

#[test]
fn i16_lines_end_before_the_line_ends_of_windows_too() {
    let text = "load(a);\r\nstore(b);\r\n\r\nlast(c)";
    for (expression, places) in [
        (r"re:/\);$/", vec![");", ");"]),
        (r"re:/^store/", vec!["store"]),
        (r"re:/a.*$/", vec!["ad(a);", "ast(c)"]),
        (r"re:/;\r\n/", vec![";\r\n", ";\r\n"]),
        (r"re:/c\)$/", vec!["c)"]),
        (r"re:/;.store/", vec![]),
        (r"re:/(?s);..store/", vec![";\r\nstore"]),
    ] {
        let query = parse(&SearchRequest::for_text(expression)).expect(expression);
        let finder = query.patterns()[0].finder().expect("it is compiled");
        let found: Vec<_> = finder.places(text).map(|place| &text[place]).collect();
        assert_eq!(found, places, "{expression}");
    }
}
