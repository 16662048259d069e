//! Who answers a request that only the leader can answer.

use std::fmt;

/// The leader as a standby knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardTarget<'a> {
    /// `host:port`.
    pub address: &'a str,
    /// What is shown there.
    pub key: &'a str,
}

/// Why a request is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardRefusal {
    /// It was passed on once already: the leader has changed on its way.
    ForwardedAlready,
    /// Nobody leads at the moment.
    NoLeader,
    /// The leader says nowhere where it is reached.
    NoAddress,
    /// This process led a moment ago, and nobody does now.
    OwnAddress,
}

impl ForwardRefusal {
    /// Whether another answer is likely within seconds: one process follows another.
    #[must_use]
    pub fn is_of_a_hand_over(self) -> bool {
        matches!(self, Self::NoLeader | Self::OwnAddress)
    }
}

impl fmt::Display for ForwardRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ForwardedAlready => {
                "the request was passed on to this process, which does not lead any more; try again"
            }
            Self::NoLeader | Self::OwnAddress => {
                "no process leads at the moment; one takes over within seconds"
            }
            Self::NoAddress => {
                "the leading process says nowhere where it is reached; set `advertise` in [store]"
            }
        })
    }
}

/// Where a standby passes a request on to. `leader`: address and key of the newest holder of the
/// store, if it has it still; `own`: this process's address, and whether it leads by now (then what
/// it was asked as a standby goes to itself); `is_forwarded`: another has passed the request on.
///
/// # Errors
/// Why it is not passed on. A request is passed on once at the most, so there are no loops.
pub fn forward_target<'a>(
    leader: Option<(&'a str, &'a str)>,
    (own, leads): (&str, bool),
    is_forwarded: bool,
) -> Result<ForwardTarget<'a>, ForwardRefusal> {
    if is_forwarded {
        return Err(ForwardRefusal::ForwardedAlready);
    }
    let (address, key) = leader.ok_or(ForwardRefusal::NoLeader)?;
    if address.is_empty() {
        return Err(ForwardRefusal::NoAddress);
    }
    if address == own && !leads {
        return Err(ForwardRefusal::OwnAddress);
    }
    Ok(ForwardTarget { address, key })
}

/// What every process answers by itself, whoever leads.
const OF_ANY_PROCESS: [&str; 8] = [
    "/webhook",
    "/health",
    "/healthz",
    "/livez",
    "/readyz",
    "/metrics",
    "/admin/actors",
    "/admin/drain",
];

/// Whether a process whose actors are still there leaves a request to the next leader: all of them
/// once it has lost the store, and while it `hands_over` those that change something (`reads` is
/// false), for which its actors are gone already.
#[must_use]
pub fn is_for_next_leader(
    (path, reads): (&str, bool),
    hands_over: bool,
    has_lost_store: bool,
) -> bool {
    let is_left = has_lost_store || (hands_over && !reads);
    is_left && !OF_ANY_PROCESS.contains(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_request_goes_to_the_leader_and_no_further() {
        let leader = Some(("10.0.0.5:3000", "key"));
        for (leader, own, leads, forwarded, expected) in [
            (leader, "10.0.0.6:3000", false, false, Ok("10.0.0.5:3000")),
            (leader, "", false, false, Ok("10.0.0.5:3000")),
            (leader, "10.0.0.5:3000", true, false, Ok("10.0.0.5:3000")),
            (
                leader,
                "10.0.0.6:3000",
                false,
                true,
                Err(ForwardRefusal::ForwardedAlready),
            ),
            (
                leader,
                "10.0.0.5:3000",
                false,
                false,
                Err(ForwardRefusal::OwnAddress),
            ),
            (
                None,
                "10.0.0.6:3000",
                false,
                false,
                Err(ForwardRefusal::NoLeader),
            ),
            (
                Some(("", "key")),
                "10.0.0.6:3000",
                false,
                false,
                Err(ForwardRefusal::NoAddress),
            ),
        ] {
            let found =
                forward_target(leader, (own, leads), forwarded).map(|target| target.address);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn i18_a_leader_leaves_to_the_next_what_it_cannot_answer_any_more() {
        for (path, reads, hands_over, has_lost_store, expected) in [
            ("/runs", true, false, false, false),
            ("/runs/dispatch", false, false, false, false),
            ("/runs", true, true, false, false),
            ("/runs/dispatch", false, true, false, true),
            ("/runs", true, false, true, true),
            ("/runs/dispatch", false, true, true, true),
            ("/webhook", false, true, true, false),
            ("/admin/drain", false, true, true, false),
            ("/health", true, true, true, false),
        ] {
            let left = is_for_next_leader((path, reads), hands_over, has_lost_store);
            assert_eq!(left, expected, "{path} {hands_over} {has_lost_store}");
        }
    }
}
