//! Secrets, variables and protection by owner, repository and environment: what is narrower wins,
//! as on GitHub.

use config_core::Secret;
use runner_core::protection::{ForkApproval, ProtectionRules};
use runner_core::workflow::PermissionLevel;

/// Variables and secrets of one scope.
#[derive(Debug, Clone, Default)]
pub struct ScopedValues {
    /// The context `vars`.
    pub vars: Vec<(String, String)>,
    /// The context `secrets`.
    pub secrets: Vec<(String, Secret<String>)>,
    /// In place of the setting for all; environments have none.
    pub token_permissions: Option<PermissionLevel>,
}

/// What is set of an environment of a repository.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentSettings {
    /// Only jobs of the environment have these.
    pub values: ScopedValues,
    /// What stands before it.
    pub rules: ProtectionRules,
}

/// What is set of a repository.
#[derive(Debug, Clone, Default)]
pub struct RepositorySettings {
    /// For all its jobs.
    pub values: ScopedValues,
    /// By name, without regard to case.
    pub environments: Vec<(String, EnvironmentSettings)>,
    /// In place of the setting for all repositories.
    pub fork_approval: Option<ForkApproval>,
}

/// What is set for some repositories only. Names are found without regard to case.
#[derive(Debug, Clone, Default)]
pub struct ScopeSettings {
    /// By the part of `owner/repo` before the slash.
    pub owners: Vec<(String, ScopedValues)>,
    /// By `owner/repo`.
    pub repositories: Vec<(String, RepositorySettings)>,
    /// Which pull requests from forks wait for an approval.
    pub fork_approval: ForkApproval,
}

fn find<'a, T>(all: &'a [(String, T)], name: &str) -> Option<&'a T> {
    let found = all.iter().find(|(known, _)| is_same_scope(known, name));
    found.map(|(_, value)| value)
}

fn is_same_scope(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

impl ScopeSettings {
    /// What is set of a repository.
    pub(crate) fn repository(&self, repository: &str) -> Option<&RepositorySettings> {
        find(&self.repositories, repository)
    }

    /// What is set of an environment; nothing: it has neither values of its own nor rules.
    pub(crate) fn environment(&self, repository: &str, name: &str) -> Option<&EnvironmentSettings> {
        find(&self.repository(repository)?.environments, name)
    }

    /// Which of the repository's pull requests from forks wait for an approval.
    pub(crate) fn fork_approval(&self, repository: &str) -> ForkApproval {
        let own = self.repository(repository).and_then(|it| it.fork_approval);
        own.unwrap_or(self.fork_approval)
    }

    /// What tokens of its jobs may do by themselves, where its owner or the repository says so.
    pub(crate) fn token_permissions(&self, repository: &str) -> Option<PermissionLevel> {
        let named = self.scopes(repository).map(|scope| scope.token_permissions);
        named.flatten().last()
    }

    /// The scopes of a repository beside the one for all: of its owner, then its own.
    fn scopes(&self, repository: &str) -> impl Iterator<Item = &ScopedValues> {
        let owner = repository.split('/').next().unwrap_or_default();
        let owner = find(&self.owners, owner);
        let own = self.repository(repository).map(|it| &it.values);
        owner.into_iter().chain(own)
    }

    /// Variables of a repository's runs, those for `all` among them.
    pub(crate) fn vars<'a>(
        &'a self,
        all: &'a [(String, String)],
        repository: &str,
    ) -> Vec<(&'a str, &'a str)> {
        let own = self.scopes(repository).flat_map(|scope| &scope.vars);
        let all = all.iter().chain(own);
        narrowest(all.map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// Secrets of a repository's runs, those for `all` among them.
    pub(crate) fn secrets<'a>(
        &'a self,
        all: &'a [(String, Secret<String>)],
        repository: &str,
    ) -> Vec<(&'a str, &'a str)> {
        let own = self.scopes(repository).flat_map(|scope| &scope.secrets);
        narrowest(exposed(all.iter().chain(own)))
    }
}

impl EnvironmentSettings {
    /// Its own variables.
    pub(crate) fn vars(&self) -> impl Iterator<Item = (&str, &str)> {
        let vars = self.values.vars.iter();
        vars.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Its own secrets.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        exposed(self.values.secrets.iter())
    }
}

fn exposed<'a>(
    secrets: impl Iterator<Item = &'a (String, Secret<String>)>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    secrets.map(|(name, value)| (name.as_str(), value.expose().as_str()))
}

