//! How one incarnation of a child ended.

use std::any::Any;

use serde::Serialize;

/// The end of one incarnation, as the supervisor matches on it; nothing is inferred from logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Exit {
    /// It stopped by itself or when told to, and gave no reason (a process's exit code 0).
    #[error("normal")]
    Normal,
    /// It stopped with a reason, by [`ChildContext::fail`](crate::ChildContext::fail)
    /// (a non-zero exit code).
    #[error("failed: {0}")]
    Failed(String),
    /// A panic reached the actor's own task; the text of the panic (a fatal signal).
    #[error("panicked: {0}")]
    Panicked(String),
    /// Its task was cancelled: the shutdown time was over, or its arbiter went away (`SIGKILL`).
    #[error("aborted")]
    Aborted,
    /// Its event loop left this many pings in a row unanswered (the watchdog).
    #[error("hung: {missed} pings in a row unanswered")]
    Hung {
        /// Pings in a row without an answer.
        missed: u32,
    },
    /// It ended before the first turn of its event loop: the factory or `started` failed or
    /// panicked (`exec` failed).
    #[error("failed to start: {0}")]
    FailedToStart(String),
}

impl Exit {
    /// Anything but [`Exit::Normal`]: what a transient child is restarted for.
    pub fn is_failure(&self) -> bool {
        !matches!(self, Self::Normal)
    }
}

/// How an incarnation's task ended by itself.
#[derive(Debug)]
pub(crate) enum TaskEnd {
    /// Without a reason.
    Normal,
    /// With a reason given by [`ChildContext::fail`](crate::ChildContext::fail).
    Failed(String),
    /// The factory failed, or the reason was given before the event loop turned.
    FailedToStart(String),
}

/// The text of a panic's payload: `panic!` makes a `&str` or a `String`, `panic_any` anything.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic whose payload is not text".to_owned()
    }
}

/// How the whole tree ended: what a program turns into its exit code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "verdict", content = "exit", rename_all = "snake_case")]
pub enum TreeExit {
    /// Asked to stop, and every child stopped: exit code 0.
    #[error("stopped")]
    Stopped,
    /// A failure went up past the root: exit code other than 0, so that the service manager starts
    /// the program anew.
    #[error("the root supervisor ended: {0}")]
    Failed(Exit),
}

impl TreeExit {
    /// Whether the program has to exit with a code other than 0.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl From<Exit> for TreeExit {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Normal => Self::Stopped,
            other => Self::Failed(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_normal_end_is_no_failure() {
        assert!(!Exit::Normal.is_failure());
        for exit in [
            Exit::Failed("x".into()),
            Exit::Panicked("x".into()),
            Exit::Aborted,
            Exit::Hung { missed: 3 },
            Exit::FailedToStart("x".into()),
        ] {
            assert!(exit.is_failure(), "{exit}");
            assert!(TreeExit::from(exit).is_failure());
        }
        assert!(!TreeExit::from(Exit::Normal).is_failure());
    }

    #[test]
    fn the_text_of_a_panic_is_kept() {
        let cases: [(Box<dyn Any + Send>, &str); 3] = [
            (Box::new("literal"), "literal"),
            (Box::new("formatted".to_owned()), "formatted"),
            (Box::new(42_u8), "a panic whose payload is not text"),
        ];
        for (payload, text) in cases {
            assert_eq!(panic_text(payload.as_ref()), text);
        }
    }

    #[test]
    fn an_exit_is_data() {
        let json = |exit| serde_json::to_value(exit).unwrap();
        assert_eq!(json(Exit::Normal), serde_json::json!({"kind": "normal"}));
        assert_eq!(
            json(Exit::Panicked("boom".into())),
            serde_json::json!({"kind": "panicked", "detail": "boom"})
        );
        assert_eq!(
            json(Exit::Hung { missed: 3 }),
            serde_json::json!({"kind": "hung", "detail": {"missed": 3}})
        );
    }
}
