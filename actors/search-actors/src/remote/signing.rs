//! Signed requests to an Atomic server: <https://docs.atomicdata.dev/authentication.html>.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use config_core::Secret;

/// The agent that a role's secret names.
#[derive(Debug, Clone)]
pub(crate) struct SigningAgent {
    /// Its URL.
    pub(crate) subject: String,
    /// Its Ed25519 seed, 32 bytes.
    pub(crate) seed: Secret<Vec<u8>>,
}

/// Reads an agent secret: base64 of `{"privateKey": …, "subject": …}`; both alphabets, with and
/// without padding.
pub(crate) fn agent(secret: &Secret<String>) -> Result<SigningAgent, String> {
    let json = decoded(secret.expose()).ok_or("the agent secret is not base64")?;
    let value: serde_json::Value =
        serde_json::from_slice(&json).map_err(|_| "the agent secret holds no JSON")?;
    let field = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
    let subject = field("subject").ok_or("the agent secret has no subject")?;
    let key = field("privateKey")
        .and_then(decoded)
        .ok_or("the agent secret has no private key")?;
    if key.len() != 32 {
        return Err("the agent secret's private key has not 32 bytes".to_owned());
    }
    Ok(SigningAgent {
        subject: subject.to_owned(),
        seed: Secret::new(key),
    })
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    let engines = [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD];
    engines.iter().find_map(|engine| engine.decode(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_old_and_new_servers() {
        let key = STANDARD.encode([7; 32]);
        let json =
            format!(r#"{{"privateKey":"{key}","subject":"http://x/agents/a","client":{{}}}}"#);
        for engine in [STANDARD, URL_SAFE_NO_PAD] {
            let agent = agent(&Secret::new(engine.encode(&json))).unwrap();
            assert_eq!(
                (agent.subject.as_str(), agent.seed.expose().as_slice()),
                ("http://x/agents/a", [7; 32].as_slice())
            );
        }
        for wrong in [
            "%%%",
            "e30=",
            &STANDARD.encode(r#"{"subject":"x","privateKey":"AAAA"}"#),
        ] {
            let error = agent(&Secret::new(wrong.to_owned())).unwrap_err();
            assert!(error.starts_with("the agent secret"), "{error}");
        }
    }
}
