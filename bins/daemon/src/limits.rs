//! How many connections a server takes, as its user says or as the system allows.

use config_core::Environment;
use edge_web::ServeOptions;

/// The most connections of one address that a server listens on.
const ALL: &str = "ORRERY_MAX_CONNECTIONS";
/// The most of one client's address.
const EACH: &str = "ORRERY_MAX_CONNECTIONS_PER_ADDRESS";
/// No machine has more.
const MOST: usize = 1_000_000;
/// With fewer open files than this, work is refused that a normal day brings.
const FEW_FILES: usize = 4_096;

/// A variable holds no number of connections.
#[derive(Debug, thiserror::Error)]
#[error("{variable} is to be a number from 1 to {MOST}, it is {text:?}")]
pub struct WrongNumber {
    variable: &'static str,
    text: String,
}

/// How connections are treated: what the variables say, the rest by the limit of open files.
///
/// # Errors
/// When a variable holds no number.
pub fn serve_options(environment: &Environment) -> Result<ServeOptions, WrongNumber> {
    let mut options = ServeOptions::default();
    if let Some(all) = number(ALL, environment)? {
        options.max_connections = all;
    }
    if let Some(each) = number(EACH, environment)? {
        options.max_connections_per_address = Some(each);
    }
    Ok(options)
}

fn number(variable: &'static str, environment: &Environment) -> Result<Option<usize>, WrongNumber> {
    let Some(text) = environment.text(variable) else {
        return Ok(None);
    };
    let number = text.trim().parse().ok();
    let number = number.filter(|number| (1..=MOST).contains(number));
    number.map(Some).ok_or_else(|| WrongNumber {
        variable,
        text: text.to_owned(),
    })
}

/// Says in the log when the system lets this process open few files.
pub fn warn_of_few_files() {
    let open_files = edge_web::open_files();
    if open_files < FEW_FILES {
        tracing::warn!(
            event = "process.few_files",
            open_files,
            max_connections = ServeOptions::default().max_connections,
            "the system lets this process open few files, so few connections are taken: raise the limit (LimitNOFILE, ulimit -Hn)"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t8_the_numbers_of_connections_are_settings() {
        let of = |pairs: &[(&str, &str)]| {
            let environment = Environment::from_iter(pairs.iter().copied());
            serve_options(&environment).map_err(|error| error.to_string())
        };
        let default = ServeOptions::default();
        assert_eq!(of(&[]), Ok(default.clone()));
        assert_eq!(of(&[(ALL, ""), (EACH, "")]), Ok(default));
        let set = of(&[(ALL, "900"), (EACH, "50")]).expect("numbers");
        assert_eq!(set.max_connections, 900);
        assert_eq!(set.max_connections_per_address, Some(50));
        for wrong in ["0", "-1", "many", "1000001", "1.5"] {
            let said = of(&[(EACH, wrong)]).expect_err("no number");
            assert!(said.contains(EACH) && said.contains(wrong), "{said}");
        }
    }
}
