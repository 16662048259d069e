//! The quick start's settings: two roles over real folders, and the samples of the other products
//! pointed at this start.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value as Json, json};
use toml::{Table, Value};

use super::ports::Ports;

/// The role's name, in the page and in the terminal client.
const ROLE: &str = "Quick start";
/// A role that learns concepts, so that the page of the graph has something to show. It reads the
/// first folder alone: the others may be large.
const GRAPH_ROLE: &str = "Concepts";

/// The orchestrator's configuration that is started from.
pub(super) const SAMPLE: &str =
    include_str!("../../../../config-samples/orchestrator/quick-start/orchestrator.toml");

/// A folder to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DemoSource {
    name: String,
    folder: PathBuf,
    glob: Option<String>,
}

impl DemoSource {
    /// A folder with its display name, and the files wanted of it.
    pub(super) fn new(name: &str, folder: &Path, glob: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            folder: folder.to_owned(),
            glob: glob.map(str::to_owned),
        }
    }

    /// A folder named by itself.
    ///
    /// # Errors
    /// When it is not there.
    pub(super) fn folder(folder: &Path) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("{} cannot be opened", folder.display()))?;
        let name = folder
            .file_name()
            .unwrap_or(folder.as_os_str())
            .to_string_lossy()
            .into_owned();
        Ok(Self::new(&name, &folder, None))
    }

    fn haystack(&self) -> Json {
        let extra = self
            .glob
            .as_ref()
            .map_or_else(|| json!({}), |glob| json!({ "glob": glob }));
        json!({ "name": self.name, "service": "LocalFiles", "location": self.folder, "extra_parameters": extra })
    }
}

/// What the workflow runner and the orchestrator are pointed at.
#[derive(Debug)]
pub(super) struct OtherProducts<'a> {
    /// The agent of VMs.
    pub(super) guest: &'a Path,
    /// The sample's forge.
    pub(super) forge: &'a str,
}

/// Writes `roles.json`, with more products `orchestrator/orchestrator.toml`, and `platform.toml`
/// into `data`; returns the last one's path.
///
/// # Errors
/// When the folder cannot be written.
pub(super) fn write(
    data: &Path,
    ports: &Ports,
    sources: &[DemoSource],
    others: Option<&OtherProducts<'_>>,
) -> Result<PathBuf> {
    let data = create_folder(data)?;
    let (roles, platform) = (data.join("roles.json"), data.join("platform.toml"));
    save(&roles, &serde_json::to_string_pretty(&roles_text(sources))?)?;
    let mut whole = table([
        ("data_dir", text(&data.join("state"))?),
        (
            "search",
            table([
                ("settings", text(&roles)?),
                ("listen", address(ports.search)),
            ])
            .into(),
        ),
    ]);
    if let Some(others) = others {
        let own = create_folder(&data.join("orchestrator"))?.join("orchestrator.toml");
        save(&own, &orchestrator(SAMPLE, ports, others.forge)?)?;
        whole.extend(products(&own, ports, others)?);
    }
    save(&platform, &written(&whole)?)?;
    Ok(platform)
}

/// Makes a folder; its full path.
///
/// # Errors
/// When it cannot be made.
pub(super) fn create_folder(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{} cannot be made", folder.display()))?;
    Ok(folder.canonicalize()?)
}

