//! The orchestrator's own files, as they lie on its machine: `trigger` finds there what it sends
//! and signs with, also where no admin bridge answers.

use config_core::Environment;

use crate::arguments::{DEFAULT_CONFIG, OrchestratorTarget};
use crate::failure::CommandFailure;
use crate::ssh;

/// Where the packages have it.
const PACKAGED_CONFIG: &str = "/etc/orrery/orchestrator/orchestrator.toml";

/// The main file.
pub(crate) struct Configuration<'t> {
    target: &'t OrchestratorTarget,
    path: &'t str,
    /// What stands in it. It is full of secrets.
    pub(crate) text: String,
}

/// Id and repository of a project.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KnownProject {
    pub(crate) id: String,
    /// `owner/name`.
    pub(crate) repository: String,
}

impl<'t> Configuration<'t> {
    /// Reads it: here, or over SSH.
    pub(crate) fn read(target: &'t OrchestratorTarget) -> Result<Self, CommandFailure> {
        let mut refused = None;
        for path in places(&target.config) {
            match read(target, path) {
                Ok(text) => return Ok(Self { target, path, text }),
                // The first place is the one to talk about.
                Err(failure @ CommandFailure::NotAllowed(_)) => refused = refused.or(Some(failure)),
                Err(failure) => return Err(failure),
            }
        }
        Err(refused
            .unwrap_or_else(|| CommandFailure::NotAllowed("there is no --config".to_owned())))
    }

    /// How messages name it.
    pub(crate) fn name(&self) -> String {
        place(self.target, self.path)
    }

    /// A file of `conf.d` beside it.
    pub(crate) fn fragment(&self, project: &str) -> Option<toml::Table> {
        let directory = match self.path.rsplit_once('/') {
            Some((directory, _)) => format!("{directory}/"),
            None => String::new(),
        };
        let text = read(self.target, &format!("{directory}conf.d/{project}.toml")).ok()?;
        text.parse().ok()
    }

    /// Replaces `${VAR}` and `$$` of the value at `key`, as the orchestrator does: by what its
    /// machine has.
    pub(crate) fn expand(
        &self,
        key: &str,
        written: &str,
        environment: &Environment,
    ) -> Result<Result<String, String>, CommandFailure> {
        expand(key, written, &|name| match &self.target.ssh {
            Some(host) => ssh::variable(self.target, host, name),
            None => Ok(environment.get(name).ok().flatten().map(str::to_owned)),
        })
    }

    /// The project of this id, else the main one, as the orchestrator finds it.
    pub(crate) fn project(
        &self,
        wanted: Option<&str>,
        environment: &Environment,
    ) -> Result<KnownProject, CommandFailure> {
        let wrong = |reason: &str| CommandFailure::Refused(format!("{}: {reason}", self.name()));
        let table = self.text.parse::<toml::Table>();
        let table = table.map_err(|_| wrong("it is not TOML"))?;
        let id = wanted.map(str::to_owned).or_else(|| main_project(&table));
        let id = id.ok_or_else(|| wrong("it names no main project; give --project"))?;
        let fragment = || self.fragment(&id)?.get("project").cloned();
        let found = declared(&table).find(|one| text_of(one, "id") == Some(&id));
        let found = found.cloned().or_else(fragment);
        let repository = found.as_ref().and_then(|one| text_of(one, "repository"));
        let repository = repository.ok_or_else(|| {
            let reason = "neither it nor conf.d declares the repository of a project";
            CommandFailure::NotFound(format!("{}: {reason} {id}", self.name()))
        })?;
        let repository = self.expand("`repository`", repository, environment)?;
        let repository = repository.map_err(|reason| wrong(&reason))?;
        Ok(KnownProject { id, repository })
    }
}

/// The projects that the main file declares itself.
pub(crate) fn declared(table: &toml::Table) -> impl Iterator<Item = &toml::Value> {
    let listed = table.get("projects").and_then(toml::Value::as_array);
    listed.into_iter().flatten().chain(table.get("project"))
}

