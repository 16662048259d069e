//! Texts compared without case.

/// The characters as they are compared: without case.
pub(super) fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_uppercase)
}

/// Whether two texts differ in case at most.
pub fn same_text(left: &str, right: &str) -> bool {
    if left.is_ascii() && right.is_ascii() {
        return left.eq_ignore_ascii_case(right);
    }
    folded(left).eq(folded(right))
}
