//! Excerpts of real files: the place shown, its line, and that nothing of a file is interpreted.

use super::*;

fn excerpt(folder: &Path, key: &str, query: &str) -> Excerpt {
    let query = parse(&SearchRequest::for_text(query)).unwrap();
    let root = RootDirectory::open(folder).unwrap();
    Excerpter::new(&query, 120).excerpt(&root, key, "Title of the document")
}

fn marked(excerpt: &Excerpt) -> Vec<String> {
    let text: Vec<char> = excerpt.snippet.chars().collect();
    excerpt
        .highlights
        .iter()
        .map(|&[start, end]| text[start..end].iter().collect())
        .collect()
}

#[test]
fn an_excerpt_shows_the_place_where_the_words_meet() {
    let folder = tempfile::tempdir().unwrap();
    let filler = "/* nothing of interest here */\n".repeat(200);
    let code = format!(
        "int cache;\n{filler}void kmem_cache_alloc(int size)\n{{\n\treturn slab_memory;\n}}\n{filler}"
    );
    write(folder.path(), "slab.c", code);
    let excerpt = excerpt(folder.path(), "slab.c", "cache memory size");
    assert_eq!(
        marked(&excerpt),
        ["kmem_cache_alloc", "size", "slab_memory"]
    );
    assert_eq!(excerpt.line, Some(202));
    assert!(
        excerpt
            .snippet
            .contains("void kmem_cache_alloc(int size) { return slab_memory; }"),
        "{}",
        excerpt.snippet
    );
    assert!(excerpt.snippet.chars().count() <= 120);
}

#[test]
fn i16_the_passage_that_says_most_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let function = |name: &str, line: &str| {
        let filler = "    nothing(of, interest);\n".repeat(50);
        format!("fn {name}() {{\n    {line}\n{filler}}}\n\n")
    };
    let code =
        function("a", "lease; stale;") + &function("b", "") + &function("c", "a stale lease");
    write(folder.path(), "a.rs", &code);
    write(folder.path(), "a.md", &code);
    let query = parse(&SearchRequest::for_text("stale lease")).unwrap();
    let root = RootDirectory::open(folder.path()).unwrap();
    let mut excerpter = Excerpter::new(&query, 120);
    let mut line = |key: &str, passage: Option<usize>| {
        excerpter.set_passage(passage);
        excerpter.excerpt(&root, key, "").line
    };
    assert_eq!(line("a.rs", None), Some(2));
    assert_eq!(line("a.rs", Some(2)), Some(110));
    // Without the words, beyond the end, and in markup it is the best place of all.
    assert_eq!(line("a.rs", Some(1)), Some(2));
    assert_eq!(line("a.rs", Some(9)), Some(2));
    assert_eq!(line("a.md", Some(2)), Some(2));
}

#[test]
fn an_excerpt_of_markdown_or_html_is_free_of_markup_and_names_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let filler = "Some *other* paragraph.\n\n".repeat(100);
    write(
        folder.path(),
        "a.md",
        format!(
            "---\ntitle: needle\n---\n\n{filler}A [sharp **needle**](http://needle.example) here.\n\n{filler}"
        ),
    );
    let page = format!(
        "<html><head><title>needle</title><script>needle()</script></head><body>\n<nav>needle</nav>\n<main>\n{}<p class=\"needle\">A sharp &lt;<b>needle</b>&gt; here.</p>\n{}</main></body></html>",
        "<p>other</p>\n".repeat(200),
        "<p>other</p>\n".repeat(200)
    );
    write(folder.path(), "a.html", page);
    let found = excerpt(folder.path(), "a.md", "needle");
    assert_eq!(
        (marked(&found), found.line),
        (vec!["needle".to_owned()], Some(205))
    );
    assert!(
        found.snippet.contains("A sharp needle here."),
        "{}",
        found.snippet
    );
    let found = excerpt(folder.path(), "a.html", "needle");
    assert_eq!(
        (marked(&found), found.line),
        (vec!["needle".to_owned()], Some(204))
    );
    assert!(
        found.snippet.contains("A sharp <needle> here."),
        "{}",
        found.snippet
    );
}

#[test]
fn a_place_inside_a_script_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "a.html",
        "<body><script>var needle = needle;</script><p>The needle in the text.</p>",
    );
    let found = excerpt(folder.path(), "a.html", "needle");
    assert_eq!(found.snippet, "The needle in the text.");
}

#[test]
fn without_a_place_the_beginning_is_shown_and_without_a_file_the_title() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "a.txt",
        format!("The beginning. {}", "word ".repeat(100)),
    );
    let found = excerpt(folder.path(), "a.txt", "absent");
    assert!(found.snippet.starts_with("The beginning. word") && found.line.is_none());
    let gone = excerpt(folder.path(), "gone.txt", "title");
    assert_eq!(
        (gone.snippet.as_str(), marked(&gone)),
        ("Title of the document", vec!["Title".to_owned()])
    );
    write(folder.path(), "now-binary.txt", b"\0\0\0");
    assert_eq!(
        excerpt(folder.path(), "now-binary.txt", "x").snippet,
        "Title of the document"
    );
}

