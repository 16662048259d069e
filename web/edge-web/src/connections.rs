//! How many connections there are, in all and of one address; which goes when another one needs its
//! place.
//!
//! ```text
//! accepted ─▶ room?  ──yes──────────────────────────────▶ served
//!              │ no
//!              ├─ one that has sent no whole request, the oldest ─┐
//!              ├─ one that waits for its next request, the oldest ┴─▶ it is closed, the new one is served
//!              └─ all are being answered ─▶ aside: health is answered, everything else gets 503
//! ```
//! Where one address has all it may have, it is one of its own that goes. Whoever goes and has sent
//! a whole request already is told to come again, and so is whoever finds no place aside.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

use crate::log_gate::LogGate;

/// Connections beyond the limit that are asked what they want, so that health is answered in a full
/// house.
const EXTRA_FOR_HEALTH: usize = 16;

/// Bits of an IPv6 address that one customer has.
const IPV6_NETWORK: u32 = 64;

/// What a connection is doing. The order is the order in which they go.
const NO_REQUEST_YET: u8 = 0;
const IDLE: u8 = 1;
const ANSWERED: u8 = 2;

/// The connections of one listener.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: ConnectionLimits,
    started: Instant,
    open: Mutex<OpenConnections>,
    gate: LogGate,
}

/// The most there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    /// In all.
    pub(crate) all: usize,
    /// Of one address that is not this machine's: whoever comes from here may speak for many.
    pub(crate) of_address: usize,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next: u64,
    places: HashMap<u64, Arc<ConnectionPermit>>,
    of_address: HashMap<IpAddr, usize>,
    aside: usize,
}

/// One connection's place. Ended when the [`ConnectionGuard`] is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    /// `None`: of this machine, or unknown.
    address: Option<IpAddr>,
    aside: bool,
    state: AtomicU8,
    /// Whether a body is coming from somebody who has shown no token.
    receiving: AtomicBool,
    /// When the state began, in milliseconds of the listener's life.
    since: AtomicU64,
    started: Instant,
    leaves: AtomicBool,
    reader: AtomicWaker,
}

/// A place that is held.
#[derive(Debug)]
pub(crate) struct ConnectionGuard {
    number: u64,
    pub(crate) place: Arc<ConnectionPermit>,
    connections: Arc<Connections>,
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self {
            limits: ConnectionLimits {
                all: limits.all.max(1),
                of_address: limits.of_address.max(1),
            },
            started: Instant::now(),
            open: Mutex::default(),
            gate: LogGate::default(),
        }
    }

    /// The most that are open at any time.
    pub(crate) fn most(&self) -> usize {
        self.limits.all + EXTRA_FOR_HEALTH
    }

    /// A place for a connection from `peer`; `None` when it is to be closed at once.
    pub(crate) fn admit(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<ConnectionGuard> {
        let address = peer.and_then(counted);
        let mut open = self.open.lock();
        let many_of_it = address.is_some_and(|address| {
            open.of_address.get(&address).copied().unwrap_or_default() >= self.limits.of_address
        });
        let full = open.places.len() - open.aside >= self.limits.all;
        let mut aside = false;
        if many_of_it || full {
            let of = address.filter(|_| many_of_it);
            aside = !open.make_room(|place| {
                !place.aside && of.is_none_or(|address| place.address == Some(address))
            });
            self.log_refusal(peer, !aside, many_of_it);
            if aside && open.aside >= EXTRA_FOR_HEALTH && !open.make_room(|place| place.aside) {
                return None;
            }
        }
        let place = Arc::new(ConnectionPermit::new(address, aside, self.started));
        let number = open.insert(&place);
        drop(open);
        Some(ConnectionGuard {
            number,
            place,
            connections: Arc::clone(self),
        })
    }

    /// Whether one that came within the last `time` has sent no whole request yet.
    pub(crate) fn is_a_first_request_due(&self, time: Duration) -> bool {
        let oldest = milliseconds(self.started.elapsed().saturating_sub(time));
        let open = self.open.lock();
        open.places.values().any(|place| {
            place.state.load(Ordering::Relaxed) == NO_REQUEST_YET
                && place.since.load(Ordering::Relaxed) >= oldest
        })
    }

    fn log_refusal(&self, peer: Option<IpAddr>, made_room: bool, many_of_it: bool) {
        let Some(suppressed) = self.gate.admit(None, Instant::now()) else {
            return;
        };
        tracing::warn!(
            event = "http.connections_full",
            source = peer.map(tracing::field::display),
            limit = if many_of_it {
                self.limits.of_address
            } else {
                self.limits.all
            },
            of_address = many_of_it,
            made_room,
            suppressed,
            "there are as many connections as may be: one that asked nothing is closed, or the new one is refused"
        );
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.open.lock().places.len()
    }
}

