//! The contexts `github` and `runner`, and the variables every step gets.

use forge_core::Forge;

use crate::env_file::names_of_forges;
use crate::event::{EventContext, EventKind};
use crate::expr::{ContextName, Contexts, ExprValue, Object};

/// Where the commit's files lie in the machine.
pub const WORKSPACE: &str = "/workspace";
/// The folder of a machine for temporary files (`runner.temp`).
pub const TEMP: &str = "/tmp";
/// The folder around the checkout as workflows see it (`runner.workspace`): the checkout is in it
/// by the repository's name, and it takes what a job builds beside it.
pub const RUNNER_WORKSPACE: &str = "/tmp/work";
/// Where tools of a machine lie (`runner.tool_cache`).
pub const TOOL_CACHE: &str = "/opt/tools";
/// Where the runner keeps its own files in the machine: outside the checkout, which holds what the
/// commit holds.
pub const OWN_DIRECTORY: &str = "/tmp/.runner";

/// What is known of a run beside its event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFacts {
    /// The run's id.
    pub run_id: String,
    /// Which run of the workflow it is, from 1.
    pub run_number: u64,
    /// Which attempt, from 1.
    pub run_attempt: u64,
    /// The workflow's name.
    pub workflow: String,
    /// The workflow's file in the repository.
    pub workflow_file: String,
    /// The forge's address for people, without a slash at the end.
    pub server_url: String,
    /// The forge's API.
    pub api_url: String,
    /// The forge's GraphQL, where a job has a token; else empty.
    pub graphql_url: String,
    /// The repository's default branch.
    pub default_branch: String,
    /// The kind of forge that the run is of; `None`: what it is called is GitHub's.
    pub forge: Option<Forge>,
    /// How many days artifacts stay; 0: nobody has said, or as long as their runs.
    pub retention_days: u64,
}

impl RunFacts {
    /// Whether it runs as Gitea and Forgejo run workflows.
    #[must_use]
    pub fn is_of_forge(&self) -> bool {
        matches!(self.forge, Some(Forge::Gitea | Forge::Forgejo))
    }
}

/// The address of a forge's API, of the forge at `server`; nothing where that is not known, so that
/// programs take their own default instead of half an address.
#[must_use]
pub fn api_url(forge: Forge, server: &str) -> String {
    match (forge, server) {
        (_, "") => String::new(),
        (Forge::GitHub, "https://github.com") => "https://api.github.com".to_owned(),
        (Forge::GitHub, server) => format!("{server}/api/v3"),
        (Forge::Gitea | Forge::Forgejo, server) => format!("{server}/api/v1"),
    }
}

/// 2020-01-01, in milliseconds: numbers of runs count from there.
const NUMBERS_FROM: u64 = 1_577_836_800_000;

/// How the id of the run begins that has this `github.run_id`; `None`: it is the number of none.
#[must_use]
pub fn run_id_prefix(number: &str) -> Option<String> {
    let number: u64 = number.parse().ok()?;
    let (time, random) = ((number >> 12) + NUMBERS_FROM, number & 0xfff);
    let (high, low) = (time >> 16, time & 0xffff);
    (high <= u64::from(u32::MAX)).then(|| format!("{high:08x}-{low:04x}-7{random:03x}-"))
}

/// `github.run_id` of a run: programs take it for a number, and JavaScript holds numbers of 53
/// bits. Made of the time and the first random bits of the run's own id, a UUID of version 7;
/// another id is given as it is.
#[must_use]
pub fn run_number_id(id: &str) -> String {
    let digits: String = id.chars().filter(|digit| *digit != '-').collect();
    let part = |from: usize, to: usize| {
        let digits = digits.get(from..to)?;
        u64::from_str_radix(digits, 16).ok()
    };
    let is_uuid = digits.len() == 32 && digits.as_bytes()[12] == b'7';
    match (part(0, 12), part(13, 16)) {
        (Some(time), Some(random)) if is_uuid => {
            (time.saturating_sub(NUMBERS_FROM) << 12 | random).to_string()
        }
        _ => id.to_owned(),
    }
}

