//! What people type and paste: sentences, stack traces, addresses, quotes that are not closed, and
//! mistakes.

use serde_json::{Value, json};

use crate::harness::{Home, Running, keys};

fn server() -> (Home, Running) {
    let home = Home::new();
    home.write(
        "restart.md",
        "# Restarting\n\nThe pump is complete through the execution of `restart_pump`.\n",
    );
    home.write(
        "src/pump.rs",
        "fn restart_pump(state: &HashMap<u32, u32>) {\n    panic!(\"no entry found for key\");\n}\n",
    );
    home.write(
        "exception.md",
        "# Exceptions\n\nAn exception, though rare, is told.\n",
    );
    let server = home.start(&home.role("BM25F"));
    (home, server)
}

/// The answer, the first result and what was noted.
fn asked(server: &Running, words: &str) -> (Value, Option<String>, String) {
    let answer = server.search(&json!({"search_term": words}));
    let first = keys(&answer).into_iter().next();
    let notes = answer["notes"].to_string();
    (answer, first, notes)
}

#[test]
fn i16_what_is_pasted_is_searched_by_its_words_with_a_note() {
    let (_home, server) = server();
    let trace = "thread 'main' panicked at src/pump.rs:2:5: no entry found for key\n   \
                 0: std::panicking::begin_panic (in /lib/x.so)\n   1: pump::restart_pump [inlined";
    for pasted in [
        trace,
        "why does restart_pump( not end",
        "\"no entry found for key",
        "no entry found for key \" AND",
        "https://example.org/src/pump.rs?line=2#restart_pump",
        "panic!(\"no entry found for key\");",
        "error: no entry found (key) NOT",
    ] {
        let (answer, first, _) = asked(&server, pasted);
        assert_eq!(answer["status"], "success", "{pasted}");
        assert_eq!(first.as_deref(), Some("src/pump.rs"), "{pasted}: {answer}");
    }
    for broken in ["\"no entry found for key", "entry AND", "(entry OR key"] {
        let (answer, _, notes) = asked(&server, broken);
        assert!(
            notes.contains("searched for the words alone"),
            "{broken}: {notes}"
        );
        assert!(answer["query_fault"]["position"].is_u64(), "{broken}");
    }
    // What is right is not noted.
    let (answer, _, notes) = asked(&server, "\"no entry found for key\"");
    assert!(!notes.contains("alone"), "{notes}");
    assert_eq!(answer["query_fault"], Value::Null);
}

#[test]
fn i16_a_word_that_occurs_is_never_replaced() {
    let (_home, server) = server();
    // Each has a neighbour that is more frequent or as near: `though`, `exception`.
    for word in [
        "through",
        "execution",
        "though",
        "exceptions",
        "restarting",
        "entry",
    ] {
        let (answer, _, notes) = asked(&server, word);
        assert_eq!(answer["corrections"], Value::Null, "{word}: {notes}");
        assert!(answer["total"].as_u64() > Some(0), "{word}");
    }
}

#[test]
fn i16_corrections_are_words_as_they_are_written_and_identifiers_too() {
    let (_home, server) = server();
    for (typed, meant) in [
        ("complte", "complete"),
        ("excution", "execution"),
        ("exeptions", "exceptions"),
        ("HashMpa", "HashMap"),
        ("restrat_pump", "restart_pump"),
    ] {
        let (answer, _, notes) = asked(&server, typed);
        let corrected = answer["corrections"][0]["corrected"].as_str();
        assert_eq!(corrected, Some(meant), "{typed}: {notes}");
        assert!(answer["total"].as_u64() > Some(0), "{typed}");
    }
    // Quoted and excluded words mean themselves.
    for exact in ["\"complte\"", "pump -complte"] {
        let (answer, ..) = asked(&server, exact);
        assert_eq!(answer["corrections"], Value::Null, "{exact}");
    }
}

#[test]
fn i16_what_nothing_holds_is_said_and_the_form_to_use() {
    let (home, server) = server();
    home.write(
        "src/best.rs",
        "pub fn best_window() {}\npub const MAX_ROOM: u8 = 3;\n",
    );
    let server = {
        drop(server);
        home.start(&home.role("BM25F"))
    };
    for (typed, said) in [
        ("PumpRestartPolicy", "nothing holds \"PumpRestartPolicy\""),
        ("--pump-entry", "nothing holds \"--pump-entry\""),
        ("=>", "write \"=>\" case:yes"),
        ("🚀", "write \"🚀\" case:yes"),
        (
            "source:Nope pump",
            "no source is called \"Nope\"; there are: ",
        ),
        ("tag:absent pump", "has the tag \"absent\""),
        ("pump case:yes", "write \"text\" case:yes"),
    ] {
        let (_, _, notes) = asked(&server, typed);
        let said = said.replace('"', "\\\"");
        assert!(notes.contains(&said), "{typed}: {notes}");
    }
    for right in ["restart_pump", "restartPump", "pump", "\"pump\" case:yes"] {
        let (_, _, notes) = asked(&server, right);
        assert!(
            !notes.contains("nothing holds") && !notes.contains("write"),
            "{right}: {notes}"
        );
    }
    // A name without what joins its parts is found where it is defined.
    for (typed, name) in [("bestwindow", "best_window"), ("maxroom", "MAX_ROOM")] {
        let (answer, first, notes) = asked(&server, typed);
        assert_eq!(first.as_deref(), Some("src/best.rs"), "{typed}: {notes}");
        assert_eq!(answer["corrections"][0]["corrected"], name, "{notes}");
    }
}

#[test]
fn i16_the_line_of_the_definition_or_the_one_asked_for_is_shown() {
    let home = Home::new();
    let filler = "    # nothing of interest for a context that is made\n".repeat(60);
    home.write(
        "src/core.py",
        format!(
            "from x import make_context\n{filler}\ndef make_context(a):\n    return a\n\n{filler}"
        ),
    );
    home.write("src/other.py", "import core\nmake_context(1)\n");
    let server = home.start(&home.role("BM25F"));
    let shown = |typed: &str| {
        let body = json!({"search_term": typed, "budget_tokens": 60});
        let answer = server.search(&body);
        let result = &answer["results"][0];
        let path = result["path"].as_str().unwrap_or_default().to_owned();
        assert!(path.ends_with("core.py"), "{typed}: {answer}");
        (result["line"].as_u64(), answer["passages"][0].clone())
    };
    for typed in [
        "make_context",
        "kind:function make_context",
        "kind:function",
    ] {
        let (line, passage) = shown(typed);
        assert_eq!(line, Some(63), "{typed}");
        assert_eq!(passage["line"], 63, "{typed}: {passage}");
    }
    for typed in [
        "core.py:70",
        "src/core.py:70:5",
        "File src/core.py:70: in make_context",
    ] {
        let (line, passage) = shown(typed);
        assert_eq!(line, Some(70), "{typed}");
        let lines = passage["line"].as_u64()..=passage["end_line"].as_u64();
        assert!(lines.contains(&Some(70)), "{typed}: {passage}");
    }
    assert_eq!(shown("core.py").0, Some(1));
}

#[test]
fn i16_definitions_are_suggested_as_they_are_written() {
    let home = Home::new();
    home.write(
        "src/a.rs",
        "pub fn executeCommand() {}\npub fn restart_pump() {}\n",
    );
    let server = home.start(&home.role("ServiceGraph"));
    server.eventually("they are suggested", || {
        let found = |typed: &str, name: &str| {
            let all = server.suggestions(typed);
            all.iter().any(|one| one == name)
        };
        found("executec", "executeCommand") && found("restart_p", "restart_pump")
    });
}
