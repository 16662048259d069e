//! Whether jobs may begin, and how many are under way. A runner that is about to hand over lets
//! none begin.

use std::sync::Arc;

use tokio::sync::watch;

/// Admits jobs between their turn and their machine. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct JobAdmission(Arc<watch::Sender<AdmissionState>>);

#[derive(Debug, Clone, Copy, Default)]
struct AdmissionState {
    is_closed: bool,
    under_way: usize,
}

/// A job that has a machine, until its end is stored.
#[derive(Debug)]
pub(crate) struct JobUnderWay(JobAdmission);

impl JobAdmission {
    /// From now on no job begins. Those that have a machine go on.
    pub(crate) fn close(&self) {
        self.0.send_modify(|state| state.is_closed = true);
    }

    /// Jobs begin again.
    pub(crate) fn open(&self) {
        self.0.send_modify(|state| state.is_closed = false);
    }

    /// Whether none begins.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.borrow().is_closed
    }

    /// Jobs that have a machine.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.0.borrow().under_way
    }

    /// Counts a job that has got its machine; `None`: it may not begin.
    pub(crate) fn admit(&self) -> Option<JobUnderWay> {
        let admitted = self.0.send_if_modified(|state| {
            state.under_way += usize::from(!state.is_closed);
            !state.is_closed
        });
        admitted.then(|| JobUnderWay(self.clone()))
    }

    /// Ends as soon as jobs may begin.
    pub(crate) async fn opened(&self) {
        self.wait_until(|state| !state.is_closed).await;
    }

    /// Ends as soon as none may begin.
    pub(crate) async fn closed(&self) {
        self.wait_until(|state| state.is_closed).await;
    }

    /// Ends as soon as no job has a machine.
    pub(crate) async fn idle(&self) {
        self.wait_until(|state| state.under_way == 0).await;
    }

    async fn wait_until(&self, holds: impl FnMut(&AdmissionState) -> bool) {
        let mut states = self.0.subscribe();
        // The sender lives as long as this.
        let _ = states.wait_for(holds).await;
    }
}

impl Drop for JobUnderWay {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| state.under_way -= 1);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn i18_nobody_is_admitted_where_it_is_closed_and_it_is_idle_when_all_have_ended() {
        let admission = JobAdmission::default();
        assert!(admission.idle().now_or_never().is_some());
        let first = admission.admit().unwrap();
        let second = admission.admit().unwrap();
        assert!(admission.closed().now_or_never().is_none());
        admission.close();
        assert!(admission.is_closed() && admission.admit().is_none());
        assert!(admission.opened().now_or_never().is_none());
        drop(first);
        assert_eq!(admission.under_way(), 1);
        assert!(admission.idle().now_or_never().is_none());
        drop(second);
        assert!(admission.idle().now_or_never().is_some());
        admission.open();
        assert!(admission.opened().now_or_never().is_some());
        assert!(admission.admit().is_some());
    }
}
