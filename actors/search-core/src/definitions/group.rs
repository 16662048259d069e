//! Groups of definitions, as Go has them: `const (`, `type (`, `var (`.

use super::kind::DefinitionKind::Constant;
use super::line::go_type;
use super::words::{LineDefinition, name_of, word_of};

/// What is known of the lines before: whether they have opened a group, and of what.
#[derive(Debug, Default)]
pub(super) struct DeclarationGroup {
    open: Option<GroupKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    /// Of constants and variables.
    Values,
    /// Of types.
    Types,
}

impl DeclarationGroup {
    /// What a line defines as a member of the group that is open, or the line that opens one.
    pub(super) fn definition<'t>(&mut self, line: &'t str) -> LineDefinition<'t> {
        let code = line.trim_end();
        let Some(open) = self.open else {
            let (word, rest) = word_of(code);
            self.open = match word {
                "const" | "var" if rest == "(" => Some(GroupKind::Values),
                "type" if rest == "(" => Some(GroupKind::Types),
                _ => None,
            };
            return None;
        };
        if code.starts_with(')') {
            self.open = None;
            return None;
        }
        // Members of structures, and values of several lines, lie deeper.
        let member = code.strip_prefix('\t')?;
        match open {
            GroupKind::Types => go_type(member),
            GroupKind::Values => {
                let (name, rest) = name_of(member)?;
                let is_one = rest.is_empty() || rest.starts_with([' ', '=', ',', '\t']);
                is_one.then_some((Constant, name))
            }
        }
    }
}
