//! A role file as a text that is shown and changed: secrets are taken out of what is shown, and put
//! back into what comes in.

use std::ops::Range;

use config_core::{
    ConfigInput, Diagnostics, Environment, SecretPlace, Severity, SourceText, TextPlace,
    WrittenValue,
};

use super::decode::parse_with_secrets;
use super::enumerations::Service;
use super::file::RoleFile;
use super::variable_places::{REDACTED, VariablePlaces};

/// A role file that was read, with its text.
#[derive(Debug, Clone)]
pub struct RoleDocument {
    text: String,
    written: WrittenValue,
    roles: RoleFile,
    secrets: Vec<SecretPlace>,
}

/// Why a text does not take the place of a role file.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReplaceError {
    /// It has mistakes.
    #[error("{0}")]
    Wrong(Diagnostics),
    /// It holds a variable where the operator has written none.
    #[error(
        "`{0}` holds a variable (`${{`) that the role file does not hold there: variables are added, moved and kept beside changed values in the file itself only"
    )]
    ForeignVariable(String),
    /// It changes what the API may add.
    #[error("`allowed_roots` is changed in the role file itself only: send it back as it is")]
    AllowedRoots,
}

impl From<Diagnostics> for ReplaceError {
    fn from(wrong: Diagnostics) -> Self {
        Self::Wrong(wrong)
    }
}

/// What a secret is for. A secret belongs to the place it is sent to, not to a name: another place
/// needs its own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Purpose {
    role: String,
    haystack: Option<String>,
    target: Target,
}

/// Where a secret is sent, and the key it stands under.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    place: Option<(Service, String)>,
    key: String,
}

impl RoleDocument {
    /// Reads a role file; see [`parse`](super::parse).
    ///
    /// # Errors
    /// Every mistake of the file, each with its place.
    pub fn parse(
        name: &str,
        text: &(impl AsRef<[u8]> + ?Sized),
        environment: &Environment,
    ) -> Result<Self, Diagnostics> {
        let (roles, secrets) = parse_with_secrets(name, text, environment)?;
        let written = ConfigInput::json(name, text, environment).written()?;
        let text = SourceText::read(name, text.as_ref())?.text().to_owned();
        Ok(Self {
            text,
            written,
            roles,
            secrets,
        })
    }

    /// Reads a role file that is to take the place of `stored`: each `***` that stands for a secret
    /// is the stored secret of the same place.
    ///
    /// Variables are looked at before any is put in: no message can tell what a foreign one holds,
    /// nor that it is set.
    ///
    /// # Errors
    /// Every mistake of the file; a `***` for which nothing is stored is one. A variable that
    /// `stored` does not hold in the same place. Other `allowed_roots`.
    pub fn replacing(
        name: &str,
        text: &(impl AsRef<[u8]> + ?Sized),
        environment: &Environment,
        stored: &Self,
    ) -> Result<Self, ReplaceError> {
        let written = ConfigInput::json(name, text, environment).written()?;
        let places = VariablePlaces::before_secrets(&stored.written);
        if let Some(path) = places.first_foreign(&written) {
            return Err(ReplaceError::ForeignVariable(path));
        }
        let replaced = Self::with_secrets_of(name, text, environment, stored)?;
        let places = VariablePlaces::from_whole(&stored.written);
        if let Some(path) = places.first_foreign(&replaced.written) {
            return Err(ReplaceError::ForeignVariable(path));
        }
        if replaced.roles.allowed_roots() != stored.roles.allowed_roots() {
            return Err(ReplaceError::AllowedRoots);
        }
        Ok(replaced)
    }

    /// Reads a text, each `***` that stands for a secret replaced by the stored one. It is the
    /// operator's own text: its variables are put in.
    ///
    /// # Errors
    /// Every mistake of the file; a `***` for which nothing is stored is one.
    pub fn with_secrets_of(
        name: &str,
        text: &(impl AsRef<[u8]> + ?Sized),
        environment: &Environment,
        stored: &Self,
    ) -> Result<Self, Diagnostics> {
        let submitted = Self::parse(name, text, environment)?;
        let mut filled = submitted.text.clone();
        let mut missing = Diagnostics::default();
        let source = SourceText::read(name, submitted.text.as_bytes())?;
        // From the end, so that the places before stay where they are.
        let mut places: Vec<&SecretPlace> = submitted.secrets.iter().collect();
        places.sort_by_key(|place| std::cmp::Reverse(place.range.start));
        for place in places {
            if submitted.slice(&place.range) != REDACTED {
                continue;
            }
            match stored.secret_for(&submitted.purpose(place)) {
                Some(secret) => filled.replace_range(place.range.clone(), secret),
                None => missing.push(source.diagnostic(
                    Severity::Error,
                    place.range.clone(),
                    "no secret is stored that could be kept here",
                    Some("write the secret itself: it is new, or the place it is sent to has changed"),
                    &place.key_path,
                )),
            }
        }
        if missing.is_empty() {
            Self::parse(name, &filled, environment)
        } else {
            Err(missing)
        }
    }

    /// The roles.
    pub fn roles(&self) -> &RoleFile {
        &self.roles
    }

    /// Where each string of the file stands.
    pub fn texts(&self) -> Vec<TextPlace> {
        let environment = Environment::default();
        ConfigInput::json("", &self.text, &environment)
            .texts()
            .unwrap_or_default()
    }

