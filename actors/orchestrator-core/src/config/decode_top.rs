//! `orchestrator.toml`: everything but projects and agents, which have files of their own.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use config_core::{Fields, Item, ValueError, quoted};
use forge_core::{Forge, Login, ProjectId, StatusContext};

use super::declared::unknown;
use super::decoder::{Context, Parts};
use super::model::{
    Directories, ForgeConfig, Listeners, MentionLimits, Mentions, PrAgent, PrDispatch, Provider,
    Retention, WebhookConfig,
};
use super::secrets::webhook_secret;
use super::values::{address, count, folder, id, logins, or, seconds};

/// The keys of the top level.
const KEYS: [&str; 35] = [
    "tick_interval_secs",
    "wake_on_dispatch",
    "main_project",
    "strict",
    "listen",
    "admin_listen",
    "admin_socket",
    "admin_token",
    "hosts",
    "data_dir",
    "persona_data_dir",
    "skills_dir",
    "routing_tables_dir",
    "scenarios_dir",
    "reports_dir",
    "agent_tokens_file",
    "persona_roles_file",
    "own_logins",
    "max_queued",
    "max_running",
    "quarantine_after",
    "keep_runs",
    "keep_days",
    "search_url",
    "public_url",
    "forge",
    "webhook",
    "mentions",
    "pr_dispatch",
    "providers",
    "project",
    "projects",
    "agents",
    "skill_dir",
    "shutdown_secs",
];

/// What the top level says by itself.
#[derive(Debug)]
pub(super) struct Top {
    pub(super) tick_interval: Duration,
    pub(super) wake_on_dispatch: bool,
    pub(super) main_project: Option<ProjectId>,
    pub(super) strict: bool,
    pub(super) listeners: Listeners,
    pub(super) directories: Directories,
    pub(super) forge: Option<ForgeConfig>,
    pub(super) webhook: Option<WebhookConfig>,
    pub(super) mentions: Option<Mentions>,
    pub(super) pr_dispatch: Option<PrDispatch>,
    pub(super) providers: BTreeMap<String, Provider>,
    pub(super) own_logins: Vec<Login>,
    pub(super) max_queued: usize,
    pub(super) max_running: usize,
    pub(super) quarantine_after: u32,
    pub(super) retention: Retention,
    pub(super) search_url: Option<url::Url>,
    pub(super) public_url: Option<url::Url>,
    pub(super) shutdown: Duration,
}

/// Reads `orchestrator.toml`.
pub(super) fn top(item: &Item<'_>, context: &Context<'_>) -> Option<(Top, Parts)> {
    item.fields("orchestrator.toml", &KEYS, |fields| {
        let top = top_level(fields, context);
        if fields.has("project") {
            let error = ValueError::new("`[project]` belongs into a file of `conf.d`");
            fields.error_at("project", error.help("here projects are `[[projects]]`"));
        }
        let mut parts = Parts::default();
        fields.optional("projects", |item| {
            item.list(|item| {
                parts.projects.extend(context.project(item));
                Some(())
            })
        });
        fields.optional("agents", |item| {
            item.list(|item| {
                parts.agents.extend(context.agent(item, None));
                Some(())
            })
        });
        Some((top, parts))
    })
}

fn top_level(fields: &Fields<'_>, context: &Context<'_>) -> Top {
    const DAY: i64 = 86_400;
    let retention = Retention {
        runs: u64::from(or(fields, "keep_runs", 20_000, |item| {
            count(item, 100, 10_000_000)
        })),
        age: Duration::from_secs(
            u64::from(or(fields, "keep_days", 90, |item| count(item, 1, 3650))) * 86_400,
        ),
    };
    Top {
        tick_interval: or(
            fields,
            "tick_interval_secs",
            Duration::from_secs(300),
            |item| seconds(item, DAY),
        ),
        wake_on_dispatch: or(fields, "wake_on_dispatch", false, Item::boolean),
        main_project: fields.optional("main_project", |item| context.known_project(item)),
        strict: or(fields, "strict", false, Item::boolean),
        listeners: listeners(fields, context.folder),
        directories: directories(fields, context.folder),
        forge: fields.optional("forge", forge),
        webhook: fields.required("webhook", webhook),
        mentions: fields.optional("mentions", mentions),
        pr_dispatch: fields.optional("pr_dispatch", |item| pr_dispatch(item, context)),
        providers: or(fields, "providers", BTreeMap::new(), providers),
        own_logins: or(fields, "own_logins", Vec::new(), logins),
        max_queued: or(fields, "max_queued", 10_000, |item| {
            count(item, 1, 1_000_000)
        }) as usize,
        max_running: or(fields, "max_running", 64, |item| count(item, 1, 10_000)) as usize,
        quarantine_after: or(fields, "quarantine_after", 3, |item| count(item, 1, 1000)),
        retention,
        search_url: fields.optional("search_url", Item::http_url),
        public_url: fields.optional("public_url", Item::http_url),
        shutdown: or(fields, "shutdown_secs", Duration::from_secs(20), |item| {
            seconds(item, 3600)
        }),
    }
}

