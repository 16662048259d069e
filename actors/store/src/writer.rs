//! The writer's thread: gathers the requests that wait together, commits them, answers.

use crate::engine::Engine;
use crate::error::StoreError;
use crate::job::WriteJob;
use crossbeam_channel::{Receiver, RecvTimeoutError};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What comes down the queue.
pub(crate) enum WriterMessage {
    /// A request.
    Job(Box<dyn WriteJob>),
    /// Finish what came before and end.
    Close,
}

/// The writer.
pub(crate) struct StoreWriter {
    engine: Box<dyn Engine>,
    queue: Receiver<WriterMessage>,
    limits: GroupLimits,
    /// Requests taken from the queue and not yet carried out.
    waiting: VecDeque<Box<dyn WriteJob>>,
    /// Requests expected in the next group: as many as the last one had.
    expected: usize,
    closing: bool,
}

/// Between two callers that come back together.
const BATCH_WINDOW: Duration = Duration::from_micros(30);

/// When a group is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupLimits {
    pub(crate) requests: usize,
    pub(crate) bytes: usize,
    pub(crate) linger: Duration,
}

impl StoreWriter {
    pub(crate) fn new(
        engine: Box<dyn Engine>,
        queue: Receiver<WriterMessage>,
        limits: GroupLimits,
    ) -> Self {
        Self {
            engine,
            queue,
            limits,
            waiting: VecDeque::new(),
            expected: 1,
            closing: false,
        }
    }

    /// Serves until all handles are gone or one closes the store.
    pub(crate) fn run(mut self) {
        loop {
            self.engine.probe();
            if self.waiting.is_empty() && !self.await_first() {
                if self.closing {
                    break;
                }
                continue;
            }
            self.gather();
            self.serve_group();
        }
        self.engine.close();
    }

    /// Waits for a request; `false` if there is something else to do.
    fn await_first(&mut self) -> bool {
        if self.closing {
            return false;
        }
        match self.queue.recv_timeout(self.engine.probe_in()) {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout) => self.engine.check_health(),
            Err(RecvTimeoutError::Disconnected) => self.closing = true,
        }
        !self.waiting.is_empty()
    }

    fn take(&mut self, message: WriterMessage) {
        match message {
            WriterMessage::Job(job) => self.waiting.push_back(job),
            WriterMessage::Close => self.closing = true,
        }
    }

    /// Takes what waits, and lingers for those who are probably about to ask again: callers that
    /// were answered together come back together, but not at the same instant. Without this,
    /// groups alternate between one request and all the others. Callers that have other work first
    /// come one by one, and are not waited for: the engine would stand still meanwhile.
    fn gather(&mut self) {
        self.take_waiting();
        let enough = self.expected.min(self.limits.requests);
        let deadline = Instant::now() + self.limits.linger;
        while self.waiting.len() < enough && !self.closing {
            let next = deadline.min(Instant::now() + BATCH_WINDOW);
            match self.queue.recv_deadline(next) {
                Ok(message) => self.take(message),
                Err(_) => break,
            }
        }
        self.take_waiting();
    }

    fn take_waiting(&mut self) {
        while self.waiting.len() < self.limits.requests && !self.closing {
            match self.queue.try_recv() {
                Ok(message) => self.take(message),
                Err(_) => break,
            }
        }
    }

    /// Carries out what was gathered, as far as one commit should go, and answers.
    fn serve_group(&mut self) {
        self.waiting.retain(|job| !job.is_abandoned());
        if self.waiting.is_empty() {
            return;
        }
        let jobs = &mut self.waiting;
        let bytes = self.limits.bytes;
        let mut ran = 0;
        let outcome = self.engine.group(&mut |txn| {
            for job in jobs.iter_mut() {
                job.run(txn);
                ran += 1;
                if txn.has_failed() || txn.written() >= bytes {
                    break;
                }
            }
        });
        self.answer(ran, &outcome);
    }

    fn answer(&mut self, ran: usize, outcome: &Result<(), StoreError>) {
        // None ran: the store takes no requests at present. What waits behind a group that
        // failed is looked at again, because that failure is not theirs.
        let answered = if ran == 0 { self.waiting.len() } else { ran };
        self.expected = ran.max(1);
        self.engine.health().counters.requests.add(ran as u64);
        for job in self.waiting.drain(..answered) {
            job.finish(outcome.clone());
        }
    }
}
