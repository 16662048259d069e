//! The platform's configuration file: which products run, and where everything is kept.

use std::path::{Path, PathBuf};

use config_core::{
    ConfigInput, Diagnostics, Environment, ExternalTable, FILE_PATH, LOG_LEVELS, ObjectFields,
    SECRET, Secret, TableInfo, TextKind, ValueError, choice, opt, record, table,
};
use runner_web::config::RunnerConfigFile;
use search_core::role::ListenAddress;
use vm_web::config::FileValues as VmTable;

const PRODUCTS: [&str; 4] = ["search", "vm_manager", "runner", "orchestrator"];
const ADDRESS: TextKind<String> = TextKind::new(
    "address",
    |text| ListenAddress::parse(text).map(|_| text.to_owned()),
    String::clone,
);

table! {
    /// The whole platform in one process.
    static PLATFORM: PlatformFile = "the platform's configuration" {
        /// where everything is kept, a folder a product
        "data_dir" (required) = opt(FILE_PATH) => data_dir;
        /// how much all products log
        "log_level" (variable "LOG_LEVEL", documented_default "info") = opt(choice("log level", LOG_LEVELS)) => log_level;
        /// what people sign in with at the front door, the search server's address; without it, the
        /// file `platform-token` of the data folder holds one
        "PLATFORM_TOKEN" (variable "PLATFORM_TOKEN", no_key) = opt(SECRET) => token;
        /// the search server
        "search" = opt(record(&SEARCH, SearchTable::default)) => search;
        /// the VM manager: whatever `vm-manager.toml` may say
        "vm_manager" (brief) = ExternalTable(vm_web::config::keys);
        /// the workflow runner: whatever `workflow-runner.toml` may say
        "runner" (brief) = ExternalTable(runner_web::config::keys);
        /// the orchestrator
        "orchestrator" { ORCHESTRATOR };
    } then check;

    static SEARCH: SearchTable = "[search]" {
        /// the role file
        "settings" (required) = FILE_PATH => settings;
        /// the listen address
        "listen" (documented_default "127.0.0.1:8000") = opt(ADDRESS) => listen;
    }

    static ORCHESTRATOR: PlatformFile = "[orchestrator]" {
        /// its `orchestrator.toml`, beside which its other files stand; `${PLATFORM_DATA}` in them
        /// is `data_dir`
        "settings" (required) = opt(FILE_PATH) => orchestrator;
    }
}

/// The keys of the file, for documents.
pub(crate) fn keys() -> TableInfo {
    PLATFORM.describe(&PlatformFile::default())
}

fn check(fields: &ObjectFields<'_>, _: &mut PlatformFile) {
    if PRODUCTS.iter().all(|product| fields.is_absent(product)) {
        let nothing = ValueError::new("no product is configured, so nothing would run");
        let tables = PRODUCTS.join("], [");
        fields.error(nothing.help(format!("add one of the tables [{tables}]")));
    }
}

/// What the file says. A product whose table is not there does not run.
#[derive(Debug, Default)]
pub(crate) struct PlatformFile {
    /// Where everything is kept, a folder a product.
    pub(crate) data_dir: Option<PathBuf>,
    /// How much is logged.
    pub(crate) log_level: Option<&'static str>,
    /// What people sign in with at the front door.
    pub(crate) token: Option<Secret<String>>,
    /// `[search]`.
    pub(crate) search: Option<SearchTable>,
    /// `[vm_manager]`: what `vm-manager.toml` may say.
    pub(crate) vm_manager: Option<VmTable>,
    /// `[runner]`: what `workflow-runner.toml` may say.
    pub(crate) runner: Option<RunnerConfigFile>,
    /// `[orchestrator]`: its own file, beside which its other files stand.
    pub(crate) orchestrator: Option<PathBuf>,
}

/// `[search]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SearchTable {
    /// The role file.
    pub(crate) settings: PathBuf,
    /// Where the search server listens; its default when absent.
    pub(crate) listen: Option<String>,
}

impl PlatformFile {
    /// Reads the file; relative paths are meant from `base`. What could be read is there also when
    /// there are mistakes, so that those of the products' own settings are found in the same pass.
    pub(crate) fn read(
        name: &str,
        text: &[u8],
        environment: &Environment,
        base: &Path,
    ) -> (Self, Diagnostics) {
        let mut file = Self::default();
        let input = ConfigInput::toml(name, text, environment).base(base);
        let decoded = input.decode(|item| {
            PLATFORM.fields(item, |fields| {
                PLATFORM.read_rows(fields, &mut file);
                file.vm_manager = fields.optional("vm_manager", VmTable::read);
                file.runner = fields.optional("runner", RunnerConfigFile::read);
                Some(())
            })
        });
        let mut found = match decoded {
            Ok(decoded) => decoded.warnings,
            Err(wrong) => wrong,
        };
        PLATFORM.override_with(&mut file, &[], environment, &mut found);
        (file, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (PlatformFile, String) {
        let (file, found) = PlatformFile::read(
            "platform.toml",
            text.as_bytes(),
            &Environment::default(),
            Path::new("/base"),
        );
        (file, found.to_string())
    }

    #[test]
    fn paths_are_meant_from_the_file_s_folder() {
        let (file, found) = read(
            "data_dir = \"data\"\n[search]\nsettings = \"/roles.json\"\n[orchestrator]\nsettings = \"o/orchestrator.toml\"\n",
        );
        assert_eq!(found, "");
        assert_eq!(file.data_dir.as_deref(), Some(Path::new("/base/data")));
        let search = file.search.expect("it is there");
        assert_eq!(search.settings, Path::new("/roles.json"));
        assert_eq!(search.listen, None);
        let orchestrator = file.orchestrator.expect("it is there");
        assert_eq!(orchestrator, Path::new("/base/o/orchestrator.toml"));
        assert!(file.vm_manager.is_none() && file.runner.is_none());
    }

    #[test]
    fn the_tables_of_products_are_their_own_files_tables() {
        let (file, found) = read(
            "data_dir = \"d\"\n[vm_manager]\nlisten = \"127.0.0.1:1\"\n[vm_manager.capacity]\nvms = 3\n[runner]\nmax_jobs = 2\n",
        );
        assert_eq!(found, "");
        assert!(file.vm_manager.is_some() && file.runner.is_some());
    }

    #[test]
    fn every_mistake_is_named_with_its_place() {
        let text = "data_dri = \"data\"\nlog_level = \"loud\"\n[search]\nsettings = 5\nlisten = \"nowhere:x\"\n[vm_manager.capacity]\nvms = \"many\"\n\
            [runner]\nmax_job = 2\n[orchestrator]\n";
        let (_, message) = read(text);
        for expected in [
            "platform.toml:1:1",
            "did you mean `data_dir`?",
            "platform.toml:2:13",
            "platform.toml:4:12",
            "platform.toml:5:10",
            "platform.toml:7:7",
            "platform.toml:9:1",
            "missing key `settings` in [orchestrator]",
        ] {
            assert!(
                message.contains(expected),
                "{expected} is missing in:\n{message}"
            );
        }
    }

    #[test]
    fn a_platform_of_nothing_is_a_mistake() {
        let (_, message) = read("data_dir = \"d\"\n");
        assert!(message.contains("no product is configured"), "{message}");
    }
}
