//! R07: files that want to exhaust the reader.

use config_core::Diagnostics;
use runner_core::workflow::parse;

/// The one mistake of a file, with its place.
fn refused(text: &[u8]) -> String {
    let wrong: Diagnostics = parse("ci.yml", text).expect_err("it is refused");
    let first = wrong.iter().next().expect("a reason");
    assert!(first.line.is_some() && first.col.is_some(), "{first}");
    assert!(wrong.len() <= 100, "{} findings", wrong.len());
    first.headline()
}

/// Every mistake that is shown.
fn all(text: &[u8]) -> String {
    parse("ci.yml", text)
        .expect_err("it is refused")
        .to_string()
}

#[test]
fn r07_an_alias_bomb_is_counted_not_written_out() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let alias = format!("*a{}", level - 1);
        text += &format!(
            "a{level}: &a{level} [{}]\n",
            [alias.as_str(); 10].join(", ")
        );
    }
    let said = refused(text.as_bytes());
    assert!(
        said.starts_with("ci.yml:5:") && said.contains("aliases written out"),
        "{said}"
    );
}

#[test]
fn r07_texts_count_as_well_as_values() {
    let mut text = format!("a0: &a0 {}\n", "x".repeat(500_000));
    text += &format!("a1: [{}]\n", ["*a0"; 20].join(", "));
    assert!(refused(text.as_bytes()).contains("aliases written out"));
}

#[test]
fn r07_an_alias_to_itself_is_refused() {
    let said = refused(b"on: push\njobs: &a\n  b: *a\n");
    assert!(said.starts_with("ci.yml:3:6:"), "{said}");
}

#[test]
fn r07_depth_is_bounded_in_every_style() {
    let flow = format!("a: {}{}", "[".repeat(10_000), "]".repeat(10_000));
    let maps = format!("a: {}{}", "{a: ".repeat(10_000), "}".repeat(10_000));
    let block = "- ".repeat(10_000) + "a";
    let lines: String = (0..400)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    for text in [flow, maps, block, lines] {
        let said = refused(text.as_bytes());
        assert!(said.contains("deep"), "{said}");
    }
}

#[test]
fn r07_a_large_file_is_not_read() {
    let said = refused(&vec![b'a'; 50 << 20]);
    assert!(said.contains("52428800 bytes"), "{said}");
}

#[test]
fn r07_wide_files_end_in_a_bounded_list_of_mistakes() {
    let keys: String = (0..40_000).map(|key| format!("key{key}: 1\n")).collect();
    assert!(all(keys.as_bytes()).contains("unknown key"));
    let many: String = (0..90_000).map(|_| "- \n").collect();
    assert!(refused(many.as_bytes()).contains("a list, expected a mapping"));
}

#[test]
fn r07_duplicate_keys_name_the_first() {
    let said = all(b"on: push\njobs:\n  a: {}\n  b: {}\n  A: {}\n");
    assert!(
        said.contains("ci.yml:5:3: `A` is there twice, first on line 3"),
        "{said}"
    );
}

#[test]
fn r07_tags_documents_and_merge_keys_are_refused() {
    for (text, part) in [
        (&b"on: !!python/object:os.system x\n"[..], "unknown tag"),
        (b"on: !custom push\n", "unknown tag"),
        (b"on: push\n---\non: push\n", "second document"),
        (b"x: &x {a: 1}\non:\n  <<: *x\n", "merge keys"),
        (b"? [a, b]\n: c\n", "a key is a list"),
        (b"on: push\n\tjobs: x\n", "not valid YAML"),
        (b"on: [push\n", "not valid YAML"),
        (b"on: *nowhere\n", "not valid YAML"),
        (b"\xff\xfeo\0n\0", "UTF-16"),
        (b"on: \xff\n", "UTF-8"),
        (b"on: \0\n", "NUL"),
        (b"", "empty"),
        (b"# only a comment\n", "holds no value"),
    ] {
        let wrong = parse("ci.yml", text).expect_err(part);
        assert!(wrong.to_string().contains(part), "{wrong}");
    }
}

#[test]
fn r07_on_is_a_key_and_never_a_boolean() {
    for text in ["on: push", "\"on\": [push]", "'on': {push: }"] {
        let file = format!("{text}\njobs: {{a: {{runs-on: x, steps: [{{run: yes}}]}}}}\n");
        let workflow = parse("ci.yml", file.as_bytes()).unwrap().value;
        assert!(workflow.on.push.is_some(), "{text}");
    }
    // Whoever's editor turned it into a boolean is told.
    let said = refused(b"true: push\njobs: {a: {runs-on: x, steps: [{run: x}]}}\n");
    assert!(
        said.contains("no `on`") || said.contains("unknown key `true`"),
        "{said}"
    );
}

#[test]
fn r07_one_long_line_is_walked_once() {
    let list = format!("on: [{}]\n", "a, ".repeat(90_000));
    assert!(refused(list.as_bytes()).contains("unknown event `a`"));
    let wide: String = (0..45_000).map(|key| format!("k{key}: 1, ")).collect();
    assert!(all(format!("{{{wide}}}").as_bytes()).contains("unknown key"));
    let letters = format!("on: [{}]\n", "é, ".repeat(90_000));
    assert!(refused(letters.as_bytes()).contains("unknown event"));
}

#[test]
fn r07_many_references_to_much_end_in_time() {
    let rows: String = (0..12_000)
        .map(|row| format!("          - {{k{row}: 1}}\n"))
        .collect();
    let uses: String = (0..10_000)
        .map(|_| {
            "        ${{ matrix.k }} ${{ needs.a.outputs.x }} ${{ format('{1}') }}\n".to_owned()
        })
        .collect();
    let text = format!(
        "on: push\njobs:\n  a:\n    runs-on: x\n    strategy:\n      matrix:\n        include:\n{rows}    steps:\n    - run: |\n{uses}"
    );
    let started = std::time::Instant::now();
    let read = runner_core::workflow::parse("ci.yml", text.as_bytes()).expect_err("formats");
    assert!(read.len() > 10);
    let lines = "x: [\n'a',\n".to_owned() + &"'b',\n".repeat(200_000);
    let _ = runner_core::workflow::parse("ci.yml", lines.as_bytes());
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}
