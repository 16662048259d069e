//! Which names are found, and which words are refused.

use super::*;

const HEAD: &str = "# Terms\n\n## Store\n\n| Term | Means | Type |\n|---|---|---|\n| batch | x | `Batch` |\n\n\
                    ## Retired words\n\n| Word | Where | Instead |\n|---|---|---|\n";

fn found(rows: &str, source: &str) -> Vec<String> {
    let source = format!("struct Batch;\n{source}");
    let names = defined(&syn::parse_file(&source).expect("it is Rust"));
    let page = format!("{HEAD}{rows}");
    let findings = check([("a.rs", names.as_slice())].into_iter(), &page);
    let errors = findings.into_iter().filter(|finding| finding.place != PAGE);
    errors
        .map(|finding| format!("{} {}", finding.place, finding.text))
        .collect()
}

#[test]
fn words_are_cut_as_people_read_them() {
    for (name, expected) in [
        ("RunDesk", "run desk"),
        ("run_desk", "run desk"),
        ("RUN_DESK_2", "run desk 2"),
        ("HTTPDesk", "http desk"),
        ("VmId", "vm id"),
        ("desk", "desk"),
        ("r#desk", "desk"),
        ("_desk", "desk"),
        ("Vp8Desk", "vp8 desk"),
    ] {
        assert_eq!(words(name).join(" "), expected, "{name}");
    }
}

#[test]
fn each_kind_of_name_is_found_with_its_line_and_what_to_write() {
    let row = "| `Desk` | any name | by role |\n";
    for source in [
        "struct RunDesk;",
        "enum Desks {}",
        "trait AsDesk {}",
        "type Desk = u8;",
        "fn open_desk() {}",
        "mod desk { }",
        "const DESK_SIZE: u8 = 1;",
        "static DESK: u8 = 1;",
        "struct A { desk: u8 }",
        "enum A { Desk }",
        "enum A { B { desk: u8 } }",
        "impl A { fn desk(&self) {} }",
        "impl A { const DESK: u8 = 1; }",
        "trait A { fn desk(); }",
        "fn f() { struct Desk; }",
        "macro_rules! desk { () => {} }",
        "#[cfg(test)] mod tests { fn desk() {} }",
    ] {
        let found = found(row, source);
        assert_eq!(found.len(), 1, "{source}: {found:?}");
        assert!(found[0].starts_with("a.rs:2 `"), "{found:?}");
        assert!(
            found[0].ends_with("`Desk` is retired: by role"),
            "{found:?}"
        );
    }
}

#[test]
fn prose_other_words_and_prescribed_names_pass() {
    let row = "| `Desk`, `told` | any name | by role |\n";
    for source in [
        "// the desk\n/// A desk.\nstruct Table;",
        "fn f() { let desk = \"desk\"; g(desk) }",
        "struct Desktop;",
        "impl Iterator for A { fn desk() {} }",
        "use a::Desk;\nfn f(desk: Desk) {}",
        "#[test]\nfn the_desk_is_told() {}",
        "#[actix_rt::test]\nasync fn the_desk_is_told() {}",
    ] {
        assert_eq!(found(row, source), [""; 0], "{source}");
    }
}

#[test]
fn a_word_can_be_retired_from_types_or_constants_alone() {
    let rows = "| `Place` | types | by role |\n| `EVERY` | constants | `…_INTERVAL` |\n| `former life` | any name | x |\n";
    assert_eq!(
        found(
            rows,
            "struct Place;\nstruct PlaceOf;\nfn place() {}\nenum A { Place }"
        ),
        ["a.rs:2 `Place`: `Place` is retired: by role"]
    );
    assert_eq!(
        found(rows, "const FLUSH_EVERY: u8 = 1;\nfn every() {}"),
        ["a.rs:2 `FLUSH_EVERY`: `EVERY` is retired: `…_INTERVAL`"]
    );
    assert_eq!(
        found(
            rows,
            "fn end_former_life() {}\nfn life() {}\nfn life_former() {}"
        )
        .len(),
        1
    );
}

#[test]
fn i14_a_whole_name_is_retired_in_the_plural_too() {
    let rows = "| `Place` | types | by role |\n| `REST` | whole constants | `…_TIMEOUT` |\n";
    let source = "struct Places;\nstruct PlacesOf;\nconst REST: u8 = 1;\nconst REST_TOKENS: u8 = 1;\nfn rest() {}";
    assert_eq!(
        found(rows, source),
        [
            "a.rs:2 `Places`: `Place` is retired: by role",
            "a.rs:4 `REST`: `REST` is retired: `…_TIMEOUT`"
        ]
    );
}

#[test]
fn the_page_itself_is_checked() {
    let texts = |page: &str| -> Vec<String> {
        let findings = check(std::iter::empty(), page);
        findings
            .iter()
            .map(|finding| format!("{} {}", finding.place, finding.text))
            .collect()
    };
    assert_eq!(
        texts("# Terms\n"),
        ["docs/GLOSSARY.md no words below `## Retired words`"]
    );
    assert_eq!(
        texts(&format!("{HEAD}| `Desk` | any name | x |\n")),
        ["docs/GLOSSARY.md:7 no type is called `Batch`"]
    );
    let twice = HEAD.replace(
        "| batch | x | `Batch` |",
        "| batch | x | |\n| batch | y | |",
    );
    assert_eq!(
        texts(&format!("{twice}| `Desk` | any name | x |\n")),
        ["docs/GLOSSARY.md:8 `batch` stands in line 7 already: one name means one thing"]
    );
    let found = texts(&format!("{HEAD}| `Desk` | somewhere | x |\n"));
    assert!(found[0].contains("the second cell is one of"), "{found:?}");
}

#[test]
fn the_names_are_counted() {
    let names =
        defined(&syn::parse_file("struct Batch; struct ADesk; struct BDesk;").expect("Rust"));
    let page = format!("{HEAD}| `Desk` | any name | x |\n");
    let findings = check([("a.rs", names.as_slice())].into_iter(), &page);
    assert!(findings.contains(&Finding::warning(
        PAGE,
        "2 names hold a retired word: Desk 2"
    )));
}

#[test]
fn i14_a_verb_can_be_retired_as_the_whole_name_of_functions() {
    let row = "| `go_on` | functions | `resume` |\n";
    for (source, count) in [
        ("fn go_on() {}", 1),
        ("impl A { fn go_on(&self) {} }", 1),
        ("trait A { fn go_on(&self); }", 1),
        ("fn go_on_later() {}\nfn go() {}", 0),
        ("struct A { go_on: u8 }", 0),
        ("impl Other for A { fn go_on(&self) {} }", 0),
        ("#[test]\nfn go_on() {}", 0),
    ] {
        assert_eq!(found(row, source).len(), count, "{source}");
    }
    let names = defined(&syn::parse_file("struct Batch;\nfn go_on() {}").expect("Rust"));
    let page = format!("{HEAD}{row}");
    let of = |path: &str| check([(path, names.as_slice())].into_iter(), &page).is_empty();
    assert!(of("actors/a/tests/a.rs") && of("actors/a/src/tests.rs"));
    assert!(!of("actors/a/src/a.rs"));
}