impl OpenConnections {
    fn insert(&mut self, place: &Arc<ConnectionPermit>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.places.insert(number, Arc::clone(place));
        self.aside += usize::from(place.aside);
        if let Some(address) = place.address {
            *self.of_address.entry(address).or_default() += 1;
        }
        number
    }

    fn remove(&mut self, number: u64) {
        // One that had to go has left already.
        let Some(place) = self.places.remove(&number) else {
            return;
        };
        self.aside -= usize::from(place.aside);
        let Some(address) = place.address else {
            return;
        };
        if let Some(count) = self.of_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.of_address.remove(&address);
            }
        }
    }

    /// Ends the one of these connections that is missed least. Whether there was one.
    fn make_room(&mut self, is_one: impl Fn(&ConnectionPermit) -> bool) -> bool {
        let candidates = self.places.iter();
        let candidates = candidates.filter(|(_, place)| place.rank() < ANSWERED && is_one(place));
        let least = candidates.min_by_key(|(number, place)| {
            (place.rank(), place.since.load(Ordering::Relaxed), **number)
        });
        let Some((number, place)) = least.map(|(number, place)| (*number, Arc::clone(place)))
        else {
            return false;
        };
        self.remove(number);
        place.end();
        true
    }
}

impl ConnectionPermit {
    fn new(address: Option<IpAddr>, aside: bool, started: Instant) -> Self {
        let place = Self {
            address,
            aside,
            state: AtomicU8::new(NO_REQUEST_YET),
            receiving: AtomicBool::new(false),
            since: AtomicU64::new(0),
            started,
            leaves: AtomicBool::new(false),
            reader: AtomicWaker::new(),
        };
        place.is_now(NO_REQUEST_YET);
        place
    }

    fn is_now(&self, state: u8) {
        self.since
            .store(milliseconds(self.started.elapsed()), Ordering::Relaxed);
        self.state.store(state, Ordering::Relaxed);
    }

    /// A whole head has come, and is being answered.
    pub(crate) fn is_answered(&self) {
        self.is_now(ANSWERED);
    }

    /// The answer is given; the next request is waited for.
    pub(crate) fn is_idle(&self) {
        self.is_now(IDLE);
        if self.is_leaving() {
            self.reader.wake();
        }
    }

    /// Whether a whole request is being answered.
    pub(crate) fn is_answering(&self) -> bool {
        self.rank() == ANSWERED
    }

    /// A body is coming, of somebody unknown.
    pub(crate) fn is_receiving(&self, receiving: bool) {
        self.receiving.store(receiving, Ordering::Relaxed);
    }

    /// Beyond the limit: it may ask for health alone.
    pub(crate) fn is_aside(&self) -> bool {
        self.aside
    }

    fn rank(&self) -> u8 {
        if self.receiving.load(Ordering::Relaxed) {
            return NO_REQUEST_YET;
        }
        self.state.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.leaves.store(true, Ordering::Release);
        self.reader.wake();
    }

