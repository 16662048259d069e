//! Locations in a file, kept with everything that was read from it.

use serde::Serialize;

/// A location in a file: where it begins, and the bytes it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, PartialOrd, Ord, Serialize)]
pub struct SourceLocation {
    /// The line, from 1; 0 where there is no location.
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

impl SourceLocation {
    /// The bytes as a range.
    pub fn bytes(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end.max(self.start) as usize
    }
}

impl std::fmt::Display for SourceLocation {
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
    pub place: SourceLocation,
}

impl<T> Located<T> {
    /// A value at a location.
    pub fn new(value: T, place: SourceLocation) -> Self {
        Self { value, place }
    }
}
