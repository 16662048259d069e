//! What of the settings about snapshots has to fit together.

use config_core::{Diagnostic, ValueError};

use super::server_mode::ServerMode;
use super::settings::ServerSettings;
use crate::snapshots::{PartError, SourcePart};

impl ServerSettings {
    /// The part of each source that an indexer indexes.
    ///
    /// # Errors
    /// There are fewer parts.
    pub fn part(&self) -> Result<SourcePart, PartError> {
        SourcePart::new(self.index_part.value, self.index_parts.value)
    }

    /// What of these settings does not fit together.
    pub(super) fn snapshot_faults(&self) -> Vec<Diagnostic> {
        let mut faults = Vec::new();
        let mut fault = |name: &str, error| faults.push(Diagnostic::for_setting(name, error));
        let mode = self.mode.value;
        if mode != ServerMode::Local && self.snapshots.is_none() {
            let error = ValueError::new(format!("`{}` needs a place for snapshots", mode.as_str()));
            let help = "set SERVICE_SNAPSHOTS to s3://bucket/prefix or file:///folder";
            fault("SERVICE_SEARCH_MODE", error.help(help));
        }
        if mode == ServerMode::Local && self.snapshots.is_some() {
            let error = ValueError::new("nothing is published or fetched in mode `local`");
            let help = "set SERVICE_SEARCH_MODE to `indexer` or `searcher`";
            fault("SERVICE_SNAPSHOTS", error.help(help));
        }
        if let Err(error) = self.part() {
            let help = "SERVICE_INDEX_PARTS says how many there are";
            fault(
                "SERVICE_INDEX_PART",
                ValueError::new(error.to_string()).help(help),
            );
        }
        let is_bucket = |url: &url::Url| url.scheme() == "s3";
        let in_bucket = self
            .snapshots
            .as_ref()
            .is_some_and(|url| is_bucket(&url.value));
        if in_bucket && self.object_store.is_none() {
            let error = ValueError::new("a bucket needs keys");
            let help = "set CLOUDSTORE_ACCESS_KEY_ID and CLOUDSTORE_SECRET_ACCESS_KEY";
            fault("SERVICE_SNAPSHOTS", error.help(help));
        }
        faults
    }
}
