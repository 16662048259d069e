//! Nasty paragraphs, and the whole checkout: wrapped once it means the same, twice it stays.

use super::*;

/// Wraps Markdown at 20 columns, once and again.
fn markdown(text: &str) -> String {
    let wrap = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        markdown::wrap(&lines, 20).lines.join("\n")
    };
    let once = wrap(text);
    assert_eq!(wrap(&once), once, "it is not stable");
    once
}

fn rust(text: &str) -> String {
    let wrap = |text: &str| comments::wrap(text, 24).lines.join("\n");
    let once = wrap(text);
    assert_eq!(wrap(&once), once, "it is not stable");
    once
}

#[test]
fn paragraphs_and_items_are_filled() {
    for (text, expected) in [
        (
            "one two three four five six",
            "one two three four\nfive six",
        ),
        ("short\nlines\nstay", "short\nlines\nstay"),
        (
            "a\nparagraph with one line too wide\nis filled",
            "a paragraph with one\nline too wide is\nfilled",
        ),
        (
            "- one two three four five\n- six\n\n  seven eight nine ten eleven",
            "- one two three four\n  five\n- six\n\n  seven eight nine\n  ten eleven",
        ),
        (
            "10. one two three four\nlazy\n    11) inner one two three",
            "10. one two three\n    four lazy\n    11) inner one\n        two three",
        ),
        (
            "averyveryverylongwordthatfits nowhere",
            "averyveryverylongwordthatfits\nnowhere",
        ),
        ("größe größe größe größe x", "größe größe größe\ngröße x"),
    ] {
        assert_eq!(markdown(text), expected, "{text}");
    }
}

#[test]
fn a_line_never_begins_with_what_starts_a_block() {
    for (text, expected) in [
        ("one two three fours - five", "one two three\nfours - five"),
        (
            "one two three four 12. five",
            "one two three\nfour 12. five",
        ),
        ("one two three fours # five", "one two three\nfours # five"),
        ("one two three fours > five", "one two three\nfours > five"),
        (
            "one two three four --- five",
            "one two three\nfour --- five",
        ),
        (
            "one two three four <b>x</b>",
            "one two three\nfour <b>x</b>",
        ),
        (
            "one two three four <https://x>",
            "one two three four\n<https://x>",
        ),
        (
            "one two three four 12.5 five",
            "one two three four\n12.5 five",
        ),
    ] {
        assert_eq!(markdown(text), expected, "{text}");
    }
}

#[test]
fn code_spans_stay_on_one_line() {
    assert_eq!(
        markdown("call it by `cargo xtask tidy` now"),
        "call it by\n`cargo xtask tidy`\nnow"
    );
    assert_eq!(
        markdown("so ``a ` b c d`` and `e` then"),
        "so ``a ` b c d`` and\n`e` then"
    );
    assert_eq!(
        markdown("an open ` mark is no span at all"),
        "an open ` mark is no\nspan at all"
    );
    assert_eq!(
        markdown("[a link](https://example.org/far) ends"),
        "[a\nlink](https://example.org/far)\nends"
    );
}

#[test]
fn everything_that_is_no_paragraph_stays() {
    for text in [
        "# a heading that is wider than it should be",
        "a heading of the other kind, too wide\n=====",
        "a heading of the other kind, too wide\n-----",
        "| a table | with cells | that are wide |\n|---|---|---|",
        "```text\na line of code that is wider than that\n\n```",
        "~~~~\n```\na line of code that is wider than that\n~~~~",
        "    a line of code that is wider than that",
        "- item\n\n      code in an item is wider than that",
        "<p>a paragraph of HTML that is wide</p>\nand more of it, which is wide too",
        "<!-- a comment\nwhich is as wide as that and more\n\n-->",
        "[name]: https://example.org/a/far/away/page title",
        "a line with a hard break at its end  \nand another",
        "a line with a hard break at its end\\\nand another",
        "┌─────────────┐ a drawing │ with boxes",
        "key          aligned in columns, wide",
        "> a quotation that is wider than it should be",
        "* * * * * * * * * * * * * *",
    ] {
        assert_eq!(markdown(text), text, "{text}");
    }
}

#[test]
fn text_after_a_block_is_a_paragraph_again() {
    assert_eq!(
        markdown("```\ncode\n```\none two three four five"),
        "```\ncode\n```\none two three four\nfive"
    );
    assert_eq!(
        markdown("<br>\n\none two three four five"),
        "<br>\n\none two three four\nfive"
    );
    assert_eq!(
        markdown("| a |\n|---|\n\n- one two three four five"),
        "| a |\n|---|\n\n- one two three four\n  five"
    );
}

