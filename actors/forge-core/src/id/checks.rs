//! Character rules shared by several ids. Each answers with the rule that was broken.

/// The outcome of a check: nothing, or the broken rule.
pub(super) type Check = Result<(), &'static str>;

/// `Ok` when `holds`, else the rule.
pub(super) fn ensure(holds: bool, rule: &'static str) -> Check {
    if holds { Ok(()) } else { Err(rule) }
}

/// Lower-case ASCII hexadecimal digits only.
pub(crate) fn is_lower_hex(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Visible ASCII only: no space, no control character, nothing above 0x7e.
pub(super) fn is_visible_ascii(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}
