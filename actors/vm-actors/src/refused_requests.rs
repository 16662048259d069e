//! What a VM's network has refused it, for whoever wonders why a command failed.

use parking_lot::Mutex;
use vmm_api_core::RefusedRequest;

/// Kinds that are kept of one VM, and bytes of each: a guest decides what it asks for.
const KEPT: usize = 20;
const MAX_BYTES: usize = 300;

/// How often what was refused, in the order in which it came.
#[derive(Debug, Default)]
pub(crate) struct RefusedRequests(Mutex<Vec<RefusedRequest>>);

impl RefusedRequests {
    /// One more.
    pub(crate) fn record(&self, reason: &str) {
        let reason = &reason[..reason.floor_char_boundary(MAX_BYTES)];
        let mut known = self.0.lock();
        if let Some(known) = known.iter_mut().find(|known| known.reason == reason) {
            known.times += 1;
        } else if known.len() < KEPT {
            known.push(RefusedRequest {
                reason: reason.to_owned(),
                times: 1,
            });
        }
    }

    /// As the API shows it.
    pub(crate) fn view(&self) -> Vec<RefusedRequest> {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_what_is_refused_is_counted_and_bounded() {
        let refused = RefusedRequests::default();
        for reason in [
            "a:443 is not listed",
            "b:80 is not listed",
            "a:443 is not listed",
        ] {
            refused.record(reason);
        }
        for number in 0..1000 {
            refused.record(&format!("{number}{}", "ö".repeat(1000)));
        }
        let view = refused.view();
        assert_eq!(view.len(), KEPT);
        assert_eq!((view[0].times, view[1].times), (2, 1));
        assert!(view.iter().all(|it| it.reason.len() <= MAX_BYTES));
    }
}
