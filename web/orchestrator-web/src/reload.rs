//! SIGHUP: the configuration is read again.

use std::io;

use orchestrator_actors::OperatorApi;
use orchestrator_actors::messages::ReloadConfig;
use supervision::ChildRef;
use tokio::signal::unix::{SignalKind, signal};

/// From now on SIGHUP has the operator API read the configuration again; `read` is called when that
/// went well. A wrong configuration is refused, and what is in force stays.
///
/// # Errors
/// When the system refuses the handler.
pub fn reload_on_hangup(api: ChildRef<OperatorApi>, read: impl Fn() + 'static) -> io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    actix_rt::spawn(async move {
        while hangup.recv().await.is_some() {
            let wrong = |errors| {
                tracing::error!(
                    event = "config.refused",
                    errors,
                    "the configuration is wrong; what was in force stays: run --check"
                );
            };
            reload(&api, &read, wrong).await;
        }
    });
    Ok(())
}

/// Has the operator API read the configuration again; `read` is called when that went well, `wrong`
/// with the number of mistakes where there are some.
pub async fn reload(api: &ChildRef<OperatorApi>, read: impl FnOnce(), wrong: impl FnOnce(usize)) {
    match api.ask(ReloadConfig).await {
        Ok(Ok(view)) if view.valid => read(),
        Ok(Ok(view)) => wrong(view.diagnostics.len()),
        Ok(Err(error)) => {
            tracing::error!(event = "config.refused", error = %error, "it could not be read again");
        }
        Err(error) => {
            tracing::error!(event = "config.refused", error = %error, "the operator API does not answer");
        }
    }
}
