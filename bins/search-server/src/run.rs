//! Runs the server: settings, actors, listener, end.

use std::io::IsTerminal;
use std::path::Path;

use anyhow::Context;
use command_line::print_note;
use config_core::Environment;
use daemon::{first_screen, lifecycle};
use search_core::role::ServerSettings;
use search_formats_engine::ReaderProgram;
use search_web::SearchServer;
use search_web::boot::{self, ConfigurationToken, RoleFileOrigin};

use crate::arguments::Arguments;
use crate::first_directory::first_directory;
use crate::progress;

/// Runs until SIGINT or SIGTERM.
pub(crate) fn run(
    arguments: &Arguments,
    settings: &ServerSettings,
    environment: &Environment,
) -> anyhow::Result<()> {
    let log_output = daemon::log::output(arguments.log_format, environment)?;
    let serve = daemon::limits::serve_options(environment)?;
    let level = settings.log_level.value.as_str();
    let data = &settings.data_path.value;
    first_screen::start_log("search-server", data, level, log_output, environment);
    daemon::limits::warn_of_few_files();
    for warning in settings.warnings.iter() {
        tracing::warn!(event = "config.warning", "{}", warning.headline());
    }
    let exposure = settings.check_exposure(arguments.allow_unauthenticated);
    if let Some(warning) = exposure.map_err(|error| anyhow::anyhow!("{error}"))? {
        tracing::warn!(event = "config.exposed", "{}", warning.headline());
    }
    let path = &settings.settings_path.value;
    warn_of_former_place(path, environment);
    let folder = first_directory(environment, std::env::current_dir().ok());
    let (configuration, origin) = boot::read_configuration(path, environment, &folder)?;
    if origin == RoleFileOrigin::Created {
        print_note(&format!(
            "created {}; its role searches {}",
            path.display(),
            folder.display()
        ));
    }
    let search = boot::search_settings(settings, configuration.view().roles());
    daemon::data::tighten(&settings.data_path.value);
    let _lock = boot::lock_data(settings, "search-server").context("SERVICE_DATA_PATH")?;
    let address = boot::socket_address(&settings.listen.value)?;
    let listener = edge_web::bind(address, "SERVICE_SERVER_HOSTNAME or --listen")?;
    let bound = listener.local_addr()?;
    let mut options = boot::server_options(settings);
    options.serve = serve;
    if let Some(token) = boot::configuration_token(settings)? {
        report_token(&token);
        options.configuration_token = Some(token.token);
    }
    options.snapshots = boot::snapshot_mode(settings)?;
    options.configuration = Some(configuration);
    options.state = Some(boot::open_state(settings, "search-server")?);
    options.readers = std::env::current_exe()
        .ok()
        .map(ReaderProgram::running_program);
    let (roles, data) = (first_screen::path(path), first_screen::path(data));
    lifecycle::run(async move {
        let server = SearchServer::prepare(&search, options).start();
        let stopped = lifecycle::listening("search server", bound, &server.actors())?;
        let rows = [
            ("page", format!("http://{bound}/")),
            ("roles", roles),
            ("data", data),
        ];
        first_screen::show("search-server", env!("CARGO_PKG_VERSION"), &rows);
        if first_screen::is_on() {
            let roles = server.roles();
            actix_rt::spawn(progress::show(move || roles.health()));
        }
        server.serve(listener, stopped).await?;
        Ok(())
    })
}

/// Versions that did not know `XDG_CONFIG_HOME` have left a role file that would be missed.
fn warn_of_former_place(path: &Path, environment: &Environment) {
    let home = environment.text("HOME").map(Path::new);
    let former = home.map(|home| home.join(".config/service/config.json"));
    let named = environment
        .text("XDG_CONFIG_HOME")
        .is_some_and(|base| path.starts_with(base));
    if let Some(former) = former.filter(|former| named && !path.exists() && former.exists()) {
        tracing::warn!(
            event = "config.warning",
            "there is a role file at {}, where it was before XDG_CONFIG_HOME counted; {} is read: move it, or set SERVICE_SETTINGS_PATH",
            former.display(),
            path.display()
        );
    }
}

/// The token is shown once, and to a person only: a journal keeps what is written to it.
fn report_token(token: &ConfigurationToken) {
    if !token.is_new {
        return;
    }
    let path = token.path.display();
    if std::io::stderr().is_terminal() {
        print_note(&format!(
            "changing the configuration over the web page or the API needs this token: {}\nit is kept in {path}",
            token.token
        ));
    } else {
        print_note(&format!(
            "changing the configuration over the web page or the API needs the token in {path}"
        ));
    }
}
