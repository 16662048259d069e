//! The page of a run beside the receiver: where the links of commit statuses lead.
//!
//! Whoever comes there sees what the status on the forge shows already: agent, context, commit,
//! state and times. Why it ended so and what the agent printed is shown to those who have signed in
//! with the admin token.

use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::guard::ApiToken;
use edge_web::visible::{VisibleText, without_colours};
use edge_web::{Asset, Problem, Routes, SignIn, SignInAttempts, SignInSessions};
use forge_core::RunId;
use maud::{DOCTYPE, Markup, html};
use orchestrator_actors::OrchestratorView;
use orchestrator_actors::messages::GetRun;
use orchestrator_core::admin::RunView;
use orchestrator_engine::output::AgentLogReader;

use crate::log_stream::fetch;
use crate::path_params::run_id;
use crate::problems::{ask_problem, operator_problem};
use crate::state::WebState;

/// Most of a log's end that is shown, in bytes.
const MAX_LOG_BYTES: usize = 256 << 10;
const STYLE: &str = include_str!("page.css");
const STYLE_PATH: &str = "/runs.css";

/// How people sign in beside the receiver: with the admin token that is in force.
pub(crate) fn sign_in(view: &OrchestratorView) -> SignIn {
    let config = view.config();
    let public_url = config.public_url.as_ref();
    let secure = public_url.is_some_and(|url| url.scheme() == "https");
    let view = view.clone();
    SignIn {
        token: ApiToken::following(move || {
            let config = view.config();
            let token = config.listeners.admin_token.as_ref();
            token.map(|token| token.expose().clone())
        }),
        cookie: "orchestrator-session",
        asks_for: "the admin token of this orchestrator (<code>admin_token</code>)",
        style: STYLE_PATH,
        secure,
        attempts: SignInAttempts::default(),
        sessions: SignInSessions::default(),
    }
}

/// Adds the page, its style and the way in and out.
pub(crate) fn add(routes: Routes, sign_in: &SignIn) -> Routes {
    let asset = Asset::new(STYLE.as_bytes(), "text/css; charset=utf-8");
    let own = sign_in.clone();
    let routes = routes.asset(STYLE_PATH, asset).get(
        "/runs/{id}",
        move |request: HttpRequest, state: web::Data<WebState>, id: web::Path<String>| {
            let sign_in = own.clone();
            async move { run(&request, &state, &id, &sign_in).await }
        },
    );
    sign_in.clone().routes(routes)
}

async fn run(
    request: &HttpRequest,
    state: &WebState,
    id: &str,
    sign_in: &SignIn,
) -> Result<HttpResponse, Problem> {
    let id = run_id(id)?;
    let asked = state.operator_api.ask(GetRun(id.clone())).await;
    let found = asked.map_err(|error| ask_problem(&error))?;
    let run = found.map_err(|error| operator_problem(&error))?;
    let log = if sign_in.is_signed_in(request.head()) {
        Some(log(state, &id, run.ended).await?)
    } else {
        None
    };
    let config = state.view.config();
    let can_sign_in = config.listeners.admin_token.is_some();
    // Strangers are not told where it is.
    let bridge = config.listeners.admin.as_deref();
    let bridge = bridge.filter(|_| log.is_some());
    Ok(HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header(("cache-control", "no-store"))
        // The form to sign out names its origin with this policy only.
        .insert_header(("referrer-policy", "same-origin"))
        .body(page(&run, log.as_deref(), can_sign_in, bridge)))
}

async fn log(state: &WebState, id: &RunId, has_ended: bool) -> Result<String, Problem> {
    if has_ended && fetch(state, id).await.is_err() {
        return Ok("(the log cannot be had from the object storage now)".to_owned());
    }
    let directory = state.view.log_directory(id.as_str());
    let read = tokio::task::spawn_blocking(move || AgentLogReader::tail(&directory, MAX_LOG_BYTES));
    let read = read.await.map_err(|_| Problem::internal())?;
    read.map_err(|error| {
        tracing::error!(event = "http.failed", %error, "the log of a run cannot be read");
        Problem::internal()
    })
}

