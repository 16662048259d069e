//! `[[agents]]`.

use std::collections::BTreeMap;
use std::time::Duration;

use config_core::{Fields, Item, ValueError, quoted};
use forge_core::{AgentName, ProjectId};

use super::agent::{
    AgentCli, AgentSpec, Budget, Isolation, Layer, Limits, OnRestart, PromptBy, Schedule,
    WorktreeMode,
};
use super::declared::unknown;
use super::decoder::Context;
use super::schedule::DueTimes;
use super::values::{count, id, logins, long_text, or, seconds, variable_names, variables};
use crate::posting::PostKind;

/// The keys of an agent.
const KEYS: [&str; 40] = [
    "name",
    "project",
    "description",
    "layer",
    "enabled",
    "cli",
    "command",
    "script",
    "prompt_by",
    "program",
    "provider",
    "model",
    "task",
    "persona",
    "skills",
    "schedule",
    "time_zone",
    "mentionable",
    "allow",
    "extra_projects",
    "max_parallel",
    "max_cpu_seconds",
    "max_wall_seconds",
    "stall_seconds",
    "grace_seconds",
    "max_output_bytes",
    "max_memory_bytes",
    "max_processes",
    "budget_monthly_cents",
    "budget_monthly_runs",
    "cost_cents_per_run",
    "worktree",
    "on_restart",
    "isolation",
    "comment",
    "pass_env",
    "env",
    "args",
    "verdict",
    "allow_in_posts",
];

/// Longest task or script, in bytes.
const MAX_TEXT: usize = 64 << 10;
/// Longest wall-clock limit, in seconds: a week.
const MAX_WALL: i64 = 604_800;

/// The file's name and the project it is for, when the file is one project's.
pub(super) type Owner<'o> = (&'o str, Option<&'o ProjectId>);

