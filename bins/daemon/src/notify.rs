//! What the service manager is told by its protocol (`sd_notify(3)`): ready, reloading, alive,
//! stopping. Without one nothing happens.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use sd_notify::NotifyState;
use supervision::RootHandle;

/// Everything listens.
pub fn ready() {
    send_states(&[NotifyState::Ready]);
}

/// It is coming to its end.
pub fn stopping() {
    send_states(&[NotifyState::Stopping]);
}

/// One line for whoever asks for the service's status.
pub fn status(text: &str) {
    send_states(&[NotifyState::Status(text)]);
}

fn send_states(states: &[NotifyState<'_>]) {
    // Without a service manager there is nobody to tell.
    let _ = sd_notify::notify(states);
}

/// Tells the watchdog, twice in its time, that all is well, as long as `probe` says so within that
/// time: a program that hangs says nothing, and is restarted. `probe` gets the time it has; its
/// error says what is wrong.
pub fn keep_alive<P, F>(probe: P)
where
    P: Fn(Duration) -> F + 'static,
    F: Future<Output = Result<(), String>> + 'static,
{
    let Some(limit) = sd_notify::watchdog_enabled() else {
        return;
    };
    let pause = (limit / 2).max(Duration::from_millis(50));
    actix_rt::spawn(async move {
        loop {
            match probe(limit).await {
                Ok(()) => send_states(&[NotifyState::Watchdog]),
                Err(reason) => tracing::error!(
                    event = "server.does_not_answer",
                    reason,
                    "the watchdog is not told that all is well"
                ),
            }
            tokio::time::sleep(pause).await;
        }
    });
}

/// Whether the root supervisor answers, for [`keep_alive`].
pub fn supervisor_answers(
    actors: &RootHandle,
) -> impl Fn(Duration) -> Pin<Box<dyn Future<Output = Result<(), String>>>> + use<> {
    let actors = actors.clone();
    move |within| {
        let actors = actors.clone();
        Box::pin(async move {
            let answers = actors.answers(within).await;
            answers
                .then_some(())
                .ok_or_else(|| "the root supervisor does not answer".to_owned())
        })
    }
}