fn listeners(fields: &Fields<'_>, base: &Path) -> Listeners {
    let admin_token = fields.optional("admin_token", Item::secret);
    let listeners = Listeners {
        webhook: or(fields, "listen", "127.0.0.1:3200".to_owned(), address),
        admin: fields.optional("admin_listen", address),
        admin_socket: fields.optional("admin_socket", |item| folder(item, base)),
        hosts: or(fields, "hosts", Vec::new(), |item| item.list(Item::string)),
        admin_token,
    };
    if fields.has("admin_listen") && fields.lacks("admin_token") {
        let error = ValueError::new("the admin bridge on a port needs `admin_token`");
        let help = "add `admin_token = \"${ORCH_ADMIN_TOKEN}\"`, or use `admin_socket` alone";
        fields.error_at("admin_listen", error.help(help));
    }
    if let Some(admin) = &listeners.admin
        && *admin == listeners.webhook
        && !admin.ends_with(":0")
    {
        let error = ValueError::new(format!("`listen` is {} as well", quoted(admin)));
        let help = "the receiver and the admin bridge need an address each; 127.0.0.1:3201 is the bridge's usual one";
        fields.error_at("admin_listen", error.help(help));
    }
    if let Some(admin) = &listeners.admin
        && !is_loopback(admin)
    {
        let error = ValueError::new(format!(
            "{} can be reached by other machines",
            quoted(admin)
        ));
        fields.error_at(
            "admin_listen",
            error.help("the admin bridge listens on loopback only; reach it over SSH"),
        );
    }
    listeners
}

