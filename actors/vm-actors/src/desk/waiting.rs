//! Orders, and those that wait for room.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use vm_core::VmSpec;
use vm_core::admission::Need;
use vm_engine::image::Image;

use super::Reply;
use crate::keys::OrderKey;
use crate::messages::CreateFailure;

/// An order that is not answered yet.
pub(super) struct Order {
    pub(super) spec: VmSpec,
    pub(super) subject: String,
    pub(super) key: Option<OrderKey>,
    /// Its disk, once it was found.
    pub(super) image: Option<Arc<Image>>,
    /// When it came.
    pub(super) ordered: Instant,
    pub(super) reply: oneshot::Sender<Reply>,
}

impl Order {
    pub(super) fn answer(self, answer: Reply) {
        // Who has left finds the VM by its key, or its lease ends it.
        let _ = self.reply.send(answer);
    }

    pub(super) fn refuse(self, failure: CreateFailure) {
        self.answer(Err(failure));
    }

    /// What those who send the same order find each other by.
    pub(super) fn row_key(&self) -> Option<(String, String)> {
        let key = self.key.as_ref()?;
        Some((key.subject.clone(), key.key.clone()))
    }
}

/// Orders that wait, oldest first.
#[derive(Default)]
pub(super) struct Waiting {
    needs: VecDeque<Need>,
    orders: VecDeque<Order>,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.orders.len()
    }

    pub(super) fn needs(&self) -> &VecDeque<Need> {
        &self.needs
    }

    pub(super) fn push(&mut self, need: Need, order: Order) {
        self.needs.push_back(need);
        self.orders.push_back(order);
    }

    /// The `count` oldest.
    pub(super) fn take(&mut self, count: usize) -> Vec<Order> {
        self.needs.drain(..count);
        self.orders.drain(..count).collect()
    }

    /// Those who sent an order without a key and have left want nothing any more.
    pub(super) fn forget_left(&mut self) {
        self.remove(|order| order.key.is_none() && order.reply.is_closed());
    }

    /// Those that have waited for `longest`.
    pub(super) fn overdue(&mut self, now: Instant, longest: Duration) -> Vec<Order> {
        self.remove(|order| now.duration_since(order.ordered) >= longest)
    }

    fn remove(&mut self, unwanted: impl Fn(&Order) -> bool) -> Vec<Order> {
        let mut removed = Vec::new();
        for index in (0..self.orders.len()).rev() {
            if unwanted(&self.orders[index]) {
                self.needs.remove(index);
                removed.extend(self.orders.remove(index));
            }
        }
        removed.reverse();
        removed
    }
}
