//! Timeouts cheap enough for every message.
//!
//! A timer of the runtime costs nearly as much as a whole question and answer between two actors of
//! one thread (it is put into the timer wheel and taken out again for each). Nearly all answers come
//! within microseconds, so here a pending question only leaves its waker in a list of its thread.
//! One task a thread looks at the list every [`TICK`], and only while questions are pending: the
//! clock of a question starts at the first look, hence a timeout is never early and at most two
//! ticks late. A thread is taken to run one runtime at a time.
//!
//! On a runtime of several threads, where tasks move, the runtime's own timers are used.

use std::{
    cell::RefCell,
    future::Future,
    mem,
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    time::{Instant, Sleep},
};

/// Time between two looks at the list.
const TICK: Duration = Duration::from_millis(10);

/// How much of a ticket's number counts the questions of its thread: enough for years of millions a
/// second.
const COUNT_BITS: u32 = 48;

/// The time was over before the future was ready.
#[derive(Debug)]
pub(crate) struct Elapsed;

/// Waits for `future`, at most for so many milliseconds.
pub(crate) fn within<F: Future + Unpin>(timeout_ms: u64, future: F) -> Within<F> {
    Within {
        future,
        timeout_ms,
        timer: Timer::Unset,
    }
}

/// See [`within`].
pub(crate) struct Within<F> {
    future: F,
    timeout_ms: u64,
    timer: Timer,
}

enum Timer {
    Unset,
    Listed(Ticket),
    Runtime(Pin<Box<Sleep>>),
}

impl<F: Future + Unpin> Future for Within<F> {
    type Output = Result<F::Output, Elapsed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Poll::Ready(output) = Pin::new(&mut this.future).poll(cx) {
            return Poll::Ready(Ok(output));
        }
        this.timer.poll(this.timeout_ms, cx).map(Err)
    }
}

impl<F> Drop for Within<F> {
    #[inline]
    fn drop(&mut self) {
        if let Timer::Listed(ticket) = &self.timer {
            // On the way down of a thread there is no list any more. What is given back is dropped
            // when the list is no longer borrowed: it may own a future like this one.
            let _given_back = LIST.try_with(|list| list.borrow_mut().release(ticket));
        }
    }
}

impl Timer {
    fn poll(&mut self, timeout_ms: u64, cx: &mut Context<'_>) -> Poll<Elapsed> {
        match self {
            Self::Unset => self.set(timeout_ms, cx),
            Self::Runtime(sleep) => sleep.as_mut().poll(cx).map(|()| Elapsed),
            Self::Listed(ticket) => {
                match LIST.with_borrow_mut(|list| list.renew(ticket, cx.waker())) {
                    Renewed::Pending => Poll::Pending,
                    Renewed::Expired => Poll::Ready(Elapsed),
                    Renewed::OtherThread => self.set(timeout_ms, cx),
                }
            }
        }
    }

    #[inline]
    fn set(&mut self, timeout_ms: u64, cx: &mut Context<'_>) -> Poll<Elapsed> {
        let listed =
            LIST.with_borrow_mut(|list| list.ticking.then(|| list.enter(timeout_ms, cx.waker())));
        match listed {
            Some(ticket) => {
                *self = Self::Listed(ticket);
                Poll::Pending
            }
            None => self.set_first(timeout_ms, cx),
        }
    }

    /// Nobody looks at the list of this thread yet.
    #[cold]
    fn set_first(&mut self, timeout_ms: u64, cx: &mut Context<'_>) -> Poll<Elapsed> {
        if LIST.with_borrow_mut(List::start_ticking) {
            return self.set(timeout_ms, cx);
        }
        let mut sleep = Box::pin(tokio::time::sleep(Duration::from_millis(timeout_ms)));
        let polled = sleep.as_mut().poll(cx);
        *self = Self::Runtime(sleep);
        polled.map(|()| Elapsed)
    }
}

