//! `[[agents]]`.

use config_core::{ConfigItem, ObjectFields, ValueError, quoted};
use forge_core::{AgentName, ProjectId};

use super::agent::{AgentCli, AgentIsolation, AgentSchedule, AgentSpec, DEFAULT_MACHINE};
use super::agent_keys::{AGENT, CLIS, CliWord, PROMPTS, blank_agent};
use super::declared::unknown;
use super::decoder::DecodeContext;
use super::schedule::DueTimes;
use super::values::{MAX_TEXT, id, long_text, or};

/// The file's name and the project it is for, when the file is one project's.
pub(super) type AgentOwner<'o> = (&'o str, Option<&'o ProjectId>);

impl DecodeContext<'_> {
    /// Reads one agent.
    pub(super) fn agent(
        &self,
        item: &ConfigItem<'_>,
        owner: Option<AgentOwner<'_>>,
    ) -> Option<AgentSpec> {
        let path = item.path().to_owned();
        AGENT.fields(item, |fields| {
            let project = self.agents_project(fields, owner);
            let name = fields.required("name", |item| {
                self.agents_name(item, project.as_ref(), &path)
            });
            let cli = self.cli(fields);
            self.record_program(fields, cli.as_ref());
            self.agents_rest(fields, name, project, cli)
        })
    }

    fn agents_project(
        &self,
        fields: &ObjectFields<'_>,
        owner: Option<AgentOwner<'_>>,
    ) -> Option<ProjectId> {
        let Some((_, owner)) = owner else {
            return fields.required("project", |item| self.known_project(item));
        };
        let written = fields.optional("project", |item| {
            let written = self.known_project(item)?;
            if owner.is_some_and(|owner| *owner != written) {
                let owner = owner.map_or("", ProjectId::as_str);
                let message =
                    format!("the agent says project `{written}`, the file is for `{owner}`");
                item.error(
                    ValueError::new(message).help("move it, or name it in `extra_projects`"),
                );
                return None;
            }
            Some(written)
        });
        owner.cloned().or(written)
    }

    fn agents_name(
        &self,
        item: &ConfigItem<'_>,
        project: Option<&ProjectId>,
        path: &str,
    ) -> Option<AgentName> {
        let name: AgentName = id(item)?;
        let Some(project) = project else {
            return Some(name);
        };
        let key = (project.to_string(), name.to_string());
        if let Err(help) = self.is_first(self.declared.agents.get(&key), path) {
            let message = format!(
                "project `{project}` has an agent {} already",
                quoted(name.as_str())
            );
            item.error(ValueError::new(message).help(help));
            return None;
        }
        Some(name)
    }

    fn cli(&self, fields: &ObjectFields<'_>) -> Option<AgentCli> {
        let script = fields.optional("script", |item| long_text(item, MAX_TEXT));
        let argv = fields.optional("command", argv);
        let prompt_by =
            fields.optional("prompt_by", |item| item.choice("way of prompting", PROMPTS));
        let cli = fields.required("cli", |item| item.choice("agent program", CLIS))?;
        let only = |key: &str, of: CliWord, word: &str| {
            if fields.contains(key) && cli != of {
                fields.error_at(
                    key,
                    format!("`{key}` has no effect without `cli = \"{word}\"`"),
                );
            }
            if !fields.contains(key) && cli == of && key != "prompt_by" {
                fields.error_at("cli", format!("`cli = \"{word}\"` needs the key `{key}`"));
            }
        };
        only("script", CliWord::Sh, "sh");
        only("command", CliWord::Command, "command");
        only("prompt_by", CliWord::Command, "command");
        Some(match cli {
            CliWord::Claude => AgentCli::Claude,
            CliWord::Codex => AgentCli::Codex,
            CliWord::Opencode => AgentCli::Opencode,
            CliWord::Gemini => AgentCli::Gemini,
            CliWord::Aider => AgentCli::Aider,
            CliWord::Browser => AgentCli::Browser,
            CliWord::Sh => AgentCli::Sh { script: script? },
            CliWord::Command => AgentCli::Command {
                argv: argv?,
                prompt_by: prompt_by.unwrap_or_default(),
            },
        })
    }

    /// Remembers a program that is not there; what that means is decided at the end.
    fn record_program(&self, fields: &ObjectFields<'_>, cli: Option<&AgentCli>) {
        let enabled = fields.optional("enabled", |item| Some(item.clone()));
        let written = fields.optional("program", |item| item.peek().map(str::to_owned));
        let Some(cli) = cli else { return };
        let program = written.unwrap_or_else(|| cli.program().to_owned());
        let off = enabled.is_some_and(|item| item.boolean() == Some(false));
        // In a VM it is looked for in the image.
        let isolation = fields.optional("isolation", |item| item.peek().map(str::to_owned));
        let elsewhere = isolation.as_deref() == Some("vm");
        if off || elsewhere || self.host.has_program(&program) {
            return;
        }
        let name = fields.optional("name", |item| item.peek().map(str::to_owned));
        let mut missing = self.missing_programs.borrow_mut();
        missing.push((name.unwrap_or_default(), program));
    }

    fn agents_rest(
        &self,
        fields: &ObjectFields<'_>,
        name: Option<AgentName>,
        project: Option<ProjectId>,
        cli: Option<AgentCli>,
    ) -> Option<AgentSpec> {
        let schedule = self.schedule(fields);
        let persona = fields.optional("persona", |item| {
            let name = item.string()?;
            if !self.declared.personas.contains_key(&name) {
                let known = self.declared.personas.keys().map(String::as_str);
                item.error(unknown("persona", &name, known));
                return None;
            }
            Some(name)
        });
        let skills = or(fields, "skills", Vec::new(), |item| self.skills(item));
        let extra_projects = or(fields, "extra_projects", Vec::new(), |item| {
            item.list(|item| self.known_project(item))
        });
        let mut spec = blank_agent();
        AGENT.read_rows(fields, &mut spec);
        self.check_vm(fields, &spec, cli.as_ref());
        Some(AgentSpec {
            persona,
            skills,
            schedule,
            extra_projects,
            // Last, so that everything else has been read and reported before one of them is
            // absent.
            name: name?,
            project: project?,
            cli: cli?,
            ..spec
        })
    }

    /// What is wrong about the VM of an agent: there is no host, no such machine, or a program that
    /// needs this machine.
    fn check_vm(&self, fields: &ObjectFields<'_>, spec: &AgentSpec, cli: Option<&AgentCli>) {
        if spec.isolation != AgentIsolation::Vm {
            if fields.contains("machine") {
                let message = "`machine` has no effect without `isolation = \"vm\"`";
                fields.error_at("machine", message);
            }
            return;
        }
        if !self.declared.has_vm_hosts {
            let error = ValueError::new("`isolation = \"vm\"` needs a host of VMs");
            let help =
                "add `[vm_hosts.<name>]` with the `url` of a VM manager to orchestrator.toml";
            fields.error_at("isolation", error.help(help));
        }
        if cli == Some(&AgentCli::Browser) {
            let error = ValueError::new("the browser agent cannot run in a VM");
            let help =
                "its scenarios and its browser are those of this machine; leave `isolation` out";
            fields.error_at("isolation", error.help(help));
        }
        let known = &self.declared.machines;
        if let Some(machine) = &spec.machine
            && machine != DEFAULT_MACHINE
            && !known.contains(machine)
        {
            let known = known.iter().map(String::as_str);
            fields.error_at("machine", unknown("machine", machine, known));
        }
    }

    fn skills(&self, item: &ConfigItem<'_>) -> Option<Vec<String>> {
        item.list(|item| {
            let name = item.string()?;
            if !self.declared.skills.contains(&name) {
                let known = self.declared.skills.iter().map(String::as_str);
                item.error(unknown("skill", &name, known));
                return None;
            }
            Some(name)
        })
    }

    fn schedule(&self, fields: &ObjectFields<'_>) -> Option<AgentSchedule> {
        if fields.contains("time_zone") && fields.is_absent("schedule") {
            fields.error_at("time_zone", "`time_zone` has no effect without `schedule`");
        }
        let zone = fields.optional("time_zone", |item| {
            item.parsed(|name| match self.host.time_zone(name) {
                Some(zone) => Ok((name.to_owned(), zone)),
                None => {
                    let error = ValueError::new(format!("unknown time zone {}", quoted(name)));
                    Err(error.help("use an IANA name, for example `Europe/Berlin` or `UTC`"))
                }
            })
        });
        let wrong_zone = fields.contains("time_zone") && zone.is_none();
        let (time_zone, zone) = zone.unwrap_or(("UTC".to_owned(), jiff::tz::TimeZone::UTC));
        let (expression, due) = fields.optional("schedule", |item| {
            item.parsed(|text| Ok((text.to_owned(), DueTimes::parse(text, zone)?)))
        })?;
        (!wrong_zone).then_some(AgentSchedule {
            expression,
            time_zone,
            due,
        })
    }
}

fn argv(item: &ConfigItem<'_>) -> Option<Vec<String>> {
    item.non_empty_list("a command needs at least its program", |item| {
        long_text(item, MAX_TEXT)
    })
}
