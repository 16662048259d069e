//! The markup inside a line that both programs share: wiki links, embeds, tags, block references.

use super::page::{NoteLink, NotePage};

/// Replaces the markup of `line` by what a reader sees, and tells `page` of links and tags.
pub(super) fn plain(line: &str, page: &mut NotePage) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let mut before = None;
    while let Some(next) = rest.chars().next() {
        let (seen, used) = match next {
            '`' => code(rest),
            '{' if rest.starts_with("{{") => macro_call(rest, page),
            '!' if rest.starts_with("![[") => {
                wiki(&rest[1..], page).map(|(seen, used)| (seen, used + 1))
            }
            '[' if rest.starts_with("[[") => wiki(rest, page),
            '[' => labelled(rest, page),
            '(' if rest.starts_with("((") => block(rest, page),
            '#' => tag(rest, before, page),
            '=' if rest.starts_with("==") => Some((String::new(), 2)),
            _ => None,
        }
        .unwrap_or_else(|| (next.to_string(), next.len_utf8()));
        out.push_str(&seen);
        before = rest[..used].chars().next_back();
        rest = &rest[used..];
    }
    out
}

/// What is shown, and how many bytes it stands for.
type RenderedInline = Option<(String, usize)>;

/// Inline code stays as it is.
fn code(rest: &str) -> RenderedInline {
    let ticks = rest.bytes().take_while(|byte| *byte == b'`').count();
    let fence = &rest[..ticks];
    let end = rest[ticks..].find(fence)?;
    let used = ticks + end + ticks;
    Some((rest[..used].to_owned(), used))
}

/// `{{embed [[x]]}}` shows and links x; queries, renderers and other macros show nothing.
fn macro_call(rest: &str, page: &mut NotePage) -> RenderedInline {
    let end = rest.find("}}")? + 2;
    let inner = rest[2..end - 2].trim();
    let seen = inner
        .strip_prefix("embed")
        .map(|embedded| plain(embedded.trim(), page));
    Some((seen.unwrap_or_default(), end))
}

/// `[[x]]`, `[[x|y]]`, `[[x#heading]]`, `[[x#^block|y]]`, and Logseq's `[[a [[b]] c]]`.
fn wiki(rest: &str, page: &mut NotePage) -> RenderedInline {
    let used = closing(rest)?;
    let inner = &rest[2..used - 2];
    if inner.contains('\n') || inner.trim().is_empty() {
        return None;
    }
    let (target, label) = match inner.split_once('|') {
        // Inside a table the bar is escaped.
        Some((target, label)) => (target.trim_end_matches('\\'), Some(label)),
        None => (inner, None),
    };
    let name = target.split('#').next().unwrap_or_default().trim();
    let name = name.replace("[[", "").replace("]]", "");
    if !name.is_empty() {
        page.link(NoteLink::Page(name));
    }
    let shown = label.map_or_else(
        || target.replace("#^", " ").replace('#', " > "),
        str::to_owned,
    );
    Some((
        shown.replace("[[", "").replace("]]", "").trim().to_owned(),
        used,
    ))
}

/// Bytes up to the brackets that close the first two.
fn closing(rest: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    // A page's name is short; a line without an end is no link.
    while at < rest.len().min(2_000) {
        if rest[at..].starts_with("[[") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("]]") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += rest[at..].chars().next()?.len_utf8();
        }
    }
    None
}