/// Whether `<host>:<port>` or `<host>` is this machine.
pub(super) fn is_loopback(address: &str) -> bool {
    let host = match address.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => address,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// The folders; wrong ones are reported and replaced by their defaults.
fn directories(fields: &Fields<'_>, base: &Path) -> Directories {
    if fields.has("skill_dir") && fields.has("skills_dir") {
        let message = "`skill_dir` and `skills_dir` are the same setting";
        fields.error_at("skill_dir", message);
    }
    Directories::read(base, |key| fields.optional(key, |item| folder(item, base)))
}

/// All keys that name places, for reading the files before the check; says nothing about mistakes.
pub(super) fn places(item: &Item<'_>, base: &Path) -> Directories {
    Directories::read(base, |key| folder(&item.get(key)?, base))
}

fn forge(item: &Item<'_>) -> Option<ForgeConfig> {
    const KINDS: [(&str, Forge); 3] = [
        ("gitea", Forge::Gitea),
        ("forgejo", Forge::Forgejo),
        ("github", Forge::GitHub),
    ];
    item.fields(
        "[forge]",
        &["kind", "url", "token", "allow_http"],
        |fields| {
            let allow_http = or(fields, "allow_http", false, Item::boolean);
            let kind = fields.required("kind", |item| item.choice("forge", &KINDS));
            let url = fields.required("url", Item::http_url);
            let token = fields.required("token", Item::secret);
            Some(ForgeConfig {
                kind: kind?,
                url: url?,
                token: token?,
                allow_http,
            })
        },
    )
}

fn webhook(item: &Item<'_>) -> Option<WebhookConfig> {
    let keys = ["secret", "previous_secret", "max_body_bytes"];
    item.fields("[webhook]", &keys, |fields| {
        let current = fields.required("secret", webhook_secret);
        let previous = fields.optional("previous_secret", webhook_secret);
        let max = or(fields, "max_body_bytes", 1 << 20, |item| {
            count(item, 1024, 32 << 20)
        });
        Some(WebhookConfig {
            secret: current?,
            previous_secret: previous,
            max_body_bytes: max as usize,
        })
    })
}

fn mentions(item: &Item<'_>) -> Option<Mentions> {
    const KEYS: [&str; 9] = [
        "poll_modulo",
        "max_dispatches_per_tick",
        "max_concurrent_mention_agents",
        "max_mention_depth",
        "max_per_issue_per_hour",
        "max_per_comment",
        "allow",
        "require_write",
        "answer_refusals",
    ];
    item.fields("[mentions]", &KEYS, |fields| {
        let limits = MentionLimits {
            max_depth: or(fields, "max_mention_depth", 3, |item| count(item, 1, 100)) as u16,
            per_issue_per_hour: or(fields, "max_per_issue_per_hour", 20, |item| {
                count(item, 1, 10_000)
            }),
            per_comment: or(fields, "max_per_comment", 10, |item| count(item, 1, 100)) as usize,
        };
        Some(Mentions {
            poll_modulo: or(fields, "poll_modulo", 2, |item| count(item, 1, 10_000)),
            max_dispatches_per_tick: or(fields, "max_dispatches_per_tick", 3, |item| {
                count(item, 1, 10_000)
            }),
            max_concurrent_mention_agents: or(fields, "max_concurrent_mention_agents", 8, |item| {
                count(item, 1, 10_000)
            }),
            limits,
            allow: or(fields, "allow", Vec::new(), logins),
            require_write: or(fields, "require_write", true, Item::boolean),
            answer_refusals: or(fields, "answer_refusals", true, Item::boolean),
        })
    })
}

fn pr_dispatch(item: &Item<'_>, context: &Context<'_>) -> Option<PrDispatch> {
    const KEYS: [&str; 6] = [
        "project",
        "agents",
        "allow",
        "forks",
        "drafts",
        "max_concurrent",
    ];
    item.fields("[pr_dispatch]", &KEYS, |fields| {
        let project = fields.required("project", |item| context.known_project(item));
        let mut contexts: BTreeMap<String, String> = BTreeMap::new();
        let agents = fields.required("agents", |item| {
            item.non_empty_list("`[pr_dispatch]` needs at least one agent", |item| {
                pr_agent(item, project.as_ref(), &mut contexts, context)
            })
        });
        let (allow, forks) = (
            or(fields, "allow", Vec::new(), logins),
            or(fields, "forks", false, Item::boolean),
        );
        Some(PrDispatch {
            allow,
            forks,
            drafts: or(fields, "drafts", false, Item::boolean),
            max_concurrent: or(fields, "max_concurrent", 12, |item| count(item, 1, 10_000)),
            project: project?,
            agents: agents?,
        })
    })
}

fn pr_agent(
    item: &Item<'_>,
    project: Option<&ProjectId>,
    contexts: &mut BTreeMap<String, String>,
    context: &Context<'_>,
) -> Option<PrAgent> {
    item.fields(
        "an entry of `pr_dispatch.agents`",
        &["agent", "context"],
        |fields| {
            let agent = fields.required("agent", |item| {
                let name = id::<forge_core::AgentName>(item)?;
                let project = project?;
                let known = || context.declared.agents_of(project.as_str());
                if !known().any(|known| known == name.as_str()) {
                    let what = format!("agent of project `{project}`");
                    item.error(unknown(&what, name.as_str(), known()));
                    return None;
                }
                Some(name)
            });
            let status = fields.required("context", id::<StatusContext>);
            if let Some(status) = &status
                && contexts
                    .insert(status.to_string(), item.path().to_owned())
                    .is_some()
            {
                let message = format!("two agents post the status {}", quoted(status.as_str()));
                fields.error_at(
                    "context",
                    ValueError::new(message).help("give each its own"),
                );
            }
            Some(PrAgent {
                agent: agent?,
                context: status?,
            })
        },
    )
}

fn providers(item: &Item<'_>) -> Option<BTreeMap<String, Provider>> {
    let entries = item.entries(|_, item| {
        let keys = ["failures", "cool_down_secs"];
        item.fields("a provider", &keys, |fields| {
            let default = Provider::default();
            Some(Provider {
                failures: or(fields, "failures", default.failures, |item| {
                    count(item, 1, 1000)
                }),
                cool_down: or(fields, "cool_down_secs", default.cool_down, |item| {
                    seconds(item, 86_400)
                }),
            })
        })
    })?;
    Some(entries.into_iter().collect())
}
