//! How the log looks: `--log-format`, `LOG_FORMAT`, else by where it goes.

use clap::ValueEnum;
use config_core::{Choices, Environment, choose};
use edge_web::logging::{self, LogOutput};

/// The variable, which a flag wins over.
const VARIABLE: &str = "LOG_FORMAT";

/// What it may say.
const FORMATS: &Choices<LogOutput> = &[("human", LogOutput::Human), ("json", LogOutput::Json)];

/// How the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Human,
    /// One JSON object a line.
    Json,
}

/// `LOG_FORMAT` is neither.
#[derive(Debug, thiserror::Error)]
#[error("{VARIABLE}: {0}")]
pub struct WrongFormat(config_core::ValueError);

/// What the flag says, else the variable; text on a terminal and JSON elsewhere without either. An
/// empty variable counts as unset.
///
/// # Errors
/// When the variable names no format.
pub fn output(
    flag: Option<LogFormat>,
    environment: &Environment,
) -> Result<LogOutput, WrongFormat> {
    match (flag, environment.text(VARIABLE)) {
        (Some(LogFormat::Human), _) => Ok(LogOutput::Human),
        (Some(LogFormat::Json), _) => Ok(LogOutput::Json),
        (None, Some(text)) => choose("log format", text, FORMATS).map_err(WrongFormat),
        (None, None) => Ok(LogOutput::Auto),
    }
}

/// Starts the log at `level`; `RUST_LOG` wins over it.
pub fn init(level: &str, output: LogOutput, environment: &Environment) {
    logging::init_as(level, environment.text("RUST_LOG"), output);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn y7_a_flag_wins_over_the_variable_and_that_over_the_place() {
        let unset = Environment::default();
        let set = |text| Environment::from_iter([(VARIABLE, text)]);
        let output = |flag, environment| output(flag, &environment).map_err(|e| e.to_string());
        assert_eq!(output(None, unset), Ok(LogOutput::Auto));
        assert_eq!(output(None, set("")), Ok(LogOutput::Auto));
        assert_eq!(output(None, set("json")), Ok(LogOutput::Json));
        assert_eq!(output(None, set("human")), Ok(LogOutput::Human));
        let flag = Some(LogFormat::Human);
        assert_eq!(output(flag, set("json")), Ok(LogOutput::Human));
        let wrong = output(None, set("jsno")).expect_err("no such format");
        assert!(wrong.contains("LOG_FORMAT"), "{wrong}");
        assert!(wrong.contains("json"), "{wrong}");
    }
}
