//! The text of a piece of HTML inside an answer.

/// Tags taken out, entities resolved, blocks on lines of their own; scripts and styles say nothing.
pub fn text(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        entities(&rest[..open], &mut out);
        let tag = &rest[open..];
        let Some(close) = tag.find('>') else {
            // No tag after all.
            entities(tag, &mut out);
            return tidy(&out);
        };
        let name: String = tag[1..close]
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '/')
            .collect();
        let name = name.to_ascii_lowercase();
        rest = &tag[close + 1..];
        if matches!(name.as_str(), "script" | "style") {
            rest = &rest[end_of(rest, &name)..];
        } else if BLOCKS.contains(&name.trim_start_matches('/').trim_end_matches('/')) {
            out.push('\n');
        }
    }
    entities(rest, &mut out);
    tidy(&out)
}

/// Where the end tag of `name` begins, or the text ends. Looks at each byte once: a hostile text is
/// full of such tags.
fn end_of(text: &str, name: &str) -> usize {
    let ends = |at: &usize| {
        let tail = &text.as_bytes()[*at..];
        let named = tail
            .strip_prefix(b"</")
            .and_then(|tail| tail.get(..name.len()));
        named.is_some_and(|named| named.eq_ignore_ascii_case(name.as_bytes()))
    };
    let mut opens = text.match_indices('<').map(|(at, _)| at);
    opens.find(ends).unwrap_or(text.len())
}

const BLOCKS: [&str; 18] = [
    "p",
    "br",
    "div",
    "li",
    "ul",
    "ol",
    "pre",
    "blockquote",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "tr",
    "table",
    "hr",
    "section",
];

fn entities(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        // Only so far: a text may be full of ampersands.
        let end = tail.bytes().take(11).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity(&tail[1..end])?, end))) {
            Some((c, end)) => {
                out.push(c);
                rest = &tail[end + 1..];
            }
            None => {
                out.push('&');
                rest = &tail[1..];
            }
        }
    }
    out.push_str(rest);
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| !c.is_control() || *c == '\n');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "hellip" => '…',
        "mdash" => '—',
        "ndash" => '–',
        _ => return None,
    })
}

/// No empty lines, no blanks at the ends.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(
            text("<p>a &amp; <b>b</b></p><script>x<y</script><p>c&#39;d &#x3c; &unknown; &</p>"),
            "a & b\nc'd < &unknown; &"
        );
        assert_eq!(text("1 < 2 and no tag"), "1 < 2 and no tag");
        assert_eq!(text("a<br/>b<STYLE>no</style>c"), "a\nbc");
    }

    /// Were these read again for each sign, this would not end.
    #[test]
    fn s10_hostile_texts_are_read_once() {
        let signs = text(&"&".repeat(2 << 20));
        assert_eq!(signs.len(), 2 << 20);
        let scripts = text(&"<script>".repeat(200_000));
        assert_eq!(scripts, "");
    }
}