    /// Whether it has to go. What has arrived whole is answered first.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaves.load(Ordering::Acquire)
    }

    /// Whether it has to go; whoever reads is woken when it has to later.
    pub(crate) fn leaves(&self, cx: &std::task::Context<'_>) -> bool {
        self.reader.register(cx.waker());
        self.is_leaving()
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.connections.open.lock().remove(self.number);
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The address that connections are counted by; none for this machine's own.
fn counted(peer: IpAddr) -> Option<IpAddr> {
    match peer.to_canonical() {
        peer if peer.is_loopback() => None,
        IpAddr::V4(peer) => Some(IpAddr::V4(peer)),
        IpAddr::V6(peer) => {
            let network = u128::MAX << (Ipv6Addr::BITS - IPV6_NETWORK);
            Some(IpAddr::V6(Ipv6Addr::from_bits(peer.to_bits() & network)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(all: usize, of_address: usize) -> Arc<Connections> {
        Arc::new(Connections::new(ConnectionLimits { all, of_address }))
    }

    fn has_to_go(seat: &ConnectionGuard) -> bool {
        let waker = futures_util::task::noop_waker();
        seat.place.leaves(&std::task::Context::from_waker(&waker))
    }

    fn from(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    #[test]
    fn t8_who_has_asked_nothing_goes_first_then_who_is_idle_and_nobody_who_is_answered() {
        let connections = connections(3, 3);
        let answered = connections.admit(from(1)).expect("room");
        answered.place.is_answered();
        let idle = connections.admit(from(2)).expect("room");
        idle.place.is_answered();
        idle.place.is_idle();
        let silent = connections.admit(from(3)).expect("room");

        let new = connections.admit(from(4)).expect("the silent one goes");
        assert!(has_to_go(&silent) && !has_to_go(&idle) && !has_to_go(&answered));
        assert_eq!(connections.count(), 3);
        drop(silent);
        assert_eq!(connections.count(), 3, "it has left already");
        new.place.is_answered();
        let newer = connections.admit(from(5)).expect("the idle one goes");
        assert!(has_to_go(&idle) && !has_to_go(&answered) && !has_to_go(&new));
        newer.place.is_answered();

        let aside = connections.admit(from(6)).expect("it may ask for health");
        assert!(aside.place.is_aside() && !newer.place.is_aside());
        assert!(!has_to_go(&answered) && !has_to_go(&new) && !has_to_go(&newer));
        drop(newer);
        drop(aside);
        assert!(!connections.admit(from(7)).expect("room").place.is_aside());
    }

    #[test]
    fn t8_a_body_of_somebody_unknown_is_a_half_sent_request() {
        let connections = connections(2, 2);
        let known = connections.admit(from(1)).expect("room");
        known.place.is_answered();
        let unknown = connections.admit(from(2)).expect("room");
        unknown.place.is_answered();
        unknown.place.is_receiving(true);
        let _new = connections.admit(from(3)).expect("the unknown one goes");
        assert!(has_to_go(&unknown) && !has_to_go(&known));
    }

    #[test]
    fn t8_one_address_has_its_share_and_pays_for_more_itself() {
        let connections = connections(100, 2);
        let other = connections.admit(from(9)).expect("room");
        let first = connections.admit(from(1)).expect("room");
        let second = connections.admit(from(1)).expect("room");
        let _third = connections.admit(from(1)).expect("its first goes");
        assert!(has_to_go(&first) && !has_to_go(&second) && !has_to_go(&other));
        // This machine's own connections may be a proxy's, which speaks for everybody.
        let local: Vec<ConnectionGuard> = (0..50)
            .map(|_| connections.admit(Some(IpAddr::from([127, 0, 0, 1]))))
            .map(|seat| seat.expect("room"))
            .collect();
        assert!(
            local
                .iter()
                .all(|seat| !has_to_go(seat) && !seat.place.is_aside())
        );
    }

    #[test]
    fn t8_an_ipv6_customer_is_one_address() {
        let of = |text: &str| counted(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_eq!(of("::1"), None);
        assert_eq!(of("127.9.9.9"), None);
        assert_eq!(of("::ffff:127.0.0.1"), None);
    }

    #[test]
    fn t8_there_are_never_more_than_the_limit_and_a_few_aside() {
        let connections = connections(5, 5);
        let seats: Vec<Option<ConnectionGuard>> = (0..100)
            .map(|last| {
                let seat = connections.admit(from(last));
                seat.inspect(|seat| seat.place.is_answered())
            })
            .collect();
        assert_eq!(connections.count(), connections.most());
        assert_eq!(seats.iter().flatten().count(), connections.most());
        drop(seats);
        assert_eq!(connections.count(), 0);
        assert!(connections.open.lock().of_address.is_empty());
        assert_eq!(connections.open.lock().aside, 0);
    }
}
