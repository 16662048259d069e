//! Tables of the state machine, and pictures of the screen.

use command_line::terminal::{ColourDepth, Palette};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use search_core::answer::{
    DocumentView, HaystackSummary, RoleList, RoleSummary, SearchAnswer, SearchResult,
};
use serde_json::json;

use super::draw::draw;
use super::event::{InteractiveEffect, InteractiveEvent};
use super::keys;
use super::model::{InteractiveFocus, InteractiveModel, QueryState};
use super::update::update;

fn model(size: (u16, u16)) -> InteractiveModel {
    let mut model = InteractiveModel::new(size, "http://127.0.0.1:8000/");
    let role = |name: &str, sources: &[&str]| RoleSummary {
        name: name.to_owned(),
        haystacks: sources
            .iter()
            .map(|source| HaystackSummary {
                name: (*source).to_owned(),
                ..HaystackSummary::default()
            })
            .collect(),
        ..RoleSummary::default()
    };
    let roles = RoleList {
        default_role: "Sky".to_owned(),
        roles: vec![role("Sky", &["Files", "Notes"]), role("Sea", &["Files"])],
    };
    update(&mut model, InteractiveEvent::Roles(Ok(roles)));
    model
}

fn press(model: &mut InteractiveModel, code: KeyCode) -> Vec<InteractiveEffect> {
    press_with(model, code, KeyModifiers::NONE)
}

fn press_with(
    model: &mut InteractiveModel,
    code: KeyCode,
    modifiers: KeyModifiers,
) -> Vec<InteractiveEffect> {
    update(model, InteractiveEvent::Key(KeyEvent::new(code, modifiers)))
}

fn control(model: &mut InteractiveModel, letter: char) -> Vec<InteractiveEffect> {
    press_with(model, KeyCode::Char(letter), KeyModifiers::CONTROL)
}

fn type_text(model: &mut InteractiveModel, text: &str) -> Vec<InteractiveEffect> {
    text.chars()
        .flat_map(|c| press(model, KeyCode::Char(c)))
        .collect()
}

fn answer(titles: &[&str], indexing: bool) -> Box<SearchAnswer> {
    let results: Vec<SearchResult> = titles
        .iter()
        .enumerate()
        .map(|(at, title)| SearchResult {
            id: format!("id-{title}"),
            title: (*title).to_owned(),
            path: Some(format!("/notes/{title}.md")),
            source: "Files".to_owned(),
            rank: at + 1,
            snippet: format!("the {title} of planets"),
            highlights: vec![[4, 4 + title.chars().count()]],
            line: Some(3),
            ..SearchResult::default()
        })
        .collect();
    let value = json!({"status": "success", "results": results, "total": titles.len(), "took_ms": 1.5, "role": "Sky",
        "relevance_function": "BM25F", "indexing": indexing,
        "sources": [{"name": "Files", "service": "LocalFiles", "took_ms": 1.0, "hits": titles.len(),
            "indexing": indexing.then(|| json!({"done": 254, "total": 2505, "bytes": 1}))}]});
    serde_json::from_value(value).expect("an answer")
}

fn found(model: &mut InteractiveModel, titles: &[&str]) -> Vec<InteractiveEffect> {
    let generation = model.generation;
    update(
        model,
        InteractiveEvent::Answered(generation, Ok(answer(titles, false))),
    )
}

