//! A role file as a whole.

use std::path::Path;

use config_core::{Diagnostics, suggestion};
use serde::Serialize;
use thiserror::Error;

use super::model::Role;
use super::reach::{AllowedRoots, ExternalResource};

/// The roles of a file: at least one, with unique names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoleFile {
    roles: Vec<Role>,
    default_role: String,
    /// Below what the API may add sources.
    #[serde(skip_serializing_if = "AllowedRoots::is_empty")]
    allowed_roots: AllowedRoots,
    /// What is odd about the file, but usable.
    #[serde(skip)]
    warnings: Diagnostics,
}

/// No role has this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown role {}{}; the roles are: {}", config_core::quoted(name), hint(suggestion.as_deref()), known.join(", "))]
pub struct UnknownRole {
    /// The name that was asked for.
    pub name: String,
    /// The names there are, in the order of the file.
    pub known: Vec<String>,
    /// The name that was probably meant.
    pub suggestion: Option<String>,
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion
        .map(|name| format!(", did you mean `{name}`?"))
        .unwrap_or_default()
}

impl RoleFile {
    /// The decoder has checked that `roles` is not empty and holds `default_role`.
    pub(super) fn checked(
        roles: Vec<Role>,
        default_role: String,
        allowed_roots: AllowedRoots,
        warnings: Diagnostics,
    ) -> Self {
        debug_assert!(roles.iter().any(|role| role.name == default_role));
        Self {
            roles,
            default_role,
            allowed_roots,
            warnings,
        }
    }

    /// The same roles with absolute paths: relative ones are meant from `folder`, which is the
    /// folder of the role file.
    #[must_use]
    pub fn relative_to(mut self, folder: &Path) -> Self {
        for role in &mut self.roles {
            role.extra.resolve(folder);
            let haystacks = role.haystacks.iter_mut();
            haystacks.for_each(|haystack| haystack.resolve(folder));
        }
        self.allowed_roots.resolve(folder);
        self
    }

    /// All roles, in the order of the file.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// Below what the API may add sources.
    pub fn allowed_roots(&self) -> &AllowedRoots {
        &self.allowed_roots
    }

    /// What the roles make the server read, start and call.
    pub fn reaches(&self) -> Vec<ExternalResource> {
        self.roles
            .iter()
            .flat_map(ExternalResource::from_role)
            .collect()
    }

    /// What is odd about the file, but usable.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The role of requests that name none: `default_role`, else the first of the file.
    pub fn default_role(&self) -> &Role {
        let found = self
            .roles
            .iter()
            .find(|role| role.name == self.default_role);
        found
            .or(self.roles.first())
            .expect("a role file has at least one role: checked on decoding")
    }

    /// The role called `name`, or the default role.
    ///
    /// # Errors
    /// No role has this name; the error lists those there are.
    pub fn role(&self, name: Option<&str>) -> Result<&Role, UnknownRole> {
        let Some(name) = name else {
            return Ok(self.default_role());
        };
        self.roles
            .iter()
            .find(|role| role.name == name)
            .ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> UnknownRole {
        let known: Vec<String> = self.roles.iter().map(|role| role.name.clone()).collect();
        let near = suggestion(name, known.iter().map(String::as_str)).map(str::to_owned);
        UnknownRole {
            name: name.to_owned(),
            known,
            suggestion: near,
        }
    }
}