#[test]
fn comments_are_wrapped_behind_their_marker() {
    for (text, expected) in [
        (
            "/// one two three four five\nfn f() {}",
            "/// one two three four\n/// five\nfn f() {}",
        ),
        (
            "    // one two three four\n    f();",
            "    // one two three\n    // four\n    f();",
        ),
        (
            "//! one two three four five\n//!\n//! six",
            "//! one two three four\n//! five\n//!\n//! six",
        ),
        (
            "/// - one two three fours\n///   five\n/// - six",
            "/// - one two three\n///   fours five\n/// - six",
        ),
    ] {
        assert_eq!(rust(text), expected, "{text}");
    }
}

#[test]
fn code_literals_and_fences_in_rust_stay() {
    for text in [
        "let a_very_long_name_of_code = 1; // and its comment",
        "let text = \"\n// one two three four five six\n\";",
        "let text = r#\"\n/// one two three four five six\n\"#;",
        "/* \n// one two three four five six\n*/",
        "//one two three four five six",
        "//////////////////////////////////////",
        "//// one two three four five six",
        "/// ```\n/// let a_very_long_name = some_code(1, 2);\n/// ```\nfn f() {}",
        "/// ```text\n/// actor ──▶ queue ──▶ writer and more\n/// ```\nfn f() {}",
        "// a ──▶ b ──▶ c and so on, a drawing",
        "/// [name]: crate::module::Type and a title",
        "/// | a | table of three | cells |\nfn f() {}",
    ] {
        assert_eq!(rust(text), text, "{text}");
    }
}

#[test]
fn a_file_has_one_finding_at_its_first_wide_paragraph() {
    let wide = "word ".repeat(30);
    let text = format!("# A\n\nshort\n\n{wide}\n\n{wide}\n");
    let finding = check("docs/A.md", &text).expect("it is wide");
    assert_eq!(finding.place, "docs/A.md:5");
    assert!(
        finding
            .text
            .starts_with("2 paragraphs wider than 100 columns"),
        "{}",
        finding.text
    );
    assert_eq!(check("docs/A.md", "short\n"), None);
    assert_eq!(check("docs/CLI.md", &text), None);
    assert_eq!(check("config-samples/a.md", &text), None);
    assert_eq!(check("a.toml", &text), None);
}

/// What a reader sees of a text: its blocks, with every line break a space.
fn meaning(text: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Options, Parser};
    let mut seen: Vec<String> = Vec::new();
    let mut flow = String::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Text(text) => flow.push_str(&text),
            Event::SoftBreak => flow.push(' '),
            other => {
                seen.push(std::mem::take(&mut flow));
                seen.push(format!("{other:?}"));
            }
        }
    }
    seen.push(flow);
    seen.retain(|text| !text.is_empty());
    seen
}

/// The comments of a Rust file, each run of lines a document.
fn documents(source: &str) -> Vec<String> {
    let comments = super::super::rust_text::line_comments(source);
    let mut documents = vec![String::new()];
    for (at, line) in source.lines().enumerate() {
        let text = line.trim_start();
        match (comments.contains(&at), documents.last_mut()) {
            (true, Some(document)) => {
                let inner = text.trim_start_matches(['/', '!']);
                document.push_str(inner.strip_prefix(' ').unwrap_or(inner));
                document.push('\n');
            }
            _ => documents.push(String::new()),
        }
    }
    documents.retain(|document| !document.is_empty());
    documents
}

#[test]
fn wrapping_the_checkout_changes_no_meaning_and_no_code() {
    let project = Project::find().expect("tests run inside the checkout");
    let tree = Tree::read(&project.root).expect("it can be read");
    for (path, text) in tree.texts() {
        let Some(once) = wrapped(path, text) else {
            continue;
        };
        if once.wide.is_empty() {
            assert!(
                once.lines.iter().map(String::as_str).eq(text.lines()),
                "{path}"
            );
            continue;
        }
        let mut after = once.lines.join("\n");
        after.push('\n');
        let again = wrapped(path, &after).expect("it is the same file");
        assert_eq!(again.lines, once.lines, "{path} is not stable");
        assert_eq!(again.wide, [0; 0], "{path} is still wide");
        if path.ends_with(".md") {
            assert_eq!(meaning(&after), meaning(text), "{path}");
            continue;
        }
        let code = |text: &str| -> Vec<String> {
            let code = super::super::rust_text::without_comment_lines(text);
            code.into_iter().map(str::to_owned).collect()
        };
        assert_eq!(code(&after), code(text), "{path}");
        let before: Vec<_> = documents(text).iter().map(|text| meaning(text)).collect();
        let now: Vec<_> = documents(&after).iter().map(|text| meaning(text)).collect();
        assert_eq!(now, before, "{path}");
    }
}
