//! `hook add`: registers the runner's webhook at the forge, by its API.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use config_core::{Environment, Secret};
use forge_core::{Forge, RepoName};
use http_clients::forge::{ForgeClient, ForgeHook, HookChange, HookEvent, HookSpec};
use http_clients::http::{HttpClient, HttpOptions};
use runner_core::event::EventKind;
use runner_web::config::RunnerConfig;
use url::{Host, Url};

use crate::arguments::{HookAddOptions, RunnerServeOptions, exit_code, print, print_note};
use crate::serve;

/// Registers the hook of each repository; the exit code says whether all have it.
pub(crate) fn add(options: &HookAddOptions, environment: &Environment) -> ExitCode {
    let serve = RunnerServeOptions {
        config: options.config.clone(),
        ..RunnerServeOptions::default()
    };
    let registered = serve::read(&serve, environment)
        .map_err(anyhow::Error::msg)
        .and_then(|config| register(options, &config, environment));
    exit_code(registered.map(|without| without == 0))
}

/// Gives how many repositories have no hook.
fn register(
    options: &HookAddOptions,
    config: &RunnerConfig,
    environment: &Environment,
) -> anyhow::Result<usize> {
    let repositories: Vec<RepoName> = options
        .repositories
        .iter()
        .map(|text| text.parse().with_context(|| format!("`{text}`")))
        .collect::<anyhow::Result<_>>()?;
    let settings = &config.runner;
    let (token, base) = access(config)?;
    let secret = environment.text("FORGE_WEBHOOK_SECRET").unwrap_or_default();
    let wanted = HookSpec {
        url: address(options.url.as_deref(), config, &base)?,
        secret: Secret::new(secret.to_owned()),
        events: all_events(settings.forge),
    };
    let kind = settings.forge;
    actix_rt::System::new().block_on(async move {
        let http = HttpClient::new(HttpOptions::default());
        let forge = ForgeClient::new(http, kind, base, Some(token));
        let mut missing = 0;
        for repository in &repositories {
            if let Err(error) = set_hook(&forge, repository, &wanted, options.test).await {
                missing += 1;
                print_note(&format!("{repository}: {error:#}"));
            }
        }
        Ok(missing)
    })
}

/// All that starts runs: one that nothing acts on is answered and not stored.
fn all_events(forge: Forge) -> Vec<HookEvent> {
    let kinds = EventKind::ALL.iter();
    let names = kinds.flat_map(|kind| kind.hook_events(forge));
    let names: BTreeSet<&'static str> = names.copied().collect();
    names.into_iter().map(HookEvent::Other).collect()
}

/// The forge's API.
fn access(config: &RunnerConfig) -> anyhow::Result<(Secret<String>, Url)> {
    let settings = &config.runner;
    let token = settings.forge_token.clone();
    let token = token.context("FORGE_TOKEN is not set: the forge's API wants a token")?;
    let base = match (&settings.forge_url, settings.forge) {
        (Some(url), _) => url.clone(),
        (None, Forge::GitHub) => Url::parse("https://api.github.com")?,
        (None, _) => bail!("FORGE_URL is not set: it is not known where the forge is"),
    };
    Ok((token, base))
}

/// What the repository's hook does not send of what its workflows want, each with its reason for
/// people.
pub(crate) fn missing(
    name: &str,
    config: Option<&Path>,
    wanted: &[(String, EventKind)],
) -> anyhow::Result<Vec<String>> {
    let serve = RunnerServeOptions {
        config: config.map(Path::to_owned),
        ..RunnerServeOptions::default()
    };
    let environment = Environment::from_os(std::env::vars_os());
    let environment = serve::without_webhooks(&environment);
    let config = serve::read(&serve, &environment).map_err(anyhow::Error::msg)?;
    let repository: RepoName = name.parse().with_context(|| format!("`{name}`"))?;
    let (token, base) = access(&config)?;
    let kind = config.runner.forge;
    let public = config.runner.public_url.as_ref();
    let own = public.and_then(|public| public.join("webhook").ok());
    let own = own.filter(|url| !is_own_machine(url));
    let hooks = actix_rt::System::new().block_on(async move {
        let http = HttpClient::new(HttpOptions::default());
        let forge = ForgeClient::new(http, kind, base, Some(token));
        let hooks = forge.hooks(&repository).await;
        hooks.with_context(|| format!("its hooks cannot be read ({})", forge.hook_rights()))
    })?;
    let is_own = |hook: &&ForgeHook| {
        let url = Url::parse(&hook.url).ok();
        hook.active && (own.is_none() || url == own)
    };
    let hooks: Vec<&ForgeHook> = hooks.items.iter().filter(is_own).collect();
    if hooks.is_empty() {
        let place = own.map_or_else(String::new, |url| format!(" that leads to {url}"));
        return Ok(vec![format!(
            "{name} has no active hook of its own{place}: `workflow-runner hook add {name}`"
        )]);
    }
    let sends = |event: &str| {
        let mut all = hooks.iter().flat_map(|hook| &hook.events);
        all.any(|known| known == event || known == "*")
    };
    let said = wanted.iter().filter_map(|(file, event)| {
        let on = event.as_str();
        let needed = event.hook_events(kind);
        if needed.is_empty() {
            return (!event.needs_no_hook())
                .then(|| format!("{file}: no webhook of this forge tells of `{on}`"));
        }
        let lacks: Vec<&str> = needed.iter().copied().filter(|it| !sends(it)).collect();
        (!lacks.is_empty()).then(|| {
            format!(
                "{file}: `{on}` does not come: the hook of {name} does not send {} (`workflow-runner hook add {name}`)",
                lacks.join(", ")
            )
        })
    });
    Ok(said.collect())
}

async fn set_hook(
    forge: &ForgeClient,
    repository: &RepoName,
    wanted: &HookSpec,
    test: bool,
) -> anyhow::Result<()> {
    let (hook, change) = forge
        .ensure_hook(repository, wanted)
        .await
        .with_context(|| format!("the hook could not be registered ({})", forge.hook_rights()))?;
    let what = match change {
        HookChange::Created => "registered",
        HookChange::Updated => "brought up to date",
    };
    print(&format!(
        "{repository}: hook {} to {} is {what}\n",
        hook.id, wanted.url
    ));
    if test {
        let sent = forge.test_hook(repository, hook.id).await;
        sent.context("the forge sends no test delivery")?;
        print(&format!(
            "{repository}: the forge was asked for a test delivery; the runner's log shows what came\n"
        ));
    }
    Ok(())
}

/// Where the forge shall send to. A forge elsewhere does not reach this machine's own address.
fn address(told: Option<&str>, config: &RunnerConfig, forge: &Url) -> anyhow::Result<Url> {
    if let Some(told) = told {
        let url = Url::parse(told).with_context(|| format!("--url `{told}`"))?;
        if !matches!(url.scheme(), "http" | "https") {
            bail!(
                "--url `{told}`: give an http or https address, such as https://ci.example/webhook"
            );
        }
        return Ok(url);
    }
    let public = config.runner.public_url.as_ref();
    let url = public
        .and_then(|public| public.join("webhook").ok())
        .context("it is not known where people reach the runner: give --url")?;
    if is_own_machine(&url) && !is_own_machine(forge) {
        bail!(
            "{forge} cannot reach {url}, which is this machine's own address: set `public_url`, or give --url https://<name>/webhook"
        );
    }
    Ok(url)
}

fn is_own_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(four)) => IpAddr::from(four).is_loopback(),
        Some(Host::Ipv6(six)) => six.to_canonical().is_loopback(),
        None => false,
    }
}