thread_local! {
    static LIST: RefCell<List> = const { RefCell::new(List::new()) };
}

/// A place in a thread's list.
#[derive(Debug)]
struct Ticket {
    index: usize,
    /// Unique, see [`List::next_number`].
    number: u64,
}

enum Renewed {
    Pending,
    Expired,
    OtherThread,
}

/// The pending questions of one thread.
struct List {
    places: Vec<Place>,
    /// Indices of free places; the last one freed is used first, see [`Place::waker`].
    free: Vec<usize>,
    taken: usize,
    /// The thread's own number in the upper bits, so that a ticket is good on its thread only.
    next_number: u64,
    ticking: bool,
    /// Wakers that were replaced; dropped by the next look, when the list is not borrowed: they may
    /// own futures which are in this list, too.
    stale: Vec<Waker>,
}

#[derive(Default)]
struct Place {
    /// Kept while the place is free, until the next look, when one task asks again and again: it
    /// finds its own waker here and need not clone it.
    waker: Option<Waker>,
    /// Whose waker was here last, as an address that is only compared.
    last: usize,
    /// The same task twice in a row.
    steady: bool,
    /// 0 for free; a ticket with another number is not this one's.
    number: u64,
    timeout_ms: u64,
    /// Set at the first look.
    deadline: Option<Instant>,
}

impl List {
    const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            taken: 0,
            next_number: 0,
            ticking: false,
            stale: Vec::new(),
        }
    }

    /// Makes somebody look at the list; false on a runtime whose tasks move.
    fn start_ticking(&mut self) -> bool {
        if self.next_number == 0 {
            static THREADS: AtomicU64 = AtomicU64::new(1);
            self.next_number = THREADS.fetch_add(1, Ordering::Relaxed) << COUNT_BITS;
        }
        let runtime = Handle::current();
        self.ticking = runtime.runtime_flavor() == RuntimeFlavor::CurrentThread;
        if self.ticking {
            runtime.spawn(tick(Ticking));
        }
        self.ticking
    }

    #[inline]
    fn enter(&mut self, timeout_ms: u64, waker: &Waker) -> Ticket {
        let index = self.free.pop().unwrap_or_else(|| self.grow());
        self.next_number += 1;
        self.taken += 1;
        let number = self.next_number;
        let place = &mut self.places[index];
        place.number = number;
        place.timeout_ms = timeout_ms;
        place.deadline = None;
        if !place.has(waker) {
            self.replace(index, waker);
        }
        Ticket { index, number }
    }

    #[inline(never)]
    fn replace(&mut self, index: usize, waker: &Waker) {
        let place = &mut self.places[index];
        place.steady = place.last == waker.data().addr();
        place.last = waker.data().addr();
        self.stale.extend(place.waker.replace(waker.clone()));
    }

    #[cold]
    fn grow(&mut self) -> usize {
        self.places.push(Place::default());
        self.places.len() - 1
    }

    /// The place of a ticket of this thread that has not expired.
    #[inline]
    fn place(&mut self, ticket: &Ticket) -> Option<&mut Place> {
        let place = self.places.get_mut(ticket.index)?;
        (place.number == ticket.number).then_some(place)
    }

    fn renew(&mut self, ticket: &Ticket, waker: &Waker) -> Renewed {
        match self.place(ticket).map(|place| place.has(waker)) {
            Some(true) => Renewed::Pending,
            Some(false) => {
                self.replace(ticket.index, waker);
                Renewed::Pending
            }
            None if ticket.number >> COUNT_BITS == self.next_number >> COUNT_BITS => {
                Renewed::Expired
            }
            None => Renewed::OtherThread,
        }
    }

    #[inline]
    fn release(&mut self, ticket: &Ticket) -> Option<Waker> {
        let place = self.place(ticket)?;
        place.number = 0;
        let given_back = if place.steady {
            None
        } else {
            place.waker.take()
        };
        self.free.push(ticket.index);
        self.taken -= 1;
        given_back
    }

    /// One look: who has expired, and wakers nobody came back for. What is left by tickets dropped
    /// on other threads expires, too.
    fn look(&mut self, now: Instant) -> Look {
        let mut look = Look {
            expired: Vec::new(),
            stale: mem::take(&mut self.stale),
        };
        for (index, place) in self.places.iter_mut().enumerate() {
            if place.number == 0 {
                look.stale.extend(place.waker.take());
            } else if place.is_over(now) {
                place.number = 0;
                self.free.push(index);
                self.taken -= 1;
                look.expired.extend(place.waker.take());
            }
        }
        look
    }
}

