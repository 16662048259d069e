//! `[objects]`: where files are that every process of an installation can read. Runner and
//! orchestrator have the same table.

use std::time::Duration;

use crate::object_place::{ObjectKeys, ObjectPlace};
use crate::table::{BOOLEAN, TextKind, opt, size, span};
use crate::value_error::ValueError;

/// Where files are shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectSettings {
    /// The folder or bucket.
    pub place: ObjectPlace,
    /// Bytes of copies on this machine.
    pub local_bytes: u64,
    /// How long an object may be there without a row.
    pub grace: Duration,
    /// Time between two looks for such objects.
    pub sweep_every: Duration,
}

/// What the table says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectTable {
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

crate::table! {
    /// Where files are that every process of an installation reads.
    pub static OBJECTS: ObjectTable = "[objects]" {
        /// `s3://bucket/prefix`, or `file:///folder` on a file system that all processes have;
        /// without it they stay in the data folder, and what another process wrote cannot be read;
        /// the keys of a bucket come from the environment: `AWS_ACCESS_KEY_ID`,
        /// `AWS_SECRET_ACCESS_KEY`, and `AWS_SESSION_TOKEN` of those that end
        "url" = opt(TextKind::STRING) => url;
        /// the S3-compatible server, as `https://storage.example:9000`; without it Amazon's
        "endpoint" = opt(TextKind::STRING) => endpoint;
        /// its region
        "region" (documented_default "us-east-1") = opt(TextKind::STRING) => region;
        /// whether a server that is not this machine may be without TLS
        "allow_http" = BOOLEAN => allow_http;
        /// bytes of copies on this machine; those that were used longest ago go
        "local" = size::<0>() => local;
        /// how long an object that nothing names is left, 1 s to a day
        "grace" = span::<1>() => grace;
        /// time between two looks for such objects, 1 s to a day
        "sweep" = span::<1>() => sweep;
    }
}

impl ObjectTable {
    /// The settings, checked with the keys that the environment has; none where no place is named.
    ///
    /// # Errors
    /// What is wrong with the place.
    pub fn settings(&self, keys: Option<ObjectKeys>) -> Result<Option<ObjectSettings>, ValueError> {
        let Some(url) = &self.url else {
            return Ok(None);
        };
        let place = ObjectPlace::new(
            url,
            self.endpoint.as_deref(),
            self.region.as_deref(),
            self.allow_http,
            keys,
        );
        let place = place.map_err(|error| ValueError::new(error.to_string()))?;
        Ok(Some(ObjectSettings {
            place,
            local_bytes: self.local,
            grace: self.grace,
            sweep_every: self.sweep,
        }))
    }
}
