//! A search server in this process, for this process only.

use std::net::TcpListener;
use std::time::Duration;

use actix_rt::task::JoinHandle;
use config_core::Secret;
use edge_web::ServeOptions;
use search_formats_engine::ReaderProgram;
use search_web::boot;
use search_web::{SearchServer, SearchServerOptions};
use store::DirectoryLock;
use tokio::sync::oneshot;
use url::Url;

use crate::client::Client;
use crate::failure::ClientFailure;
use crate::in_process::InProcess;

/// A server on a loopback port, which only its token opens.
pub(crate) struct PrivateServer {
    url: Url,
    token: Secret<String>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
    _lock: DirectoryLock,
}

impl PrivateServer {
    pub(crate) fn start(here: &InProcess) -> Result<Self, ClientFailure> {
        let roles = here.roles()?;
        let failed = |error: &dyn std::fmt::Display| {
            let data = here.settings.data_path.value.display();
            ClientFailure::Other(format!("{data}: {error}"))
        };
        let lock = boot::lock_data(&here.settings, here.program).map_err(|error| failed(&error))?;
        let state =
            boot::open_state(&here.settings, here.program).map_err(|error| failed(&error))?;
        let search = boot::search_settings(&here.settings, roles);
        let token = format!("{}{}", uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
        let readers = std::env::current_exe().ok().map(|path| ReaderProgram {
            path,
            arguments: vec![crate::READ_DOCUMENTS.into()],
        });
        let options = SearchServerOptions {
            token: Some(token.clone()),
            serve: ServeOptions {
                workers: 1,
                ..ServeOptions::default()
            },
            state: Some(state),
            readers,
            ..SearchServerOptions::default()
        };
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| failed(&error))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let url =
            Url::parse(&format!("http://{address}/")).expect("an address and a port are a URL");
        let server = SearchServer::prepare(&search, options).start();
        let (stop, stopped) = oneshot::channel();
        let serving = actix_rt::spawn(server.serve(listener, async move { drop(stopped.await) }));
        Ok(Self {
            url,
            token: Secret::new(token),
            stop,
            serving,
            _lock: lock,
        })
    }

    pub(crate) fn client(&self, timeout: Duration) -> Client {
        Client::new(self.url.clone(), Some(self.token.clone()), timeout)
    }

    pub(crate) async fn stop(self) {
        drop(self.stop);
        // How it ended is no concern of the command, which has its answer.
        let _ = self.serving.await;
    }
}
