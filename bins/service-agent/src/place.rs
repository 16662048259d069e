//! Where is asked: a server that runs, or this process.

use std::time::Duration;

use clap::Args;
use config_core::{Environment, Secret};
use search_core::role::{
    ClientSettings, Os, ServerFlags, parse_client_environment, parse_environment,
};
use search_web::boot::token_file;
use url::Url;

use crate::client::{Client, TIMEOUT};
use crate::failure::ClientFailure;
use crate::in_process::InProcess;
use crate::private::PrivateServer;

/// The options that say where is asked.
#[derive(Debug, Clone, Default, Args)]
pub struct TargetArguments {
    /// URL of the server to ask.
    #[arg(long, value_name = "URL", global = true)]
    pub server: Option<String>,
    /// Search in this process, even when a server runs.
    #[arg(long, global = true, conflicts_with = "server")]
    pub in_process: bool,
    /// The role file, for searching in this process.
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<String>,
    /// Where indexes are kept, for searching in this process.
    #[arg(long, value_name = "FOLDER", global = true)]
    pub data: Option<String>,
    /// Longest time to wait for an answer, in seconds.
    #[arg(long, value_name = "SECONDS", global = true, value_parser = clap::value_parser!(u16).range(1..=3600))]
    pub timeout: Option<u16>,
}

/// Where is asked.
pub enum SearchTarget {
    /// A server.
    Server(Client),
    /// This process.
    Here(Box<InProcess>),
}

/// A place that answers, to be closed in the end.
pub struct OpenTarget {
    /// Who is asked.
    pub client: Client,
    private: Option<PrivateServer>,
}

impl TargetArguments {
    /// Finds the server that was named, else the one of this machine, else this process.
    ///
    /// # Errors
    /// Every setting that is wrong.
    pub async fn find(
        &self,
        environment: &Environment,
        program: &'static str,
    ) -> Result<SearchTarget, ClientFailure> {
        let settings = self.client_settings(environment)?;
        let timeout = self
            .timeout
            .map_or(TIMEOUT, |seconds| Duration::from_secs(seconds.into()));
        let here = || self.local_target(environment, program, timeout);
        if self.in_process {
            return here();
        }
        if let Some(endpoint) = &settings.api_endpoint {
            let url = endpoint.value.clone();
            let token = self.configuration_token(&url, environment);
            let client = Client::new(url, settings.api_token, timeout);
            return Ok(SearchTarget::Server(client.with_configuration_token(token)));
        }
        if self.config.is_some() || self.data.is_some() {
            return here();
        }
        let url = format!("http://{}/", settings.listen.value);
        let url = Url::parse(&url)
            .map_err(|error| ClientFailure::Configuration(format!("{url}: {error}")))?;
        let token = self.configuration_token(&url, environment);
        let client = Client::new(url, settings.api_token, timeout).with_configuration_token(token);
        if client.is_up().await {
            Ok(SearchTarget::Server(client))
        } else {
            here()
        }
    }

    /// The folders, and so a home, are needed only where this process searches.
    fn local_target(
        &self,
        environment: &Environment,
        program: &'static str,
        timeout: Duration,
    ) -> Result<SearchTarget, ClientFailure> {
        let settings = parse_environment(&self.flags(), environment, Os::current());
        let settings = settings.map_err(|wrong| ClientFailure::Configuration(wrong.to_string()))?;
        Ok(SearchTarget::Here(Box::new(InProcess {
            settings,
            environment: environment.clone(),
            program,
            timeout,
        })))
    }

    /// The token of this machine's data folder, for a server of this machine.
    fn configuration_token(&self, url: &Url, environment: &Environment) -> Option<Secret<String>> {
        let here = match url.host()? {
            url::Host::Domain(name) => name == "localhost",
            url::Host::Ipv4(address) => address.is_loopback(),
            url::Host::Ipv6(address) => address.is_loopback(),
        };
        let settings = parse_environment(&self.flags(), environment, Os::current());
        let data = settings.ok().filter(|_| here)?.data_path.value;
        let text = std::fs::read_to_string(token_file(&data)).ok()?;
        let token = text.trim();
        (!token.is_empty()).then(|| Secret::new(token.to_owned()))
    }

    fn flags(&self) -> ServerFlags {
        ServerFlags {
            config: self.config.clone(),
            data: self.data.clone(),
            server: self.server.clone(),
            ..ServerFlags::default()
        }
    }

    fn client_settings(&self, environment: &Environment) -> Result<ClientSettings, ClientFailure> {
        let settings = parse_client_environment(&self.flags(), environment);
        settings.map_err(|wrong| ClientFailure::Configuration(wrong.to_string()))
    }
}

impl SearchTarget {
    /// Makes sure that somebody answers: here, a private server is started.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn open(&self) -> Result<OpenTarget, ClientFailure> {
        match self {
            Self::Server(client) => Ok(OpenTarget {
                client: client.clone(),
                private: None,
            }),
            Self::Here(here) => {
                let private = PrivateServer::start(here)?;
                Ok(OpenTarget {
                    client: private.client(here.timeout),
                    private: Some(private),
                })
            }
        }
    }
}

impl OpenTarget {
    /// Whether it is a private server, which begins with whatever its index holds.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Ends a private server; others are left alone.
    pub async fn close(self) {
        if let Some(private) = self.private {
            private.stop().await;
        }
    }
}