#[test]
fn a_long_file_is_searched_to_its_end_where_its_beginning_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let filler = "word ".repeat(20_000);
    write(
        folder.path(),
        "middle.txt",
        format!("{filler}needle {filler}{filler}{filler}"),
    );
    assert_eq!(
        marked(&excerpt(folder.path(), "middle.txt", "needle")),
        ["needle"]
    );
    write(
        folder.path(),
        "end.txt",
        format!("{filler}{filler}{filler}needle"),
    );
    assert_eq!(
        marked(&excerpt(folder.path(), "end.txt", "needle")),
        ["needle"]
    );
}

#[test]
fn s05_markup_in_titles_and_bodies_is_plain_text() {
    let folder = tempfile::tempdir().unwrap();
    let evil = "<script>alert('needle')</script> <img src=x onerror=alert(1)> javascript:needle";
    write(folder.path(), "evil.txt", evil);
    write(
        folder.path(),
        "evil.md",
        "# <img src=x onerror=alert(1)> `<script>`\n\nneedle \\<svg onload=x>",
    );
    write(
        folder.path(),
        "evil.html",
        "<title>&lt;script&gt;t&lt;/script&gt;</title><p>&lt;svg onload=x&gt; needle",
    );
    let mut index = Memory::default();
    synchronize(folder.path(), &mut index);
    assert_eq!(index.documents["evil.txt"].0.body, evil);
    assert_eq!(index.documents["evil.html"].0.title, "<script>t</script>");
    assert_eq!(index.documents["evil.md"].0.title, "<script>");
    let found = excerpt(folder.path(), "evil.txt", "needle");
    assert_eq!(
        (found.snippet.as_str(), marked(&found)),
        (evil, vec!["needle".to_owned(), "needle".to_owned()])
    );
    assert_eq!(
        excerpt(folder.path(), "evil.html", "needle").snippet,
        "<svg onload=x> needle"
    );
    assert!(
        excerpt(folder.path(), "evil.md", "needle")
            .snippet
            .ends_with("needle <svg onload=x>")
    );
}

#[test]
fn s16_control_characters_reach_neither_titles_nor_snippets() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "a.html",
        "<title>red\x1b[31m\r\nalert</title><p>needle\x1b[2J\r\nX",
    );
    write(
        folder.path(),
        "b\x1b[31m.txt",
        "needle\x07\x1b]0;title\x07 text",
    );
    let mut index = Memory::default();
    synchronize(folder.path(), &mut index);
    for (document, _) in index.documents.values() {
        assert!(
            !document.title.chars().any(char::is_control),
            "{:?}",
            document.title
        );
        assert!(
            !document.key.chars().any(char::is_control),
            "{:?}",
            document.key
        );
        let found = excerpt(folder.path(), &document.key, "needle");
        assert!(
            !found.snippet.chars().any(char::is_control),
            "{:?}",
            found.snippet
        );
        assert_eq!(marked(&found), ["needle"]);
    }
}

#[test]
fn titles_are_never_empty() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a.md", "no heading"),
        ("b.html", "<p>no title"),
        ("c.rs", "x"),
        ("d.json", "{}"),
        ("e", "x"),
    ] {
        write(folder.path(), name, text);
    }
    let mut index = Memory::default();
    synchronize(folder.path(), &mut index);
    for (key, (document, _)) in &index.documents {
        assert_eq!(&document.title, key);
    }
}

