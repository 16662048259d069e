//! The line editor: history, completion, colours.

use std::borrow::Cow;
use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use config_core::Environment;
use reedline::{
    Color, ColumnarMenu, Completer, CompletionResult, DefaultHinter, Emacs, FileBackedHistory,
    Highlighter, KeyCode, KeyModifiers, MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch,
    Reedline, ReedlineEvent, ReedlineMenu, Signal, Span, StyledText, Suggestion,
    default_emacs_keybindings,
};
use service_agent::ClientFailure;

use super::completion::{SharedNames, candidates};
use super::line::table;
use super::read_line::ReadLine;
use crate::human;

/// Lines that are kept.
const HISTORY: usize = 10_000;

/// The name of the menu, for its key.
const MENU: &str = "completion";

/// Reads lines from the terminal.
pub(super) struct LineReader {
    editor: Reedline,
}

impl LineReader {
    pub(super) fn new(
        environment: &Environment,
        names: &SharedNames,
        colours: bool,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, ClientFailure> {
        let mut keys = default_emacs_keybindings();
        keys.add_binding(
            KeyModifiers::NONE,
            KeyCode::Tab,
            ReedlineEvent::UntilFound(vec![
                ReedlineEvent::Menu(MENU.to_owned()),
                ReedlineEvent::MenuNext,
            ]),
        );
        let menu = ColumnarMenu::default().with_name(MENU);
        let mut commands = table();
        commands.build();
        let words = WordCompleter {
            table: commands.clone(),
            names: Arc::clone(names),
        };
        let mut editor = Reedline::create()
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_completer(Box::new(words))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_highlighter(Box::new(LineHighlighter { table: commands }))
            .with_hinter(Box::new(
                DefaultHinter::default().with_style(Color::DarkGray.normal()),
            ))
            .with_ansi_colors(colours)
            .use_bracketed_paste(true)
            .with_history_exclusion_prefix(Some(" ".to_owned()))
            .with_break_signal(Arc::clone(stop));
        match history_file(environment).map(|path| (open_history(&path), path)) {
            Some((Ok(history), _)) => editor = editor.with_history(Box::new(history)),
            // A history that cannot be kept is no reason not to work.
            Some((Err(error), path)) => {
                human::print_note(&format!("! no history: {}: {error}", path.display()));
            }
            None => {}
        }
        command_line::terminal::screen::restore_on_panic();
        Ok(Self { editor })
    }

    /// The next line.
    pub(super) fn read(&mut self, role: Option<&str>) -> Result<ReadLine, String> {
        let prompt = RolePrompt {
            role: role.map(|role| {
                command_line::terminal::text::fit(&command_line::terminal::text::one_line(role), 24)
            }),
        };
        match self.editor.read_line(&prompt) {
            Ok(Signal::Success(text)) => {
                // Now: nobody waits for this thread at the end. What cannot be kept is no reason
                // not to work.
                let _ = self.editor.sync_history();
                Ok(ReadLine::Text(text))
            }
            Ok(Signal::CtrlC) => Ok(ReadLine::Cancelled),
            Ok(_) => Ok(ReadLine::End),
            Err(error) => Err(format!("the terminal is gone: {error}")),
        }
    }
}

/// Where the history is kept: the folder for state of the XDG base directories.
fn history_file(environment: &Environment) -> Option<PathBuf> {
    let named = |name: &str| environment.text(name).map(Path::new);
    let state = named("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let state = state.map(Path::to_path_buf);
    let state = state.or_else(|| named("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("service").join("history"))
}

/// Opens the history, for its owner alone.
fn open_history(path: &Path) -> Result<FileBackedHistory, String> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| error.to_string())?;
    file.set_permissions(Permissions::from_mode(0o600))
        .map_err(|error| error.to_string())?;
    FileBackedHistory::with_file(HISTORY, path.to_path_buf()).map_err(|error| error.to_string())
}

/// Completes words of the table.
struct WordCompleter {
    table: clap::Command,
    names: SharedNames,
}

impl Completer for WordCompleter {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let before = line.get(..position).unwrap_or(line);
        let names = self.names.read().map(|names| names.clone());
        let (start, found) = candidates(&self.table, &names.unwrap_or_default(), before);
        let suggestions: Vec<Suggestion> = found
            .into_iter()
            .map(|one| Suggestion {
                value: one.text,
                description: one.about,
                span: Span::new(start, before.len()),
                append_whitespace: true,
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(suggestions)
    }
}

/// Colours commands, options and quoted words.
struct LineHighlighter {
    table: clap::Command,
}

impl Highlighter for LineHighlighter {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        let mut is_first = true;
        for word in line.split_inclusive(' ') {
            let name = word.trim();
            let style = if name.is_empty() {
                Color::Default.normal()
            } else if std::mem::take(&mut is_first) {
                match self.table.find_subcommand(name.trim_start_matches('/')) {
                    Some(_) => Color::Green.bold(),
                    None if name == "help" => Color::Green.bold(),
                    None => Color::Red.normal(),
                }
            } else if name.starts_with('-') {
                Color::Cyan.normal()
            } else if name.starts_with(['\'', '"']) || name.ends_with(['\'', '"']) {
                Color::Yellow.normal()
            } else {
                Color::Default.normal()
            };
            styled.push((style, word.to_owned()));
        }
        styled
    }
}

/// `Sky › `
struct RolePrompt {
    role: Option<String>,
}

impl Prompt for RolePrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.role.as_deref().unwrap_or_default())
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(if self.role.is_some() { " › " } else { "› " })
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("… ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(history: {}) ", search.term))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_where_state_belongs_and_its_owner_s_alone() {
        let of = |variables: &[(&str, &str)]| {
            history_file(&Environment::from_iter(variables.iter().copied()))
        };
        assert_eq!(
            of(&[("HOME", "/h")]),
            Some("/h/.local/state/service/history".into())
        );
        let both = [("HOME", "/h"), ("XDG_STATE_HOME", "/s")];
        assert_eq!(of(&both), Some("/s/service/history".into()));
        let relative = [("HOME", "/h"), ("XDG_STATE_HOME", "s")];
        assert_eq!(of(&relative), of(&[("HOME", "/h")]));
        assert_eq!(of(&[]), None);

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state/history");
        open_history(&path).expect("opened");
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("own file");
        open_history(&path).expect("opened again");
        let mode = std::fs::metadata(&path)
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
