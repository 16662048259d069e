//! Startup and shutdown of a program that serves, and its signals.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use supervision::RootHandle;
use tokio::signal::unix::{SignalKind, signal};

use crate::{first_screen, notify};

/// Resolves when a program is to stop.
pub type ShutdownSignal = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Logs that `program` listens at `bound`, tells the service manager so, and gives what resolves at
/// the first SIGINT or SIGTERM. Needs a running actix system.
///
/// # Errors
/// When the signal handlers cannot be installed.
pub fn listening(
    program: &'static str,
    bound: SocketAddr,
    actors: &RootHandle,
) -> io::Result<ShutdownSignal> {
    ignore_hangup(RESTART)?;
    announce(program, bound, notify::supervisor_answers(actors))
}

/// As [`listening`], of a process that does something at SIGHUP, or has not one tree of actors: the
/// service manager is told for as long as `check` is good.
///
/// # Errors
/// When the signal handlers cannot be installed.
pub fn announce<F>(
    program: &'static str,
    bound: SocketAddr,
    check: impl Fn(Duration) -> F + 'static,
) -> io::Result<ShutdownSignal>
where
    F: Future<Output = Result<(), String>> + 'static,
{
    let signal = edge_web::shutdown_signal()?;
    tracing::info!(event = "server.listening", url = %format!("http://{bound}/"), "the {program} listens");
    notify::ready();
    notify::keep_alive(check);
    Ok(stopping(signal, |signal| {
        tracing::info!(event = "server.stopping", signal);
    }))
}

/// Resolves with `signal`, once the service manager and the terminal know of it; `log` writes the
/// line of the log.
pub fn stopping(
    signal: impl Future<Output = &'static str> + Send + 'static,
    log: impl FnOnce(&'static str) + Send + 'static,
) -> ShutdownSignal {
    Box::pin(async move {
        let name = signal.await;
        notify::stopping();
        first_screen::line("stopping", name);
        log(name);
    })
}

/// What SIGHUP means to a program whose settings are read once.
const RESTART: &str = "there is nothing to read again: settings take effect with a restart; \
                       the search server follows its role file by itself";

/// From now on SIGHUP is answered by a line in the log, which says `why` nothing is read again.
/// Needs a running actix system.
///
/// # Errors
/// When the signal handler cannot be installed.
pub fn ignore_hangup(why: &'static str) -> io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    actix_rt::spawn(async move {
        while hangup.recv().await.is_some() {
            tracing::info!(event = "server.hangup_ignored", "{why}");
        }
    });
    Ok(())
}

/// From now on SIGHUP has `reload` done, one after the other. Needs a running actix system.
///
/// # Errors
/// When the signal handler cannot be installed.
pub fn on_hangup<F>(reload: impl Fn() -> F + 'static) -> io::Result<()>
where
    F: Future<Output = ()> + 'static,
{
    let mut hangup = signal(SignalKind::hangup())?;
    actix_rt::spawn(async move {
        while hangup.recv().await.is_some() {
            reload().await;
        }
    });
    Ok(())
}

/// Runs `serve` in an actix system of its own, and logs its good end.
///
/// # Errors
/// What `serve` says.
pub fn run<F>(serve: F) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>>,
{
    actix_rt::System::new().block_on(serve)?;
    tracing::info!(event = "server.stopped");
    Ok(())
}