/// The page; with the log for those who have signed in, and with where the web application shows
/// the same run, which the admin bridge (`<host>:<port>` on loopback) serves.
fn page(run: &RunView, log: Option<&str>, can_sign_in: bool, bridge: Option<&str>) -> String {
    let mut facts: Vec<(&str, Option<&str>)> = vec![
        ("Agent", Some(run.agent.as_str())),
        ("State", Some(run.state.as_str())),
        ("Status context", run.context.as_deref()),
        ("Commit", run.sha.as_deref()),
        ("Accepted", Some(run.queued_at.as_str())),
        ("Started", run.started_at.as_deref()),
        ("Ended", run.ended_at.as_deref()),
    ];
    if log.is_some() {
        let exit = run.exit.as_ref();
        facts.extend([
            ("Project", Some(run.project.as_str())),
            ("Repository", Some(run.repository.as_str())),
            ("About", Some(run.subject.as_str())),
            ("Kept apart by", run.isolation.as_deref()),
            ("Waits for", run.hold.as_deref()),
            ("Reason", run.reason.as_deref()),
            ("Detail", run.detail.as_deref()),
            ("Exit", exit.map(|exit| exit.class.as_str())),
            ("Because", exit.and_then(|exit| exit.detail.as_deref())),
        ]);
    }
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { "Run " (VisibleText(&run.id)) }
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(STYLE_PATH);
            }
            body {
                main {
                    h1 { "Run " (VisibleText(&run.id)) }
                    table {
                        tbody {
                            @for (name, value) in facts {
                                @if let Some(value) = value {
                                    tr { th scope="row" { (name) } td { (VisibleText(value)) } }
                                }
                            }
                        }
                    }
                    @if let Some(bridge) = bridge {
                        p {
                            a href={ "http://" (VisibleText(bridge)) "/ui/agents/runs/" (VisibleText(&run.id)) } {
                                "Open in the web application"
                            }
                            " (on the orchestrator's machine): live output, run again, cancel."
                        }
                    }
                    (render_log(&run.id, log, can_sign_in))
                }
            }
        }
    };
    page.into_string()
}

/// The log, or the way to it.
fn render_log(id: &str, log: Option<&str>, can_sign_in: bool) -> Markup {
    html! {
        @if let Some(log) = log {
            h2 { "Log" }
            pre { (VisibleText(&without_colours(log))) }
            form method="post" action="/sign-out" { button { "Sign out" } }
        } @else if can_sign_in {
            p {
                a href={ "/sign-in?next=/runs/" (id) } { "Sign in to see the reason and the log" }
            }
        } @else {
            p {
                "The reason and the log: "
                code { "orchctl logs " (VisibleText(id)) }
                " on the orchestrator's machine."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hostile() -> RunView {
        let text = |name: &str| format!("<script>{name}</script>\u{202e}\"'");
        RunView {
            id: "r-1".to_owned(),
            project: text("project"),
            agent: text("agent"),
            repository: text("repository"),
            trigger: text("trigger"),
            subject: text("subject"),
            issue: None,
            state: "exited".to_owned(),
            ended: true,
            hold: None,
            reason: Some(text("reason")),
            detail: Some(text("detail")),
            context: Some(text("context")),
            sha: Some("0".repeat(40)),
            queued_at: "2026-11-23T01:00:00Z".to_owned(),
            started_at: None,
            ended_at: None,
            pid: Some(4711),
            isolation: Some(text("isolation")),
            worktree: Some("/srv/worktrees/x".to_owned()),
            branch: Some(text("branch")),
            exit: None,
        }
    }

    #[test]
    fn v12_strangers_see_what_the_status_shows_and_nothing_else() {
        let page = page(&hostile(), None, true, None);
        for shown in [
            "agent",
            "context",
            &"0".repeat(40),
            "2026-11-23T01:00:00Z",
            "/sign-in?next=/runs/r-1",
        ] {
            assert!(page.contains(shown), "{shown} is missing in {page}");
        }
        for hidden in [
            "project&",
            "reason&",
            "detail&",
            "subject",
            "4711",
            "/srv/worktrees",
            "branch",
            "Log",
        ] {
            assert!(!page.contains(hidden), "{hidden} is shown in {page}");
        }
    }

    #[test]
    fn v12_names_and_logs_of_strangers_are_text() {
        let log = "\u{1b}[1;31mred\u{1b}[0m <img src=x onerror=alert(1)> \u{1b}]0;title \u{202e}x\r\nnext";
        let page = page(&hostile(), Some(log), true, Some("127.0.0.1:9091"));
        assert!(
            page.contains("\"http://127.0.0.1:9091/ui/agents/runs/r-1\""),
            "{page}"
        );
        assert!(
            !page.contains("<script")
                && !page.contains("<img")
                && !page.contains('\u{202e}')
                && !page.contains('\u{1b}')
        );
        assert!(page.contains("red &lt;img src=x onerror=alert(1)&gt; &lt;U+001B&gt;]0;title &lt;U+202E&gt;x\nnext"), "{page}");
        assert!(page.contains("&lt;script&gt;reason&lt;/script&gt;&lt;U+202E&gt;&quot;&#39;"));
    }
}
