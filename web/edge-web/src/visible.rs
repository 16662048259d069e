//! Text of strangers on a page: what would be invisible, or turn the text around it, is shown as what it is.

use std::fmt::Write as _;

/// A text as markup that shows it: nothing in it is markup, and characters that are not seen stand there by their number,
/// `<U+202E>`. Line ends and tabs stay.
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
            hidden if is_hidden(hidden) => {
                let _ = write!(out, "&lt;U+{:04X}&gt;", u32::from(hidden));
            }
            shown => out.push(shown),
        }
        before = character;
    }
    out
}

/// Whether a character steers what shows it, takes no room, or sets the direction of others.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(u32::from(character),
            0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
            | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfeff | 0xfff9..=0xfffb | 0xe_0000..=0xe_0fff)
}

#[cfg(test)]
mod tests {
    use super::markup;

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
                "<b title='x'>&\"\n\t",
                "&lt;b title=&#39;x&#39;&gt;&amp;&quot;\n\t",
            ),
        ] {
            assert_eq!(markup(text), shown, "{text:?}");
        }
    }
}
