//! Colours of terminals in a line of a log: the weights and the sixteen colours of text become
//! classes, all other sequences nothing.

use maud::{Markup, PreEscaped, Render, html};

use super::text::VisibleMarkup;

/// How text looks at a point of a line.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct TextStyle {
    bold: bool,
    dim: bool,
    italic: bool,
    underlined: bool,
    /// 30 to 37 and 90 to 97.
    colour: Option<u16>,
}

/// A line as markup.
pub(super) fn markup(line: &str) -> Markup {
    if !line.contains('\u{1b}') {
        return VisibleMarkup(line).render();
    }
    let mut out = String::with_capacity(line.len() * 2);
    let mut style = TextStyle::default();
    let mut parts = line.split('\u{1b}');
    VisibleMarkup(parts.next().unwrap_or_default()).render_to(&mut out);
    for part in parts {
        let rest = match part.strip_prefix('[').map(sequence) {
            Some(Some((parameters, 'm', rest))) => {
                style.apply(parameters);
                rest
            }
            Some(Some((_, _, rest))) => rest,
            // No control sequence, or one that was cut: what cannot be understood is shown without
            // its escape.
            _ => part,
        };
        style.show(rest, &mut out);
    }
    PreEscaped(out)
}

/// A control sequence behind its `[`: its parameters, its final letter, and what follows.
fn sequence(text: &str) -> Option<(&str, char, &str)> {
    let end = text.find(|c: char| !matches!(c, '0'..='?' | ' '..='/'))?;
    let last = text[end..]
        .chars()
        .next()
        .filter(|c| matches!(c, '@'..='~'))?;
    Some((&text[..end], last, &text[end + last.len_utf8()..]))
}

impl TextStyle {
    fn apply(&mut self, parameters: &str) {
        let mut codes = parameters
            .split([';', ':'])
            .map(|code| code.parse::<u16>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underlined = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underlined = false,
                30..=37 | 90..=97 => self.colour = Some(code),
                39 => self.colour = None,
                // Colours of a palette or of light have parameters of their own.
                38 | 48 | 58 => {
                    let more = if codes.next() == Some(2) { 3 } else { 1 };
                    codes.by_ref().take(more).for_each(drop);
                }
                _ => {}
            }
        }
    }

    fn show(self, text: &str, out: &mut String) {
        if text.is_empty() {
            return;
        }
        if self == Self::default() {
            VisibleMarkup(text).render_to(out);
            return;
        }
        let weights = [
            (self.bold, "a1"),
            (self.dim, "a2"),
            (self.italic, "a3"),
            (self.underlined, "a4"),
        ];
        let weights = weights.into_iter().filter(|(is, _)| *is);
        let mut classes: Vec<String> = weights.map(|(_, class)| class.to_owned()).collect();
        classes.extend(self.colour.map(|code| format!("a{code}")));
        html! { span class=(classes.join(" ")) { (VisibleMarkup(text)) } }.render_to(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_classes_and_everything_else_is_text_or_nothing() {
        for (line, expected) in [
            ("plain <b>", "plain &lt;b&gt;"),
            (
                "\u{1b}[1;31merror\u{1b}[0m: x",
                "<span class=\"a1 a31\">error</span>: x",
            ),
            (
                "\u{1b}[38;5;196ma\u{1b}[38;2;1;31;3;4mb",
                "a<span class=\"a4\">b</span>",
            ),
            ("a\u{1b}[2Kb\u{1b}[?25lc", "abc"),
            (
                "\u{1b}[31m<script>\u{1b}[39m",
                "<span class=\"a31\">&lt;script&gt;</span>",
            ),
            ("cut \u{1b}[31", "cut [31"),
            ("\u{1b}", ""),
            ("\u{1b}[31\"onload=x m", "nload=x m"),
        ] {
            assert_eq!(markup(line).0, expected, "{line:?}");
        }
    }
}