/// For this user alone: settings name where secrets are.
///
/// # Errors
/// When it cannot be written.
pub(super) fn save(path: &Path, text: &str) -> Result<()> {
    let own = std::fs::Permissions::from_mode(0o600);
    std::fs::write(path, text)
        .and_then(|()| std::fs::set_permissions(path, own))
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// How many sources the roles have together.
pub(super) fn roles_sources(sources: &[DemoSource]) -> usize {
    sources.len() + learnt(sources).len()
}

/// What concepts are learnt from.
fn learnt(sources: &[DemoSource]) -> &[DemoSource] {
    sources.get(..1).unwrap_or_default()
}

fn roles_text(sources: &[DemoSource]) -> Json {
    let haystacks = |sources: &[DemoSource]| -> Vec<Json> {
        sources.iter().map(DemoSource::haystack).collect()
    };
    let role = json!({ "name": ROLE, "relevance_function": "BM25F", "theme": "spacelab", "haystacks": haystacks(sources) });
    let graph = json!({ "name": GRAPH_ROLE, "relevance_function": "ServiceGraph", "theme": "superhero", "haystacks": haystacks(learnt(sources)) });
    json!({ "roles": [role, graph], "default_role": ROLE })
}

/// The tables of the other products.
fn products(orchestrator: &Path, ports: &Ports, others: &OtherProducts<'_>) -> Result<Table> {
    // Emulated VMs of a busy machine take their time.
    let deadlines = table([("boot", "120s".into()), ("silence", "60s".into())]);
    let vm_manager = table([
        ("listen", address(ports.machines)),
        ("agent", text(others.guest)?),
        ("deadlines", deadlines.into()),
    ]);
    let runner = table([
        ("listen", address(ports.runner)),
        ("forge_url", others.forge.into()),
        // The sample repository is served by this machine, unencrypted.
        ("allow_http", true.into()),
        ("allow_addresses", vec![Value::from("127.0.0.1")].into()),
    ]);
    let own = table([("settings", text(orchestrator)?)]);
    Ok(table([
        ("vm_manager", vm_manager.into()),
        ("runner", runner.into()),
        ("orchestrator", own.into()),
    ]))
}

/// The orchestrator's sample, on this start's addresses and with its forge.
fn orchestrator(sample: &str, ports: &Ports, forge: &str) -> Result<String> {
    let mut whole: Table = sample
        .parse()
        .context("the orchestrator's sample is not TOML")?;
    let forge = table([
        ("kind", "gitea".into()),
        ("url", forge.into()),
        ("token", "${ORCH_FORGE_TOKEN}".into()),
    ]);
    whole.extend(table([
        ("listen", address(ports.webhook)),
        ("admin_listen", address(ports.operations)),
        ("admin_token", "${ORCH_ADMIN_TOKEN}".into()),
        ("data_dir", "${PLATFORM_DATA}/orchestrator".into()),
        ("forge", forge.into()),
    ]));
    written(&whole)
}

/// A table of these entries.
pub(super) fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    let owned = entries.map(|(key, value)| (key.to_owned(), value));
    Table::from_iter(owned)
}

/// An address as a setting.
pub(super) fn address(address: SocketAddr) -> Value {
    address.to_string().into()
}

/// A path as a setting.
///
/// # Errors
/// When it is not UTF-8.
pub(super) fn text(path: &Path) -> Result<Value> {
    let text = path
        .to_str()
        .context("the data folder's name is not UTF-8")?;
    Ok(text.into())
}

/// The settings as TOML.
///
/// # Errors
/// Never: they are plain values.
pub(super) fn written(whole: &Table) -> Result<String> {
    toml::to_string(whole).context("the settings are plain values")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> Table {
        let text = std::fs::read_to_string(path).expect("it was written");
        text.parse().expect("it is TOML")
    }

    #[test]
    fn the_settings_are_written_and_lead_to_each_other() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().join("a \"b\"");
        let sources = [
            DemoSource::folder(folder.path()).expect("it is there"),
            DemoSource::new("Docs", Path::new("/d"), Some("*.md")),
        ];
        let ports = Ports::take(0).expect("free ports");
        let path = write(&data, &ports, &sources, None).expect("it is writable");
        let platform = read(&path);
        assert_eq!(
            platform["search"]["listen"].as_str(),
            Some(ports.search.to_string().as_str())
        );
        assert!(!platform.contains_key("runner"));
        let roles = platform["search"]["settings"].as_str().expect("a path");
        let roles = std::fs::read_to_string(roles).expect("it was written");
        let roles: Json = serde_json::from_str(&roles).expect("it is JSON");
        assert_eq!(roles["default_role"], roles["roles"][0]["name"]);
        assert_eq!(roles["roles"][1]["relevance_function"], "ServiceGraph");
        assert_eq!(
            roles["roles"][0]["haystacks"][1]["extra_parameters"]["glob"],
            "*.md"
        );
        assert!(DemoSource::folder(&folder.path().join("nowhere")).is_err());
    }

    #[test]
    fn the_other_products_are_pointed_at_this_start() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let others = OtherProducts {
            guest: Path::new("/guest"),
            forge: "http://127.0.0.1:9",
        };
        let ports = Ports::take(0).expect("free ports");
        let path = write(folder.path(), &ports, &[], Some(&others)).expect("it is writable");
        let platform = read(&path);
        assert_eq!(platform["vm_manager"]["agent"].as_str(), Some("/guest"));
        assert_eq!(platform["runner"]["allow_http"].as_bool(), Some(true));
        let own = platform["orchestrator"]["settings"].as_str();
        let own = Path::new(own.expect("a path"));
        let mode = std::fs::metadata(own)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let orchestrator = read(own);
        assert_eq!(
            orchestrator["listen"].as_str(),
            Some(ports.webhook.to_string().as_str())
        );
        // No secret is written down.
        assert_eq!(
            orchestrator["admin_token"].as_str(),
            Some("${ORCH_ADMIN_TOKEN}")
        );
        assert_eq!(
            orchestrator["webhook"]["secret"].as_str(),
            Some("${ORCH_WEBHOOK_SECRET}")
        );
    }
}
