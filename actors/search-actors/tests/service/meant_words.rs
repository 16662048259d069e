//! Words that stand otherwise in texts than they are typed: inside others, as options, as dates.

use serde_json::{Value, json};

use crate::harness::{Home, keys};

#[test]
fn i16_words_inside_others_options_and_dates_are_noted() {
    let home = Home::new();
    for (key, text) in [
        (
            "police.txt",
            "Die Haftpflichtversicherung und die Rosen im Garten",
        ),
        ("gcc.txt", "gcc -Wall shows all warnings of a wall"),
        ("rm.txt", "rm -rf deletes it; a passport on the wall"),
        ("train.txt", "a passport for the train: -train"),
        ("ls.txt", "ls lists files, one a line with l as well"),
        ("fields.txt", "what the date was"),
    ] {
        home.write(key, text);
    }
    let server = home.start(&home.role("BM25F"));
    let ask = |words: &str| -> (Vec<String>, String) {
        let answer = server.search(&json!({"search_term": words}));
        (keys(&answer), answer["notes"].to_string())
    };
    for (asked, first, note) in [
        (
            "Versicherung",
            "police.txt",
            "nothing holds \\\"Versicherung\\\"; found in",
        ),
        ("Rose", "police.txt", "found in \\\"rosen\\\""),
        ("gcc -Wall", "gcc.txt", "NOT Wall"),
        ("rm -rf", "rm.txt", "taken for an option"),
        ("passport -train", "rm.txt", "for the option write"),
        ("date:2026-11-28 date", "fields.txt", "is no field"),
    ] {
        let (found, notes) = ask(asked);
        assert_eq!(
            found.first().map(String::as_str),
            Some(first),
            "{asked}: {notes}"
        );
        assert!(notes.contains(note), "{asked}: {notes}");
    }
    let (found, notes) = ask("ls -l");
    assert_eq!((found[0].as_str(), notes.as_str()), ("ls.txt", "null"));
    // What is excluded stays so.
    assert_eq!(ask("passport -train").0, ["rm.txt"]);
    assert_eq!(ask("wall -gcc").0, ["rm.txt"]);
    assert!(ask("passport 🎂").1.contains("is no word"));
    assert_eq!(ask("passport – train").1, "null");
    assert!(ask("\"\"").1.contains("holds no word"));
    let (none, notes) = ask("xylophones");
    assert_eq!((none.len(), notes.as_str()), (0, "null"));
}

#[test]
fn i16_what_says_when_it_was_written_is_sorted_by_that() {
    let home = Home::new();
    for (key, date) in [
        ("b.md", "2019-03-01"),
        ("c.md", "2026-11-20"),
        ("a.md", "2023-05-05 10:00"),
    ] {
        home.write(key, format!("---\ndate: {date}\n---\n\nreport\n"));
    }
    let server = home.start(&home.role("BM25F"));
    let sorted = |order: &str| -> Value {
        let answer = server.search(&json!({"search_term": "report", "sort": order}));
        json!(keys(&answer))
    };
    assert_eq!(sorted("newest"), json!(["c.md", "a.md", "b.md"]));
    assert_eq!(sorted("oldest"), json!(["b.md", "a.md", "c.md"]));
}
