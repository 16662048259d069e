//! Places in a file, kept with everything that was read from it.

use serde::Serialize;

/// A place in a file: where it begins, and the bytes it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The line, from 1; 0 where there is no place.
    pub line: u32,
    /// The column in characters, from 1.
    pub col: u32,
    /// The first byte.
    #[serde(skip)]
    pub start: u32,
    /// The byte after the last.
    #[serde(skip)]
    pub end: u32,
}

impl Place {
    /// The bytes as a range.
    pub fn bytes(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end.max(self.start) as usize
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.col)
    }
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub place: Place,
}

impl<T> Located<T> {
    /// A value at a place.
    pub fn new(value: T, place: Place) -> Self {
        Self { value, place }
    }
}