    /// The text, with secrets: for the file only.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text with `***` in the place of each secret. A reference to a variable is no secret, and
    /// stays.
    pub fn redacted(&self) -> String {
        let mut shown = self.text.clone();
        let mut places: Vec<&Range<usize>> = self.secrets.iter().map(|one| &one.range).collect();
        places.sort_by_key(|range| std::cmp::Reverse(range.start));
        for range in places {
            if !is_reference(self.slice(range)) {
                shown.replace_range(range.clone(), REDACTED);
            }
        }
        shown
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    fn purpose(&self, place: &SecretPlace) -> Purpose {
        let path = &place.key_path;
        let role = index_after(path, "roles[").unwrap_or(0);
        let role = self.roles.roles().get(role);
        let haystack = index_after(path, "haystacks[")
            .and_then(|index| role.and_then(|role| role.haystacks.get(index)));
        let key = path.rsplit('.').next().unwrap_or_default().to_owned();
        let place = haystack.map(|haystack| (haystack.service(), haystack.location.clone()));
        Purpose {
            role: role.map(|role| role.name.clone()).unwrap_or_default(),
            haystack: haystack.map(|haystack| haystack.name.clone()),
            target: Target { place, key },
        }
    }

    /// The secret with this purpose, as it is written: of the same role and haystack where there
    /// are several.
    fn secret_for(&self, purpose: &Purpose) -> Option<&str> {
        let all = self
            .secrets
            .iter()
            .map(|place| (self.purpose(place), place));
        let mut fitting: Vec<_> = all
            .filter(|(known, _)| known.target == purpose.target)
            .collect();
        let distance = |known: &Purpose| {
            (
                known.role != purpose.role,
                known.haystack != purpose.haystack,
            )
        };
        fitting.sort_by_key(|(known, _)| distance(known));
        let (_, place) = fitting.first()?;
        Some(self.slice(&place.range))
    }
}

/// Whether a string is one `${VARIABLE}` and nothing else.
fn is_reference(written: &str) -> bool {
    let inner = written
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|name| !name.contains(['$', '{', '}']))
}

fn index_after(path: &str, list: &str) -> Option<usize> {
    let (_, rest) = path.split_once(list)?;
    rest.split_once(']')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &str = r#"{
  "roles": [
    {"name": "A", "haystacks": [{"name": "wiki", "service": "AtomicData", "location": "http://a.example", "extra_parameters": {"agent_secret": "one\"1"}}],
     "extra": {"llm_provider": "cloudllm", "cloudllm_api_key": "sk-first", "cloudllm_model": "m"}},
    {"name": "B", "haystacks": [{"name": "tasks", "service": "TaskTracker", "location": "gitea:http://b.example", "extra_parameters": {"api_token": "${TOKEN}"}},
      {"name": "tool", "service": "MCP", "location": "stdio:tool --serve"}],
     "extra": {"llm_provider": "cloudllm", "cloudllm_api_key": "sk-second", "cloudllm_model": "m"}}
  ]
}"#;

    fn environment() -> Environment {
        Environment::from_iter([("TOKEN", "t0ken"), ("HOME", "/home/me")])
    }

    fn stored() -> RoleDocument {
        RoleDocument::parse("s", STORED, &environment()).unwrap_or_else(|wrong| panic!("{wrong}"))
    }

    fn replacing(text: &str) -> Result<RoleDocument, Diagnostics> {
        match RoleDocument::replacing("new", text, &environment(), &stored()) {
            Err(ReplaceError::Wrong(wrong)) => Err(wrong),
            other => Ok(other.expect("no variable is new")),
        }
    }

    #[test]
    fn s06_secrets_are_shown_as_set_only() {
        let shown = stored().redacted();
        for secret in ["one", "sk-first", "sk-second", "t0ken"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert_eq!(shown.matches(REDACTED).count(), 3, "{shown}");
        assert!(shown.contains("${TOKEN}"), "a reference is no secret");
    }

    #[test]
    fn what_is_shown_can_be_sent_back_and_keeps_every_secret() {
        let stored = stored();
        let again = replacing(&stored.redacted()).unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!(again.text(), stored.text());
        assert_eq!(again.roles(), stored.roles());
    }

    #[test]
    fn renamed_and_reordered_roles_keep_their_secrets() {
        let shown = stored().redacted();
        let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let mut roles = value["roles"].as_array().unwrap().clone();
        roles.reverse();
        roles[1]["haystacks"][0]["name"] = "renamed".into();
        let text = serde_json::json!({ "roles": roles }).to_string();
        let again = replacing(&text).unwrap_or_else(|wrong| panic!("{wrong}"));
        let key = |role: usize| again.roles().roles()[role].extra.cloudllm_api_key.clone();
        assert_eq!(key(0).unwrap().expose(), "sk-second");
        assert_eq!(key(1).unwrap().expose(), "sk-first");
        assert!(again.text().contains(r#"one\"1"#), "{}", again.text());
    }

    /// Whoever may change the file must not be able to read a secret by sending it elsewhere.
    #[test]
    fn s06_a_secret_does_not_follow_a_changed_place() {
        let moved = stored()
            .redacted()
            .replace("http://a.example", "http://evil.example");
        let wrong = replacing(&moved).unwrap_err();
        let first = wrong.iter().next().unwrap();
        assert_eq!(wrong.len(), 1, "{wrong}");
        assert_eq!(
            first.key_path,
            "roles[0].haystacks[0].extra_parameters.agent_secret"
        );
        assert!(first.line == Some(3) && first.col.is_some(), "{wrong}");
        let given = moved.replacen(REDACTED, "given anew", 1);
        assert!(replacing(&given).is_ok());
    }
}
