//! Characters that people do not see.

pub(crate) fn is_invisible(c: char) -> bool {
    let control = c.is_control() && !matches!(c, '\n' | '\t');
    control
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
