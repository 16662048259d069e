//! How somebody leaves a terminal of another machine: `~.` at the beginning of a line, as in ssh.

/// What was typed to this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscapeAction {
    /// `~.`: leave.
    Leave,
    /// `~?`: say what there is.
    Help,
}

/// Looks for escapes in what is typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Escape {
    /// At the beginning of a line.
    #[default]
    LineStart,
    /// After a `~` there.
    Tilde,
    /// Within a line.
    Line,
}

impl Escape {
    /// What of `bytes` goes to the other side, and what was asked of this one; nothing behind an
    /// action goes there.
    pub fn take(&mut self, bytes: &[u8]) -> (Vec<u8>, Option<EscapeAction>) {
        let mut typed = Vec::with_capacity(bytes.len());
        for byte in bytes.iter().copied() {
            let next = if matches!(byte, b'\r' | b'\n') {
                Self::LineStart
            } else {
                Self::Line
            };
            match (*self, byte) {
                (Self::LineStart, b'~') => *self = Self::Tilde,
                (Self::Tilde, b'.') => return (typed, Some(EscapeAction::Leave)),
                (Self::Tilde, b'?') => {
                    *self = Self::LineStart;
                    return (typed, Some(EscapeAction::Help));
                }
                (Self::Tilde, b'~') => {
                    typed.push(b'~');
                    *self = Self::Line;
                }
                (Self::Tilde, _) => {
                    typed.extend([b'~', byte]);
                    *self = next;
                }
                _ => {
                    typed.push(byte);
                    *self = next;
                }
            }
        }
        (typed, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_escapes_are_seen_at_the_beginning_of_a_line_only() {
        use EscapeAction::{Help, Leave};
        // What is typed in pieces, what goes to the other side, what is asked of this one.
        let table: [(&[&str], &str, Option<EscapeAction>); 9] = [
            (&["~."], "", Some(Leave)),
            (&["ls\r", "~", "."], "ls\r", Some(Leave)),
            (&["ls ~."], "ls ~.", None),
            (&["a~.\r"], "a~.\r", None),
            (&["~~."], "~.", None),
            (&["~", "x"], "~x", None),
            (&["~/bin\r~?rest"], "~/bin\r", Some(Help)),
            (&["\x03~."], "\x03~.", None),
            (&["~\r~."], "~\r", Some(Leave)),
        ];
        for (pieces, expected, action) in table {
            let (mut escape, mut typed, mut found) = (Escape::default(), Vec::new(), None);
            for piece in pieces {
                let (more, action) = escape.take(piece.as_bytes());
                typed.extend(more);
                found = found.or(action);
            }
            assert_eq!(String::from_utf8(typed).unwrap(), expected, "{pieces:?}");
            assert_eq!(found, action, "{pieces:?}");
        }
    }
}
