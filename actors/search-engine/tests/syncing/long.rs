//! Excerpts of long files: the same whether or not the file was looked at before, and then read
//! around the place alone.

use search_core::passages::passage_starts;

use super::*;

/// A file of a megabyte: functions of different words, with some beyond ASCII at the seams.
fn long_code() -> String {
    let mut code = String::new();
    for number in 0..3_000 {
        let (first, second) = (number % 83, number % 101);
        code.push_str(&format!(
            "/* état {number}: über die Größe */\nint func_{number}(int alpha{first}, int beta{second})\n{{\n\treturn alpha{first} + beta{second} * gamma{number};\n}}\n\n"
        ));
        for filler in 0..8 {
            code.push_str(&format!(
                "static int value{filler}_{second} = 0x{number:x}; // é\n"
            ));
        }
    }
    code
}

/// What the engine finds out of a text as a whole is what it knows of a file that it saw before.
#[test]
fn i16_a_long_file_is_read_whole_once_and_shown_alike() {
    let folder = tempfile::tempdir().unwrap();
    let code = long_code();
    assert!(code.len() > 1 << 20);
    // Each of them is another file, of which nothing is known.
    let starts = passage_starts(&code);
    let asked: Vec<(String, Option<usize>, bool)> = (0..16)
        .map(|number| {
            let far = 1_500 + number * 53;
            let at = code.find(&format!("gamma{far};")).unwrap();
            let passage = starts.partition_point(|&start| start <= at);
            match number % 4 {
                0 => (
                    format!("alpha{} gamma{far}", far % 83),
                    Some(passage),
                    false,
                ),
                1 => (format!("func_{far}"), Some(passage), true),
                2 => (format!("gamma{far} absent"), Some(passage), true),
                // What does not stand in that passage is looked for in all of the text.
                _ => (format!("gamma{far} return"), Some(number % 7), false),
            }
        })
        .collect();
    let root = RootDirectory::open(folder.path()).unwrap();
    write(folder.path(), "long.c", &code);
    let mut quick = 0;
    for (number, (query, passage, defines)) in asked.iter().enumerate() {
        let key = format!("new{number}.c");
        write(folder.path(), &key, &code);
        let query = parse(&SearchRequest::for_text(query.as_str())).unwrap();
        let shown = |key: &str| {
            let mut excerpter = Excerpter::new(&query, 240);
            excerpter.set_passage(*passage);
            excerpter.prefer_definition(defines.then_some(key));
            let excerpt = excerpter.excerpt(&root, key, "");
            (excerpt, excerpter.bytes_read())
        };
        let (whole, whole_bytes) = shown(&key);
        assert_eq!(whole_bytes, code.len() as u64, "{key}");
        let (known, bytes) = shown("long.c");
        assert_eq!(known, whole, "{:?}", asked[number]);
        assert!(
            whole.line.is_some() && !whole.highlights.is_empty(),
            "{whole:?}"
        );
        quick += usize::from(bytes < 400 << 10);
        fs::remove_file(folder.path().join(&key)).unwrap();
    }
    assert!(
        quick >= 12,
        "{quick} of {} were read around the place",
        asked.len()
    );
}

/// A file that was changed is another one.
#[test]
fn i16_a_long_file_that_was_changed_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let code = long_code();
    let root = RootDirectory::open(folder.path()).unwrap();
    let query = parse(&SearchRequest::for_text("func_2500")).unwrap();
    let line = |text: &str| {
        let at = text.find("func_2500(").unwrap();
        let passage = passage_starts(text).partition_point(|&start| start <= at);
        let mut excerpter = Excerpter::new(&query, 240);
        excerpter.set_passage(Some(passage));
        excerpter.prefer_definition(Some("a.c"));
        let found = excerpter.excerpt(&root, "a.c", "").line;
        assert_eq!(found, Some(text[..at].lines().count()));
        excerpter.bytes_read()
    };
    write(folder.path(), "a.c", &code);
    assert_eq!(line(&code), code.len() as u64);
    assert!(line(&code) < 400 << 10);
    let longer = format!("int first;\n{code}");
    write(folder.path(), "a.c", &longer);
    assert_eq!(line(&longer), longer.len() as u64);
}
