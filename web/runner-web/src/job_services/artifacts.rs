//! `ArtifactService`.

use runner_actors::{JobSession, ServiceFault};
use serde::Deserialize;
use serde_json::{Value, json};

use super::twirp::{MethodRequest, Number, no_method};

/// What calls say; each has a part of it.
#[derive(Debug, Deserialize)]
pub(super) struct ArtifactRequest {
    #[serde(default)]
    workflow_run_backend_id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    mime_type: Option<String>,
    /// A time of RFC 3339.
    #[serde(default, alias = "expiresAt")]
    expires_at: Option<String>,
    #[serde(default)]
    size: Number,
    #[serde(default)]
    hash: Option<String>,
    #[serde(default)]
    name_filter: Option<String>,
    #[serde(default)]
    id_filter: Option<Number>,
}

impl MethodRequest for ArtifactRequest {
    fn answer(self, session: &JobSession, method: &str) -> Result<Value, ServiceFault> {
        session.own_run(&self.workflow_run_backend_id)?;
        answer(session, method, self)
    }
}

fn answer(
    session: &JobSession,
    method: &str,
    request: ArtifactRequest,
) -> Result<Value, ServiceFault> {
    let name = &request.name;
    Ok(match method {
        "CreateArtifact" => {
            let content_type = request.mime_type.unwrap_or_default();
            let expires_at = request
                .expires_at
                .as_deref()
                .map(milliseconds)
                .transpose()?;
            let address = session.create_artifact(name, &content_type, expires_at)?;
            json!({"ok": true, "signed_upload_url": address})
        }
        "FinalizeArtifact" => {
            let id = session.finalize_artifact(name, request.size.0, request.hash.as_deref())?;
            json!({"ok": true, "artifact_id": id.to_string()})
        }
        "ListArtifacts" => {
            let id = request.id_filter.map(|number| number.0);
            let found = session.list_artifacts(request.name_filter.as_deref(), id)?;
            let grant = session.grant();
            let shown = found.into_iter().map(|artifact| {
                let mut shown = json!({
                    "workflow_run_backend_id": grant.run,
                    "workflow_job_run_backend_id": grant.job,
                    "database_id": artifact.id.to_string(),
                    "name": artifact.name,
                    "size": artifact.bytes.to_string(),
                    "created_at": time(artifact.at),
                });
                if let Some(digest) = artifact.digest {
                    shown["digest"] = json!(digest);
                }
                shown
            });
            json!({"artifacts": shown.collect::<Vec<_>>()})
        }
        "GetSignedArtifactURL" => json!({"signed_url": session.artifact_address(name)?}),
        "DeleteArtifact" => {
            let id = session.delete_artifact(name)?;
            json!({"ok": true, "artifact_id": id.to_string()})
        }
        other => return Err(no_method(other)),
    })
}

/// A time of a client, in milliseconds since the Unix epoch.
fn milliseconds(time: &str) -> Result<u64, ServiceFault> {
    let parsed: Option<jiff::Timestamp> = time.parse().ok();
    let parsed = parsed.and_then(|time| u64::try_from(time.as_millisecond()).ok());
    parsed.ok_or_else(|| {
        let time = config_core::quoted(time);
        ServiceFault::Wrong(format!("`expires_at` is {time}, which is no time"))
    })
}

/// A time as clients of Protocol Buffers read it: seconds, then no fraction or one of 3, 6 or 9
/// digits (<https://protobuf.dev/reference/protobuf/google.protobuf/#timestamp>); always 3 here.
fn time(ms: u64) -> Option<String> {
    let ms = i64::try_from(ms).ok()?;
    let time = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 17: one listing in ten was refused by the client, as the last digit was dropped.
    #[test]
    fn i17_times_of_artifacts_always_have_three_digits() {
        let table = [
            (1_766_000_000_123, "2025-12-17T19:33:20.123Z"),
            (1_766_000_000_120, "2025-12-17T19:33:20.120Z"),
            (1_766_000_000_100, "2025-12-17T19:33:20.100Z"),
            (1_766_000_000_000, "2025-12-17T19:33:20.000Z"),
        ];
        for (ms, written) in table {
            assert_eq!(time(ms).as_deref(), Some(written));
        }
        assert_eq!(time(u64::MAX), None);
        let read = milliseconds("2025-12-17T19:33:20.123Z");
        assert_eq!(read.ok(), Some(1_766_000_000_123));
        assert!(milliseconds("soon").is_err());
    }
}
