//! The mention grammar: W23, W24, and what people write.

use forge_core::mention::{Mention, ScanLimits, neutralise_mentions, scan};

fn found(comment: &str) -> Vec<Mention> {
    scan(comment, ScanLimits::default()).found
}

/// The names mentioned, as `project/agent` or `agent`.
fn names(comment: &str) -> Vec<String> {
    let name = |mention: &Mention| match &mention.project {
        Some(project) => format!("{project}/{}", mention.agent),
        None => mention.agent.to_string(),
    };
    found(comment).iter().map(name).collect()
}

#[track_caller]
fn assert_names(comment: &str, expected: &[&str]) {
    assert_eq!(names(comment), expected, "{comment:?}");
}

#[test]
fn plain_mentions() {
    assert_names("@orch:pr-reviewer", &["pr-reviewer"]);
    assert_names("please @orch:developer, fix it", &["developer"]);
    assert_names("@orch:shop/developer go", &["shop/developer"]);
    assert_names("(@orch:developer)", &["developer"]);
    assert_names("ask @orch:a1.", &["a1"]);
    assert_names("ask @orch:a1: do it", &["a1"]);
    assert_names(
        "**@orch:developer** and _@orch:tester_",
        &["developer", "tester"],
    );
    assert_names(
        "~~@orch:developer~~ \"@orch:tester\"",
        &["developer", "tester"],
    );
    assert_names(
        "- @orch:developer\n- @orch:tester",
        &["developer", "tester"],
    );
    assert_names("| who |\n|---|\n| @orch:developer |", &["developer"]);
    assert_names("[@orch:developer](https://forge.example)", &["developer"]);
    assert_names(
        "@orch:developer\r\n@orch:tester\r\n",
        &["developer", "tester"],
    );
    assert_names(
        "@orch:developer!? \u{2014}@orch:tester\u{2026}",
        &["developer", "tester"],
    );
    assert_names("no mention, not @orch: either", &[]);
}

#[test]
fn each_agent_once_in_order() {
    assert_names(
        "@orch:bb @orch:aa @orch:bb @orch:p/bb",
        &["bb", "aa", "p/bb"],
    );
}

#[test]
fn the_rest_of_the_line_is_the_context() {
    let mentions = found("Hi\n@orch:aa  fix `this` @orch:bb too \nnot this");
    assert_eq!(mentions[0].rest_of_line, "fix `this` @orch:bb too");
    assert_eq!(mentions[1].rest_of_line, "too");
    assert_eq!(&"Hi\n@orch:aa"[mentions[0].range.clone()], "@orch:aa");
}

#[test]
fn the_rest_of_the_line_is_cut_between_characters() {
    let limits = ScanLimits {
        mentions: 1,
        line_bytes: 5,
    };
    let mentions = scan("@orch:aa \u{e9}\u{e9}\u{e9}\u{e9}", limits).found;
    assert_eq!(mentions[0].rest_of_line, "\u{e9}\u{e9}");
}

#[test]
fn w23_code_is_not_read() {
    assert_names("`@orch:developer`", &[]);
    assert_names("`` a ` @orch:developer ``", &[]);
    assert_names("`over\n@orch:developer\nlines`", &[]);
    assert_names("```\n@orch:developer\n```", &[]);
    assert_names("~~~ text\n@orch:developer\n~~~", &[]);
    assert_names("````\n```\n@orch:developer\n````", &[]);
    assert_names("- item\n\n  ```\n  @orch:developer\n  ```", &[]);
    assert_names("text\n\n    @orch:developer in indented code", &[]);
    assert_names("```\n@orch:developer never closed", &[]);
    assert_names("```\ncode\n```\n@orch:developer", &["developer"]);
    assert_names("`code` @orch:developer `code`", &["developer"]);
    assert_names("an unclosed ` and @orch:developer", &["developer"]);
    assert_names(
        "<code>@orch:developer</code> <CODE x>@orch:tester</CODE>",
        &[],
    );
    assert_names("<code>x</code> @orch:developer", &["developer"]);
}

#[test]
fn w23_quotes_are_not_read() {
    assert_names("> @orch:developer", &[]);
    assert_names(
        "> quoted\n> @orch:developer\n\nmine: @orch:tester",
        &["tester"],
    );
    assert_names("> > @orch:developer", &[]);
    assert_names("- > @orch:developer", &[]);
    assert_names("> [!NOTE]\n> @orch:developer", &[]);
    // CommonMark shows an unmarked line right below a quote inside the quote.
    assert_names("> quoted\n@orch:developer", &[]);
    assert_names("<blockquote>\n@orch:developer\n</blockquote>", &[]);
}

