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
/// store, if it has it still; `own`: this process's address; `is_forwarded`: another has passed the
/// request on.
///
/// # Errors
/// Why it is not passed on. A request is passed on once at the most, so there are no loops.
pub fn forward_target<'a>(
    leader: Option<(&'a str, &'a str)>,
    own: &str,
    is_forwarded: bool,
) -> Result<ForwardTarget<'a>, ForwardRefusal> {
    if is_forwarded {
        return Err(ForwardRefusal::ForwardedAlready);
    }
    let (address, key) = leader.ok_or(ForwardRefusal::NoLeader)?;
    if address.is_empty() {
        return Err(ForwardRefusal::NoAddress);
    }
    if address == own {
        return Err(ForwardRefusal::OwnAddress);
    }
    Ok(ForwardTarget { address, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_request_goes_to_the_leader_and_no_further() {
        let leader = Some(("10.0.0.5:3000", "key"));
        for (leader, own, forwarded, expected) in [
            (leader, "10.0.0.6:3000", false, Ok("10.0.0.5:3000")),
            (leader, "", false, Ok("10.0.0.5:3000")),
            (
                leader,
                "10.0.0.6:3000",
                true,
                Err(ForwardRefusal::ForwardedAlready),
            ),
            (
                leader,
                "10.0.0.5:3000",
                false,
                Err(ForwardRefusal::OwnAddress),
            ),
            (None, "10.0.0.6:3000", false, Err(ForwardRefusal::NoLeader)),
            (
                Some(("", "key")),
                "10.0.0.6:3000",
                false,
                Err(ForwardRefusal::NoAddress),
            ),
        ] {
            let found = forward_target(leader, own, forwarded).map(|target| target.address);
            assert_eq!(found, expected);
        }
    }
}
