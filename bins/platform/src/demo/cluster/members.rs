//! Which processes there are, and their settings: written below the folder of the demonstration,
//! for this user alone.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use scripted_peers::postgres::PostgresServer;
use toml::{Table, Value};

use super::super::documentation;
use super::super::secrets::DemoSecrets;
use super::super::settings::{SAMPLE, address, create_folder, save, table, text, written};
use super::free_ports::free_port;
use super::member::ClusterMember;
use super::searching::{self, SearchMembers};
use super::storage::Storage;

/// Both ends are on this machine.
const WITHOUT_TLS: &str = "sslmode=disable";
/// Of each kind.
const COUNT: usize = 2;

/// What all processes are started with.
pub(super) struct Site<'a> {
    /// Settings, data, logs.
    pub(super) folder: &'a Path,
    /// Where the programs are.
    pub(super) programs: &'a Path,
    /// The agent of VMs.
    pub(super) guest: &'a Path,
    pub(super) secrets: &'a DemoSecrets,
    /// The sample's forge.
    pub(super) forge: &'a str,
    /// The orchestrators' project.
    pub(super) checkout: &'a Path,
    pub(super) database: &'a PostgresServer,
    pub(super) storage: &'a Storage,
}

/// The products that have processes of their own.
const PROGRAMS: [&str; 4] = [
    "workflow-runner",
    "orchestrator",
    "vm-manager",
    "search-server",
];

/// Refuses a folder without one of the programs, or without the agent of VMs where there `is_none`.
///
/// # Errors
/// All that is missing.
pub(in crate::demo) fn check_programs(folder: &Path, is_none: bool) -> Result<()> {
    let mut missing: Vec<String> = PROGRAMS
        .iter()
        .filter(|name| !folder.join(name).is_file())
        .map(|name| format!("no program `{name}`"))
        .collect();
    if is_none {
        missing.push("no static agent for VMs `vm-guest` (or name it with `--agent`)".to_owned());
    }
    if missing.is_empty() {
        return Ok(());
    }
    bail!(
        "there is {} beside this one, in {}: a cluster has processes for each product",
        missing.join(", "),
        folder.display()
    )
}

