//! Where `exec` gets its machines: from a VM manager that runs already, or from one in this
//! process.

use std::net::TcpListener;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use config_core::{Environment, Secret};
use daemon::settings::ConfigText;
use edge_web::ServeOptions;
use http_clients::vmm::NetworkTarget;
use runner_actors::VmHostSettings;
use tokio::sync::oneshot;
use url::Url;
use vm_actors::VmManagerView;
use vm_actors::images::HostState;
use vm_core::token::{Claims, TokenScope};
use vm_web::boot::{self, DataDirectory};
use vm_web::config::{ManagerConfig, ManagerFlags};
use vm_web::{ManagerServerOptions, VmServer};

use crate::arguments::{ExecOptions, print_note};

/// The token for the manager in this process lives as long as a job may.
const TOKEN_LIFETIME: Duration = Duration::from_secs(8 * 24 * 3600);

/// Which VM manager gives the machines.
pub(crate) enum ManagerChoice {
    /// A manager that runs.
    Remote(Url, Option<Secret<String>>),
    /// One of this process.
    Own(Box<ManagerConfig>),
}

/// A manager that can be asked.
pub(crate) struct RunningManager {
    url: Url,
    token: Option<Secret<String>>,
    stop: Option<(
        oneshot::Sender<()>,
        tokio::task::JoinHandle<std::io::Result<()>>,
    )>,
}

impl ManagerChoice {
    /// `--vmm` or `VMM_API_URL` name one; without them it is one of this process.
    pub(crate) fn from_options(
        options: &ExecOptions,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let variable = |name: &str| environment.text(name);
        let named = options.vmm.as_deref().or_else(|| variable("VMM_API_URL"));
        if let Some(url) = named {
            let url = config_core::parse_http_url(url)
                .map_err(|error| anyhow::anyhow!("the VM manager's address: {error}"))?;
            let token = variable("VMM_AUTH_TOKEN").map(|token| Secret::new(token.to_owned()));
            return Ok(Self::Remote(url, token));
        }
        let flags = ManagerFlags {
            listen: Some("127.0.0.1:0".to_owned()),
            data: options.vm_data.clone(),
            log_level: None,
        };
        let config = own_config(&flags, environment)?;
        Ok(Self::Own(Box::new(config)))
    }

    /// Where the services of jobs are served: for a manager of this process on any port, which is
    /// named to it; else as configured.
    pub(crate) fn services(
        &mut self,
        configured: Option<&NetworkTarget>,
    ) -> anyhow::Result<Option<TcpListener>> {
        let address = match (&self, configured) {
            (Self::Own(_), _) => "127.0.0.1:0".to_owned(),
            (Self::Remote(..), Some(configured)) => configured.to_string(),
            (Self::Remote(..), None) => return Ok(None),
        };
        let listener = TcpListener::bind(address).context("where the services of jobs listen")?;
        if let Self::Own(config) = self {
            let own = listener.local_addr()?.to_string().parse()?;
            config.settings.services.0.push(own);
        }
        Ok(Some(listener))
    }

    /// Starts it, when it is one of this process.
    pub(crate) async fn start(self) -> anyhow::Result<RunningManager> {
        let config = match self {
            Self::Remote(url, token) => {
                return Ok(RunningManager {
                    url,
                    token,
                    stop: None,
                });
            }
            Self::Own(config) => config,
        };
        let folders = DataDirectory::open(&config.data.value)?;
        // The agent of VMs is looked for beside this program.
        let program = std::env::current_exe().context("where this program is")?;
        let Some(agent) = vm_engine::image::agent::find(config.agent.as_deref(), &program) else {
            bail!(
                "there is no static agent for VMs beside {}: install vm-guest there, or name a VM manager with --vmm",
                program.display()
            );
        };
        let key = folders.token_key()?;
        let service = boot::service(&config, &folders, &agent)
            .context("a VM manager of this process (one that runs already is named with --vmm and VMM_AUTH_TOKEN)")?;
        let listener = TcpListener::bind(config.listen.value)?;
        let url = Url::parse(&format!("http://{}/", listener.local_addr()?))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let claims = Claims::new(
            "exec",
            &[TokenScope::Write],
            vm_core::UnixMs(u64::try_from(now.as_millis())?),
            TOKEN_LIFETIME,
        );
        let token = Secret::new(key.sign(&claims));
        let options = ManagerServerOptions {
            key,
            hosts: Vec::new(),
            serve: ServeOptions::default(),
        };
        print_note(
            "the VM manager of this process gets ready; the first time it makes an image, which takes minutes",
        );
        actix_rt::spawn(print_progress(service.view.clone()));
        let server = VmServer::prepare(service, options).start();
        let (stop, stopped) = oneshot::channel();
        let serving = actix_rt::spawn(server.serve(listener, async move {
            let _ = stopped.await;
        }));
        Ok(RunningManager {
            url,
            token: Some(token),
            stop: Some((stop, serving)),
        })
    }
}

/// As a manager's own: from the file that `VM_MANAGER_CONFIG` names, or as everything comes.
fn own_config(flags: &ManagerFlags, environment: &Environment) -> anyhow::Result<ManagerConfig> {
    const VARIABLE: &str = "VM_MANAGER_CONFIG";
    let file = ConfigText::read(None, VARIABLE, environment);
    let file = file.map_err(|error| anyhow::anyhow!("{VARIABLE}: {error}"))?;
    ManagerConfig::parse(&file.name, &file.text, &file.base, flags, environment)
        .map_err(|wrong| anyhow::anyhow!("the VM manager's settings: {wrong}"))
}

/// Tells what is still being made, until VMs can be had.
async fn print_progress(manager: VmManagerView) {
    let mut printed = String::new();
    while let HostState::Preparing(text) | HostState::Failed(text) = manager.host().state {
        if text != printed {
            print_note(&text);
            printed = text;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

impl RunningManager {
    /// Its address and token.
    pub(crate) fn access(&self) -> VmHostSettings {
        VmHostSettings::single(self.url.clone(), self.token.clone())
    }

    /// Ends it with all its VMs.
    pub(crate) async fn stop(self) {
        if let Some((stop, serving)) = self.stop {
            let _ = stop.send(());
            if let Ok(Err(error)) = serving.await {
                print_note(&format!("the VM manager of this process: {error}"));
            }
        }
    }
}