/// The context `github`; of one job when `job` is given. There is no token in it.
pub fn github(event: &EventContext, facts: &RunFacts, job: Option<&str>) -> ExprValue {
    let (owner, _) = event
        .repository
        .split_once('/')
        .unwrap_or((&event.repository, ""));
    // A pull request's reference is none of both at Gitea and Forgejo, and its number its name. Its
    // merge, which they do not have, is called as on GitHub.
    let forge_pull = event.reference.strip_prefix("refs/pull/");
    let forge_pull = forge_pull.filter(|_| facts.is_of_forge() && event.merged_pull().is_none());
    let forge_pull = forge_pull.and_then(|rest| rest.split('/').next());
    let ref_type = match forge_pull {
        Some(_) => "",
        None if event.reference.starts_with("refs/tags/") => "tag",
        None => "branch",
    };
    // Of pull requests only: workflows ask by it which of both they are in.
    let is_pull = matches!(
        event.kind,
        EventKind::PullRequest | EventKind::PullRequestTarget
    );
    let of_pull = |branch: &'_ Option<String>| {
        let branch = branch.as_deref().filter(|_| is_pull);
        branch.unwrap_or_default().to_owned()
    };
    let (base, head) = (of_pull(&event.base_branch), of_pull(&event.head_branch));
    let RunFacts {
        server_url,
        workflow_file,
        ..
    } = facts;
    let mut github = Object::default();
    let texts: [(&str, &str); 24] = [
        ("action", ""),
        ("actor", &event.actor),
        ("api_url", &facts.api_url),
        ("base_ref", &base),
        ("event_name", event.kind.as_str()),
        ("event_path", "/tmp/.runner/event.json"),
        ("graphql_url", &facts.graphql_url),
        ("head_ref", &head),
        ("job", job.unwrap_or_default()),
        ("ref", &event.reference),
        ("ref_name", forge_pull.unwrap_or_else(|| event.ref_name())),
        ("ref_type", ref_type),
        ("repository", &event.repository),
        ("repository_owner", owner),
        ("run_id", &facts.run_id),
        ("run_number", &facts.run_number.to_string()),
        ("run_attempt", &facts.run_attempt.to_string()),
        ("server_url", server_url),
        ("sha", &event.sha),
        ("token", ""),
        ("triggering_actor", &event.actor),
        ("workflow", &facts.workflow),
        ("workflow_sha", &event.sha),
        ("workspace", WORKSPACE),
    ];
    texts
        .iter()
        .for_each(|(name, text)| github.set(name, ExprValue::text(text)));
    let reference = format!("{}/{workflow_file}@{}", event.repository, event.reference);
    github.set("workflow_ref", reference.into());
    github.set(
        "repositoryUrl",
        format!("{server_url}/{}.git", event.repository).into(),
    );
    github.set("ref_protected", false.into());
    let has_secrets = if event.untrusted { "None" } else { "Actions" };
    github.set("secret_source", has_secrets.into());
    let days = match facts.retention_days {
        0 => RETENTION_DAYS,
        days => days,
    };
    github.set("retention_days", ExprValue::text(days.to_string()));
    for (name, value) in numbers(event) {
        github.set(name, ExprValue::text(value));
    }
    github.set("event", event.payload.clone());
    ExprValue::Object(std::sync::Arc::new(github))
}

/// How many days artifacts usually stay.
pub const RETENTION_DAYS: u64 = 90;