/// What a look at the list found.
struct Look {
    expired: Vec<Waker>,
    stale: Vec<Waker>,
}

impl Place {
    #[inline]
    fn has(&self, waker: &Waker) -> bool {
        self.waker
            .as_ref()
            .is_some_and(|kept| kept.will_wake(waker))
    }

    fn is_over(&mut self, now: Instant) -> bool {
        match self.deadline {
            Some(deadline) => deadline <= now,
            None => {
                // Beyond what the clock can tell: never.
                self.deadline = now.checked_add(Duration::from_millis(self.timeout_ms));
                false
            }
        }
    }
}

/// Says that nobody looks any more, also when the runtime drops the task.
struct Ticking;

impl Drop for Ticking {
    fn drop(&mut self) {
        let _ = LIST.try_with(|list| list.borrow_mut().ticking = false);
    }
}

/// Looks at the list until nobody is pending.
async fn tick(_ticking: Ticking) {
    loop {
        tokio::time::sleep(TICK).await;
        let now = Instant::now();
        let (look, pending) = LIST.with_borrow_mut(|list| (list.look(now), list.taken));
        drop(look.stale);
        for waker in look.expired {
            waker.wake();
        }
        if pending == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::oneshot;

    use super::*;

    fn taken() -> (usize, bool) {
        LIST.with_borrow(|list| (list.taken, list.ticking))
    }

    #[test]
    fn an_answer_in_time_leaves_nothing_behind() {
        actix_rt::System::new().block_on(async {
            let (send, receive) = oneshot::channel();
            actix_rt::spawn(async move { send.send(7) });
            assert_eq!(within(3_600_000, receive).await.unwrap(), Ok(7));
            assert_eq!(taken().0, 0);
            while taken().1 {
                tokio::time::sleep(TICK).await;
            }
        });
    }

    #[test]
    fn a_timeout_is_never_early() {
        actix_rt::System::new().block_on(async {
            for millis in [0, 1, 25] {
                let timeout = Duration::from_millis(millis);
                let begun = Instant::now();
                within(millis, Box::pin(pending::<()>())).await.unwrap_err();
                assert!(begun.elapsed() >= timeout);
                assert_eq!(taken().0, 0);
            }
        });
    }

    #[test]
    fn many_wait_at_once_and_each_has_its_own_time() {
        actix_rt::System::new().block_on(async {
            let never = within(u64::MAX, Box::pin(pending::<()>()));
            let never = actix_rt::spawn(never);
            let brief: Vec<_> = (0..100)
                .map(|n| actix_rt::spawn(within(n % 30, Box::pin(pending::<()>()))))
                .collect();
            for task in brief {
                task.await.unwrap().unwrap_err();
            }
            assert!(!never.is_finished());
            assert_eq!(taken(), (1, true));
            never.abort();
            assert!(never.await.unwrap_err().is_cancelled());
            assert_eq!(taken().0, 0);
        });
    }

    #[test]
    fn a_runtime_that_ends_leaves_the_thread_usable() {
        for _ in 0..2 {
            actix_rt::System::new().block_on(async {
                actix_rt::spawn(within(u64::MAX, Box::pin(pending::<()>())));
                within(10, Box::pin(pending::<()>())).await.unwrap_err();
            });
            assert_eq!(taken(), (0, false));
        }
    }
}