impl Site<'_> {
    fn member(
        &self,
        name: String,
        program: PathBuf,
        arguments: Vec<OsString>,
    ) -> Result<ClusterMember> {
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Ok(ClusterMember {
            name,
            program,
            arguments,
            variables: Vec::new(),
            logs: create_folder(&self.folder.join("logs"))?,
            address: nowhere,
            health: nowhere,
            server: None,
            starts: 0,
        })
    }

    /// The VM managers, each with the token that opens it.
    ///
    /// # Errors
    /// When a file cannot be written, or the program gives no token.
    pub(super) fn managers(&self) -> Result<Vec<(ClusterMember, String)>> {
        (1..=COUNT).map(|number| self.manager(number)).collect()
    }

    fn manager(&self, number: usize) -> Result<(ClusterMember, String)> {
        let (name, listen) = (format!("vm-manager-{number}"), free_address()?);
        let settings = table([
            ("data_dir", text(&self.folder.join(&name))?),
            ("listen", address(listen)),
            ("agent", text(self.guest)?),
            // It starts within moments on any machine, and needs no image.
            ("driver", "namespace-sandbox".into()),
        ]);
        let file = self.folder.join(format!("{name}.toml"));
        save(&file, &written(&settings)?)?;
        let program = self.programs.join("vm-manager");
        let mut ask = Command::new(&program);
        let asked = ask.arg("--config").arg(&file).arg("token").output()?;
        if !asked.status.success() {
            bail!(
                "vm-manager token: {}",
                String::from_utf8_lossy(&asked.stderr).trim()
            );
        }
        let token = String::from_utf8(asked.stdout).context("a token is text")?;
        let mut member = self.member(name, program, vec!["--config".into(), file.into()])?;
        (member.address, member.health) = (listen, listen);
        Ok((member, token.trim().to_owned()))
    }

    /// The runners, which have their VMs from all of these managers.
    ///
    /// # Errors
    /// As [`Site::managers`].
    pub(super) fn runners(
        &self,
        managers: &[(ClusterMember, String)],
    ) -> Result<Vec<ClusterMember>> {
        (1..=COUNT)
            .map(|number| self.runner(number, managers))
            .collect()
    }

    fn runner(&self, number: usize, managers: &[(ClusterMember, String)]) -> Result<ClusterMember> {
        let (name, listen) = (format!("runner-{number}"), free_address()?);
        let hosts = managers.iter().map(|(manager, token)| {
            let url = format!("http://{}", manager.address);
            let host = table([("url", url.into()), ("token", token.clone().into())]);
            (manager.name.clone(), Value::from(host))
        });
        let machine = table([("isolation_min", "namespace-sandbox".into())]);
        let machines = table([("ubuntu-latest", machine.into())]);
        let settings = table([
            ("data_dir", text(&self.folder.join(&name))?),
            ("listen", address(listen)),
            ("forge_url", self.forge.into()),
            // The sample repository is served by this machine, unencrypted.
            ("allow_http", true.into()),
            ("allow_addresses", vec![Value::from("127.0.0.1")].into()),
            ("objects", self.storage.settings("ci").into()),
            ("machines", machines.into()),
            ("vm_hosts", hosts.collect::<Table>().into()),
        ]);
        let file = self.folder.join(format!("{name}.toml"));
        save(&file, &written(&settings)?)?;
        let program = self.programs.join("workflow-runner");
        let mut member = self.member(name, program, vec!["--config".into(), file.into()])?;
        (member.address, member.health) = (listen, listen);
        member.variables = self.storage.variables();
        member.variables.extend([
            (
                "FORGE_WEBHOOK_SECRET".to_owned(),
                self.secrets.webhook.clone(),
            ),
            ("FORGE_TOKEN".to_owned(), self.secrets.forge.clone()),
            (
                "WORKFLOW_RUNNER_STORE_URL".to_owned(),
                self.database.network_url(WITHOUT_TLS),
            ),
        ]);
        Ok(member)
    }

    /// The search servers: indexers, of which one publishes, and searchers.
    ///
    /// # Errors
    /// As [`Site::managers`], or when the pages that are searched cannot be written.
    pub(super) fn search(&self) -> Result<SearchMembers> {
        let docs = documentation::write(&self.folder.join("docs"))?;
        let roles = self.folder.join("roles.json");
        save(&roles, &searching::roles(&docs).to_string())?;
        let of = |mode: &str| {
            let numbers = 1..=COUNT;
            let members = numbers.map(|number| self.search_server(mode, number, &roles));
            members.collect::<Result<Vec<_>>>()
        };
        Ok(SearchMembers {
            indexers: of("indexer")?,
            searchers: of("searcher")?,
            pages: std::fs::read_dir(&docs)?.count(),
            docs,
        })
    }

    fn search_server(&self, mode: &str, number: usize, roles: &Path) -> Result<ClusterMember> {
        let (name, listen) = (format!("{mode}-{number}"), free_address()?);
        let data = self.folder.join(&name);
        let program = self.programs.join("search-server");
        let mut member = self.member(name, program, Vec::new())?;
        (member.address, member.health) = (listen, listen);
        member.variables = self.storage.search_variables("search")?;
        let own = [
            ("SERVICE_SEARCH_MODE", mode.to_owned()),
            ("SERVICE_SERVER_HOSTNAME", listen.to_string()),
            ("SERVICE_DATA_PATH", data.to_string_lossy().into_owned()),
            (
                "SERVICE_SETTINGS_PATH",
                roles.to_string_lossy().into_owned(),
            ),
        ];
        let own = own.map(|(key, value)| (key.to_owned(), value));
        member.variables.extend(own);
        Ok(member)
    }

    /// The orchestrators.
    ///
    /// # Errors
    /// As [`Site::managers`].
    pub(super) fn orchestrators(&self) -> Result<Vec<ClusterMember>> {
        (1..=COUNT)
            .map(|number| self.orchestrator(number))
            .collect()
    }

    fn orchestrator(&self, number: usize) -> Result<ClusterMember> {
        let (listen, operations) = (free_address()?, free_address()?);
        let name = format!("orchestrator-{number}");
        let folder = create_folder(&self.folder.join(&name))?;
        let mut settings: Table = SAMPLE
            .parse()
            .context("the orchestrator's sample is not TOML")?;
        let forge = table([
            ("kind", "gitea".into()),
            ("url", self.forge.into()),
            ("token", "${ORCH_FORGE_TOKEN}".into()),
        ]);
        settings.extend(table([
            ("listen", address(listen)),
            ("admin_listen", address(operations)),
            ("admin_token", "${ORCH_ADMIN_TOKEN}".into()),
            ("data_dir", text(&folder.join("data"))?),
            ("forge", forge.into()),
            ("objects", self.storage.settings("agents").into()),
            ("store", table([("url", "${ORCH_STORE_URL}".into())]).into()),
        ]));
        // Otherwise the next ones would wait for the next tick.
        if let Some(mentions) = settings.get_mut("mentions").and_then(Value::as_table_mut) {
            mentions.insert("max_dispatches_per_tick".to_owned(), 100.into());
        }
        let file = folder.join("orchestrator.toml");
        save(&file, &written(&settings)?)?;
        let program = self.programs.join("orchestrator");
        let mut member = self.member(name, program, vec![file.into()])?;
        (member.address, member.health) = (listen, operations);
        let checkout = self.checkout.to_string_lossy().into_owned();
        member.variables = [
            ("ORCH_WEBHOOK_SECRET", self.secrets.webhook.clone()),
            ("ORCH_FORGE_TOKEN", self.secrets.forge.clone()),
            ("ORCH_ADMIN_TOKEN", self.secrets.admin.clone()),
            ("ORCH_STORE_URL", self.database.network_url(WITHOUT_TLS)),
            ("ORCH_PROJECT_DIR", checkout),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .to_vec();
        member.variables.extend(self.storage.variables());
        Ok(member)
    }
}

fn free_address() -> Result<SocketAddr> {
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?)))
}