#[test]
fn w23_html_comments_and_attributes_are_not_read() {
    assert_names("<!-- @orch:developer -->", &[]);
    assert_names("text <!-- @orch:developer --> text", &[]);
    assert_names(
        "<!--\n\n@orch:developer\n\n-->\n\n@orch:tester",
        &["tester"],
    );
    assert_names("<!-- @orch:developer", &[]);
    assert_names("<a title=\"@orch:developer\">x</a>", &[]);
    assert_names("<div title='a > @orch:developer'>\nx\n</div>", &[]);
    assert_names("![@orch:developer](x.png)", &[]);
    assert_names("<pre>\n@orch:developer\n</pre>", &[]);
    assert_names("<div>\n<pre>@orch:developer</pre>\n</div>", &[]);
    assert_names("<details>\n<!-- @orch:developer -->\n</details>", &[]);
}

#[test]
fn text_inside_details_is_read() {
    assert_names(
        "<details><summary>why</summary>\n\n@orch:developer\n\n</details>",
        &["developer"],
    );
    assert_names(
        "<details>\n@orch:developer do it\n</details>",
        &["developer"],
    );
}

#[test]
fn w23_addresses_and_words_are_not_mentions() {
    for text in [
        "bob@orch:developer",
        "bob.@orch:developer",
        "me+x@orch:developer",
        "mail <bob@orch:developer>",
        "https://forge.example/@orch:developer",
        "a/@orch:developer",
        "@@orch:developer",
        "\\@orch:developer",
        "&#64;orch:developer",
        "&#97;@orch:developer",
        "@orch:developer&#115;",
        "@orch:developer\\_x",
        "@orch:developer@forge.example",
        "@orch:developer.example",
        "@orch:developer_x",
        "@orch:developer/x/y",
        "@ orch:developer",
        "@orch: developer",
        "@Orch:developer",
        "\u{ff20}orch:developer",
    ] {
        assert_names(text, &[]);
    }
}

#[test]
fn w24_a_thousand_mentions_stay_within_the_limit() {
    let comment: String = (0..1000).map(|n| format!("@orch:agent-{n} ")).collect();
    let mentions = scan(&comment, ScanLimits::default());
    assert_eq!(mentions.found.len(), 10);
    assert_eq!(mentions.over_limit, 990);
    let same = scan(&"@orch:developer ".repeat(1000), ScanLimits::default());
    assert_eq!((same.found.len(), same.over_limit), (1, 0));
}

#[test]
fn w24_look_alikes_and_paths_name_nobody() {
    for text in [
        "@orch:build\u{0435}r",
        "@orch:\u{0430}gent",
        "@orch:developer\u{0301}",
        "@orch:developer\u{200b}",
        "@orch:dev\u{200d}eloper",
        "@orch:developer\u{202e}",
        "@orch:../../x",
        "@orch:..",
        "@orch:a/../x",
        "@orch:/developer",
        "@orch:p/",
        "@orch:-developer",
        "@orch:1developer",
        "@orch:DEVELOPER",
        "@orch:Developer",
        "@orch:a",
    ] {
        assert_names(text, &[]);
    }
}

#[test]
fn w24_names_have_a_length() {
    let longest = "a".repeat(40);
    assert_names(&format!("@orch:{longest}"), &[&longest]);
    assert_names(&format!("@orch:{longest}a"), &[]);
    assert_names(&format!("@orch:{}", "a".repeat(10_240)), &[]);
    assert_names(&format!("@orch:p/{}", "a".repeat(10_240)), &[]);
    assert_names(&format!("@orch:{}/developer", "p".repeat(10_240)), &[]);
}

/// Inputs that make Markdown parsers slow when they are. A quadratic one would take minutes here.
#[test]
fn w24_hostile_markdown_is_read_in_linear_time() {
    for pattern in [
        "`", "[", "![", "*", "_a ", "<", "<!--", "> ", "- ", "(", "[a](", "&", "\\", "|", "<a \"",
        "@orch:",
    ] {
        let comment = format!(
            "@orch:developer {}",
            pattern.repeat(200_000 / pattern.len())
        );
        let _ = scan(&comment, ScanLimits::default());
    }
}

#[test]
fn neutralised_text_looks_the_same_and_mentions_nobody() {
    for text in [
        "@orch:developer",
        "a @orch:shop/developer b @orch:tester",
        "@@orch:@orch:developer",
        "@ORCH:developer @Orch:developer",
    ] {
        let neutral = neutralise_mentions(text);
        assert_eq!(neutral.replace('\u{2060}', ""), text);
        assert_names(&neutral, &[]);
        assert!(!neutral.to_lowercase().contains("@orch:"), "{neutral:?}");
    }
    for text in ["", "@", "@ada and @orchard: bob@x.example", "@orch"] {
        assert_eq!(neutralise_mentions(text), text);
    }
}
