//! What the command line says about settings.

/// What the command line says: flag and value.
pub type FlagValues<'a> = &'a [(&'static str, Option<&'a str>)];

/// What a flag says.
pub(super) fn flag_value<'a>(flags: FlagValues<'a>, name: &str) -> Option<&'a str> {
    flags
        .iter()
        .find(|(flag, _)| *flag == name)
        .and_then(|(_, value)| *value)
}
