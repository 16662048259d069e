//! What Markdown becomes, that of attackers above all.

use super::*;

/// What a text becomes.
fn markup(markdown: &str) -> String {
    super::markup(markdown).into_string()
}

#[track_caller]
fn shows(markdown: &str, expected: &str) {
    assert_eq!(markup(markdown).trim_end(), expected, "{markdown}");
}

const REL: &str = "rel=\"noopener noreferrer nofollow\"";

#[test]
fn what_summaries_are_made_of_is_shown() {
    shows("# All *good*\n", "<h3>All <em>good</em></h3>");
    shows("###### deep", "<h6>deep</h6>");
    shows(
        "a **b** ~~c~~ `<d>`  \ne",
        "<p>a <strong>b</strong> <del>c</del> <code>&lt;d&gt;</code><br>e</p>",
    );
    shows("- [x] a\n- [ ] b", "<ul><li>☑ a</li>\n<li>☐ b</li>\n</ul>");
    shows(
        "3. a\n4. b",
        "<ol start=\"3\"><li>a</li>\n<li>b</li>\n</ol>",
    );
    shows("```sh\na < b\n```", "<pre><code>a &lt; b\n</code></pre>");
    shows("> a\n\n---", "<blockquote><p>a</p>\n</blockquote>\n<hr>");
}

#[test]
fn tables_are_tables() {
    shows(
        "| a | b |\n|---|--:|\n| 1 | 2 |\n",
        "<table><thead><tr><th>a</th><th class=\"right\">b</th></tr></thead><tbody><tr><td>1</td><td class=\"right\">2</td></tr></tbody></table>",
    );
}

#[test]
fn links_lead_to_the_web_and_to_mail_alone() {
    shows(
        "[a](https://example.com/?a=1&b=2 \"t\")",
        &format!("<p><a href=\"https://example.com/?a=1&amp;b=2\" {REL}>a</a></p>"),
    );
    shows(
        "<a@b.example>",
        &format!("<p><a href=\"mailto:a@b.example\" {REL}>a@b.example</a></p>"),
    );
    for target in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "javascript&#58;alert(1)",
        "java&#10;script:alert(1)",
        "&#1;javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://a.example/1",
        "/runs/1/cancel",
        "//evil.example",
        "#j0s1",
        "",
    ] {
        let shown = markup(&format!(
            "[a](<{}>)",
            target.replace('<', "\\<").replace('>', "\\>")
        ));
        assert_eq!(shown.trim_end(), "<p>a</p>", "{target}");
    }
    shows("[a][x]\n\n[x]: javascript:alert(1)", "<p>a</p>");
    shows("<javascript:alert(1)>", "<p>javascript:alert(1)</p>");
}

#[test]
fn images_are_links_and_load_nothing() {
    shows(
        "![alt](https://a.example/x.png)",
        &format!("<p><a href=\"https://a.example/x.png\" {REL}>[image] alt</a></p>"),
    );
    shows("![x](javascript:alert(1))", "<p>[image] x</p>");
    shows(
        "[![b](https://a.example/x.svg)](https://b.example/)",
        &format!("<p><a href=\"https://b.example/\" {REL}>[image] b</a></p>"),
    );
}

/// Every tag that may come out.
const TAGS: [&str; 23] = [
    "p",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "pre",
    "code",
    "ul",
    "ol",
    "li",
    "em",
    "strong",
    "del",
    "a",
    "br",
    "hr",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
];

/// Nothing between `<` and `>` but tags of ours, with attributes of ours.
#[track_caller]
fn only_known_tags(markdown: &str) {
    let shown = markup(markdown);
    for piece in shown.split('<').skip(1) {
        let tag = piece.split_once('>').map(|(tag, _)| tag);
        let tag = tag.unwrap_or_else(|| panic!("{markdown}: {shown}"));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let name = name.strip_prefix('/').unwrap_or(name);
        assert!(TAGS.contains(&name), "{markdown}: {shown}");
        assert!(is_ours(attributes), "{markdown}: {shown}");
    }
}