#[test]
fn every_encoding_becomes_the_same_text() {
    let folder = tempfile::tempdir().unwrap();
    let text = "Größe des Speichers für ältere Geräte";
    let utf16: Vec<u8> = format!("\u{feff}{text}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    write(folder.path(), "utf8.txt", text);
    write(folder.path(), "utf16.txt", utf16);
    write(
        folder.path(),
        "latin1.txt",
        text.chars().map(|c| c as u8).collect::<Vec<_>>(),
    );
    let mut index = Memory::default();
    synchronize(folder.path(), &mut index);
    for (document, _) in index.documents.values() {
        assert_eq!(document.body, text, "{}", document.key);
    }
    assert_eq!(index.documents.len(), 3);
    for key in index.keys() {
        let excerpt = excerpt(folder.path(), key, "speicher");
        assert_eq!(
            (excerpt.snippet.as_str(), excerpt.line),
            (text, Some(1)),
            "{key}"
        );
        assert_eq!(excerpt.highlights, [[10, 19]], "{key}");
    }
}

pub(super) fn lines(folder: &Path, key: &str, query: &str, most: usize) -> Option<MatchedLines> {
    let query = parse(&SearchRequest::for_text(query)).unwrap();
    let root = RootDirectory::open(folder).unwrap();
    Excerpter::new(&query, 120).lines(&root, key, most)
}

#[test]
fn the_lines_with_matches_are_listed_the_fullest_first_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let code =
        "fn orbit() {}\n\tlet x = 1;\r\n\tlet orbitPeriod = period(orbit);\nperiod\norbit orbit\n";
    write(folder.path(), "a.rs", code);
    let all = lines(folder.path(), "a.rs", "orbit period", 100).unwrap();
    let numbers = |found: &MatchedLines| {
        let lines = found.lines.iter();
        lines.map(|line| line.line).collect::<Vec<_>>()
    };
    assert_eq!(
        (numbers(&all), all.total, all.more),
        (vec![1, 3, 4, 5], 4, false)
    );
    let third = &all.lines[1];
    assert_eq!(third.text, "let orbitPeriod = period(orbit);");
    assert_eq!(third.highlights, [[4, 15], [18, 24], [25, 30]]);
    let two = lines(folder.path(), "a.rs", "orbit period", 2).unwrap();
    assert_eq!((numbers(&two), two.total), (vec![1, 3], 4));
    assert_eq!(lines(folder.path(), "gone.rs", "orbit", 2), None);
    write(folder.path(), "a.html", "<p>orbit</p>");
    assert_eq!(lines(folder.path(), "a.html", "orbit", 2), None);
}

#[test]
fn lines_of_odd_files_are_cut_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "empty.txt", "");
    let empty = lines(folder.path(), "empty.txt", "orbit", 3);
    assert!(empty.is_none_or(|found| found == MatchedLines::default()));
    let long = format!(
        "{} n\u{e4}hrung orbit {}",
        "x".repeat(5000),
        "y ".repeat(5000)
    );
    write(folder.path(), "long.txt", &long);
    let found = lines(folder.path(), "long.txt", "orbit", 3).unwrap();
    let line = &found.lines[0];
    assert!(line.text.chars().count() <= 200, "{}", line.text);
    let text: Vec<char> = line.text.chars().collect();
    let [start, end] = line.highlights[0];
    assert_eq!(text[start..end].iter().collect::<String>(), "orbit");
    write(folder.path(), "many.txt", "orbit\n".repeat(60_000));
    let many = lines(folder.path(), "many.txt", "orbit", 3).unwrap();
    assert_eq!((many.lines.len(), many.more), (3, true));
    assert_eq!((many.total, many.lines[2].line), (4096, 3));
    let front = "---\ntitle: orbit\n---\n# Orbit\n\nan *orbit*\n";
    write(folder.path(), "front.md", front);
    let found = lines(folder.path(), "front.md", "orbit", 9).unwrap();
    assert_eq!(
        found.lines.iter().map(|line| line.line).collect::<Vec<_>>(),
        [4, 6]
    );
}

#[test]
fn i16_excerpts_and_lines_show_where_an_expression_matches() {
    let folder = tempfile::tempdir().unwrap();
    let filler = "let read = exact;\n".repeat(8_000);
    let code = format!("{filler}fn read_exact_at(file) {{}}\n{filler}fn write_exact_at(x) {{}}\n");
    write(folder.path(), "io.rs", code);
    write(
        folder.path(),
        "page.md",
        "# Words\n\nSee **read_exact_at**(file) there.\n",
    );
    let query = "re:/(read|write)_exact_\\w+\\(/";
    let found = excerpt(folder.path(), "io.rs", query);
    assert_eq!(marked(&found), ["read_exact_at("]);
    assert_eq!(found.line, Some(8_001));
    let parsed = parse(&SearchRequest::for_text(query)).unwrap();
    let root = RootDirectory::open(folder.path()).unwrap();
    let mut excerpter = Excerpter::new(&parsed, 120);
    let lines = excerpter.lines(&root, "io.rs", 5).unwrap();
    assert_eq!(lines.lines[0].line, 8_001);
    assert_eq!(lines.lines[0].text, "fn read_exact_at(file) {}");
    assert_eq!(lines.lines[0].highlights, [[3, 17]]);
    assert_eq!(excerpter.highlights("a read_exact_at()"), [[2, 16]]);
    let page = excerpt(folder.path(), "page.md", query);
    assert_eq!(marked(&page), ["read_exact_at("]);
}

