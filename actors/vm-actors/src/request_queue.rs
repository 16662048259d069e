//! Requests for VMs that are not answered yet, and those that wait for capacity.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use vm_core::VmSpec;
use vm_core::admission::RequestedResources;
use vm_engine::image::Image;

use crate::keys::IdempotencyKey;
use crate::messages::{AllocatedVm, CreateFailure};

/// What is answered to a request.
pub(crate) type VmRequestReply = Result<AllocatedVm, CreateFailure>;

/// A request that is not answered yet.
pub(crate) struct PendingRequest {
    pub(crate) spec: VmSpec,
    pub(crate) subject: String,
    pub(crate) key: Option<IdempotencyKey>,
    /// Its disk, once it was found.
    pub(crate) image: Option<Arc<Image>>,
    /// When it came.
    pub(crate) requested: Instant,
    pub(crate) reply: oneshot::Sender<VmRequestReply>,
}

impl PendingRequest {
    pub(crate) fn answer(self, answer: VmRequestReply) {
        // Who has disconnected finds the VM by its key, or its lease ends it.
        let _ = self.reply.send(answer);
    }

    pub(crate) fn refuse(self, failure: CreateFailure) {
        self.answer(Err(failure));
    }

    /// What those who send the same request find each other by.
    pub(crate) fn row_key(&self) -> Option<(String, String)> {
        let key = self.key.as_ref()?;
        Some((key.subject.clone(), key.key.clone()))
    }
}

/// Requests that wait for capacity, oldest first. [`Capacity::queue`](vm_core::admission::Capacity)
/// bounds it.
#[derive(Default)]
pub(crate) struct RequestQueue {
    needs: VecDeque<RequestedResources>,
    requests: VecDeque<PendingRequest>,
}

impl RequestQueue {
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    pub(crate) fn needs(&self) -> &VecDeque<RequestedResources> {
        &self.needs
    }

    pub(crate) fn push(&mut self, need: RequestedResources, request: PendingRequest) {
        self.needs.push_back(need);
        self.requests.push_back(request);
    }

    /// The `count` oldest.
    pub(crate) fn take(&mut self, count: usize) -> Vec<PendingRequest> {
        self.needs.drain(..count);
        self.requests.drain(..count).collect()
    }

    /// Drops requests without a key whose sender has disconnected.
    pub(crate) fn drop_disconnected(&mut self) {
        self.remove(|request| request.key.is_none() && request.reply.is_closed());
    }

    /// Those that have waited for `longest`.
    pub(crate) fn overdue(&mut self, now: Instant, longest: Duration) -> Vec<PendingRequest> {
        self.remove(|request| now.duration_since(request.requested) >= longest)
    }

    fn remove(&mut self, unwanted: impl Fn(&PendingRequest) -> bool) -> Vec<PendingRequest> {
        let mut removed = Vec::new();
        for index in (0..self.requests.len()).rev() {
            if unwanted(&self.requests[index]) {
                self.needs.remove(index);
                removed.extend(self.requests.remove(index));
            }
        }
        removed.reverse();
        removed
    }
}
