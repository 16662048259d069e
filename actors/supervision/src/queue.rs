//! The queue in front of a child: the life that takes, the permits, and the messages, under one
//! short lock.
//!
//! Whether a life runs, whether a permit is free, the push, and whom to wake are one decision, so
//! one lock costs less than a lock-free queue with a counter and an address beside it, and nothing
//! can come between. Nothing is allocated, dropped or woken while the lock is held, but for the
//! growth of the queue itself. The event loop takes all that waits in one go.

use std::{
    collections::VecDeque,
    mem,
    ops::Deref,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context as Task, Waker},
};

use actix::{Actor, Context};
use parking_lot::{Mutex, MutexGuard};

use crate::mailbox::Deliver;

/// A message in the queue.
pub(crate) type Post<A> = Box<dyn Deliver<A>>;

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No life takes messages.
    Closed,
    /// No permit is free.
    Full,
}

/// See the module.
///
/// The parts lie on cache lines of their own: senders on other threads and the event loop each
/// write theirs with every message, and would take it from each other.
pub(crate) struct Queue<A: Actor<Context = Context<A>>> {
    inner: Line<Mutex<Inner<A>>>,
    /// Messages that the event loop took out of the queue and has not begun.
    in_batch: Line<AtomicUsize>,
    /// Questions that are over, of all lives; counted up by whoever asked.
    answered: Line<AtomicUsize>,
    /// Messages in the queue; written under the lock only.
    queued: AtomicUsize,
}

/// Something on a cache line of its own (two, as they are fetched in pairs).
#[repr(align(128))]
struct Line<T>(T);

impl<T> Deref for Line<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

struct Inner<A: Actor<Context = Context<A>>> {
    /// The life that takes messages, 0 for none.
    incarnation: u64,
    posts: VecDeque<Post<A>>,
    /// Questions taken, of all lives. Like `answered` it wraps; their distance does not.
    asked: usize,
    /// Messages the event loop took with its last look: at least as many as it has not begun, and
    /// known without a glance at what it writes all the time.
    last_batch: usize,
    /// Whom to wake for the next message; set with each turn of the event loop.
    waker: Option<Waker>,
    /// The event loop is to turn once more before it waits.
    nudged: bool,
}

impl<A: Actor<Context = Context<A>>> Queue<A> {
    pub(crate) fn new() -> Self {
        let inner = Inner {
            incarnation: 0,
            posts: VecDeque::new(),
            asked: 0,
            last_batch: 0,
            waker: None,
            nudged: false,
        };
        Self {
            inner: Line(Mutex::new(inner)),
            queued: AtomicUsize::new(0),
            in_batch: Line(AtomicUsize::new(0)),
            answered: Line(AtomicUsize::new(0)),
        }
    }

    /// From now on messages are for this life.
    pub(crate) fn open(&self, incarnation: u64) {
        let mut inner = self.inner.lock();
        // Of a life that was given up and never closed its queue.
        let left = mem::take(&mut inner.posts);
        inner.incarnation = incarnation;
        inner.waker = None;
        inner.nudged = false;
        self.empty(&mut inner);
        drop(inner);
        drop(left);
    }

    /// This life takes no messages any more; those that wait are dropped.
    pub(crate) fn close(&self, incarnation: u64) {
        let mut inner = self.inner.lock();
        if inner.incarnation == incarnation {
            inner.incarnation = 0;
            inner.waker = None;
            let left = mem::take(&mut inner.posts);
            self.empty(&mut inner);
            drop(inner);
            drop(left);
        }
    }

    fn empty(&self, held: &mut MutexGuard<'_, Inner<A>>) {
        held.last_batch = 0;
        self.queued.store(0, Ordering::Relaxed);
        self.in_batch.store(0, Ordering::Relaxed);
    }

