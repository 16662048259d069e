//! What would happen, without anything happening: dates of schedules, the way of a text.

use std::collections::BTreeSet;

use forge_core::{Comment, CommentAction, ForgeEvent, Issue, IssueCommentEvent, Login, Repository};
use orchestrator_core::Millis;
use orchestrator_core::admin::{
    CalendarView, RejectedView, RouteAnswer, RouteQuestion, RouteView, ScheduleView,
};
use orchestrator_core::config::{AgentSpec, Config, Project};
use orchestrator_core::health::AgentUsage;
use orchestrator_core::intake::{EventDecision, IntakeContext, NewRun, decide};
use store::{ReadRows, StoreError};

use super::ids::new_run_id;
use super::rows::OPEN;
use super::tick_input::{breakers, paused, quarantined, usage};
use super::views::time;

/// Most dates of one schedule that are listed.
const MAX_DATES: usize = 200;

/// The dates of all schedules after `from` and until `to`.
///
/// # Errors
/// The store's.
pub fn calendar(
    rows: &mut impl ReadRows,
    config: &Config,
    (from, to): (Millis, Millis),
) -> Result<CalendarView, StoreError> {
    let paused = paused(rows)?;
    let scheduled = config.agents.values().filter_map(|agent| {
        let schedule = agent.schedule.as_ref()?;
        let next = |at: &Millis| schedule.due.next_after(*at);
        let mut dates = std::iter::successors(next(&from), next).take_while(|at| *at <= to);
        let due: Vec<String> = dates.by_ref().take(MAX_DATES).map(time).collect();
        Some(ScheduleView {
            project: agent.project.to_string(),
            agent: agent.name.to_string(),
            active: agent.enabled && !paused.contains(&agent.project),
            expression: schedule.expression.clone(),
            time_zone: schedule.time_zone.clone(),
            more: dates.next().is_some(),
            due,
        })
    });
    Ok(CalendarView {
        from: time(from),
        to: time(to),
        schedules: scheduled.collect(),
    })
}

/// Where a text would lead; `None` where its project is none.
///
/// # Errors
/// The store's.
pub fn try_route(
    rows: &mut impl ReadRows,
    config: &Config,
    (question, author): (&RouteQuestion, Option<Login>),
    now: Millis,
) -> Result<Option<RouteAnswer>, StoreError> {
    let main = config.main_project.as_str();
    let named = question.project.as_deref().unwrap_or(main);
    let mut projects = config.projects.values();
    let Some(project) = projects.find(|project| project.id.as_str() == named) else {
        return Ok(None);
    };
    let (quarantined, usage) = (quarantined(rows, config)?, usage(rows, now)?);
    let queued = usize::try_from(rows.len(&OPEN)?).unwrap_or(usize::MAX);
    let own = BTreeSet::new();
    let context = IntakeContext {
        config,
        own_logins: &own,
        now,
        quarantined: &quarantined,
        usage: &|key| usage.get(key).copied().unwrap_or_else(AgentUsage::default),
        recent: &|_, _| 0,
        queued,
        new_id: &new_run_id,
    };
    let Some(event) = comment(project, question, author) else {
        return Ok(None);
    };
    let mut answer = RouteAnswer {
        ignored: None,
        detail: None,
        runs: Vec::new(),
        rejected: Vec::new(),
    };
    match decide(&event, &context) {
        EventDecision::Ignored(why) => {
            answer.ignored = Some(why.to_string());
            answer.detail = Some(why.detail().to_owned());
        }
        EventDecision::Dispatch(dispatch) => {
            for new in &dispatch.runs {
                answer.runs.push(route(rows, config, new, now)?);
            }
            answer.rejected = dispatch
                .rejected
                .iter()
                .map(|rejection| RejectedView {
                    agent: rejection.agent.clone(),
                    reason: rejection.reason.to_string(),
                    detail: rejection.reason.detail().to_owned(),
                })
                .collect();
        }
    }
    Ok(Some(answer))
}

/// The text as an event.
fn comment(
    project: &Project,
    question: &RouteQuestion,
    author: Option<Login>,
) -> Option<ForgeEvent> {
    let by_hand = author.is_none();
    let author = author.or_else(|| "operator".parse().ok())?;
    Some(ForgeEvent::IssueComment(Box::new(IssueCommentEvent {
        action: CommentAction::Created,
        comment: Comment {
            id: 0_u64.try_into().ok()?,
            body: question.text.clone(),
            author: author.clone(),
            created_at: None,
            html_url: None,
            author_association: None,
        },
        issue: Issue {
            number: u64::from(!by_hand).try_into().ok()?,
            title: question.title.clone(),
            body: None,
            state: None,
            html_url: None,
            is_pull_request: false,
        },
        repository: Repository {
            name: project.repository.clone(),
            clone_url: None,
            html_url: None,
            default_branch: None,
        },
        sender: Some(author),
        by_hand,
    })))
}

fn route(
    rows: &mut impl ReadRows,
    config: &Config,
    new: &NewRun,
    now: Millis,
) -> Result<RouteView, StoreError> {
    let run = &new.run;
    let mut view = RouteView {
        project: run.project.to_string(),
        home: run.home.to_string(),
        agent: run.agent.to_string(),
        rule: "none".to_owned(),
        table: None,
        provider: None,
        model: None,
        asks_forge: run.check_author,
    };
    let Some(agent) = config.agent(&run.home, &run.agent) else {
        return Ok(view);
    };
    if agent.model.is_some() {
        view.rule = "agent".to_owned();
        view.provider = agent.provider.as_ref().map(ToString::to_string);
        view.model = agent.model.clone();
    } else if agent.cli.takes_prompt() {
        let breakers = breakers(rows)?;
        let usable = |provider: &str| {
            let settings = config.providers.get(provider).copied().unwrap_or_default();
            let breaker = breakers.get(provider);
            breaker.is_none_or(|breaker| breaker.allows(settings, now)) && takes(agent, provider)
        };
        let task = format!(
            "{}\n{}\n{}",
            agent.task, new.context.title, new.context.task
        );
        view.rule = "default".to_owned();
        if let Some((table, route)) = config.routing.route(&task, usable) {
            view.rule = "table".to_owned();
            view.table = Some(table.to_owned());
            view.provider = Some(route.provider.clone());
            view.model = Some(route.model.clone());
        }
    }
    Ok(view)
}

fn takes(agent: &AgentSpec, provider: &str) -> bool {
    agent.provider.as_deref().is_none_or(|own| own == provider)
}
