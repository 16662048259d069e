//! Settings of owners, repositories and their environments, one row each.

use std::time::Duration;

use config_core::{
    BOOLEAN, Choices, Diagnostic, SECRET, Secret, TextKind, ValueError, choice, format_duration,
    list, map_of, opt, parse_duration, quoted, table,
};
use forge_core::{RepoName, SecretBook, WebhookSecrets};
use runner_actors::{EnvironmentSettings, RepositorySettings, ScopedValues};
use runner_core::glob::GlobPattern;
use runner_core::protection::ForkApproval;
use runner_core::workflow::{PermissionLevel, wrong_name};

/// Which pull requests from forks wait for an approval.
pub(super) const FORK_APPROVALS: &Choices<ForkApproval> = &[
    ("first-time", ForkApproval::FirstTime),
    ("all", ForkApproval::All),
    ("never", ForkApproval::Never),
];
/// What the tokens of jobs may do by themselves.
pub(super) const LEVELS: &Choices<PermissionLevel> = &[
    ("read", PermissionLevel::Read),
    ("write", PermissionLevel::Write),
];
/// The longest time that an environment makes a job wait: GitHub's.
const MAX_WAIT: Duration = Duration::from_secs(30 * 24 * 3600);

const PATTERN: TextKind<GlobPattern> =
    TextKind::new("pattern", pattern, |pattern| pattern.source().to_owned());
/// In milliseconds.
const WAIT: TextKind<u64> = TextKind::new("duration", wait, |time| {
    format_duration(Duration::from_millis(*time))
});

/// What a file says of a repository.
#[derive(Debug, Clone, Default)]
pub(super) struct RepositoryTable {
    pub(super) settings: RepositorySettings,
    webhook_secret: Option<Secret<String>>,
    previous_webhook_secret: Option<Secret<String>>,
}

table! {
    pub(super) static OWNER: ScopedValues = "an owner" {
        /// the context `vars`, over those for all
        "vars" = map_of(name, TextKind::STRING) => vars;
        /// the context `secrets`, over those for all
        "secrets" = map_of(name, SECRET) => secrets;
        /// in place of the setting for all
        "token_permissions" = opt(choice("level", LEVELS)) => token_permissions;
    }

    pub(super) static REPOSITORY: RepositoryTable = "a repository" {
        /// the context `vars`, over the owner's
        "vars" = map_of(name, TextKind::STRING) => settings.values.vars;
        /// the context `secrets`, over the owner's
        "secrets" = map_of(name, SECRET) => settings.values.secrets;
        /// in place of the owner's
        "token_permissions" = opt(choice("level", LEVELS)) => settings.values.token_permissions;
        /// in place of the setting for all
        "fork_approval" = opt(choice("rule", FORK_APPROVALS)) => settings.fork_approval;
        /// what its webhook is signed with; the secret for all does not open it then
        "webhook_secret" = opt(SECRET) => webhook_secret;
        /// the one before it, while the forge is told the new one
        "previous_webhook_secret" = opt(SECRET) => previous_webhook_secret;
        /// environments that jobs name by `environment`; one that is not listed has neither rules
        /// nor values of its own
        "environment" = map_of(environment, &ENVIRONMENT) => settings.environments;
    } then |fields, table| {
        if table.previous_webhook_secret.is_some() && table.webhook_secret.is_none() {
            let message = "`previous_webhook_secret` has no effect without `webhook_secret`";
            fields.error_at("previous_webhook_secret", message);
        }
    };

    static ENVIRONMENT: EnvironmentSettings = "an environment" {
        /// the context `vars` of its jobs, over the repository's
        "vars" = map_of(name, TextKind::STRING) => values.vars;
        /// the context `secrets` of its jobs, over the repository's: no other job has them
        "secrets" = map_of(name, SECRET) => values.secrets;
        /// whether somebody with the API token has to approve before a job begins
        "approval" = BOOLEAN => rules.approval;
        /// how long a job waits before it begins, 30 days at most
        "wait" = WAIT => rules.wait_ms;
        /// branches whose runs may use it (`main`, `release/*`); without these and `tags` all
        "branches" = list(PATTERN) => rules.branches;
        /// tags whose runs may use it
        "tags" = list(PATTERN) => rules.tags;
    }
}

/// The secrets of webhooks: the one for all, and those of repositories that have their own.
pub(super) fn with_own_secrets(
    mut book: SecretBook,
    repositories: &[(String, RepositoryTable)],
) -> Result<SecretBook, Diagnostic> {
    for (name, table) in repositories {
        let Some(secret) = &table.webhook_secret else {
            continue;
        };
        let wrong = |text: String| {
            let setting = format!("repository.{}.webhook_secret", quoted(name));
            Diagnostic::for_setting(&setting, ValueError::new(text))
        };
        let repository: RepoName = name
            .parse()
            .map_err(|_| wrong("no repository".to_owned()))?;
        let mut secrets =
            WebhookSecrets::new(secret.expose()).map_err(|error| wrong(error.to_string()))?;
        if let Some(previous) = &table.previous_webhook_secret {
            let both = secrets.with_previous(previous.expose());
            secrets = both.map_err(|error| wrong(error.to_string()))?;
        }
        book = book.with_repository(repository, secrets);
    }
    Ok(book)
}

/// Names of which two differ in case only.
pub(super) fn repeated<T>(named: &[(String, T)]) -> Option<&str> {
    let mut seen = std::collections::HashSet::new();
    let mut names = named.iter().map(|(name, _)| name.as_str());
    names.find(|name| !seen.insert(name.to_lowercase()))
}

/// The same of the environments of one repository.
pub(super) fn repeated_environment(repositories: &[(String, RepositoryTable)]) -> Option<&str> {
    let mut tables = repositories.iter();
    tables.find_map(|(_, table)| repeated(&table.settings.environments))
}

/// The owner of a repository: one part of a path.
pub(super) fn owner(text: &str) -> Result<(), ValueError> {
    let whole = format!("{text}/x");
    let is_owner = !text.contains('/') && whole.parse::<RepoName>().is_ok();
    is_owner.then_some(()).ok_or_else(|| {
        ValueError::new(format!("{} is no owner", quoted(text)))
            .help("write the part of owner/repo before the slash")
    })
}

pub(super) fn repository(text: &str) -> Result<(), ValueError> {
    let found = text.parse::<RepoName>();
    found.map(|_| ()).map_err(|_| {
        ValueError::new(format!("{} is no repository", quoted(text)))
            .help("write [repository.\"owner/repo\"]")
    })
}

fn environment(text: &str) -> Result<(), ValueError> {
    wrong_name(text).map_or(Ok(()), |wrong| Err(ValueError::new(wrong)))
}

/// The name of a variable or secret, by GitHub's rules.
fn name(text: &str) -> Result<(), ValueError> {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let holds = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if begins && holds {
        return Ok(());
    }
    let error = ValueError::new(format!("{} is no name of a value", quoted(text)));
    Err(error.help("a letter or `_`, then letters, digits and `_`: expressions find no other"))
}

fn pattern(text: &str) -> Result<GlobPattern, ValueError> {
    GlobPattern::parse(text).map_err(ValueError::new)
}

fn wait(text: &str) -> Result<u64, ValueError> {
    let time = parse_duration(text)?;
    if time > MAX_WAIT {
        let error = ValueError::new(format!("{} s is out of bounds", time.as_secs_f64()));
        return Err(error.help("give 30 days at most, such as \"30m\""));
    }
    u64::try_from(time.as_millis()).map_err(|_| ValueError::new("it is too long"))
}