    /// Takes a permit and queues the message.
    #[inline]
    pub(crate) fn post(&self, post: Post<A>, asks: bool, capacity: usize) -> Result<(), Refusal> {
        let mut inner = self.inner.lock();
        if inner.incarnation == 0 {
            return Err(Refusal::Closed);
        }
        if inner.posts.len() + inner.last_batch >= capacity
            && inner.posts.len() + self.in_batch.load(Ordering::Relaxed) >= capacity
        {
            return Err(Refusal::Full);
        }
        if asks {
            if self.unanswered_of(inner.asked) >= capacity {
                return Err(Refusal::Full);
            }
            inner.asked = inner.asked.wrapping_add(1);
        }
        inner.posts.push_back(post);
        self.queued.store(inner.posts.len(), Ordering::Relaxed);
        let waker = inner.waker.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    /// The counter of questions that are over; whoever asked adds one when the question is.
    pub(crate) fn answered(&self) -> &AtomicUsize {
        &self.answered
    }

    #[inline]
    fn unanswered_of(&self, asked: usize) -> usize {
        asked.wrapping_sub(self.answered.load(Ordering::Relaxed))
    }

    /// Makes the event loop of this life turn once.
    pub(crate) fn nudge(&self, incarnation: u64) {
        let mut inner = self.inner.lock();
        if inner.incarnation == incarnation {
            inner.nudged = true;
            let waker = inner.waker.take();
            drop(inner);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Takes all that waits: the first message is returned, the others are moved to `batch`, which
    /// is empty. With `arm`, what comes later wakes the task; one look with it in each turn of the
    /// event loop is enough, since who finds no waker knows that another has used it and the task
    /// will turn again. A life that was given up gets nothing any more.
    #[inline]
    pub(crate) fn take(
        &self,
        incarnation: u64,
        batch: &mut VecDeque<Post<A>>,
        arm: Option<&Task<'_>>,
    ) -> Option<Post<A>> {
        let mut inner = self.inner.lock();
        if inner.incarnation != incarnation {
            return None;
        }
        if let Some(task) = arm {
            inner.arm(task.waker());
        }
        let first = inner.posts.pop_front()?;
        self.queued.store(0, Ordering::Relaxed);
        if !inner.posts.is_empty() {
            mem::swap(&mut inner.posts, batch);
            self.in_batch.store(batch.len(), Ordering::Relaxed);
        }
        inner.last_batch = batch.len();
        Some(first)
    }

    /// Whether a look would find messages, most likely.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        self.queued.load(Ordering::Relaxed) > 0
    }

    /// The event loop says how many messages of its batch it has not begun.
    pub(crate) fn left_in_batch(&self, count: usize) {
        self.in_batch.store(count, Ordering::Relaxed);
    }

    /// Messages that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.queued.load(Ordering::Relaxed) + self.in_batch.load(Ordering::Relaxed)
    }

    /// Questions that are not answered yet.
    pub(crate) fn unanswered(&self) -> usize {
        let inner = self.inner.lock();
        self.unanswered_of(inner.asked)
    }
}

impl<A: Actor<Context = Context<A>>> Inner<A> {
    fn arm(&mut self, waker: &Waker) {
        if mem::take(&mut self.nudged) {
            waker.wake_by_ref();
        } else if !self
            .waker
            .as_ref()
            .is_some_and(|kept| kept.will_wake(waker))
        {
            self.waker = Some(waker.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use actix::Context;
    use futures_util::task::{ArcWake, waker};

    use super::*;

    struct Nobody;

    impl Actor for Nobody {
        type Context = Context<Self>;
    }

    /// A message that says when it is dropped.
    struct Dropped(Arc<AtomicUsize>);

    impl Deliver<Nobody> for Dropped {
        fn deliver(self: Box<Self>, _: &mut Nobody, _: &mut Context<Nobody>) {}
    }

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl ArcWake for Wakes {
        fn wake_by_ref(this: &Arc<Self>) {
            this.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct Lab {
        queue: Queue<Nobody>,
        batch: VecDeque<Post<Nobody>>,
        dropped: Arc<AtomicUsize>,
        wakes: Arc<Wakes>,
    }

    impl Lab {
        /// A queue that takes messages for life 1.
        fn open() -> Self {
            let queue = Queue::new();
            queue.open(1);
            let (dropped, wakes) = (Arc::default(), Arc::default());
            Self {
                queue,
                batch: VecDeque::new(),
                dropped,
                wakes,
            }
        }

        fn tell(&self, capacity: usize) -> Result<(), Refusal> {
            self.queue.post(
                Box::new(Dropped(Arc::clone(&self.dropped))),
                false,
                capacity,
            )
        }

        /// A turn of the event loop of `life`; how many messages it got.
        fn turn(&mut self, life: u64) -> usize {
            let waker = waker(Arc::clone(&self.wakes));
            let task = Task::from_waker(&waker);
            let first = self.queue.take(life, &mut self.batch, Some(&task));
            usize::from(first.is_some()) + self.batch.len()
        }

        fn wakes(&self) -> usize {
            self.wakes.0.load(Ordering::Relaxed)
        }

        fn dropped(&self) -> usize {
            self.dropped.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn a_message_wakes_the_event_loop_once_a_turn() {
        let mut lab = Lab::open();
        assert_eq!(lab.turn(1), 0);
        lab.tell(10).unwrap();
        lab.tell(10).unwrap();
        assert_eq!(lab.wakes(), 1);
        assert_eq!(lab.turn(1), 2);
        lab.tell(10).unwrap();
        assert_eq!(lab.wakes(), 2);
    }

    #[test]
    fn a_nudge_between_two_turns_is_not_lost() {
        let mut lab = Lab::open();
        lab.queue.nudge(1);
        assert_eq!(lab.wakes(), 0, "nobody waits yet");
        lab.turn(1);
        assert_eq!(lab.wakes(), 1, "one more turn");
        lab.turn(1);
        lab.queue.nudge(1);
        assert_eq!(lab.wakes(), 2);
        lab.turn(1);
        lab.queue.nudge(2);
        assert_eq!(
            lab.wakes(),
            3,
            "and one for the nudge during the turn, none for another life"
        );
    }

    #[test]
    fn what_is_taken_and_not_begun_still_counts() {
        let mut lab = Lab::open();
        for _ in 0..3 {
            lab.tell(3).unwrap();
        }
        assert_eq!(lab.tell(3), Err(Refusal::Full));
        assert_eq!(lab.turn(1), 3);
        assert_eq!(lab.queue.waiting(), 2, "one is in work");
        lab.tell(3).unwrap();
        assert_eq!(lab.tell(3), Err(Refusal::Full));
        lab.queue.left_in_batch(0);
        lab.tell(3).unwrap();
        lab.tell(3).unwrap();
        assert_eq!(lab.tell(3), Err(Refusal::Full));
    }

    #[test]
    fn a_life_that_ends_drops_what_waits_and_one_given_up_gets_nothing() {
        let mut lab = Lab::open();
        lab.tell(10).unwrap();
        lab.queue.close(1);
        assert_eq!((lab.dropped(), lab.queue.waiting()), (1, 0));
        assert_eq!(lab.tell(10), Err(Refusal::Closed));
        lab.queue.open(2);
        lab.tell(10).unwrap();
        assert_eq!(lab.turn(1), 0, "not its messages");
        lab.queue.close(1);
        assert_eq!(lab.queue.waiting(), 1, "nor its queue to close");
        lab.queue.open(3);
        assert_eq!(
            lab.dropped(),
            3,
            "one refused, and one of the life given up"
        );
    }
}
