//! A program's life: it listens, a signal comes, it ends.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use supervision::RootHandle;

use crate::notify;

/// Resolves when a program is to stop.
pub type Stop = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Logs that `program` listens at `bound`, tells the service manager so, and gives what resolves at the first SIGINT
/// or SIGTERM. Needs a running actix system.
///
/// # Errors
/// When the signal handlers cannot be installed.
pub fn listening(
    program: &'static str,
    bound: SocketAddr,
    actors: &RootHandle,
) -> io::Result<Stop> {
    let signal = edge_web::shutdown_signal()?;
    tracing::info!(event = "server.listening", url = %format!("http://{bound}/"), "the {program} listens");
    notify::ready();
    notify::keep_alive(notify::supervisor_answers(actors));
    Ok(Box::pin(async move {
        let name = signal.await;
        notify::stopping();
        tracing::info!(event = "server.stopping", signal = name);
    }))
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
