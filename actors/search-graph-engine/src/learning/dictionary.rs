//! Numbers for words, in the order of their coming.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// Marks an empty place.
const NOTHING: u32 = u32::MAX;

/// Words with their numbers: the letters of all lie one after the other, without an allocation for
/// each. A million words take about 30 MB.
#[derive(Debug)]
pub(super) struct Dictionary {
    text: String,
    ends: Vec<u32>,
    /// Open addressing: numbers by the hash of the word; at least a quarter is empty.
    places: Vec<u32>,
}

impl Default for Dictionary {
    fn default() -> Self {
        Self {
            text: String::new(),
            ends: Vec::new(),
            places: vec![NOTHING; 1 << 10],
        }
    }
}

impl Dictionary {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The word of this number.
    pub(super) fn word(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[number] as usize]
    }

    /// The number of a word, or the empty place where it belongs.
    fn find(&self, word: &str) -> Result<u32, usize> {
        let mut hasher = FxHasher::default();
        hasher.write(word.as_bytes());
        let mask = self.places.len() - 1;
        let mut at = hasher.finish() as usize & mask;
        loop {
            match self.places[at] {
                NOTHING => return Err(at),
                number if self.word(number) == word => return Ok(number),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The number of a word, which is new where there are less than `most`.
    pub(super) fn number(&mut self, word: &str, most: usize) -> Option<u32> {
        let place = match self.find(word) {
            Ok(number) => return Some(number),
            Err(place) => place,
        };
        if self.len() >= most {
            return None;
        }
        let number = self.len() as u32;
        self.text.push_str(word);
        self.ends.push(self.text.len() as u32);
        self.places[place] = number;
        if self.len() * 4 > self.places.len() * 3 {
            self.grow();
        }
        Some(number)
    }

    fn grow(&mut self) {
        let size = 2 * self.places.len();
        self.places.clear();
        self.places.resize(size, NOTHING);
        for number in 0..self.len() as u32 {
            if let Err(place) = self.find(self.word(number)) {
                self.places[place] = number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Dictionary;

    #[test]
    fn words_keep_their_numbers_however_many_come() {
        let mut dictionary = Dictionary::default();
        for round in 0..2 {
            for at in 0..5_000u32 {
                let number = dictionary.number(&format!("w{at}"), 5_000);
                assert_eq!(number, Some(at), "{round}");
            }
        }
        assert_eq!(dictionary.number("one more", 5_000), None);
        assert_eq!(dictionary.number("", 5_001), Some(5_000));
        assert_eq!((dictionary.word(17), dictionary.word(5_000)), ("w17", ""));
        assert_eq!(dictionary.len(), 5_001);
    }
}
