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
fn i16_an_option_is_what_documents_say_of_the_command_or_mostly_with_a_dash() {
    let home = Home::new();
    for (key, text) in [
        (
            "find.1",
            "find: -maxdepth levels, -delete, -print0, -newerXY, -mtime",
        ),
        ("xargs.1", "xargs: works with what find writes for -print0"),
        (
            "openssl-x509.1ssl",
            "openssl x509 -noout -inform -fingerprint",
        ),
        (
            "openssl-s_client.1ssl",
            "openssl s_client -connect host -noout",
        ),
        ("gcc.1", "gcc -fno-strict-aliasing, -rpath"),
        ("ld.1", "ld -rpath folder, -rpath-link"),
        ("pets.txt", "cats and their owners"),
        ("train.txt", "a passport for the -train"),
    ] {
        home.write(key, text);
    }
    for number in 0..6 {
        let text = "cats horses find train passport delete openssl connect";
        home.write(&format!("other{number}.txt"), text);
    }
    home.write("shop.txt", "cats; no -horses");
    let server = home.start(&home.role("BM25F"));
    for (asked, page) in [
        ("find -maxdepth", "find.1"),
        ("find -delete", "find.1"),
        ("find -print0", "find.1"),
        ("find -mtime", "find.1"),
        ("find -newerXY", "find.1"),
        ("openssl x509 -noout", "openssl-x509.1ssl"),
        ("openssl x509 -fingerprint", "openssl-x509.1ssl"),
        ("openssl s_client -connect", "openssl-s_client.1ssl"),
        ("xargs -print0", "xargs.1"),
        ("gcc -fno-strict-aliasing", "gcc.1"),
        ("ld -rpath", "ld.1"),
    ] {
        let answer = server.search(&json!({"search_term": asked}));
        let first = keys(&answer).into_iter().next();
        assert_eq!(first.as_deref(), Some(page), "{asked}: {}", answer["notes"]);
    }
    for (asked, left_out) in [
        ("passport -train", "train.txt"),
        ("cats -horses", "shop.txt"),
    ] {
        let answer = server.search(&json!({"search_term": asked}));
        let found = keys(&answer);
        assert!(!found.contains(&left_out.to_owned()), "{asked}: {found:?}");
        assert!(
            !found.contains(&"other1.txt".to_owned()),
            "{asked}: {found:?}"
        );
    }
}

#[test]
fn i16_short_hashes_numbers_in_groups_and_korean_nouns_are_found() {
    let home = Home::new();
    for (key, text) in [
        (
            "fixes.md",
            "Mended in 9fceb02d0ae598e95dc970b74767f19372d61af8.\n",
        ),
        ("other.md", "A page with 9 of 02 and fceb in it.\n"),
        ("bill.md", "The sum is 12,499.00 by the end of the year.\n"),
        ("people.md", "1.250.000 people live there.\n"),
        ("city.md", "그는 서울에서 일한다\n"),
        ("fruit.md", "나는 사과를 먹는다\n"),
    ] {
        home.write(key, text);
    }
    let server = home.start(&home.role("BM25F"));
    for (asked, page, note) in [
        ("9fceb02", "fixes.md", "found in \\\"9fceb02d0ae5"),
        ("9FCEB02d0ae598", "fixes.md", "found in \\\"9fceb02d0ae5"),
        ("12499", "bill.md", "searched for \\\"12 499\\\""),
        ("sum 12499", "bill.md", "searched for \\\"12 499\\\""),
        ("1250000", "people.md", "searched for \\\"1 250 000\\\""),
        ("서울", "city.md", "found in \\\"서울에서\\\""),
        ("사과", "fruit.md", "found in \\\"사과를\\\""),
    ] {
        let answer = server.search(&json!({"search_term": asked}));
        let (found, notes) = (keys(&answer), answer["notes"].to_string());
        assert_eq!(found, [page], "{asked}: {notes}");
        assert!(notes.contains(note), "{asked}: {notes}");
    }
    let answer = server.search(&json!({"search_term": "98765"}));
    assert_eq!(answer["notes"], json!(["nothing holds \"98765\""]));
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
