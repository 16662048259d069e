//! `top` as a table of what keys do, and as pictures.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use orchestrator_core::admin::{RunView, StatusView};
use serde_json::json;

use super::frame;
use super::keys::help;
use super::model::{
    RunAction, StatusSnapshot, TopEffect, TopEvent, TopFocus, TopModel, actor_lines,
};
use super::update::update;

const NOW: &str = "2026-11-23T10:00:00Z";

fn run(id: &str, ended: bool) -> RunView {
    let value = json!({"id": id, "project": "main", "agent": "greeter\u{1b}[31m", "repository": "acme/main",
        "trigger": "cli", "subject": "issue 7", "state": if ended { "ended" } else { "running" }, "ended": ended,
        "queued_at": "2026-11-23T09:58:00Z", "started_at": "2026-11-23T09:59:20Z",
        "ended_at": ended.then_some("2026-11-23T09:59:50Z")});
    serde_json::from_value(value).expect("a run")
}

fn snapshot(runs: Vec<RunView>) -> StatusSnapshot {
    let status = json!({"version": "0.1.0", "started_at": "2026-11-23T07:00:00Z", "configured_at": NOW,
        "tick_interval_secs": 300, "last_tick_at": null, "last_tick_ms": null, "ticks": 4,
        "next_tick_at": "2026-11-23T10:00:12Z", "main_project": "main", "mentions": true,
        "queue": {"queued": 2, "starting": 0, "running": 1, "oldest_secs": 40},
        "projects": [{"id": "tools", "repository": "acme/tools", "paused": true, "agents": 1}],
        "running": [], "statuses": [], "outbox": 0, "parked": 0, "breakers": [], "quarantined": [], "warnings": []});
    let tree = json!({"name": "orrery", "state": "running", "restarts": 0, "mailbox": 0, "capacity": 16, "children": [
        {"name": "dispatcher", "state": "backing_off", "restarts": 3, "mailbox": 2, "capacity": 64,
         "last_exit": {"panicked": "index out of bounds"}, "children": []}]});
    StatusSnapshot {
        status: serde_json::from_value::<StatusView>(status).expect("a status"),
        runs,
        actors: actor_lines(&tree),
    }
}

fn model() -> TopModel {
    let mut model = TopModel::new((80, 24), NOW.parse::<Timestamp>().expect("a time"));
    let runs = vec![run("run-1", false), run("run-2", true)];
    update(&mut model, TopEvent::Fetched(Ok(Box::new(snapshot(runs)))));
    model
}

fn press(model: &mut TopModel, code: KeyCode) -> Vec<TopEffect> {
    update(
        model,
        TopEvent::Key(KeyEvent::new(code, KeyModifiers::NONE)),
    )
}

#[test]
fn one_frame_says_everything_and_cannot_steer_the_terminal() {
    let runs = vec![run("run-1", false), run("run-2", true)];
    let text = frame(snapshot(runs), 120, NOW.parse().expect("a time"));
    for part in [
        "orchestrator 0.1.0 · up 3 h · queued 2 · starting 0 · running 1",
        "oldest waits 40 s · next tick in 12 s",
        "! paused: tools",
        "run-1",
        "main/greeter<U+001B>",
        "40 s",
        "dispatcher",
        "backing_off",
        "2/64",
        "panicked index out",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    for line in text.lines() {
        assert!(command_line::terminal::text::width(line) <= 120, "{line}");
    }
}

#[test]
fn destructive_keys_ask_first_and_only_where_they_make_sense() {
    let mut model = model();
    assert_eq!(press(&mut model, KeyCode::Char('c')), []);
    assert!(model.question.is_some());
    assert_eq!(press(&mut model, KeyCode::Char('n')), [], "no");
    assert!(model.question.is_none());
    press(&mut model, KeyCode::Char('c'));
    assert_eq!(
        press(&mut model, KeyCode::Char('y')),
        [TopEffect::Do(RunAction::Cancel, "run-1".to_owned())]
    );
    press(&mut model, KeyCode::Down);
    assert_eq!(press(&mut model, KeyCode::Char('c')), []);
    assert!(model.question.is_none(), "it is over already");
    press(&mut model, KeyCode::Char('r'));
    assert_eq!(
        press(&mut model, KeyCode::Char('y')),
        [TopEffect::Do(RunAction::Retry, "run-2".to_owned())]
    );
    assert_eq!(press(&mut model, KeyCode::Char('q')), [TopEffect::Quit]);
}

#[test]
fn the_choice_stays_with_its_run_when_the_list_moves() {
    let mut model = model();
    press(&mut model, KeyCode::Down);
    let runs = vec![run("run-0", false), run("run-1", false), run("run-2", true)];
    update(&mut model, TopEvent::Fetched(Ok(Box::new(snapshot(runs)))));
    assert_eq!(model.chosen().map(|run| run.id.as_str()), Some("run-2"));
}

#[test]
fn an_orchestrator_that_is_away_is_said_and_what_was_seen_stays() {
    let mut model = model();
    update(
        &mut model,
        TopEvent::Fetched(Err("it cannot be reached".to_owned())),
    );
    assert_eq!(model.runs().len(), 2);
    assert!(model.notice.as_ref().is_some_and(|(_, is_wrong)| *is_wrong));
    let runs = vec![run("run-1", false)];
    update(&mut model, TopEvent::Fetched(Ok(Box::new(snapshot(runs)))));
    assert_eq!(model.notice, None);
}

#[test]
fn a_slow_answer_is_not_asked_for_twice() {
    let mut model = model();
    let now = NOW.parse::<Timestamp>().expect("a time");
    assert_eq!(update(&mut model, TopEvent::Tick(now)), [TopEffect::Fetch]);
    assert_eq!(update(&mut model, TopEvent::Tick(now)), []);
}

#[test]
fn the_help_line_shows_what_works_now() {
    let mut model = model();
    let labels = |model: &TopModel| help(model).map(|(_, label)| label).collect::<Vec<_>>();
    assert!(labels(&model).contains(&"cancel") && !labels(&model).contains(&"retry"));
    press(&mut model, KeyCode::Tab);
    assert_eq!(model.focus, TopFocus::Actors);
    assert!(!labels(&model).contains(&"cancel"));
    press(&mut model, KeyCode::Tab);
    assert_eq!(
        press(&mut model, KeyCode::Enter),
        [TopEffect::Read("run-1".to_owned())]
    );
    assert!(labels(&model).contains(&"back") && !labels(&model).contains(&"quit"));
}

#[test]
fn every_size_can_be_drawn() {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    let palette =
        command_line::terminal::Palette::new(command_line::terminal::ColourDepth::Sixteen);
    let mut model = model();
    for detail in [false, true] {
        if detail {
            press(&mut model, KeyCode::Enter);
        }
        for size in [(1, 1), (20, 4), (40, 12), (80, 24), (120, 40), (300, 100)] {
            model.size = size;
            let mut screen = Terminal::new(TestBackend::new(size.0, size.1)).expect("a screen");
            screen
                .draw(|frame| super::draw::draw(frame, &model, &palette))
                .expect("drawn");
        }
    }
}
