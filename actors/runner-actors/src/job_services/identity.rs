//! Identity tokens of jobs that have `id-token: write`: signed claims for one audience, by the key
//! that the runner publishes.

use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use forge_core::IdTokenKey;
use serde_json::{Map, Value, json};

use super::ServiceFault;
use crate::clock::now_ms;

/// Where the key is, below the data folder.
const FILE: &str = "id-token.key";
/// How long a token is good for, as GitHub's are.
const LIFETIME_S: u64 = 300;
/// The longest audience.
const MAX_AUDIENCE: usize = 1024;

/// Who signs.
pub(super) struct Issuer {
    url: String,
    key: IdTokenKey,
}

/// What a job's tokens say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JobIdentity {
    /// All but issuer, audience and times.
    pub(crate) claims: Map<String, Value>,
    /// Whom a token is for when its job names nobody: the repository's owner.
    pub(crate) audience: String,
}

impl Issuer {
    /// With the key of this data folder, which may be the operator's; without one it is made.
    pub(super) fn open(data: &Path, url: &str) -> io::Result<Self> {
        let path = data.join(FILE);
        let pkcs8 = match std::fs::read(&path) {
            // An empty one is what a full disk has left: no token was signed with it.
            Ok(bytes) if !bytes.is_empty() => bytes,
            // A link to nowhere is the operator's.
            Err(error) if error.kind() != ErrorKind::NotFound || path.is_symlink() => {
                let text = format!("{}: {error}", path.display());
                return Err(io::Error::new(error.kind(), text));
            }
            _ => {
                let made = IdTokenKey::generate().map_err(io::Error::other)?;
                store::replace_file(&path, Some(0o600), |file| file.write_all(&made))?;
                made
            }
        };
        let key = IdTokenKey::read(&pkcs8).map_err(|error| {
            let text = format!(
                "{}: {error}; move it away, and a new one is made at the next start",
                path.display()
            );
            io::Error::other(text)
        });
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            key: key?,
        })
    }

    pub(super) fn token(
        &self,
        identity: &JobIdentity,
        audience: Option<&str>,
    ) -> Result<String, ServiceFault> {
        let audience = audience.filter(|audience| !audience.is_empty());
        let audience = audience.unwrap_or(&identity.audience);
        if audience.len() > MAX_AUDIENCE {
            let text = format!("an audience has at most {MAX_AUDIENCE} bytes");
            return Err(ServiceFault::Wrong(text));
        }
        let now = now_ms() / 1000;
        let mut claims = identity.claims.clone();
        for (name, value) in [
            ("iss", Value::from(self.url.as_str())),
            ("aud", audience.into()),
            ("iat", now.into()),
            // Clocks differ.
            ("nbf", now.saturating_sub(60).into()),
            ("exp", (now + LIFETIME_S).into()),
            ("jti", uuid::Uuid::new_v4().to_string().into()),
        ] {
            claims.insert(name.to_owned(), value);
        }
        let signed = self.key.sign(&Value::Object(claims));
        signed.map_err(|error| ServiceFault::Disk(io::Error::other(error)))
    }

    /// `/.well-known/openid-configuration`.
    pub(super) fn configuration(&self) -> Value {
        json!({
            "issuer": self.url,
            "jwks_uri": format!("{}/.well-known/jwks", self.url),
            "subject_types_supported": ["public", "pairwise"],
            "response_types_supported": ["id_token"],
            "claims_supported": [
                "sub", "aud", "exp", "iat", "iss", "jti", "nbf", "actor", "actor_id", "base_ref",
                "environment", "event_name", "head_ref", "job_workflow_ref", "job_workflow_sha", "ref",
                "ref_type", "repository", "repository_id", "repository_owner",
                "repository_owner_id", "repository_visibility", "run_attempt", "run_id",
                "run_number", "runner_environment", "sha", "workflow", "workflow_ref",
                "workflow_sha"
            ],
            "id_token_signing_alg_values_supported": [self.key.algorithm()],
            "scopes_supported": ["openid"],
        })
    }

    /// The key set.
    pub(super) fn keys(&self) -> Value {
        json!({"keys": [self.key.public()]})
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn i14_what_a_full_disk_left_of_the_key_is_made_anew() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(FILE);
        std::fs::write(&path, "").unwrap();
        std::fs::write(data.path().join("id-token.key.new"), "half").unwrap();
        let keys = |issuer: &Issuer| issuer.keys();
        let first = keys(&Issuer::open(data.path(), "https://ci.example/").unwrap());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = Issuer::open(data.path(), "https://ci.example").unwrap();
        assert_eq!(keys(&again), first, "the key that was written");
        assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 1);

        std::fs::write(&path, "what is this").unwrap();
        let refused = Issuer::open(data.path(), "https://ci.example");
        let text = refused.map(|_| ()).unwrap_err().to_string();
        assert!(
            text.contains("id-token.key: ") && text.ends_with("made at the next start"),
            "{text}"
        );
    }
}
