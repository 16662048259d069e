//! Whatever a file holds: errors with a place inside it, never a panic, never a full stack.

use config_core::{
    Colours, ConfigFormat, ConfigInput, ConfigItem, Diagnostics, Environment, MAX_FILE_BYTES,
};
use proptest::prelude::*;

/// Walks everything, asking each value for every type.
fn walk(item: &ConfigItem<'_>) -> Option<()> {
    let _ = (
        item.boolean(),
        item.integer(0..=9),
        item.number(0.0..=9.0),
        item.string(),
    );
    let _ = (item.http_url(), item.byte_size(), item.duration());
    item.list(walk);
    item.entries(|_, item| walk(item));
    Some(())
}

fn read(bytes: &[u8], format: ConfigFormat) -> Result<(), Diagnostics> {
    let environment = Environment::from_iter([("HOME", "/home/me")]);
    let accept = |item: &ConfigItem<'_>| item.entries(|_, item| accepted(item)).map(|_| ());
    ConfigInput::new("file", bytes, format, &environment)
        .decode(accept)
        .map(|decoded| decoded.value)
}

fn accepted(_: &ConfigItem<'_>) -> Option<()> {
    Some(())
}

/// The first message, which must have a place.
fn message(bytes: &[u8], format: ConfigFormat) -> String {
    let diagnostics = read(bytes, format).expect_err("the text is wrong");
    diagnostics
        .iter()
        .next()
        .expect("there is a message")
        .headline()
}

fn json(text: impl AsRef<[u8]>) -> String {
    message(text.as_ref(), ConfigFormat::Json)
}

fn toml(text: impl AsRef<[u8]>) -> String {
    message(text.as_ref(), ConfigFormat::Toml)
}

#[test]
fn depth_is_bounded_before_parsing() {
    for unit in ["[", "{\"a\":", "[{\"a\":["] {
        let text = format!("{{\"a\": {}", unit.repeat(100_000));
        assert!(
            json(&text).ends_with("more than 64 values inside each other"),
            "{unit}"
        );
    }
    for text in [
        "a = ".to_owned() + &"[".repeat(100_000),
        "a.".repeat(100_000) + "a = 1",
    ] {
        assert!(toml(&text).ends_with("more than 64 values inside each other"));
    }
    let deepest = format!("{{\"a\": {}{}}}", "[".repeat(63), "]".repeat(63));
    assert_eq!(read(deepest.as_bytes(), ConfigFormat::Json), Ok(()));
}

#[test]
fn a_huge_file_is_refused_unread() {
    for format in [ConfigFormat::Json, ConfigFormat::Toml] {
        let text = vec![b'['; 50_000_000];
        assert!(message(&text, format).contains("the file has 50000000 bytes"));
        assert!(message(&vec![b' '; MAX_FILE_BYTES], format).ends_with("the file is empty"));
    }
}

#[test]
fn odd_bytes_are_named_with_their_place() {
    assert_eq!(
        json("\u{feff}{}"),
        "file:1:1: the file begins with a byte-order mark"
    );
    assert_eq!(
        json("{\n\"a\": \"\0\"}"),
        "file:2:7: the file holds a NUL byte"
    );
    assert_eq!(
        json(b"{\n  \xc3\x28}"),
        "file:2:3: byte 0xc3 is not valid UTF-8"
    );
    assert_eq!(json(b"\xff\xfe{\0}\0"), "file:1:1: the file is UTF-16");
    assert_eq!(toml("a = \"\0\""), "file:1:6: the file holds a NUL byte");
}

/// One of the messages about a JSON text.
#[track_caller]
fn reports(text: &str, expected: &str) {
    let wrong = read(text.as_bytes(), ConfigFormat::Json).expect_err("the text is wrong");
    let found: Vec<String> = wrong
        .iter()
        .map(|diagnostic| diagnostic.headline())
        .collect();
    assert!(
        found.iter().any(|message| message == expected),
        "{text}: {found:?}"
    );
}

