//! The language as tables, its faults with their places, and what holds for every text.

mod pasted;
mod patterns;

use proptest::prelude::*;

use super::{parse, parse_lenient};
use crate::query::limits::{MAX_DEPTH, MAX_QUERY_BYTES, MAX_QUERY_WORDS};
use crate::query::{Operator, ParsedQuery, QueryCondition, QueryError, SearchRequest};

fn parsed(text: &str) -> ParsedQuery {
    parse(&SearchRequest::for_text(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn terms(query: &ParsedQuery) -> Vec<(&str, u32)> {
    query
        .terms()
        .iter()
        .map(|term| (term.text.as_str(), term.count))
        .collect()
}

/// The condition as text: words as typed, `~"phrase"`, `pre*`, `field:value`, `!`, `(a & b)`,
/// `(a | b)`.
fn shown(query: &ParsedQuery) -> String {
    query
        .condition()
        .map_or_else(|| "-".to_owned(), |condition| show(query, condition))
}

fn show(query: &ParsedQuery, condition: &QueryCondition) -> String {
    let joined = |list: &[QueryCondition], by: &str| {
        let list: Vec<String> = list.iter().map(|one| show(query, one)).collect();
        format!("({})", list.join(by))
    };
    match condition {
        QueryCondition::Word(word) => query.words()[*word].surface.clone(),
        QueryCondition::Phrase(phrase) => format!("~{:?}", query.phrases()[*phrase].text),
        QueryCondition::Prefix(prefix) => format!("{}*", query.prefixes()[*prefix].folded),
        QueryCondition::Filter(filter) => {
            let filter = &query.filters()[*filter];
            format!("{}:{}", filter.field.as_str(), filter.value)
        }
        QueryCondition::Not(inner) => format!("!{}", show(query, inner)),
        QueryCondition::All(list) => joined(list, " & "),
        QueryCondition::Any(list) => joined(list, " | "),
        QueryCondition::Pattern(pattern) => query.patterns()[*pattern].typed().to_owned(),
    }
}

#[test]
fn i16_what_is_broken_is_left_out_and_fields_hold() {
    let understood = |text: &str| parse_lenient(&SearchRequest::for_text(text)).expect("a query");
    for (text, left) in [
        ("retry path:*.rb AND", "retry path:*.rb"),
        ("retry path:*.rb OR", "retry path:*.rb"),
        ("retry path:*.rb (", "retry path:*.rb"),
        ("retry path:*.rb )", "retry path:*.rb"),
        ("retry path:*.rb NOT", "retry path:*.rb"),
        ("retry path:*.rb \"job", "retry path:*.rb job"),
        ("retry path:*.rb kind:", "retry path:*.rb"),
        ("retry path:*.rb kind:func", "retry path:*.rb kind:func"),
        ("retry path:*.rb kind:fu", "retry path:*.rb"),
        ("retry path:*.rb is:te", "retry path:*.rb"),
        ("retry path:*.rb re:/x", "retry path:*.rb x"),
        ("retry path:*.rb path:\"", "retry path:*.rb"),
        ("retry path:*.rb path:\"\" NOT", "retry path:*.rb"),
        ("retry -job tag:", "retry -job"),
        ("\"retry job\" AND (", "\"retry job\""),
        // What stands behind an open quote is words.
        (
            "retry tag:x \"a1 -b1 AND path:c1",
            "retry tag:x a1 b1 and path c1",
        ),
    ] {
        let (found, expected) = (understood(text), understood(left));
        assert_eq!(shown(&found.query), shown(&expected.query), "{text}");
        assert_eq!(found.query.words(), expected.query.words(), "{text}");
        assert_eq!(found.is_mended, text != left, "{text}");
    }
    for text in [
        "retry job AND",
        "(retry OR job",
        "\"retry job",
        "path:",
        "x1 tag:y1*",
    ] {
        let found = understood(text);
        let shown = shown(&found.query);
        assert_eq!((shown.as_str(), found.is_mended), ("-", false), "{text}");
    }
    let pasted = format!("path:x1 \"{}", "word ".repeat(40));
    assert!(!understood(&pasted).is_mended);
}

#[test]
fn question_and_stop_words_are_left_off() {
    let query = parsed("how to find the memory leaks");
    assert_eq!(terms(&query), [("find", 1), ("memori", 1), ("leak", 1)]);
}

#[test]
fn a_query_of_stop_words_alone_keeps_them() {
    assert_eq!(
        terms(&parsed("who is it")),
        [("who", 1), ("is", 1), ("it", 1)]
    );
    assert!(parsed(" ... ").is_empty());
}

#[test]
fn terms_are_counted_and_words_are_listed_once() {
    let query = parsed("lock Locks spin_lock");
    assert_eq!(terms(&query), [("lock", 3), ("spin_lock", 1), ("spin", 1)]);
    assert_eq!(query.words().len(), 2);
    assert_eq!(query.words()[1].parts, [2, 0]);
}

#[test]
fn the_language_means_what_the_table_says() {
    for (text, expected) in [
        ("rust guide", "-"),
        ("rust \"error handling\" guide", "~\"error handling\""),
        ("\"memory\"", "memory"),
        ("rust AND guide", "(rust & guide)"),
        ("rust and guide", "-"),
        ("rust OR guide", "(rust | guide)"),
        ("a1 AND b1 OR c1", "((a1 & b1) | c1)"),
        ("a1 AND (b1 OR c1)", "(a1 & (b1 | c1))"),
        ("x1 a1 OR b1", "(x1 | (a1 | b1))"),
        ("rust -guide", "(rust & !guide)"),
        ("rust NOT guide", "(rust & !guide)"),
        ("rust AND NOT (guide OR book)", "(rust & !(guide | book))"),
        ("NOT NOT rust guide", "-"),
        ("rust NOT -NOT guide", "(rust & !guide)"),
        ("mem* pool", "(pool | mem*)"),
        ("drivers/net*", "(drivers & net*)"),
        ("rust path:src/main.rs", "(path:src/main.rs & rust)"),
        ("rust guide path:x", "(path:x & (rust | guide))"),
        ("rust path:x \"a1 b1\"", "(path:x & ~\"a1 b1\")"),
        ("path:*.rs", "path:*.rs"),
        ("path:src/*", "path:src/*"),
        ("tag:\"web server\" rust", "(tag:web server & rust)"),
        ("title:orbit -tag:old", "(title:orbit & !tag:old)"),
        ("source:Files x1", "(source:Files & x1)"),
        ("(source:Files)", "source:Files"),
        ("kind:fn parse", "(kind:function & parse)"),
        ("kind:Heading", "kind:heading"),
        ("parse -is:Tests", "(parse & !is:test)"),
        ("what it is: parse", "-"),
        ("notes after:2026/7/3", "(after:2026-07-03 & notes)"),
        (
            "after:2026 before:2026-02",
            "(after:2026-01-01 & before:2026-02-01)",
        ),
        ("-before:2025-12-31 x1", "(x1 & !before:2025-12-31)"),
        ("e-mail AND x1", "((e & mail) & x1)"),
        ("kmalloc(size) std::vector 5\" C++ a:b", "-"),
        ("after: all before:noon", "-"),
        ("the AND rust", "rust"),
        ("rust -the", "(rust & !the)"),
        ("(rust guide)", "-"),
        ("(rust -guide)", "(rust & !guide)"),
        ("()", "-"),
    ] {
        assert_eq!(shown(&parsed(text)), expected, "{text}");
    }
}

/// Whoever pastes a sentence with brackets means its words, as without them.
#[test]
fn i16_brackets_around_words_change_nothing() {
    for (text, plain) in [
        (
            "death syndrome (SIDS) of newborns",
            "death syndrome SIDS of newborns",
        ),
        ("a1 (b1 (c1 d1)) e1", "a1 b1 c1 d1 e1"),
    ] {
        let (grouped, plain) = (parsed(text), parsed(plain));
        assert_eq!(terms(&grouped), terms(&plain), "{text}");
        assert_eq!(grouped.condition(), None, "{text}");
    }
    assert_eq!(shown(&parsed("a1 (b1 mem*)")), "(a1 | (b1 | mem*))");
}

/// In a pasted abstract quotes are signs of the text; what is typed to search keeps them.
#[test]
fn i16_quotes_of_a_pasted_text_ask_for_nothing() {
    let abstracted = "This study of \"border authors\" looks at how those who publish once, and \
        seldom again, are cited by the core of a field, and -\"at the margin\"- what it means.";
    assert_eq!(parsed(abstracted).condition(), None);
    assert!(parsed(abstracted).phrases().is_empty());
    let short = "how those who publish once are cited by \"the core\" of a field";
    assert_eq!(parsed(short).phrases().len(), 1);
    let many = (0..30)
        .map(|n| format!("\"a{n} b{n}\""))
        .collect::<Vec<_>>();
    assert_eq!(parsed(&many.join(" OR ")).phrases().len(), 30);
    let exact = format!("{abstracted} case:yes");
    assert_eq!(parsed(&exact).patterns().len(), 2);
}

/// A hyphen behind a bracket, a negative number and a row of names leave nothing out.
#[test]
fn i16_a_minus_excludes_where_a_word_begins() {
    for text in [
        "Histone 2A (H2A)-histone 2B dimer",
        "E2f-1, -2, -3 TKO cells",
        "exit code -1",
    ] {
        let query = parsed(text);
        assert_eq!(query.condition(), None, "{text}");
        assert!(query.words().iter().all(|word| query.is_looked_for(word)));
    }
    assert_eq!(shown(&parsed("lock (-mutex)")), "(lock | !mutex)");
    assert_eq!(
        shown(&parsed("python -2to3 NOT 2")),
        "((python | 2to3) & !2)"
    );
}

#[test]
fn with_the_operator_and_everything_is_required() {
    for (text, expected) in [
        ("rust guide", "(rust & guide)"),
        ("rust \"error handling\"", "(~\"error handling\" & rust)"),
        ("rust -guide", "(rust & !guide)"),
        ("rust (a1 b1)", "(rust & (a1 & b1))"),
        ("rust a1 OR b1", "(rust & (a1 | b1))"),
    ] {
        let request = SearchRequest {
            operator: Some(Operator::And),
            ..SearchRequest::for_text(text)
        };
        assert_eq!(shown(&parse(&request).expect("parses")), expected, "{text}");
    }
}

#[test]
fn the_operator_joins_text_and_terms() {
    let mut request = SearchRequest {
        text: "memory".to_owned(),
        terms: vec!["page fault".to_owned(), "the".to_owned()],
        operator: Some(Operator::And),
        is_words_alone: false,
    };
    let query = parse(&request).expect("parses");
    assert_eq!(shown(&query), "(memory & page & fault)");
    request.operator = Some(Operator::Or);
    let query = parse(&request).expect("parses");
    assert_eq!(query.condition(), None);
    assert_eq!(query.words().len(), 3);
}

/// Terms are text: what looks like the language means its words, and an open quote is no fault.
#[test]
fn terms_are_not_the_language_but_for_quotes() {
    let with_term = |term: &str| {
        let request = SearchRequest {
            terms: vec![term.to_owned()],
            ..SearchRequest::default()
        };
        shown(&parse(&request).expect("terms have no faults"))
    };
    assert_eq!(with_term("-a1 (b1"), "-");
    assert_eq!(with_term("\"page fault\" x1"), "~\"page fault\"");
    assert_eq!(with_term("\"page fault"), "-");
}

#[test]
fn what_is_excluded_neither_scores_nor_is_marked() {
    let query = parsed("rust -guide NOT \"old book\"");
    assert_eq!(
        terms(&query),
        [("rust", 1), ("guid", 0), ("old", 0), ("book", 0)]
    );
    assert!(query.matcher().matches("guides").is_none());
    assert!(query.matcher().matches("Rust").is_some());
    let both = parsed("rust -rust");
    assert_eq!(terms(&both), [("rust", 1)]);
}

#[test]
fn stop_words_count_in_phrases_but_do_not_score() {
    let query = parsed("\"state of the art\"");
    assert_eq!(
        terms(&query),
        [("state", 1), ("of", 0), ("the", 0), ("art", 1)]
    );
    assert_eq!(query.phrases()[0].terms, [0, 1, 2, 3]);
}

#[test]
fn titles_are_compared_with_what_is_looked_for() {
    assert_eq!(
        parsed("Orbits of Planets").title_line(),
        "orbits of planets"
    );
    assert_eq!(
        parsed("\"Orbits of Planets\" -x1").title_line(),
        "orbits of planets"
    );
}

#[test]
fn faults_have_a_place_and_say_what_to_do() {
    for (text, position, start) in [
        ("\"error handling", 0, "this quote is not closed"),
        ("naïve \"x", 6, "this quote is not closed"),
        ("rust AND", 5, "AND has nothing behind it"),
        ("OR rust", 0, "OR has nothing before it"),
        ("rust AND OR guide", 5, "AND has nothing behind it"),
        ("rust NOT", 5, "NOT has nothing behind it"),
        ("rust (guide", 5, "this bracket is not closed"),
        ("rust ) guide", 5, "this bracket closes nothing"),
        ("(a1 AND ) b1", 4, "AND has nothing behind it"),
        ("title: x", 0, "`title:` has no value"),
        ("x (tag:)", 3, "`tag:` has no value"),
        ("tag:\" \"", 4, "`tag:` has an empty value"),
        ("title:...", 0, "the value of `title:` holds no word"),
        (
            "title:mem*",
            6,
            "a beginning cannot be looked for in `title:`",
        ),
        ("x1 m*", 3, "a beginning needs at least 2 letters"),
        ("x1 is:weather", 3, "`is:` is one of main, docs, example"),
        ("x1 kind:weather", 3, "`kind:` is one of function, struct"),
        (
            "x1 after:2026-13-40",
            3,
            "`after:` takes a day of the calendar",
        ),
        (
            "before:2026-1-1-1",
            0,
            "`before:` takes a day of the calendar",
        ),
        ("-rust", 0, "the query only excludes"),
        ("  NOT rust -x1", 2, "the query only excludes"),
    ] {
        let error = parse(&SearchRequest::for_text(text)).expect_err(text);
        assert_eq!(error.position(), Some(position), "{text}: {error}");
        assert!(error.to_string().starts_with(start), "{text}: {error}");
    }
}

/// Pasted text: signs mean nothing, no word is lost but the number of a line, and the fault has its
/// place.
#[test]
fn what_breaks_the_language_is_words() {
    for (text, expected, position) in [
        ("he said \"no way", "said no way", 8),
        (
            "thread 'main' panicked at src/a.rs (line 3",
            "thread main panicked src rs",
            35,
        ),
        ("at foo(Bar.java:12)) AND", "foo Bar java", 21),
        ("-Wall", "Wall", 0),
        ("see title: parser", "see title parser", 4),
    ] {
        let found = parse_lenient(&SearchRequest::for_text(text)).expect("words");
        let words = found.query.words().iter().map(|word| word.surface.as_str());
        assert_eq!(words.collect::<Vec<_>>().join(" "), expected, "{text}");
        assert_eq!(found.query.condition(), None, "{text}");
        let fault = found.fault.expect("a fault");
        assert_eq!(fault.position(), Some(position), "{text}: {fault}");
    }
    let fine = parse_lenient(&SearchRequest::for_text("rust AND guide")).expect("a query");
    assert!(fine.fault.is_none() && fine.query.condition().is_some());
}

/// The words of what is only left out would find the opposite; sizes are bounded either way.
#[test]
fn what_asks_for_nothing_is_refused_all_the_same() {
    let refused = parse_lenient(&SearchRequest::for_text("NOT rust"));
    assert_eq!(refused, Err(QueryError::OnlyExcludes { position: 0 }));
    let long = parse_lenient(&SearchRequest::for_text("\"".repeat(MAX_QUERY_BYTES + 1)));
    assert!(matches!(long, Err(QueryError::TooLong { .. })));
    let deep = parse_lenient(&SearchRequest::for_text("(".repeat(10_000))).expect("no words");
    assert!(deep.query.is_empty());
}

#[test]
fn a_corrected_word_takes_the_place_of_the_mistyped_one() {
    let query = parsed("kernal panic");
    let right = query.with_word(0, "kernels");
    assert_eq!(terms(&right), [("kernal", 0), ("panic", 1), ("kernel", 1)]);
    let merged = parsed("panik panic").with_word(0, "panics");
    assert_eq!(terms(&merged), [("panik", 0), ("panic", 2)]);
}

#[test]
fn s11_a_megabyte_of_query_is_refused_with_the_limit() {
    let refused = parse(&SearchRequest::for_text("x".repeat(1 << 20)));
    let expected = QueryError::TooLong {
        bytes: 1 << 20,
        limit: MAX_QUERY_BYTES,
    };
    assert_eq!(refused, Err(expected));
}

#[test]
fn s11_a_hundred_thousand_terms_are_refused_with_the_limit() {
    let request = SearchRequest {
        terms: vec![String::new(); 100_000],
        ..SearchRequest::default()
    };
    let expected = Err(QueryError::TooManyWords {
        limit: MAX_QUERY_WORDS,
    });
    assert_eq!(parse(&request), expected);
    let text = |count| SearchRequest::for_text("a ".repeat(count));
    assert_eq!(parse(&text(MAX_QUERY_WORDS + 1)), expected);
    assert!(parse(&text(MAX_QUERY_WORDS)).is_ok());
}

/// Ten thousand brackets, quotes, operators or stars: refused or understood, without a deep stack.
#[test]
fn s11_nesting_and_repetition_are_bounded() {
    let error = parse(&SearchRequest::for_text("(".repeat(10_000))).expect_err("too deep");
    assert_eq!(error.position(), Some(MAX_DEPTH), "{error}");
    let deep = |inner| format!("{}{inner}{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
    assert_eq!(shown(&parsed(&deep("mem*"))), "mem*");
    assert_eq!(terms(&parsed(&deep("x1"))), terms(&parsed("x1")));
    assert_eq!(
        shown(&parsed(&format!("a1 {}b1", "NOT ".repeat(8_000)))),
        "-"
    );
    for piece in [
        "-", "*", "\" ", "a*", "a:", "title:", "( ", ") ", "a AND ", "\"a b\" ", "a(", ")a",
    ] {
        let text = piece.repeat(MAX_QUERY_BYTES / piece.len());
        let _ = parse(&SearchRequest::for_text(text));
    }
    let choices = vec!["x1"; 1000].join(" OR ");
    assert!(parse(&SearchRequest::for_text(choices)).is_ok());
}

fn check_indices(query: &ParsedQuery) {
    let known = |index: &usize| *index < query.terms().len();
    for word in query.words() {
        assert!(word.parts.iter().chain([&word.whole]).all(known));
    }
    for phrase in query.phrases() {
        assert!(phrase.terms.len() > 1 && phrase.terms.iter().all(known));
    }
    if let Some(condition) = query.condition() {
        let _ = condition.any(&|leaf| {
            match leaf {
                QueryCondition::Word(index) => assert!(*index < query.words().len()),
                QueryCondition::Phrase(index) => assert!(*index < query.phrases().len()),
                QueryCondition::Prefix(index) => assert!(*index < query.prefixes().len()),
                QueryCondition::Filter(index) => assert!(*index < query.filters().len()),
                _ => {}
            }
            false
        });
    }
}

proptest! {
    #[test]
    fn any_text_is_understood_or_refused_at_one_of_its_characters(
        text in "\\PC{0,60}",
        pieces in prop::collection::vec("(AND|OR|NOT|\\(|\\)|-|\"|\\*|title:|tag:|path:| |[a-z]{1,6}|é)", 0..40),
    ) {
        for text in [format!("{text} {}", pieces.concat()), pieces.join(" "), text] {
            match parse(&SearchRequest::for_text(text.clone())) {
                Ok(query) => check_indices(&query),
                Err(error) => {
                    let position = error.position().expect("short texts break the language alone");
                    prop_assert!(position <= text.chars().count(), "{error} in {text}");
                }
            }
        }
    }

    #[test]
    fn words_of_small_letters_have_no_faults_and_no_condition(text in "([a-z]{1,9}|[0-9]{1,3})([ ,.;!?'/]{1,2}([a-z]{1,9}|[0-9]{1,3})){0,12}") {
        let query = parsed(&text);
        prop_assert_eq!(query.condition(), None);
    }

    #[test]
    fn the_order_of_words_changes_no_counts(mut list in prop::collection::vec("[a-z]{1,8}", 1..10)) {
        let mut first: Vec<_> = parsed(&list.join(" ")).terms().to_vec();
        list.reverse();
        let mut second: Vec<_> = parsed(&list.join(" ")).terms().to_vec();
        first.sort_by(|a, b| a.text.cmp(&b.text));
        second.sort_by(|a, b| a.text.cmp(&b.text));
        prop_assert_eq!(first, second);
    }
}