/// Whether a secret is a switch of GitHub's that makes logs say more: what it is set to is no
/// secret, and stands in every log.
pub(crate) fn is_switch(name: &str, value: &str) -> bool {
    let is_it = |known: &str| known.eq_ignore_ascii_case(name);
    let switches = ["ACTIONS_STEP_DEBUG", "ACTIONS_RUNNER_DEBUG"];
    let values = ["true", "false", "1", "0"];
    switches.into_iter().any(is_it) && values.iter().any(|it| it.eq_ignore_ascii_case(value))
}

/// Of values with the same name the last one: it is of the narrowest scope.
pub(crate) fn narrowest<'a>(
    values: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<(&'a str, &'a str)> {
    let mut kept: Vec<(&str, &str)> = Vec::new();
    for (name, value) in values {
        kept.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        kept.push((name, value));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(vars: &[(&str, &str)], secrets: &[(&str, &str)]) -> ScopedValues {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let secret = |(name, value)| (name, Secret::new(value));
        ScopedValues {
            vars: vars.iter().map(pair).collect(),
            secrets: secrets.iter().map(pair).map(secret).collect(),
            token_permissions: None,
        }
    }

    #[test]
    fn i17_the_switches_of_debugging_are_no_secrets() {
        for (name, value, expected) in [
            ("ACTIONS_STEP_DEBUG", "true", true),
            ("actions_runner_debug", "True", true),
            ("ACTIONS_STEP_DEBUG", "0", true),
            ("ACTIONS_STEP_DEBUG", "hunter2", false),
            ("KEY", "true", false),
        ] {
            assert_eq!(is_switch(name, value), expected, "{name} {value}");
        }
    }

    #[test]
    fn i17_what_is_set_more_narrowly_wins() {
        let all = values(&[("A", "all"), ("B", "all")], &[("K", "all")]);
        let environment = EnvironmentSettings {
            values: values(&[("a", "environment")], &[("k", "environment")]),
            ..EnvironmentSettings::default()
        };
        let repository = RepositorySettings {
            values: values(&[("A", "repository")], &[("OWN", "repository")]),
            environments: vec![("Production".to_owned(), environment)],
            fork_approval: Some(ForkApproval::All),
        };
        let scopes = ScopeSettings {
            owners: vec![(
                "Acme".to_owned(),
                values(&[("C", "owner")], &[("k", "owner")]),
            )],
            repositories: vec![("acme/Rocket".to_owned(), repository)],
            fork_approval: ForkApproval::Never,
        };
        assert_eq!(
            scopes.vars(&all.vars, "ACME/rocket"),
            [("B", "all"), ("C", "owner"), ("A", "repository")]
        );
        assert_eq!(
            scopes.secrets(&all.secrets, "acme/rocket"),
            [("k", "owner"), ("OWN", "repository")]
        );
        assert_eq!(scopes.secrets(&all.secrets, "acme/tools"), [("k", "owner")]);
        assert_eq!(scopes.secrets(&all.secrets, "other/tools"), [("K", "all")]);
        let found = scopes.environment("acme/rocket", "production").unwrap();
        assert_eq!(found.secrets().collect::<Vec<_>>(), [("k", "environment")]);
        assert!(scopes.environment("acme/tools", "production").is_none());
        assert_eq!(scopes.fork_approval("acme/rocket"), ForkApproval::All);
        assert_eq!(scopes.fork_approval("acme/tools"), ForkApproval::Never);
    }
}
