//! What a runner that serves listens on, alone or beside others.

use std::net::{SocketAddr, TcpListener};

use edge_web::{BodyLimits, ServeOptions};
use runner_web::config::RunnerConfig;
use runner_web::{RunnerServerOptions, boot};

/// The listeners, and how they are served.
pub(crate) struct RunnerListeners {
    /// Webhooks, the API and pages.
    pub(crate) listener: TcpListener,
    /// The machines of jobs, where they have an address of their own.
    pub(crate) services: Option<TcpListener>,
    /// Where `listener` is.
    pub(crate) bound: SocketAddr,
    pub(crate) options: RunnerServerOptions,
}

impl RunnerListeners {
    /// Opens the listeners, and warns of what is dangerous.
    ///
    /// # Errors
    /// When an address cannot be listened on.
    pub(crate) fn open(config: &RunnerConfig, serve: ServeOptions) -> anyhow::Result<Self> {
        let listener = edge_web::bind(config.listen, "PORT and HOST, or --listen")?;
        let bound = listener.local_addr()?;
        boot::warn(config);
        let token = boot::token(config, bound, || uuid::Uuid::new_v4().to_string());
        let services = config.services_listen;
        let services = services.map(|address| edge_web::bind(address, "services_listen"));
        Ok(Self {
            services: services.transpose()?,
            listener,
            bound,
            options: RunnerServerOptions {
                secrets: config.secrets.clone(),
                body: BodyLimits::default(),
                hosts: config.hosts.clone(),
                token,
                serve,
            },
        })
    }
}