impl Context<'_> {
    /// Reads one agent.
    pub(super) fn agent(&self, item: &Item<'_>, owner: Option<Owner<'_>>) -> Option<AgentSpec> {
        let path = item.path().to_owned();
        item.fields("an agent", &KEYS, |fields| {
            let project = self.agents_project(fields, owner);
            let name = fields.required("name", |item| {
                self.agents_name(item, project.as_ref(), &path)
            });
            let cli = self.cli(fields);
            self.note_program(fields, cli.as_ref());
            self.agents_rest(fields, name, project, cli)
        })
    }

    fn agents_project(&self, fields: &Fields<'_>, owner: Option<Owner<'_>>) -> Option<ProjectId> {
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
        item: &Item<'_>,
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

    fn cli(&self, fields: &Fields<'_>) -> Option<AgentCli> {
        const CLIS: [(&str, u8); 8] = [
            ("claude", 0),
            ("codex", 1),
            ("opencode", 2),
            ("gemini", 3),
            ("aider", 4),
            ("browser", 5),
            ("sh", 6),
            ("command", 7),
        ];
        let script = fields.optional("script", |item| long_text(item, MAX_TEXT));
        let argv = fields.optional("command", argv);
        let prompt_by = fields.optional("prompt_by", |item| {
            item.choice(
                "way of prompting",
                &[("stdin", PromptBy::Stdin), ("argv", PromptBy::Argv)],
            )
        });
        let cli = fields.required("cli", |item| item.choice("agent program", &CLIS))?;
        let only = |key: &str, of: u8, word: &str| {
            if fields.has(key) && cli != of {
                fields.error_at(
                    key,
                    format!("`{key}` has no effect without `cli = \"{word}\"`"),
                );
            }
            if !fields.has(key) && cli == of && key != "prompt_by" {
                fields.error_at("cli", format!("`cli = \"{word}\"` needs the key `{key}`"));
            }
        };
        only("script", 6, "sh");
        only("command", 7, "command");
        only("prompt_by", 7, "command");
        Some(match cli {
            0 => AgentCli::Claude,
            1 => AgentCli::Codex,
            2 => AgentCli::Opencode,
            3 => AgentCli::Gemini,
            4 => AgentCli::Aider,
            5 => AgentCli::Browser,
            6 => AgentCli::Sh { script: script? },
            _ => AgentCli::Command {
                argv: argv?,
                prompt_by: prompt_by.unwrap_or_default(),
            },
        })
    }

    /// Remembers a program that is not there; what that means is decided at the end.
    fn note_program(&self, fields: &Fields<'_>, cli: Option<&AgentCli>) {
        let enabled = fields.optional("enabled", |item| Some(item.clone()));
        let written = fields.optional("program", |item| item.peek().map(str::to_owned));
        let Some(cli) = cli else { return };
        let program = written.unwrap_or_else(|| cli.program().to_owned());
        let off = enabled.is_some_and(|item| item.boolean() == Some(false));
        if off || self.host.has_program(&program) {
            return;
        }
        let name = fields.optional("name", |item| item.peek().map(str::to_owned));
        let mut missing = self.missing_programs.borrow_mut();
        missing.push((name.unwrap_or_default(), program));
    }

    fn agents_rest(
        &self,
        fields: &Fields<'_>,
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
        let extra = or(fields, "extra_projects", Vec::new(), |item| {
            item.list(|item| self.known_project(item))
        });
        let (limits, budget) = (limits(fields), budget(fields));
        let word = fields.optional("cli", |item| item.peek());
        if fields.lacks("task") && !matches!(word, Some("sh" | "command" | "browser")) {
            fields.error(ValueError::new("missing key `task` in an agent").help(
                "say what the agent is to do; shell agents, commands and the browser need none",
            ));
        }
        Some(AgentSpec {
            description: or(fields, "description", String::new(), Item::string),
            layer: or(fields, "layer", Layer::default(), |item| {
                item.choice("layer", &LAYERS)
            }),
            enabled: or(fields, "enabled", true, Item::boolean),
            program: fields.optional("program", Item::string),
            args: or(fields, "args", Vec::new(), arguments),
            provider: fields.optional("provider", Item::string),
            model: fields.optional("model", Item::string),
            task: or(fields, "task", String::new(), |item| {
                long_text(item, MAX_TEXT)
            }),
            persona,
            skills,
            schedule,
            mentionable: or(fields, "mentionable", true, Item::boolean),
            allow: or(fields, "allow", Vec::new(), logins),
            extra_projects: extra,
            max_parallel: or(fields, "max_parallel", 1, |item| count(item, 1, 1000)),
            limits,
            budget,
            worktree: or(fields, "worktree", WorktreeMode::default(), |item| {
                item.choice("worktree mode", &WORKTREES)
            }),
            on_restart: or(fields, "on_restart", OnRestart::default(), |item| {
                item.choice(
                    "restart rule",
                    &[("drop", OnRestart::Drop), ("requeue", OnRestart::Requeue)],
                )
            }),
            isolation: or(fields, "isolation", Isolation::default(), |item| {
                item.choice(
                    "isolation",
                    &[
                        ("auto", Isolation::Auto),
                        ("cgroup", Isolation::Cgroup),
                        ("sandbox", Isolation::Sandbox),
                        ("none", Isolation::None),
                    ],
                )
            }),
            comment: or(fields, "comment", true, Item::boolean),
            verdict_block: or(fields, "verdict", false, |item| {
                item.choice("kind of verdict", &[("exit", false), ("block", true)])
            }),
            allow_in_posts: or(fields, "allow_in_posts", Vec::new(), |item| {
                item.list(|item| item.choice("kind of content", &PostKind::WORDS))
            }),
            pass_env: or(fields, "pass_env", Vec::new(), variable_names),
            env: or(fields, "env", BTreeMap::new(), variables),
            // Last, so that everything else has been read and reported before one of them is absent.
            name: name?,
            project: project?,
            cli: cli?,
        })
    }

    fn skills(&self, item: &Item<'_>) -> Option<Vec<String>> {
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

    fn schedule(&self, fields: &Fields<'_>) -> Option<Schedule> {
        if fields.has("time_zone") && fields.lacks("schedule") {
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
        let wrong_zone = fields.has("time_zone") && zone.is_none();
        let (time_zone, zone) = zone.unwrap_or(("UTC".to_owned(), jiff::tz::TimeZone::UTC));
        let (expression, due) = fields.optional("schedule", |item| {
            item.parsed(|text| Ok((text.to_owned(), DueTimes::parse(text, zone)?)))
        })?;
        (!wrong_zone).then_some(Schedule {
            expression,
            time_zone,
            due,
        })
    }
}

const LAYERS: [(&str, Layer); 6] = [
    ("safety", Layer::Safety),
    ("core", Layer::Core),
    ("growth", Layer::Growth),
    ("Safety", Layer::Safety),
    ("Core", Layer::Core),
    ("Growth", Layer::Growth),
];

const WORKTREES: [(&str, WorktreeMode); 3] = [
    ("none", WorktreeMode::None),
    ("base", WorktreeMode::Base),
    ("head", WorktreeMode::Head),
];

fn argv(item: &Item<'_>) -> Option<Vec<String>> {
    item.non_empty_list("a command needs at least its program", |item| {
        long_text(item, MAX_TEXT)
    })
}

fn arguments(item: &Item<'_>) -> Option<Vec<String>> {
    item.list(|item| long_text(item, MAX_TEXT))
}

fn limits(fields: &Fields<'_>) -> Limits {
    let default = Limits::default();
    if fields.has("max_cpu_seconds") && fields.has("max_wall_seconds") {
        let error = ValueError::new("`max_cpu_seconds` and `max_wall_seconds` are the same limit");
        fields.error_at(
            "max_wall_seconds",
            error.help("both are wall-clock time; keep one"),
        );
    }
    let wall = |key: &str| fields.optional(key, |item| seconds(item, MAX_WALL));
    let (cpu, alias) = (wall("max_cpu_seconds"), wall("max_wall_seconds"));
    let bytes = |key: &str, min: i64| {
        let bytes = fields.optional(key, |item| item.integer(min..=1 << 42));
        bytes.map(i64::unsigned_abs)
    };
    Limits {
        wall: cpu.or(alias).unwrap_or(default.wall),
        stall: fields.optional("stall_seconds", |item| seconds(item, MAX_WALL)),
        grace: or(fields, "grace_seconds", default.grace, |item| {
            let seconds = item.integer(0..=300)?;
            Some(Duration::from_secs(seconds.unsigned_abs()))
        }),
        output_bytes: bytes("max_output_bytes", 4096).unwrap_or(default.output_bytes),
        memory_bytes: bytes("max_memory_bytes", 1 << 20),
        processes: fields.optional("max_processes", |item| count(item, 1, 100_000)),
    }
}

fn budget(fields: &Fields<'_>) -> Budget {
    let number = |key: &str| {
        let number = fields.optional(key, |item| item.integer(0..=1_000_000_000));
        number.map(i64::unsigned_abs)
    };
    let budget = Budget {
        cents: number("budget_monthly_cents"),
        runs: number("budget_monthly_runs"),
        cents_per_run: number("cost_cents_per_run").unwrap_or(0),
    };
    if fields.has("cost_cents_per_run") && fields.lacks("budget_monthly_cents") {
        fields.error_at(
            "cost_cents_per_run",
            "`cost_cents_per_run` has no effect without `budget_monthly_cents`",
        );
    }
    budget
}
