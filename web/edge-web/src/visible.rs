//! Text of strangers on a page: what would be invisible, or turn the text around it, is shown as
//! what it is.

use std::borrow::Cow;
use std::fmt::Write as _;

use config_core::is_hidden;
use maud::Render;

/// A text of a stranger in a template: what [`markup`] makes of it.
#[derive(Debug, Clone, Copy)]
pub struct VisibleText<'a>(pub &'a str);

impl Render for VisibleText<'_> {
    fn render_to(&self, page: &mut String) {
        page.push_str(&markup(self.0));
    }
}

/// A text as markup that shows it: nothing in it is markup, and characters that are not seen stand
/// there by their number, `<U+202E>`. Line ends and tabs stay.
#[must_use]
pub fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut before = ' ';
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            // Joins two pictures to one.
            '\u{200d}' if before >= '\u{2190}' => out.push(character),
            selector if selects(selector, before) => out.push(character),
            hidden if is_hidden(hidden) => {
                let _ = write!(out, "&lt;U+{:04X}&gt;", u32::from(hidden));
            }
            shown => out.push(shown),
        }
        before = character;
    }
    out
}

/// A text for a terminal or a browser that shows it as it is: without the colours of terminals, and
/// what is not seen stands there by its number. Line ends and tabs stay.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for character in without_colours(text).chars() {
        let stays = matches!(character, '\n' | '\t') || selects(character, before);
        if is_hidden(character) && !stays {
            let _ = write!(out, "<U+{:04X}>", u32::from(character));
        } else {
            out.push(character);
        }
        before = character;
    }
    out
}

/// Whether a character selects how the one in front of it looks: a picture, or as text.
fn selects(character: char, before: char) -> bool {
    matches!(character, '\u{fe0e}' | '\u{fe0f}') && !is_hidden(before)
}

/// The same JSON, in one line, with escapes in place of the characters that are not seen: whoever
/// reads it as text sees them, whoever parses it has the same values.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let steers = |character: char| is_hidden(character) && character >= '\u{7f}';
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        if steers(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// A log without the colours of terminals, its lines ended by a line feed.
#[must_use]
pub fn without_colours(log: &str) -> String {
    config_core::without_colours(log).replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::{json, markup, plain};

    #[test]
    fn t11_raw_text_and_json_show_what_is_not_seen() {
        let text = "\u{1b}[31mred\u{1b}[0m\tx\r\n\u{1b}[2\u{202e}gnp\u{2066}\u{7f} ü";
        assert_eq!(
            plain(text),
            "red\tx\n<U+001B>[2<U+202E>gnp<U+2066><U+007F> ü"
        );
        let coloured = "\u{1b}[01;31m\u{1b}[Kerror: \u{1b}[m\u{1b}[Kx \u{2714}\u{fe0f}\u{fe0f}";
        assert_eq!(plain(coloured), "error: x \u{2714}\u{fe0f}<U+FE0F>");
        let text = format!("{text}\u{e0041}\u{85}\"");
        let raw = serde_json::to_string(&text).unwrap();
        let shown = json(&raw);
        assert!(!shown.contains(config_core::is_hidden), "{shown}");
        assert!(shown.contains("\\u202egnp\\u2066"), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        assert!(matches!(
            json("{\"a\":\"ü\"}"),
            std::borrow::Cow::Borrowed(_)
        ));
    }

    #[test]
    fn t11_what_is_not_seen_is_shown_by_its_number() {
        for (text, shown) in [
            ("main\u{202e}gnp.exe", "main&lt;U+202E&gt;gnp.exe"),
            (
                "\u{2066}a\u{2069}\u{200e}\u{200f}\u{61c}",
                "&lt;U+2066&gt;a&lt;U+2069&gt;&lt;U+200E&gt;&lt;U+200F&gt;&lt;U+061C&gt;",
            ),
            (
                "pay\u{200b}pal\u{feff}\u{ad}",
                "pay&lt;U+200B&gt;pal&lt;U+FEFF&gt;&lt;U+00AD&gt;",
            ),
            (
                "a\u{e0041}\u{2028}\u{3164}",
                "a&lt;U+E0041&gt;&lt;U+2028&gt;&lt;U+3164&gt;",
            ),
            (
                "\u{1b}[2J\u{7}\r",
                "&lt;U+001B&gt;[2J&lt;U+0007&gt;&lt;U+000D&gt;",
            ),
            ("a\u{200d}b", "a&lt;U+200D&gt;b"),
            (
                "\u{1f469}\u{200d}\u{1f4bb} ✔\u{fe0f} ünï",
                "\u{1f469}\u{200d}\u{1f4bb} ✔\u{fe0f} ünï",
            ),
            (
                "✔\u{fe0f}\u{fe0f}\u{e0101}\u{ffa0}",
                "✔\u{fe0f}&lt;U+FE0F&gt;&lt;U+E0101&gt;&lt;U+FFA0&gt;",
            ),
            (
                "<b title='x'>&\"\n\t",
                "&lt;b title=&#39;x&#39;&gt;&amp;&quot;\n\t",
            ),
        ] {
            assert_eq!(markup(text), shown, "{text:?}");
        }
    }
}
