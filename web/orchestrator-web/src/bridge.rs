//! The admin bridge: a Unix socket for this user, and a loopback port with a token.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::middleware::from_fn;
use actix_web::web::ServiceConfig;
use actix_web::{App, HttpServer, web};
use edge_web::guard::{ApiToken, HostPolicy, PublicPaths};
use edge_web::{
    APPLICATION_PATHS, Edge, EdgeConfig, Metrics, Routes, ServeOptions, serve, stop_accepting,
};

use crate::peer;
use crate::socket::{AdminSocket, SocketFile};

/// Between two checks of the socket's file.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The admin bridge, on socket or port.
#[derive(Clone)]
pub(crate) struct AdminBridge {
    /// The routes of a worker.
    pub(crate) routes: Arc<dyn Fn() -> Routes + Send + Sync>,
    /// Adds what handlers take out of the application's data.
    pub(crate) data: Arc<dyn Fn(&mut ServiceConfig) + Send + Sync>,
    /// What the port wants, as it is in force.
    pub(crate) token: ApiToken,
    pub(crate) metrics: Metrics,
}

impl AdminBridge {
    pub(crate) async fn serve(
        self,
        port: Option<TcpListener>,
        socket: Option<AdminSocket>,
        front: Option<(TcpListener, ApiToken)>,
        options: ServeOptions,
        stopped: tokio::sync::watch::Receiver<bool>,
    ) -> io::Result<()> {
        let options = ServeOptions {
            workers: 1,
            ..options
        };
        let port = port.map(|port| (port, self.token.clone()));
        let on_port = self.clone().on_port(port, options.clone(), stopped.clone());
        let for_front = self.clone().on_port(front, options, stopped.clone());
        let on_socket = self.on_socket(socket, stopped);
        let (port, front, socket) = tokio::join!(on_port, for_front, on_socket);
        port.and(front).and(socket)
    }

    async fn on_port(
        self,
        listener: Option<(TcpListener, ApiToken)>,
        options: ServeOptions,
        mut stopped: tokio::sync::watch::Receiver<bool>,
    ) -> io::Result<()> {
        let Some((listener, token)) = listener else {
            return Ok(());
        };
        let address = listener.local_addr()?;
        let edge = self.edge(HostPolicy::new(address, std::iter::empty()), Some(token));
        let factory = move || self.app(&edge);
        serve(listener, factory, options, async move {
            wait_for_stop(&mut stopped).await;
        })
        .await
    }

    /// Only this user can open the socket, so it needs no token; agents run as this user, too, and
    /// are refused. When its file is removed, it is made anew; what was asked on the old one is
    /// answered.
    async fn on_socket(
        self,
        bound: Option<AdminSocket>,
        mut stopped: tokio::sync::watch::Receiver<bool>,
    ) -> io::Result<()> {
        let Some(mut bound) = bound else {
            return Ok(());
        };
        let local = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let edge = self.edge(HostPolicy::new(local, std::iter::empty()), None);
        loop {
            let (bridge, edge) = (self.clone(), edge.clone());
            let server = HttpServer::new(move || bridge.app(&edge))
                .on_connect(peer::record)
                .workers(1)
                .disable_signals()
                .shutdown_timeout(5)
                .listen_uds(bound.listener.try_clone()?)?
                .run();
            let handle = server.handle();
            let served = actix_rt::spawn(server);
            let again = tokio::select! {
                () = wait_for_stop(&mut stopped) => None,
                again = lost(&bound) => Some(again),
            };
            let Some(again) = again else {
                stop_accepting(&handle).await;
                handle.stop(true).await;
                return served.await.map_err(io::Error::other)?;
            };
            actix_rt::spawn(handle.stop(true));
            bound = again;
        }
    }

    /// What is allowed on socket or port.
    fn edge(&self, hosts: HostPolicy, token: Option<ApiToken>) -> Edge {
        let public = [
            "/",
            "/operations.js",
            "/operations.css",
            "/health",
            "/healthz",
            "/livez",
            APPLICATION_PATHS,
        ];
        Edge::new(EdgeConfig {
            token,
            public: PublicPaths::new(public),
            ..EdgeConfig::new(hosts, &self.metrics)
        })
    }

    /// The application, for one worker.
    fn app(
        &self,
        edge: &Edge,
    ) -> App<
        impl ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse<impl MessageBody + use<>>,
            Error = actix_web::Error,
            InitError = (),
        > + use<>,
    > {
        let (routes, data) = ((self.routes)(), Arc::clone(&self.data));
        App::new()
            .wrap(from_fn(peer::refuse_agents))
            .wrap(edge.clone())
            .app_data(web::Data::new(self.metrics.clone()))
            .configure(move |config| data(config))
            .configure(|config| routes.configure(config))
    }
}

async fn wait_for_stop(stopped: &mut tokio::sync::watch::Receiver<bool>) {
    // A sender that is gone has nothing more to say either.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Waits until the file of the socket is gone, and binds it again.
async fn lost(bound: &AdminSocket) -> AdminSocket {
    let mut is_reported = false;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let reason = match bound.file_state() {
            SocketFile::Own => continue,
            SocketFile::Taken => "somebody else's file stands there".to_owned(),
            SocketFile::Free => match AdminSocket::new(bound.path()) {
                Ok(again) => {
                    tracing::warn!(
                        event = "admin.socket_again", path = %bound.path().display(),
                        "the admin socket's file was gone; it is there again"
                    );
                    return again;
                }
                Err(error) => error.to_string(),
            },
        };
        if !std::mem::replace(&mut is_reported, true) {
            tracing::error!(
                event = "admin.socket_lost", path = %bound.path().display(), reason,
                "the admin socket's file is gone and cannot be made again yet; it is tried every two seconds"
            );
        }
    }
}