fn is_ours(attributes: &str) -> bool {
    let value = |name: &str, after: &str| {
        let rest = attributes.strip_prefix(name)?.strip_prefix("=\"")?;
        rest.strip_suffix(after)?.strip_suffix('"')
    };
    let start = value("start", "").is_some_and(|it| it.bytes().all(|c| c.is_ascii_digit()));
    let class = value("class", "").is_some_and(|it| ["right", "center"].contains(&it));
    let href = value("href", &format!(" {REL}")).is_some_and(|it| {
        let schemes = ["http://", "https://", "mailto:"];
        schemes.iter().any(|scheme| it.starts_with(scheme)) && !it.contains(['"', '\'', ' '])
    });
    attributes.is_empty() || start || class || href
}

#[test]
fn attacks_are_text() {
    shows(
        "<script>alert(1)</script>",
        "<pre>&lt;script&gt;alert(1)&lt;/script&gt;</pre>",
    );
    shows(
        "a <b onclick=x>b</b>",
        "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>",
    );
    for attack in [
        "<img src=x onerror=alert(1)>",
        "a <img src=x onerror=alert(1)> b",
        "<svg/onload=alert(1)>",
        "<details open ontoggle=alert(1)>\n\n**x**\n\n</details>",
        "<!-- --><iframe srcdoc='<script>alert(1)</script>'></iframe>",
        "<style>@import 'https://evil.example'</style>",
        "<meta http-equiv=refresh content='0;url=https://evil.example'>",
        "<form action=/runs/1/cancel method=post><button>x</button></form>",
        "</div></details><base href=https://evil.example>",
        "[a](https://a.example/\"onmouseover=alert(1)//)",
        "[a](<https://a.example/\" onmouseover=\"alert(1)>)",
        "![\" onerror=\"alert(1)](https://a.example/x)",
        "![<script>alert(1)</script>](https://a.example/x)",
        "[<img src=x onerror=alert(1)>](https://a.example/)",
        "[a](https://a.example/ \"\\\" onclick=alert(1) \\\"\")",
        "```\"><script>alert(1)</script>\nx\n```",
        "`<script>`",
        "    </code></pre><script>alert(1)</script>",
        "# <script>alert(1)</script> {#x onclick=alert(1)}",
        "| <script> | `a|b` |\n|--|--|\n| <img onerror=x> | </td></table><script> |",
        "> - <script>\n>   > [x](javascript:alert(1)) <svg onload=x>",
        "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62;",
        "<https://a.example/\"><script>alert(1)</script>",
        "[[a](https://a.example/)](https://b.example/)",
        "a\u{0}<scr\u{0}ipt>\u{1b}[31m",
    ] {
        only_known_tags(attack);
    }
    assert!(!markup("a\u{1b}[31m").contains('\u{1b}'));
}

#[test]
fn what_is_made_to_be_large_or_deep_is_not() {
    let deep = markup(&">".repeat(100_000));
    assert!(deep.matches("<blockquote>").count() <= MAX_DEPTH);
    assert_eq!(
        deep.matches("<blockquote>").count(),
        deep.matches("</blockquote>").count()
    );
    let text = format!("{} a", "- ".repeat(5_000));
    assert!(markup(&text).matches("<li>").count() <= MAX_DEPTH);
    only_known_tags(&format!(
        "{}[a](https://a.example/)",
        "*a **b ".repeat(2_000)
    ));
    let columns = "a|".repeat(2_000);
    let table = format!(
        "{columns}\n{}\n{}",
        "-|".repeat(2_000),
        "b|\n".repeat(300_000)
    );
    assert!(markup(&table).len() <= MAX_BYTES + (1 << 20));
    let expands = format!(
        "{}\n\n[x]: https://a.example/{}",
        "[x]".repeat(100_000),
        "y".repeat(100_000)
    );
    assert!(markup(&expands).len() <= MAX_BYTES + (1 << 20));
}