/// The forge's own numbers of who and what, as far as the event says them.
fn numbers(event: &EventContext) -> [(&'static str, String); 4] {
    let text = |path: &[&str]| {
        let mut value = Some(&event.payload);
        for name in path {
            value = value.and_then(|value| value.get(name));
        }
        let text = value.map(|value| value.as_text().to_string());
        text.unwrap_or_default()
    };
    let visibility = match text(&["repository", "visibility"]) {
        known if !known.is_empty() => known,
        _ => match text(&["repository", "private"]).as_str() {
            "true" => "private".to_owned(),
            "false" => "public".to_owned(),
            _ => String::new(),
        },
    };
    [
        ("actor_id", text(&["sender", "id"])),
        ("repository_id", text(&["repository", "id"])),
        ("repository_owner_id", text(&["repository", "owner", "id"])),
        ("repository_visibility", visibility),
    ]
}

/// What stands for the token of the forge in `secrets` until a job starts, which has its own.
pub const TOKEN_MARK: &str = "\u{1}forge-token\u{1}";
/// The names of that token in `secrets`.
pub const TOKEN_NAMES: [&str; 4] = [
    "GITHUB_TOKEN",
    "FORGEJO_TOKEN",
    "GITEA_TOKEN",
    "FORGE_TOKEN",
];

/// The variables of steps that hold it at Forgejo.
pub const TOKEN_VARIABLES: [&str; 3] = ["GITHUB_TOKEN", "FORGEJO_TOKEN", "GITEA_TOKEN"];

/// Gives a job its token: as `github.token`, and in `secrets` by its own names and where a caller
/// has handed it on. Without one `github.token` is what `secrets.GITHUB_TOKEN` is.
pub fn set_token(contexts: &mut Contexts, token: Option<&str>) {
    let text = |value: &ExprValue| value.as_text().to_string();
    let mut secrets = Object::default();
    if let ExprValue::Object(known) = contexts.get(ContextName::Secrets) {
        for (name, value) in known.iter() {
            let value = text(value).replace(TOKEN_MARK, token.unwrap_or_default());
            if !value.is_empty() || !TOKEN_NAMES.contains(&name) {
                secrets.set(name, ExprValue::text(&value));
            }
        }
    }
    let own = secrets.get(TOKEN_NAMES[0]).map(text).unwrap_or_default();
    contexts.set(
        ContextName::Secrets,
        ExprValue::Object(std::sync::Arc::new(secrets)),
    );
    if let ExprValue::Object(github) = contexts.get(ContextName::Github).clone() {
        let mut github = (*github).clone();
        github.set("token", ExprValue::text(token.unwrap_or(&own)));
        contexts.set(
            ContextName::Github,
            ExprValue::Object(std::sync::Arc::new(github)),
        );
    }
}

/// The variables every step gets (page "Variables reference", "Default environment variables").
pub fn default_variables(
    event: &EventContext,
    facts: &RunFacts,
    job: &str,
) -> Vec<(String, String)> {
    let context = github(event, facts, Some(job));
    let names = [
        "actor",
        "actor_id",
        "api_url",
        "base_ref",
        "event_name",
        "event_path",
        "graphql_url",
        "head_ref",
        "job",
        "ref",
        "ref_name",
        "ref_protected",
        "ref_type",
        "repository",
        "repository_id",
        "repository_owner",
        "repository_owner_id",
        "retention_days",
        "run_id",
        "run_number",
        "run_attempt",
        "server_url",
        "sha",
        "triggering_actor",
        "workflow",
        "workflow_ref",
        "workflow_sha",
        "workspace",
    ];
    let text = |name: &str| {
        context
            .get(name)
            .map(ExprValue::as_text)
            .unwrap_or_default()
            .to_string()
    };
    let mut variables = vec![("GITHUB_ACTIONS".to_owned(), "true".to_owned())];
    variables.extend(names.map(|name| (format!("GITHUB_{}", name.to_uppercase()), text(name))));
    let runner = [
        ("OS", "Linux"),
        ("NAME", "orrery"),
        ("ENVIRONMENT", "self-hosted"),
        ("TEMP", TEMP),
        ("TOOL_CACHE", TOOL_CACHE),
        ("WORKSPACE", RUNNER_WORKSPACE),
    ];
    variables.extend(runner.map(|(name, value)| (format!("RUNNER_{name}"), value.to_owned())));
    variables
}

/// What `env` has in the steps of jobs at Gitea and Forgejo beside the workflow's own: the
/// variables of the runner, and the job's token.
#[must_use]
pub fn forge_env(
    contexts: &Contexts,
    event: &EventContext,
    facts: &RunFacts,
    job: &str,
) -> Vec<(String, String)> {
    let own = default_variables(event, facts, job);
    let again = own
        .iter()
        .flat_map(|(name, value)| names_of_forges(name).map(|name| (name, value.clone())));
    let mut all: Vec<(String, String)> = again.collect();
    all.extend(own);
    let token = contexts.get(ContextName::Github).get("token");
    let token = token.map(|token| token.as_text().to_string());
    if let Some(token) = token.filter(|token| !token.is_empty()) {
        all.extend(TOKEN_VARIABLES.map(|name| (name.to_owned(), token.clone())));
    }
    all
}

/// The context `github` of one step: its name, and the files that it writes for later ones where it
/// has some (`directory`); of an action's steps how they stand so far.
#[must_use]
pub fn of_step(
    github: &ExprValue,
    name: &str,
    directory: Option<&str>,
    action_status: Option<&str>,
) -> ExprValue {
    let ExprValue::Object(known) = github else {
        return github.clone();
    };
    let mut github = (**known).clone();
    github.set("action", name.into());
    if let Some(directory) = directory {
        for (property, file) in STEP_FILES {
            github.set(
                property,
                ExprValue::text(format!("{directory}/files/{file}")),
            );
        }
    }
    if let Some(status) = action_status {
        github.set("action_status", status.into());
    }
    ExprValue::Object(std::sync::Arc::new(github))
}

/// The files that a step writes: what they are called in `github` (`GITHUB_ENV` names that of
/// `env`), and their names in its folder.
pub const STEP_FILES: [(&str, &str); 7] = [
    ("output", "output"),
    ("env", "env"),
    ("path", "path"),
    ("step_summary", "summary"),
    ("state", "state"),
    ("artifacts", "artifacts"),
    ("artifacts_list", ARTIFACTS_LIST),
];

/// The file that says which artifacts steps have declared.
pub const ARTIFACTS_LIST: &str = "artifacts-list";
/// What stands in it: what steps declare by `GITHUB_ARTIFACTS` is not kept, as on a runner of
/// GitHub's on which this is not switched on.
pub const NO_ARTIFACTS: &str = r#"{"version":1,"subjects":[]}"#;

/// Whether steps are to say more: the secret or the variable `ACTIONS_STEP_DEBUG` is `true`.
#[must_use]
pub fn is_step_debug(contexts: &Contexts) -> bool {
    let of_repository = [ContextName::Secrets, ContextName::Vars];
    of_repository.iter().any(|context| {
        let value = contexts.get(*context).get("ACTIONS_STEP_DEBUG");
        value.is_some_and(|value| value.as_text().eq_ignore_ascii_case("true"))
    })
}

/// The context `runner`; `arch` is `X64` or `ARM64`.
pub fn runner(arch: &str, debug: bool) -> ExprValue {
    ExprValue::object([
        ("name", ExprValue::text("orrery")),
        ("os", "Linux".into()),
        ("arch", arch.into()),
        ("temp", TEMP.into()),
        ("tool_cache", TOOL_CACHE.into()),
        ("workspace", RUNNER_WORKSPACE.into()),
        ("debug", if debug { "1" } else { "" }.into()),
        ("environment", "self-hosted".into()),
    ])
}

/// The default of an input; `inputs` in it are those that stand before it.
pub(crate) fn input_default(
    default: &crate::expr::ExprTemplate,
    before: &Object,
    contexts: &crate::expr::Contexts,
) -> Result<ExprValue, String> {
    let mut contexts = contexts.clone();
    contexts.set(
        crate::expr::ContextName::Inputs,
        ExprValue::Object(std::sync::Arc::new(before.clone())),
    );
    let scope = crate::expr::ExprScope::new(&contexts);
    default.value(&scope).map_err(|error| error.to_string())
}

/// The event of a run that somebody started from a workflow's file: `github.event.inputs` holds all
/// `inputs` as texts, those that have their defaults too.
#[must_use]
pub fn with_dispatch(mut event: EventContext, inputs: &ExprValue, file: &str) -> EventContext {
    if event.kind != EventKind::WorkflowDispatch {
        return event;
    }
    if let (ExprValue::Object(payload), ExprValue::Object(inputs)) = (&event.payload, inputs) {
        let mut payload = (**payload).clone();
        let texts = inputs
            .iter()
            .map(|(name, value)| (name, ExprValue::text(value.as_text())));
        payload.set("inputs", ExprValue::object(texts));
        payload.set("workflow", ExprValue::text(file));
        event.payload = ExprValue::Object(std::sync::Arc::new(payload));
    }
    event
}

/// Whether somebody may start a workflow with these inputs.
///
/// # Errors
/// Which input is missing, unknown or of another kind.
pub fn check_dispatch_inputs(
    specs: &[crate::workflow::InputSpec],
    inputs: &[(String, String)],
) -> Result<(), String> {
    let is = |spec: &crate::workflow::InputSpec, name: &str| spec.name.eq_ignore_ascii_case(name);
    let unknown = inputs
        .iter()
        .find(|(name, _)| !specs.iter().any(|spec| is(spec, name)));
    if let Some((name, _)) = unknown {
        let name = config_core::quoted(name);
        return Err(format!("the workflow has no input {name}"));
    }
    for spec in specs {
        let given = inputs.iter().find(|(name, _)| is(spec, name));
        match given {
            Some((_, text)) => {
                crate::plan::typed_input(Some(ExprValue::text(text)), &spec.kind, &spec.name)?;
            }
            None if spec.required && spec.default.is_none() => {
                let name = config_core::quoted(&spec.name);
                return Err(format!("the input {name} is missing"));
            }
            None => {}
        }
    }
    Ok(())
}

/// The context `inputs` of a run someone started: each of the kind it declares.
///
/// # Errors
/// Which input is missing, unknown or of another kind.
pub fn dispatch_inputs(
    workflow: &crate::workflow::Workflow,
    event: &EventContext,
    contexts: &crate::expr::Contexts,
) -> Result<ExprValue, String> {
    let specs = workflow.on.workflow_dispatch.as_deref().unwrap_or_default();
    if event.kind != EventKind::WorkflowDispatch {
        return Ok(ExprValue::object::<&str, ExprValue>([]));
    }
    check_dispatch_inputs(specs, &event.inputs)?;
    let mut object = Object::default();
    for spec in specs {
        let given = event
            .inputs
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(&spec.name));
        let value = match (given, &spec.default) {
            (Some((_, text)), _) => Some(ExprValue::text(text)),
            (None, Some(default)) => Some(input_default(default, &object, contexts)?),
            (None, None) => None,
        };
        object.set(
            &spec.name,
            crate::plan::typed_input(value, &spec.kind, &spec.name)?,
        );
    }
    Ok(ExprValue::Object(std::sync::Arc::new(object)))
}
