//! What the middleware and the connection tell each other.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Waker};

/// Shared by one connection and the requests that came over it.
///
/// actix-http reads the rest of a refused chunked body away without any limit of time or size, and
/// does not close the connection meanwhile, whatever the answer says. So the edge asks the
/// connection itself to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connection(Rc<Signal>);

#[derive(Debug, Default)]
struct Signal {
    inside_body: Cell<bool>,
    ending: Cell<bool>,
    reader: RefCell<Option<Waker>>,
}

impl Connection {
    /// Whether a body has begun and is not complete.
    pub(crate) fn is_inside_body(&self) -> bool {
        self.0.inside_body.get()
    }

    /// Notes whether a body has begun and is not complete, and who reads it.
    pub(crate) fn note_body(&self, inside: bool, cx: &Context<'_>) {
        self.0.inside_body.set(inside);
        if inside {
            let mut reader = self.0.reader.borrow_mut();
            if !reader
                .as_ref()
                .is_some_and(|known| known.will_wake(cx.waker()))
            {
                *reader = Some(cx.waker().clone());
            }
        }
    }

    /// Ends the connection shortly: the client gets time to read its answer.
    pub(crate) fn end(&self) {
        self.0.ending.set(true);
        if let Some(reader) = self.0.reader.borrow_mut().take() {
            reader.wake();
        }
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.0.ending.get()
    }
}