/// The screen as text.
fn picture(model: &InteractiveModel) -> String {
    let (columns, rows) = model.size;
    let mut screen = Terminal::new(TestBackend::new(columns, rows)).expect("a screen");
    let palette = Palette::new(ColourDepth::Sixteen);
    screen
        .draw(|frame| draw(frame, model, &palette))
        .expect("drawn");
    let buffer = screen.backend().buffer();
    let row = |row: u16| -> String { (0..columns).map(|at| buffer[(at, row)].symbol()).collect() };
    (0..rows)
        .map(|at| row(at).trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn typing_searches_and_old_results_never_stand_under_a_new_query() {
    let mut model = model((80, 24));
    let effects = type_text(&mut model, "or");
    let searches = |effects: &[InteractiveEffect]| {
        let all = effects.iter().filter_map(|effect| match effect {
            InteractiveEffect::Search { body, .. } => Some(body["search_term"].clone()),
            _ => None,
        });
        all.collect::<Vec<_>>()
    };
    assert_eq!(searches(&effects), [json!("o"), json!("or")]);
    found(&mut model, &["orbit"]);
    assert_eq!(model.results().len(), 1);
    let before = model.generation;
    type_text(&mut model, "x");
    assert_eq!(
        model.search,
        QueryState::Pending,
        "the former results are gone at once"
    );
    assert!(model.document.is_none());
    // The answer to `or` comes late.
    update(
        &mut model,
        InteractiveEvent::Answered(before, Ok(answer(&["orbit"], false))),
    );
    assert_eq!(model.search, QueryState::Pending);
    update(
        &mut model,
        InteractiveEvent::Suggested(before, vec!["orbit".to_owned()]),
    );
    assert!(model.suggestions.is_empty());
    let failed = model.generation;
    update(
        &mut model,
        InteractiveEvent::Answered(failed, Err("no".to_owned())),
    );
    assert!(matches!(&model.search, QueryState::Failed(_)));
    control(&mut model, 'u');
    assert_eq!(model.search, QueryState::Idle);
}

#[test]
fn while_indexing_it_says_how_far_and_asks_again_keeping_the_choice() {
    let mut model = model((80, 24));
    type_text(&mut model, "orbit");
    let generation = model.generation;
    let event = InteractiveEvent::Answered(generation, Ok(answer(&["a", "b"], true)));
    let effects = update(&mut model, event);
    assert!(effects.iter().any(|effect| matches!(
        effect, InteractiveEffect::Search { generation: again, after, .. } if *again == generation && !after.is_zero()
    )));
    assert!(picture(&model).contains("still indexing, 254 of 2,505"));
    press(&mut model, KeyCode::Down);
    let event = InteractiveEvent::Answered(generation, Ok(answer(&["new", "a", "b"], false)));
    let effects = update(&mut model, event);
    assert!(
        effects.is_empty(),
        "all is indexed, the document is there: {effects:?}"
    );
    assert_eq!(
        model.chosen().map(|result| result.id.as_str()),
        Some("id-b")
    );
}

#[test]
fn a_role_and_a_source_are_picked_and_searched() {
    let mut model = model((80, 24));
    type_text(&mut model, "x");
    control(&mut model, 'r');
    assert!(picture(&model).contains("Search as"));
    press(&mut model, KeyCode::Down);
    let effects = press(&mut model, KeyCode::Enter);
    assert_eq!(model.role_name(), "Sea");
    let body = effects.iter().find_map(|effect| match effect {
        InteractiveEffect::Search { body, .. } => Some(body.clone()),
        _ => None,
    });
    assert_eq!(body.expect("a search")["role"], "Sea");
    control(&mut model, 's');
    assert!(model.picker.is_none(), "one source is no choice");
    control(&mut model, 'r');
    press(&mut model, KeyCode::Up);
    press(&mut model, KeyCode::Enter);
    control(&mut model, 's');
    press(&mut model, KeyCode::Down);
    press(&mut model, KeyCode::Down);
    press(&mut model, KeyCode::Enter);
    assert_eq!(model.source.as_deref(), Some("Notes"));
    assert_eq!(model.search_body()["sources"], json!(["Notes"]));
    control(&mut model, 's');
    press(&mut model, KeyCode::Esc);
    assert_eq!(
        model.source.as_deref(),
        Some("Notes"),
        "leaving changes nothing"
    );
}

#[test]
fn suggestions_are_taken_by_tab_and_by_the_mouse() {
    let mut model = model((80, 24));
    type_text(&mut model, "or");
    let list = vec!["orbit".to_owned(), "orchard".to_owned()];
    let generation = model.generation;
    update(
        &mut model,
        InteractiveEvent::Suggested(generation, list.clone()),
    );
    assert!(picture(&model).contains("Tab orbit · orchard"));
    press(&mut model, KeyCode::Tab);
    assert_eq!(model.query.text(), "orbit");
    let generation = model.generation;
    update(&mut model, InteractiveEvent::Suggested(generation, list));
    update(&mut model, InteractiveEvent::Clicked(15, 1));
    assert_eq!(model.query.text(), "orchard");
}

#[test]
fn the_mouse_chooses_reads_and_scrolls() {
    let mut model = model((80, 24));
    type_text(&mut model, "x");
    found(&mut model, &["a", "b", "c"]);
    let effects = update(&mut model, InteractiveEvent::Clicked(5, 5));
    assert_eq!(model.selected, 1);
    assert!(matches!(&effects[..], [InteractiveEffect::Read { id, .. }] if id == "id-b"));
    update(&mut model, InteractiveEvent::Clicked(5, 5));
    assert_eq!(model.focus, InteractiveFocus::Document);
    update(&mut model, InteractiveEvent::Wheel(3, 5, 5));
    assert_eq!(model.selected, 2);
    update(&mut model, InteractiveEvent::Clicked(5, 9));
    assert_eq!(model.selected, 2, "there is no fourth");
}

#[test]
fn the_document_comes_for_the_chosen_result_only() {
    let mut model = model((80, 24));
    type_text(&mut model, "x");
    found(&mut model, &["a", "b"]);
    let view = |id: &str, body: &str| {
        InteractiveEvent::Read(
            id.to_owned(),
            Ok(Box::new(DocumentView {
                id: id.to_owned(),
                title: id.to_owned(),
                body: body.to_owned(),
                ..DocumentView::default()
            })),
        )
    };
    press(&mut model, KeyCode::Down);
    update(&mut model, view("id-a", "late"));
    assert!(!picture(&model).contains("late"));
    update(&mut model, view("id-b", "the text"));
    assert!(picture(&model).contains("the text"));
}

#[test]
fn a_chat_streams_stops_and_goes_on() {
    let mut model = model((80, 24));
    type_text(&mut model, "tides");
    control(&mut model, 't');
    assert_eq!(
        model.chat.input.text(),
        "tides",
        "the query is the question"
    );
    let effects = press(&mut model, KeyCode::Enter);
    let [InteractiveEffect::Ask { generation, body }] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(body["message"], "tides");
    assert_eq!(
        press(&mut model, KeyCode::Enter),
        [],
        "one question at a time"
    );
    update(
        &mut model,
        InteractiveEvent::ChatStarted(*generation, "c-1".to_owned()),
    );
    update(
        &mut model,
        InteractiveEvent::ChatText(*generation, "The mo\u{1b}[31mon".to_owned()),
    );
    let shown = picture(&model);
    assert!(shown.contains("The mo<U+001B>[31mon"), "{shown}");
    assert!(shown.contains("no language model"), "{shown}");
    assert_eq!(
        press(&mut model, KeyCode::Esc),
        [InteractiveEffect::StopChat]
    );
    update(
        &mut model,
        InteractiveEvent::ChatText(*generation, "late".to_owned()),
    );
    assert!(!picture(&model).contains("late"));
    type_text(&mut model, "and the sun?");
    let effects = press(&mut model, KeyCode::Enter);
    assert!(
        matches!(&effects[..], [InteractiveEffect::Ask { body, .. }] if body["conversation_id"] == "c-1")
    );
}

#[test]
fn the_help_line_shows_the_keys_that_work_now() {
    let mut model = model((80, 24));
    let labels = |model: &InteractiveModel| {
        keys::help(model)
            .map(|(_, label)| label)
            .collect::<Vec<_>>()
    };
    assert!(!labels(&model).contains(&"read"));
    type_text(&mut model, "x");
    found(&mut model, &["a"]);
    assert!(labels(&model).contains(&"read") && labels(&model).contains(&"clear"));
    press(&mut model, KeyCode::Enter);
    assert!(labels(&model).contains(&"next match") && !labels(&model).contains(&"complete"));
    control(&mut model, 'r');
    assert_eq!(labels(&model)[..3], ["choose", "take", "leave"]);
    press(&mut model, KeyCode::Esc);
    press(&mut model, KeyCode::F(1));
    assert!(picture(&model).contains("Keys that work here"));
    assert_eq!(
        control(&mut model, 'c'),
        [InteractiveEffect::Quit],
        "it always quits"
    );
}

#[test]
fn hostile_text_is_written_out_everywhere() {
    let mut model = model((120, 40));
    type_text(&mut model, "x");
    found(&mut model, &["\u{1b}]0;owned\u{7}", "a\u{202e}gnp.exe"]);
    let shown = picture(&model);
    assert!(shown.contains("<U+001B>]0;owned<U+0007>"), "{shown}");
    assert!(shown.contains("a<U+202E>gnp.exe"), "{shown}");
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn pictures_of_the_three_sizes_hold_what_they_should() {
    for (size, has_text_beside) in [((80, 24), true), ((120, 40), true), ((40, 12), false)] {
        let mut model = model(size);
        type_text(&mut model, "orbit");
        found(&mut model, &["orbit", "orbital", "漢字"]);
        let shown = picture(&model);
        for part in ["Search › orbit", "1 orbit", "found · BM25F"] {
            assert!(shown.contains(part), "{part} at {size:?}:\n{shown}");
        }
        let frames = shown.matches('┌').count();
        assert_eq!(frames, if has_text_beside { 2 } else { 1 }, "{shown}");
        press(&mut model, KeyCode::Enter);
        assert!(picture(&model).contains("the orbit of planets"));
    }
}

#[test]
fn every_size_can_be_drawn_in_every_state() {
    let palette = Palette::new(ColourDepth::TrueColour);
    for size in [
        (1, 1),
        (19, 5),
        (20, 6),
        (21, 7),
        (40, 12),
        (99, 19),
        (100, 20),
        (300, 90),
    ] {
        let mut model = model(size);
        let mut states = vec![model.clone()];
        type_text(&mut model, "漢字 orbit");
        states.push(model.clone());
        found(
            &mut model,
            &["a", "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字"],
        );
        states.push(model.clone());
        for key in [KeyCode::Enter, KeyCode::F(1), KeyCode::F(1)] {
            press(&mut model, key);
            states.push(model.clone());
        }
        control(&mut model, 'r');
        states.push(model.clone());
        press(&mut model, KeyCode::Esc);
        control(&mut model, 't');
        states.push(model);
        for state in states {
            let mut screen = Terminal::new(TestBackend::new(size.0, size.1)).expect("a screen");
            screen
                .draw(|frame| draw(frame, &state, &palette))
                .expect("drawn");
        }
    }
}
