//! `[objects]`: where logs, artifacts and caches are that every process can read.

use std::time::Duration;

use config_core::{BOOLEAN, TextKind, ValueError, opt, table};
use object_clients::{ObjectKeys, ObjectPlace};
use runner_actors::ObjectSettings;

use super::kinds::{SIZE, SPAN};

/// What the table says.
#[derive(Debug)]
pub(super) struct ObjectTable {
    url: Option<String>,
    endpoint: Option<String>,
    region: Option<String>,
    allow_http: bool,
    local: u64,
    grace: Duration,
    sweep: Duration,
}

impl Default for ObjectTable {
    fn default() -> Self {
        Self {
            url: None,
            endpoint: None,
            region: None,
            allow_http: false,
            local: 10 << 30,
            grace: Duration::from_secs(86_400),
            sweep: Duration::from_secs(3600),
        }
    }
}

table! {
    pub(super) static OBJECTS: ObjectTable = "[objects]" {
        /// `s3://bucket/prefix`, or `file:///folder` on a file system that all processes have;
        /// without it they stay in the data folder, and what another process wrote cannot be read
        "url" = opt(TextKind::STRING) => url;
        /// the S3-compatible server, as `https://storage.example:9000`; without it Amazon's
        "endpoint" = opt(TextKind::STRING) => endpoint;
        /// its region
        "region" (shown "us-east-1") = opt(TextKind::STRING) => region;
        /// whether a server that is not this machine may be without TLS
        "allow_http" = BOOLEAN => allow_http;
        /// bytes of copies on this machine; those that were used longest ago go
        "local" = SIZE => local;
        /// how long an object that nothing names is left, 1 s to a day
        "grace" = SPAN => grace;
        /// time between two looks for such objects, 1 s to a day
        "sweep" = SPAN => sweep;
    }
}

/// The settings, checked with the keys that the environment has; none where no place is named.
pub(super) fn settings(
    table: &ObjectTable,
    keys: Option<ObjectKeys>,
) -> Result<Option<ObjectSettings>, ValueError> {
    let Some(url) = &table.url else {
        return Ok(None);
    };
    let place = ObjectPlace::new(
        url,
        table.endpoint.as_deref(),
        table.region.as_deref(),
        table.allow_http,
        keys,
    );
    let place = place.map_err(|error| ValueError::new(error.to_string()))?;
    Ok(Some(ObjectSettings {
        place,
        local_bytes: table.local,
        grace: table.grace,
        sweep_every: table.sweep,
    }))
}