#[test]
fn json_is_strict() {
    for (text, expected) in [
        (
            r#"{"a": 1, // c"#,
            "file:1:10: comments are not allowed in JSON",
        ),
        (
            r#"{"a": /* c */ 1}"#,
            "file:1:7: comments are not allowed in JSON",
        ),
        (
            r#"{"a": [1,]}"#,
            "file:1:9: a comma after the last element is not allowed",
        ),
        (
            r#"{"a": 1,}"#,
            "file:1:8: a comma after the last element is not allowed",
        ),
        (
            r#"{"a": 1 "b": 2}"#,
            "file:1:9: expected `,` between elements",
        ),
        (
            "{\"a\": 1\n\"b\": 2}",
            "file:1:8: expected `,` between elements",
        ),
        (r#"{'a': 1}"#, "file:1:2: strings stand in double quotes"),
        (r#"{a: 1}"#, "file:1:2: `a` is not in quotes"),
        (
            r#"{"a": 0x1f}"#,
            "file:1:7: hexadecimal numbers are not allowed",
        ),
        (r#"{"a": +1}"#, "file:1:7: a number does not begin with `+`"),
        (
            r#"{"a": .5}"#,
            "file:1:7: a digit is needed on both sides of the decimal point",
        ),
        (
            r#"{"a": 5.}"#,
            "file:1:7: a digit is needed on both sides of the decimal point",
        ),
        (r#"{"a": NaN}"#, "file:1:7: a number must be finite"),
        (r#"{"a": 01}"#, "file:1:8: expected `,` between elements"),
    ] {
        reports(text, expected);
    }
}

#[test]
fn json_strings_and_brackets_are_checked() {
    for (text, expected) in [
        (
            "{\"a\": \"x\n\", \"b\": 1}",
            "file:1:7: the string is not closed on its line",
        ),
        (
            "{\"a\": \"x\ty\"}",
            "file:1:9: unescaped control character U+0009 in a string",
        ),
        ("{\"a\":\u{a0}1}", "file:1:6: unexpected character U+00A0"),
        (
            r#"{"a": "\ud800"}"#,
            "file:1:8: the escape is half of a surrogate pair, which is no character",
        ),
        (r#"{"a": "\x41"}"#, "file:1:8: unknown escape in a string"),
        (
            r#"{"a": "\u00g0"}"#,
            "file:1:8: `\\u` needs four hexadecimal digits",
        ),
        (r#"{"a": "x"#, "file:1:7: the string is not closed"),
        (r#"{"a": 1"#, "file:1:1: `{` is not closed"),
        (r#"{"a": [1"#, "file:1:7: `[` is not closed"),
        (r#"{"a" 1}"#, "file:1:6: expected `:` after the key"),
        (r#"{"a": }"#, "file:1:7: expected a value after `:`"),
        (r#"{"a": , "b": 1}"#, "file:1:7: expected a value after `:`"),
        (r#"{"a": [1}"#, "file:1:9: expected `]`, found `}`"),
        (
            r#"{"a": 1}}"#,
            "file:1:9: unexpected text after the end of the value",
        ),
        (
            r#"{"a": 1} {"#,
            "file:1:10: unexpected text after the end of the value",
        ),
        (r#"[]"#, "file:1:1: expected an object, found an array"),
        ("nul", "file:1:1: `nul` is not in quotes"),
        ("// c", "file:1:1: comments are not allowed in JSON"),
        (r#"{"a": 1, "a": 2}"#, "file:1:10: key `a` is written twice"),
    ] {
        reports(text, expected);
    }
}

/// The words are the parser's; the places are ours to keep exact.
#[test]
fn toml_errors_have_their_place() {
    for (text, place) in [
        ("a = [1\nb = 2", "file:2:1: "),
        ("a 1", "file:1:3: "),
        ("[a\nb = 1", "file:1:3: "),
        ("a = \"x", "file:1:7: "),
        ("\n\na = 1979-13-01", "file:3:5: "),
    ] {
        let found = toml(text);
        assert!(found.starts_with(place), "{text}: {found}");
    }
    assert_eq!(toml("a = 1\na = 2"), "file:2:1: duplicate key");
    let two = read(b"a = [1\nb = \nc = 'x", ConfigFormat::Toml).expect_err("the text is wrong");
    assert!(two.len() > 1, "syntax errors are reported together: {two}");
}

#[test]
fn numbers_no_type_can_hold_are_errors() {
    let environment = Environment::default();
    for (text, format) in [
        (r#"{"a": 1e999}"#, ConfigFormat::Json),
        (
            r#"{"a": 99999999999999999999999999999999999999999}"#,
            ConfigFormat::Json,
        ),
        (
            "a = 99999999999999999999999999999999999999999",
            ConfigFormat::Toml,
        ),
    ] {
        let read = |item: &ConfigItem<'_>| {
            item.fields("the file", &["a"], |fields| {
                fields.required("a", |item| item.integer(1..=9))
            })
        };
        let wrong = ConfigInput::new("file", text, format, &environment)
            .decode(read)
            .unwrap_err();
        assert_eq!(wrong.len(), 1);
        assert!(
            wrong.to_string().contains("the number must be from 1 to 9"),
            "{wrong}"
        );
    }
}

#[test]
fn thousands_of_mistakes_on_one_line_stay_affordable() {
    let keys: Vec<String> = (0..60_000).map(|index| format!("\"k{index}\":1")).collect();
    let text = format!("{{{}}}", keys.join(","));
    let environment = Environment::default();
    let read = |item: &ConfigItem<'_>| item.fields("the file", &["a", "b"], |_| Some(()));
    let wrong = ConfigInput::json("file", &text, &environment)
        .decode(read)
        .unwrap_err();
    assert_eq!(wrong.len(), 201);
    let last = wrong.iter().last().expect("there are some").headline();
    assert!(last.ends_with("and 59800 further errors"), "{last}");
    assert!(
        wrong
            .iter()
            .all(|diagnostic| diagnostic.render(Colours::Off).len() < 1000)
    );
}

/// Text that looks like configuration, so that the parsers get past the first byte.
fn configuration_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "=",
        ".",
        "\"",
        "'",
        "\\",
        "\n",
        "\r\n",
        "\t",
        " ",
        "#",
        "//",
        "a",
        "api_key",
        "\"a\"",
        "\"é日\"",
        "${HOME}",
        "${X",
        "$$",
        "\\u00e9",
        "\\ud800",
        "1",
        "-",
        "1e9",
        "0x",
        "true",
        "null",
        "inf",
        "1979-05-27",
        "\"\"\"",
        "'''",
        "\u{a0}",
        "\u{2028}",
        "\u{1b}",
        "\u{feff}",
        "64MB",
        "http://a",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Every place lies inside the text, and rendering works.
fn check(bytes: &[u8], format: ConfigFormat) {
    let environment = Environment::from_iter([("HOME", "/home/me")]);
    let Err(wrong) = ConfigInput::new("file", bytes, format, &environment).decode(walk) else {
        return;
    };
    assert!(!wrong.is_empty());
    let text = String::from_utf8_lossy(bytes);
    let count = |number: Option<u32>| usize::try_from(number.expect("a place")).expect("it fits");
    let lines: Vec<&str> = text.split('\n').collect();
    for diagnostic in &wrong {
        let (line, col) = (count(diagnostic.line), count(diagnostic.col));
        assert!((1..=lines.len()).contains(&line), "{diagnostic:?}");
        // The end of a line is a place, too; a mark at the start of the file counts three.
        assert!(
            (1..=lines[line - 1].chars().count() + 3).contains(&col),
            "{diagnostic:?}"
        );
    }
    let rendered = wrong.render(Colours::Off);
    assert!(
        rendered.chars().all(|c| c == '\n' || !c.is_control()),
        "{rendered:?}"
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes, ConfigFormat::Json);
        check(&bytes, ConfigFormat::Toml);
    }

    #[test]
    fn text_that_looks_like_configuration_never_panics(text in configuration_like()) {
        check(text.as_bytes(), ConfigFormat::Json);
        check(text.as_bytes(), ConfigFormat::Toml);
    }
}
