//! YAML that GitHub reads, and mistakes in it that are found together.

use runner_core::workflow::parse;

use super::findings::{found, found_at};

/// Lines too far to the left inside brackets, braces and quotes.
#[test]
fn indentation_means_nothing_inside_of_brackets_and_quotes() {
    let rest = "jobs:\n  a:\n    runs-on: x\n    steps:\n      - run: y\n";
    for (text, branches) in [
        (
            "on:\n  push:\n    branches: [\n      'main'\n    ]\n",
            "[\"main\"]",
        ),
        (
            "on:\n  push:\n    branches: [\n    'main',\n    \"next\"\n  ]\n",
            "[\"main\",\"next\"]",
        ),
        (
            "on:\n  push:\n    branches: [\n  main,\nnext,\n]\n",
            "[\"main\",\"next\"]",
        ),
        (
            "on:\n  push: {\n    branches: ['ma-\n in',\n  \"it''s\\\n  one\"\n  ]\n}\n",
            "[\"ma- in\",\"it''sone\"]",
        ),
        (
            "on:\n  push:\n    branches: 'it''s\n a ''\n\n b'\n",
            "[\"it's a '\\nb\"]",
        ),
    ] {
        let text = format!("{text}{rest}");
        let workflow = parse("ci.yml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let push = serde_json::to_value(&workflow.value.on.push).unwrap();
        assert_eq!(push["branches"]["only"].to_string(), branches, "{text}");
    }
}

#[test]
fn places_stay_those_of_the_file() {
    let job = "jobs:\n  a:\n    runs-on: x\n    steps:\n      - run: y\n";
    for on in [
        "on:\n  push:\n    branches: [\n      'main'\n    ]\n  ¦psuh:\n",
        "on:\n  push: {branches: [\n'main'\n], ¦psuh: x}\n",
        "on: {push: {branches: [\n'main'\n]\n,\n¦psuh: x}}\n",
    ] {
        let text = format!("{on}{job}");
        let expected = if on.contains("{branches: [") {
            "error unknown key `psuh` in push"
        } else {
            "error unknown event `psuh`"
        };
        found_at(&text, Some(expected));
    }
    found_at(
        "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: \"echo\n one ${{ ¦nothing }}\"\n",
        Some("error unknown context `nothing`"),
    );
}

/// What is no YAML stays none, however often it is read again.
#[test]
fn what_is_wrong_stays_wrong() {
    for text in [
        "on:\n  push:\n    branches: [\n    'main'\n  jobs: x\n",
        "on: \"push\njobs:\n",
        "on: {push: [a,\n}\n",
        &format!("on: {}", "[\n'a',\n".repeat(20_000)),
    ] {
        assert!(parse("ci.yml", text.as_bytes()).is_err());
    }
}

/// Page "Workflow syntax": no key stands twice; the rest of the file is read all the same.
#[test]
fn a_key_that_is_there_twice_hides_no_other_mistake() {
    found(&[(
        "on: push\njobs:\n  a:\n    runs-on: x\n    Runs-On: y\n    steps:\n      - run: x\n        run: y\n        shel: sh\n  a: {}\nname: b\nname: c\n",
        &[
            "error 5:5: `Runs-On` is there twice, first on line 4",
            "error 8:9: `run` is there twice, first on line 7",
            "error 9:9: unknown key `shel` in a step",
            "error 10:3: `a` is there twice, first on line 3",
            "error 12:1: `name` is there twice, first on line 11",
        ],
    )]);
}

/// YAML 1.2, 6.9.1: a lone `!` says that a scalar is a text.
#[test]
fn a_lone_exclamation_mark_makes_a_text() {
    let text = "on: push\nenv:\n  A: !\n  B: ! 7\njobs: {a: {runs-on: x, steps: [{run: y}]}}\n";
    let workflow = parse("ci.yml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let env = serde_json::to_value(&workflow.value.env).unwrap();
    assert_eq!(env.to_string(), r#"[["A",""],["B","7"]]"#);
}
