//! What waits to be written to the agent: bounded in bytes, whoever writes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vm_core::guest::MAX_FRAME;

/// Bytes that may wait before callers do: one request of the largest kind.
const SOFT: usize = MAX_FRAME;
/// Room beyond it for what the connection's reader says, which cannot wait: credit, and the last
/// word of a stream. An agent that reads never needs it.
const SLACK: usize = 64 * 1024;
/// Bytes given to the socket at once.
const PIECE: usize = 64 * 1024;
/// A buffer that has grown is given back when it is empty.
const MAX_KEPT_CAPACITY: usize = 64 * 1024;

/// Why nothing was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutboxRefusal {
    /// The connection has ended.
    Closed,
    /// So many bytes wait, and the agent reads none.
    Full(usize),
}

/// One buffer for all frames, so that small ones cost no more than their bytes.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    bytes: VecDeque<u8>,
    closed: bool,
}

impl Outbox {
    /// Adds a frame when there is room for it, waiting as long as `deadline`.
    pub(super) fn put(&self, frame: &[u8], deadline: Duration) -> Result<(), OutboxRefusal> {
        let until = Instant::now() + deadline;
        let mut state = self.state.lock();
        while !state.closed && !state.bytes.is_empty() && state.bytes.len() + frame.len() > SOFT {
            if self.changed.wait_until(&mut state, until).timed_out() {
                return Err(OutboxRefusal::Full(state.bytes.len()));
            }
        }
        self.add(state, frame)
    }

    /// Adds a small frame at once, for those who must not wait.
    pub(super) fn put_now(&self, frame: &[u8]) -> Result<(), OutboxRefusal> {
        let state = self.state.lock();
        let waiting = state.bytes.len();
        if waiting + frame.len() > SOFT + SLACK {
            return Err(OutboxRefusal::Full(waiting));
        }
        self.add(state, frame)
    }

    fn add(
        &self,
        mut state: parking_lot::MutexGuard<'_, State>,
        frame: &[u8],
    ) -> Result<(), OutboxRefusal> {
        if state.closed {
            return Err(OutboxRefusal::Closed);
        }
        state.bytes.extend(frame);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// The next bytes to write, waited for; false when the connection has ended.
    pub(super) fn take(&self, piece: &mut Vec<u8>) -> bool {
        piece.clear();
        let mut state = self.state.lock();
        while state.bytes.is_empty() && !state.closed {
            self.changed.wait(&mut state);
        }
        let count = state.bytes.len().min(PIECE);
        piece.extend(state.bytes.drain(..count));
        if state.bytes.is_empty() && state.bytes.capacity() > MAX_KEPT_CAPACITY {
            state.bytes = VecDeque::new();
        }
        drop(state);
        self.changed.notify_all();
        !piece.is_empty()
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.state.lock().bytes.len()
    }

    /// Nothing more is taken or given; what waits is dropped with it.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.bytes = VecDeque::new();
        drop(state);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t5_what_waits_is_bounded_and_comes_out_whole() {
        let outbox = Outbox::default();
        let frame = vec![7; 100_000];
        let mut put = 0;
        while outbox.put(&frame, Duration::ZERO).is_ok() {
            put += frame.len();
        }
        assert!(put <= SOFT && outbox.waiting() == put);
        while outbox.put_now(&[1; 9]).is_ok() {
            put += 9;
        }
        assert!(put <= SOFT + SLACK);
        assert_eq!(outbox.put_now(&[1; 9]), Err(OutboxRefusal::Full(put)));
        let (mut piece, mut taken) = (Vec::new(), 0);
        while taken < put {
            assert!(outbox.take(&mut piece) && piece.len() <= PIECE);
            taken += piece.len();
        }
        // One request of the largest kind fits when nothing waits.
        assert_eq!(outbox.put(&vec![0; MAX_FRAME], Duration::ZERO), Ok(()));
        outbox.close();
        assert_eq!(outbox.waiting(), 0);
        assert_eq!(
            outbox.put(&[1], Duration::from_secs(60)),
            Err(OutboxRefusal::Closed)
        );
        assert!(!outbox.take(&mut piece));
    }

    #[test]
    fn t5_who_waits_for_room_gets_it_when_the_agent_reads() {
        let outbox = Outbox::default();
        outbox.put(&vec![0; SOFT], Duration::ZERO).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| outbox.put(&[1; 1000], Duration::from_secs(60)));
            let mut piece = Vec::new();
            assert!(outbox.take(&mut piece));
            assert_eq!(waiting.join().unwrap(), Ok(()));
        });
    }
}
