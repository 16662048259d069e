//! What the steps of a machine were told of their failures.

use std::collections::BTreeMap;

use http_clients::vmm::RefusedRequest;

/// What was said of a machine already.
#[derive(Debug, Default)]
pub(super) struct KnownCauses {
    refused: BTreeMap<String, u64>,
    killed: u64,
    /// The action that has taken the newest Rust of the image, and what that says of itself.
    pub(super) image_rust: Option<(String, String)>,
}

impl KnownCauses {
    /// What was refused since it was last asked.
    pub(super) fn refused(&mut self, now: Vec<RefusedRequest>) -> Option<String> {
        let mut new = Vec::new();
        for RefusedRequest { reason, times } in now {
            let before = self.refused.insert(reason.clone(), times).unwrap_or(0);
            if times > before {
                new.push(format!("{reason} ({})", times - before));
            }
        }
        let what = new.join(", ");
        (!new.is_empty()).then(|| format!("this machine's network refused: {what}"))
    }

    /// How many programs were ended since it was last asked.
    pub(super) fn killed(&mut self, now: u64) -> u64 {
        let new = now.saturating_sub(self.killed);
        self.killed = now;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_what_the_network_refused_is_said_once() {
        let refused = |reason: &str, times| RefusedRequest {
            reason: reason.to_owned(),
            times,
        };
        let mut causes = KnownCauses::default();
        assert_eq!(causes.refused(Vec::new()), None);
        let now = vec![refused("a:443 is not listed", 2), refused("b:80 is not", 1)];
        let text = "this machine's network refused: a:443 is not listed (2), b:80 is not (1)";
        assert_eq!(causes.refused(now.clone()).as_deref(), Some(text));
        assert_eq!(causes.refused(now), None);
        let text = "this machine's network refused: a:443 is not listed (3)";
        let more = vec![refused("a:443 is not listed", 5)];
        assert_eq!(causes.refused(more).as_deref(), Some(text));
        assert_eq!(
            (causes.killed(1), causes.killed(1), causes.killed(3)),
            (1, 0, 2)
        );
    }
}
