//! Who waits for the same thing, in the order in which they came.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// A line of those that wait; clones share it.
#[derive(Debug, Clone, Default)]
pub struct WaitingLine(Arc<Mutex<LineState>>);

#[derive(Debug, Default)]
struct LineState {
    next: u64,
    numbers: BTreeSet<u64>,
}

/// A place in a line, left when it is dropped.
#[derive(Debug)]
pub struct PlaceInLine {
    line: WaitingLine,
    number: u64,
}

impl WaitingLine {
    /// Takes the last place.
    #[must_use]
    pub fn enqueue(&self) -> PlaceInLine {
        let mut waiting = self.0.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.numbers.insert(number);
        PlaceInLine {
            line: self.clone(),
            number,
        }
    }
}

impl PlaceInLine {
    /// Which it is, from 1.
    #[must_use]
    pub fn place(&self) -> usize {
        self.line.0.lock().numbers.range(..=self.number).count()
    }
}

impl Drop for PlaceInLine {
    fn drop(&mut self) {
        self.line.0.lock().numbers.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_places_move_up_when_one_before_them_goes() {
        let line = WaitingLine::default();
        let (first, second, third) = (line.enqueue(), line.enqueue(), line.enqueue());
        assert_eq!((first.place(), third.place()), (1, 3));
        drop(second);
        assert_eq!((first.place(), third.place()), (1, 2));
        drop(first);
        assert_eq!((third.place(), line.enqueue().place()), (1, 2));
    }
}
