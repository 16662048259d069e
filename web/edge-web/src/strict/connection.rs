//! What the middleware and the connection tell each other.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use crate::connections::ConnectionPermit;

/// Shared by one connection and the requests that came over it.
///
/// actix-http reads the rest of a refused chunked body away without any limit of time or size, and
/// does not close the connection meanwhile, whatever the answer says. So the edge asks the
/// connection itself to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct HttpConnection(Rc<Signal>);

/// Held while a request is answered, to the last byte of its answer.
#[derive(Debug)]
pub(crate) struct ResponseGuard(HttpConnection);

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        if let Some(place) = &self.0.0.place {
            place.is_idle();
        }
    }
}

#[derive(Debug, Default)]
struct Signal {
    inside_body: Cell<bool>,
    ending: Cell<bool>,
    /// Whether whoever sends has shown a token.
    known: Cell<bool>,
    /// Its place among the connections of the listener.
    place: Option<Arc<ConnectionPermit>>,
    reader: RefCell<Option<Waker>>,
}

impl HttpConnection {
    /// One that has this place.
    pub(crate) fn with_permit(place: Arc<ConnectionPermit>) -> Self {
        Self(Rc::new(Signal {
            place: Some(place),
            ..Signal::default()
        }))
    }

    /// A request has begun, from somebody who has shown a token (`known`) or has not.
    pub(crate) fn start_request(&self, known: bool) -> ResponseGuard {
        self.0.known.set(known);
        if let Some(place) = &self.0.place {
            place.is_answered();
            place.is_receiving(!known && self.is_inside_body());
        }
        ResponseGuard(self.clone())
    }

    /// Whether it is one too many, or has to make room: it may ask for health alone.
    pub(crate) fn is_aside(&self) -> bool {
        let place = self.0.place.as_ref();
        place.is_some_and(|place| place.is_aside() || place.is_leaving())
    }

    /// Whether it has to make room for another one.
    pub(crate) fn leaves(&self, cx: &Context<'_>) -> bool {
        self.0.place.as_ref().is_some_and(|place| place.leaves(cx))
    }

    /// Whether a whole request is being answered.
    pub(crate) fn is_answering(&self) -> bool {
        let place = self.0.place.as_ref();
        place.is_some_and(|place| place.is_answering())
    }

    /// Whether a body has begun and is not complete.
    pub(crate) fn is_inside_body(&self) -> bool {
        self.0.inside_body.get()
    }

    /// Notes whether a body has begun and is not complete, and who reads it.
    pub(crate) fn record_body(&self, inside: bool, cx: &Context<'_>) {
        if self.0.inside_body.replace(inside)
            && !inside
            && let Some(place) = &self.0.place
        {
            place.is_receiving(false);
        }
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