#[test]
fn i16_the_definition_of_what_the_query_names_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let filler = "    # nothing of interest, make and context here\n".repeat(2_000);
    let code = format!(
        "from x import make_context, Context\n\n\nmake_context(Context, Context)\n{filler}\n\ndef make_context(self):\n    return Context()\n"
    );
    write(folder.path(), "core.py", &code);
    let line = code.lines().count() - 1;
    let root = RootDirectory::open(folder.path()).unwrap();
    let shown = |query: &str, defines: bool| {
        let query = parse(&SearchRequest::for_text(query)).unwrap();
        let mut excerpter = Excerpter::new(&query, 120);
        excerpter.prefer_definition(defines.then_some("core.py"));
        excerpter.excerpt(&root, "core.py", "")
    };
    let found = shown("make_context", true);
    assert_eq!(found.line, Some(line));
    assert_eq!(marked(&found)[0], "make_context");
    assert_eq!(shown("makeContext", true).line, Some(line));
    assert_eq!(shown("kind:function", true).line, Some(line));
    assert_eq!(marked(&shown("kind:function", true)), ["make_context"]);
    // It is not looked for where the index knows of none, nor for a sentence.
    assert!(shown("make_context", false).line < Some(line));
    assert!(shown("nothing of interest", true).line < Some(line));
}

#[test]
fn i16_a_whole_identifier_is_shown_behind_hundreds_of_its_parts() {
    let folder = tempfile::tempdir().unwrap();
    let parts = "FMT_USE_CONSTEXPR_STRING\n".repeat(900);
    let text = format!("{parts}uses FMT_STRING here\n");
    write(folder.path(), "a.txt", &text);
    assert_eq!(
        excerpt(folder.path(), "a.txt", "FMT_STRING").line,
        Some(901)
    );
}

#[test]
fn i16_the_line_that_is_asked_for_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.rs", "pattern\n\n    let x = 1;\n");
    let query = parse(&SearchRequest::for_text("pattern")).unwrap();
    let root = RootDirectory::open(folder.path()).unwrap();
    let mut excerpter = Excerpter::new(&query, 120);
    for (asked, expected) in [
        (Some(3), Some(3)),
        (Some(2), Some(2)),
        (Some(9), Some(1)),
        (None, Some(1)),
    ] {
        excerpter.prefer_line(asked);
        let found = excerpter.excerpt(&root, "a.rs", "");
        assert_eq!(found.line, expected, "{asked:?}");
        let is_marked = marked(&found) == ["let x = 1;"];
        assert_eq!(is_marked, asked == Some(3));
    }
}

#[test]
fn i16_the_first_line_of_markdown_is_shown_like_others() {
    let folder = tempfile::tempdir().unwrap();
    for (number, text) in [
        "- [ ] buy stamps\n- [ ] call plumber\n",
        "> stamps are sold here\n\nmore below\n",
        "# Stamps\n\nA text.\n\nAnother one.\n",
        "stamps in a paragraph\nthat goes on\n",
        "---\ntags: a\n---\nstamps behind front matter\nmore\n",
        "stamps",
    ]
    .iter()
    .enumerate()
    {
        let key = format!("{number}.md");
        write(folder.path(), &key, text);
        let excerpt = excerpt(folder.path(), &key, "stamps");
        assert_eq!(marked(&excerpt).len(), 1, "{text} {excerpt:?}");
        let line = text
            .lines()
            .position(|line| line.to_lowercase().contains("stamps"));
        assert_eq!(excerpt.line, line.map(|line| line + 1), "{text}");
    }
}

#[test]
fn i16_what_stands_far_behind_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let filler = "A line about other birds, and gulls.\n\n".repeat(12_000);
    let text = format!("{filler}The albatross circled.\n\n{filler}");
    let wanted = filler.lines().count() + 1;
    for key in ["novel.txt", "big.md"] {
        write(folder.path(), key, &text);
        for asked in ["albatross", "\"albatross circled\"", "re:/albatros[a-z]/"] {
            let query = parse(&SearchRequest::for_text(asked)).unwrap();
            let root = RootDirectory::open(folder.path()).unwrap();
            let phrases = (0..query.phrases().len()).map(|number| query.phrase_finder(number));
            let mut excerpter = Excerpter::new(&query, 120).showing(phrases.collect());
            let excerpt = excerpter.excerpt(&root, key, "a title");
            assert!(excerpt.snippet.contains("albatross"), "{asked} {excerpt:?}");
            assert!(!excerpt.highlights.is_empty(), "{asked} {excerpt:?}");
            assert_eq!(excerpt.line, Some(wanted), "{asked} in {key}");
            let lines = excerpter.lines(&root, key, 5).unwrap();
            assert_eq!(lines.lines[0].line, wanted, "{asked} in {key}");
            let kept = excerpter.excerpt_long_text(&text);
            assert_eq!(kept.line, Some(wanted), "{asked}");
            assert_eq!(
                excerpter.lines_of_text(&text, 5).lines[0].line,
                wanted,
                "{asked}"
            );
        }
    }
}
