//! How many wrong tokens the form takes: so many in a minute of one address, and of all together.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a wrong token counts.
const WINDOW: Duration = Duration::from_secs(60);
/// Wrong tokens of one address in a window.
const MAX_WRONG_PER_ADDRESS: usize = 10;
/// Wrong tokens of all in a window. No more are remembered, so this bounds the memory too.
const MAX_WRONG: usize = 60;

/// What becomes of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptDecision {
    /// The token is right.
    Right,
    /// The token is wrong.
    Wrong,
    /// There were too many: nothing was compared. They may come back after so long.
    Later(Duration),
}

/// The attempts at one server.
#[derive(Debug)]
pub(super) struct Attempts {
    started_at: Instant,
    wrong: Mutex<WrongTokens>,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            started_at: Instant::now(),
            wrong: Mutex::default(),
        }
    }
}

impl Attempts {
    /// One attempt of a peer; `is_right` is asked only while there were not too many.
    pub(super) fn attempt(
        &self,
        peer: Option<IpAddr>,
        is_right: impl FnOnce() -> bool,
    ) -> AttemptDecision {
        let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        // Held while the token is compared: attempts at the same time would count as one otherwise.
        let mut wrong = self.wrong.lock();
        wrong.attempt(peer, self.started_at.elapsed(), is_right)
    }
}

/// The wrong tokens of the last minute, oldest first; times are since the start.
#[derive(Debug, Default)]
struct WrongTokens(VecDeque<(Duration, IpAddr)>);

impl WrongTokens {
    fn attempt(
        &mut self,
        peer: IpAddr,
        now: Duration,
        is_right: impl FnOnce() -> bool,
    ) -> AttemptDecision {
        let peer = household(peer);
        self.0.retain(|(time, _)| now < *time + WINDOW);
        if let Some(until) = self.closed_until(peer) {
            return AttemptDecision::Later(until.saturating_sub(now));
        }
        if is_right() {
            return AttemptDecision::Right;
        }
        self.0.push_back((now, peer));
        AttemptDecision::Wrong
    }

    /// When an address that gave too many may try again.
    fn closed_until(&self, peer: IpAddr) -> Option<Duration> {
        let all = self.0.iter().map(|(time, _)| *time);
        let own = self.0.iter().filter(|(_, of)| *of == peer);
        let of_all = all.rev().nth(MAX_WRONG - 1);
        let of_one = own
            .map(|(time, _)| *time)
            .rev()
            .nth(MAX_WRONG_PER_ADDRESS - 1);
        Some(of_all.max(of_one)? + WINDOW)
    }
}

/// Whoever has an IPv6 address has all of its network.
fn household(peer: IpAddr) -> IpAddr {
    const NETWORK: u128 = !0 << 64;
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// `wrong` at second `at`, of this address.
    fn guess(wrong: &mut WrongTokens, from: &str, at: u64) -> AttemptDecision {
        wrong.attempt(address(from), Duration::from_secs(at), || false)
    }

    #[test]
    fn an_address_has_ten_wrong_tokens_a_minute_and_a_right_one_helps_it_not() {
        let mut wrong = WrongTokens::default();
        for second in 0..10 {
            assert_eq!(
                guess(&mut wrong, "192.0.2.1", second),
                AttemptDecision::Wrong
            );
        }
        let later = |seconds| AttemptDecision::Later(Duration::from_secs(seconds));
        assert_eq!(guess(&mut wrong, "192.0.2.1", 10), later(50));
        let compared = || panic!("nothing is compared");
        let now = Duration::from_secs(59);
        assert_eq!(wrong.attempt(address("192.0.2.1"), now, compared), later(1));
        let mapped = address("::ffff:192.0.2.1");
        assert_eq!(wrong.attempt(mapped, now, compared), later(1));
        let other = wrong.attempt(address("192.0.2.2"), now, || true);
        assert_eq!(other, AttemptDecision::Right, "others sign in");
        // The first is a minute old: one more, and it is full again until the second is.
        assert_eq!(guess(&mut wrong, "192.0.2.1", 60), AttemptDecision::Wrong);
        assert_eq!(guess(&mut wrong, "192.0.2.1", 60), later(1));
        let now = Duration::from_secs(61);
        let right = wrong.attempt(address("192.0.2.1"), now, || true);
        assert_eq!(right, AttemptDecision::Right);
    }

    #[test]
    fn all_together_have_sixty_and_no_more_is_remembered() {
        let mut wrong = WrongTokens::default();
        let verdicts: Vec<AttemptDecision> = (0..200)
            .map(|host| guess(&mut wrong, &format!("198.51.100.{host}"), 5))
            .collect();
        let taken = verdicts
            .iter()
            .filter(|it| **it == AttemptDecision::Wrong)
            .count();
        assert_eq!((taken, wrong.0.len()), (MAX_WRONG, MAX_WRONG));
        let now = Duration::from_secs(64);
        let right = wrong.attempt(address("203.0.113.1"), now, || true);
        assert_eq!(right, AttemptDecision::Later(Duration::from_secs(1)));
        let now = Duration::from_secs(65);
        assert_eq!(
            wrong.attempt(address("203.0.113.1"), now, || true),
            AttemptDecision::Right
        );
        assert!(wrong.0.is_empty(), "old ones are forgotten");
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one() {
        let mut wrong = WrongTokens::default();
        for host in 0..10 {
            assert_eq!(
                guess(&mut wrong, &format!("2001:db8::{host}"), 0),
                AttemptDecision::Wrong
            );
        }
        assert!(matches!(
            guess(&mut wrong, "2001:db8::ffff", 0),
            AttemptDecision::Later(_)
        ));
        assert_eq!(
            guess(&mut wrong, "2001:db8:0:1::1", 0),
            AttemptDecision::Wrong
        );
    }
}