/// `[label]([[page]])` and `[label](((block)))` of Logseq; `[label](file.md)` of both; other links
/// stay Markdown.
fn labelled(rest: &str, page: &mut NotePage) -> RenderedInline {
    let label_end = rest.find("](")?;
    let label = &rest[1..label_end];
    let target = &rest[label_end + 2..];
    if label.contains('[') || label.contains('\n') {
        return None;
    }
    if target.starts_with("[[") {
        let end = closing(target)?;
        target[end..].starts_with(')').then_some(())?;
        wiki(target, page)?;
        return Some((label.to_owned(), label_end + 2 + end + 1));
    }
    if target.starts_with("((") {
        let (_, end) = block(target, page)?;
        target[end..].starts_with(')').then_some(())?;
        return Some((label.to_owned(), label_end + 2 + end + 1));
    }
    let end = target.find(')')?;
    let path = target[..end].split('#').next().unwrap_or_default();
    let is_note = path.ends_with(".md") && !path.contains("://");
    if is_note {
        let path = path.replace("%20", " ");
        page.link(NoteLink::Page(path.trim_end_matches(".md").to_owned()));
        return Some((label.to_owned(), label_end + 2 + end + 1));
    }
    None
}

/// `((6643…))`: a block of Logseq, by its UUID.
fn block(rest: &str, page: &mut NotePage) -> RenderedInline {
    let end = rest.find("))")?;
    let id = &rest[2..end];
    let is_uuid = id.len() == 36
        && id
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if !is_uuid {
        return None;
    }
    let id = id.to_ascii_lowercase();
    page.link(NoteLink::Block(id.clone()));
    Some((format!("(({id}))"), end + 2))
}

/// `#tag`, `#a/b`, `#[[several words]]`; not a heading, not a fragment, not a number.
fn tag(rest: &str, before: Option<char>, page: &mut NotePage) -> RenderedInline {
    if before.is_some_and(|c| !c.is_whitespace() && !"([{,;".contains(c)) {
        return None;
    }
    // A priority: `[#A]`.
    if before == Some('[') && rest.as_bytes().get(2) == Some(&b']') {
        return None;
    }
    if rest.starts_with("#[[") {
        let end = closing(&rest[1..])?;
        let name = rest[3..end - 1].to_owned();
        page.tag(&name);
        page.link(NoteLink::Page(name.clone()));
        return Some((name, end + 1));
    }
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    let name: String = rest[1..]
        .chars()
        .take_while(|c| is_part(*c))
        .take(200)
        .collect();
    let name = name.trim_end_matches(['/', '-']);
    if name.is_empty() || name.chars().all(|c| c.is_numeric()) {
        return None;
    }
    page.tag(name);
    Some((name.to_owned(), name.len() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(line: &str) -> (String, NotePage) {
        let mut page = NotePage::default();
        let text = plain(line, &mut page);
        (text, page)
    }

    #[test]
    fn what_a_reader_sees() {
        for (line, shown) in [
            ("see [[Big Page]] now", "see Big Page now"),
            ("[[Big Page|it]]", "it"),
            ("[[Page#Part]] and ![[pic.png]]", "Page > Part and pic.png"),
            ("[[a [[b]] c]]", "a b c"),
            ("a `[[code]] #x` stays", "a `[[code]] #x` stays"),
            ("{{query (and [[x]])}}gone", "gone"),
            ("{{embed [[Other]]}}", "Other"),
            (
                "[label]([[Page]]) [w](https://x.org)",
                "label [w](https://x.org)",
            ),
            ("[note](dir/other%20note.md#h)", "note"),
            ("#tag, #a/b #[[two words]]", "tag, a/b two words"),
            ("C# and #1 and a#b", "C# and #1 and a#b"),
            ("==marked== text", "marked text"),
            ("open [[ never closed", "open [[ never closed"),
            ("((not a block))", "((not a block))"),
        ] {
            assert_eq!(seen(line).0, shown, "{line}");
        }
    }

    #[test]
    fn links_and_tags_are_told() {
        let (_, page) =
            seen("[[A|x]] [[a#h]] #t #T [l](((66436d4d-1111-2222-3333-444455556666))) [[A]]");
        let pages = ["A", "a"].map(|name| NoteLink::Page(name.to_owned()));
        assert_eq!(page.links[..2], pages);
        assert_eq!(
            page.links[2],
            NoteLink::Block("66436d4d-1111-2222-3333-444455556666".to_owned())
        );
        assert_eq!((page.links.len(), page.tags), (3, vec!["t".to_owned()]));
    }
}
