//! Colours by what the terminal can show.

use config_core::Environment;
use ratatui::style::{Color, Modifier, Style};

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColourDepth {
    /// Bold, underlined and reversed text only.
    None,
    /// The sixteen colours of the terminal's own theme.
    Sixteen,
    /// Any colour.
    TrueColour,
}

impl ColourDepth {
    /// By `NO_COLOR` (<https://no-color.org>), `COLORTERM` and `TERM`.
    #[must_use]
    pub fn from_environment(environment: &Environment) -> Self {
        let variable = |name: &str| environment.get(name).ok().flatten().unwrap_or_default();
        let term = variable("TERM");
        if !variable("NO_COLOR").is_empty() || matches!(term, "" | "dumb" | "vt100" | "vt220") {
            return Self::None;
        }
        let is_true = matches!(variable("COLORTERM"), "truecolor" | "24bit");
        if is_true || term.ends_with("-direct") {
            Self::TrueColour
        } else {
            Self::Sixteen
        }
    }
}

/// A style for each role that a text has on a screen. Every role can be told apart without colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// Titles and names.
    pub title: Style,
    /// What matches the query.
    pub matched: Style,
    /// What is less important.
    pub faint: Style,
    /// The line that is chosen.
    pub selected: Style,
    /// Frames.
    pub border: Style,
    /// The frame of the part that gets the keys.
    pub focused: Style,
    /// Names of keys.
    pub key: Style,
    /// What went well.
    pub good: Style,
    /// What waits or is under way.
    pub note: Style,
    /// What went wrong.
    pub error: Style,
}

impl Palette {
    /// For what the terminal can show.
    #[must_use]
    pub fn new(depth: ColourDepth) -> Self {
        let plain = Style::new();
        let colour = |sixteen: Color, (red, green, blue): (u8, u8, u8)| match depth {
            ColourDepth::None => plain,
            ColourDepth::Sixteen => plain.fg(sixteen),
            ColourDepth::TrueColour => plain.fg(Color::Rgb(red, green, blue)),
        };
        let faint = match depth {
            ColourDepth::TrueColour => plain.fg(Color::Rgb(128, 138, 150)),
            _ => plain.add_modifier(Modifier::DIM),
        };
        let matched = colour(Color::Yellow, (240, 180, 60)).add_modifier(Modifier::BOLD);
        Self {
            title: plain.add_modifier(Modifier::BOLD),
            matched: match depth {
                ColourDepth::None => matched.add_modifier(Modifier::UNDERLINED),
                _ => matched,
            },
            faint,
            selected: plain.add_modifier(Modifier::REVERSED),
            border: faint,
            focused: colour(Color::Cyan, (70, 170, 220)).add_modifier(Modifier::BOLD),
            key: colour(Color::Cyan, (70, 170, 220)).add_modifier(Modifier::BOLD),
            good: colour(Color::Green, (90, 190, 110)),
            note: colour(Color::Yellow, (220, 170, 70)),
            error: colour(Color::Red, (230, 90, 90)).add_modifier(Modifier::BOLD),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_what_the_terminal_can_show() {
        for (variables, expected) in [
            (&[][..], ColourDepth::None),
            (&[("TERM", "dumb")], ColourDepth::None),
            (&[("TERM", "xterm-256color")], ColourDepth::Sixteen),
            (
                &[("TERM", "xterm"), ("COLORTERM", "truecolor")],
                ColourDepth::TrueColour,
            ),
            (&[("TERM", "xterm-direct")], ColourDepth::TrueColour),
            (
                &[("TERM", "xterm"), ("COLORTERM", "24bit"), ("NO_COLOR", "1")],
                ColourDepth::None,
            ),
            (&[("TERM", "xterm"), ("NO_COLOR", "")], ColourDepth::Sixteen),
        ] {
            let environment = Environment::from_iter(variables.iter().copied());
            assert_eq!(
                ColourDepth::from_environment(&environment),
                expected,
                "{variables:?}"
            );
        }
    }

    #[test]
    fn without_colours_no_style_has_one_and_matches_are_seen_all_the_same() {
        let palette = Palette::new(ColourDepth::None);
        for style in [palette.matched, palette.error, palette.key, palette.faint] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
        assert!(palette.matched.add_modifier.contains(Modifier::UNDERLINED));
        let sixteen = Palette::new(ColourDepth::Sixteen);
        assert!(!matches!(sixteen.matched.fg, Some(Color::Rgb(..)) | None));
    }
}
