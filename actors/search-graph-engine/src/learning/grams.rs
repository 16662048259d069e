//! The letters of a word: hashed n-grams of characters.

/// Rows of the table of n-grams.
pub(crate) const GRAM_ROWS: usize = 32_768;

/// The rows of the table for the 3- and 4-grams of `<word>`, with repetitions.
pub(crate) fn gram_rows(word: &str, rows: &mut Vec<u16>) {
    rows.clear();
    let chars: Vec<char> = std::iter::once('<')
        .chain(word.chars())
        .chain(std::iter::once('>'))
        .collect();
    for length in [3, 4] {
        rows.extend(chars.windows(length).map(row_of));
    }
}

/// FNV-1a over the characters.
fn row_of(gram: &[char]) -> u16 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for &c in gram {
        hash = (hash ^ u64::from(c)).wrapping_mul(0x0100_0000_01b3);
    }
    ((hash ^ (hash >> 32)) % GRAM_ROWS as u64) as u16
}

#[cfg(test)]
mod tests {
    use super::gram_rows;

    #[test]
    fn a_word_has_the_grams_of_its_letters_and_ends() {
        let mut rows = Vec::new();
        gram_rows("wing", &mut rows);
        assert_eq!(rows.len(), 4 + 3);
        gram_rows("é", &mut rows);
        assert_eq!(rows.len(), 1);
        gram_rows("", &mut rows);
        assert!(rows.is_empty());
    }
}