/// `main_project`, else that of the fan-out, else the first.
fn main_project(table: &toml::Table) -> Option<String> {
    let named = table.get("main_project").and_then(toml::Value::as_str);
    let fan_out = || text_of(table.get("pr_dispatch")?, "project");
    let first = || declared(table).filter_map(|one| text_of(one, "id")).min();
    named.or_else(fan_out).or_else(first).map(str::to_owned)
}

fn text_of<'v>(value: &'v toml::Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// Where the file may be: where it was said, else the usual place or that of the packages.
fn places(config: &str) -> impl Iterator<Item = &str> {
    let packaged = (config == DEFAULT_CONFIG).then_some(PACKAGED_CONFIG);
    std::iter::once(config).chain(packaged)
}

fn read(target: &OrchestratorTarget, path: &str) -> Result<String, CommandFailure> {
    match &target.ssh {
        Some(host) => ssh::read_file(target, host, path),
        None => std::fs::read_to_string(path)
            .map_err(|error| CommandFailure::NotAllowed(format!("{path}: {error}"))),
    }
}

fn place(target: &OrchestratorTarget, path: &str) -> String {
    match &target.ssh {
        Some(host) => format!("{host}:{path}"),
        None => path.to_owned(),
    }
}

fn expand(
    key: &str,
    written: &str,
    variable: &dyn Fn(&str) -> Result<Option<String>, CommandFailure>,
) -> Result<Result<String, String>, CommandFailure> {
    let mut text = String::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            text.push('$');
            rest = after;
        } else if let Some((name, after)) = after
            .strip_prefix('{')
            .and_then(|inner| inner.split_once('}'))
        {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if name.is_empty()
                || !name.bytes().all(allowed)
                || name.starts_with(|c: char| c.is_ascii_digit())
            {
                return Ok(Err(format!("{key} names a variable that cannot be one")));
            }
            match variable(name)? {
                Some(value) => text.push_str(&value),
                None => return Ok(Err(format!("{key} is ${{{name}}}, which is not set there"))),
            }
            rest = after;
        } else {
            text.push('$');
            rest = after;
        }
    }
    text.push_str(rest);
    Ok(Ok(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(written: &str) -> Result<String, String> {
        let variable = |name: &str| Ok((name == "SECRET").then(|| "s3cret".to_owned()));
        expand("`[webhook] secret`", written, &variable).unwrap()
    }

    #[test]
    fn variables_are_replaced_as_in_the_orchestrator() {
        assert_eq!(expanded("plain").as_deref(), Ok("plain"));
        assert_eq!(
            expanded("a-${SECRET}-b$$c$d").as_deref(),
            Ok("a-s3cret-b$c$d")
        );
        assert!(expanded("${MISSING}").unwrap_err().contains("${MISSING}"));
        for wrong in ["${}", "${a b}", "${$(id)}", "${;id}", "${1A}"] {
            assert!(expanded(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn contract_the_packages_file_is_looked_for_where_no_other_is_named() {
        let all = |config| places(config).collect::<Vec<_>>();
        assert_eq!(all(DEFAULT_CONFIG), [DEFAULT_CONFIG, PACKAGED_CONFIG]);
        assert_eq!(all("/srv/orch.toml"), ["/srv/orch.toml"]);
    }

    #[test]
    fn the_main_project_is_the_one_that_the_orchestrator_takes() {
        let main = |text: &str| main_project(&text.parse().unwrap());
        let listed = "[[projects]]\nid = 'b'\n[[projects]]\nid = 'a'\n";
        assert_eq!(main(listed).as_deref(), Some("a"), "by their order");
        let fan_out = format!("{listed}[pr_dispatch]\nproject = 'b'\n");
        assert_eq!(main(&fan_out).as_deref(), Some("b"));
        let named = format!("main_project = 'c'\n{fan_out}");
        assert_eq!(main(&named).as_deref(), Some("c"));
        assert_eq!(main(""), None);
    }
}
