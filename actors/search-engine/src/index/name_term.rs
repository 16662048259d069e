//! The terms of names: short ones, since every document has several.

/// The term of a squeezed name: its 64-bit FNV-1a hash in hexadecimal digits. Two names of one hash
/// do no harm: whoever finds a document by a name compares the names.
pub(super) fn name_term(squeezed: &str) -> String {
    let hash = squeezed
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::name_term;

    #[test]
    fn terms_stay_what_they_are() {
        // From the test suite of the authors of FNV.
        assert_eq!(name_term(""), "cbf29ce484222325");
        assert_eq!(name_term("a"), "af63dc4c8601ec8c");
        assert_eq!(name_term("foobar"), "85944171f73967e8");
    }
}
