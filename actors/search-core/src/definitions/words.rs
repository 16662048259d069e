//! Names and words at the beginning of a text.

use super::kind::DefinitionKind;

/// What a line may define: a kind and a name.
pub(super) type LineDefinition<'t> = Option<(DefinitionKind, &'t str)>;

pub(super) const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// The name that `text` begins with, and what follows it.
pub(super) fn name_of(text: &str) -> Option<(&str, &str)> {
    let length = text.bytes().take_while(|&byte| is_name_byte(byte)).count();
    let (name, rest) = text.split_at(length);
    let begins = name
        .bytes()
        .next()
        .is_some_and(|byte| !byte.is_ascii_digit());
    begins.then_some((name, rest))
}

/// The first word of `text`, and what follows it behind white space.
pub(super) fn word_of(text: &str) -> (&str, &str) {
    let length = text.bytes().take_while(|&byte| is_name_byte(byte)).count();
    (&text[..length], text[length..].trim_start())
}

/// What is defined by the name that `rest` begins with.
pub(super) fn named_definition<'t>(kind: DefinitionKind, rest: &'t str) -> LineDefinition<'t> {
    name_of(rest).map(|(name, _)| (kind, name))
}
