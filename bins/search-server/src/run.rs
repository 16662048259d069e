//! The server's life: settings, actors, listener, end.

use std::io::IsTerminal;

use anyhow::Context;
use config_core::Environment;
use program::life;
use search_core::role::ServerSettings;
use search_formats_engine::Program;
use search_web::SearchServer;
use search_web::boot::{self, ConfigurationToken, RoleFileOrigin};

use crate::arguments::{Arguments, say};
use crate::first_folder::first_folder;

/// Runs until SIGINT or SIGTERM.
pub(crate) fn run(
    arguments: &Arguments,
    settings: &ServerSettings,
    environment: &Environment,
) -> anyhow::Result<()> {
    edge_web::logging::init(
        settings.log_level.value.as_str(),
        environment.text("RUST_LOG"),
    );
    for warning in settings.warnings.iter() {
        tracing::warn!(event = "config.warning", "{}", warning.headline());
    }
    let exposure = settings.check_exposure(arguments.allow_unauthenticated);
    if let Some(warning) = exposure.map_err(|error| anyhow::anyhow!("{error}"))? {
        tracing::warn!(event = "config.exposed", "{}", warning.headline());
    }
    let path = &settings.settings_path.value;
    let folder = first_folder(environment, std::env::current_dir().ok());
    let (configuration, origin) = boot::read_configuration(path, environment, &folder)?;
    if origin == RoleFileOrigin::Created {
        say(&format!(
            "created {}; its role searches {}",
            path.display(),
            folder.display()
        ));
    }
    let document = configuration.now().document;
    let search = boot::search_settings(settings, configuration.place().roles(&document));
    let _lock = boot::lock_data(settings, "search-server").context("SERVICE_DATA_PATH")?;
    let address = boot::socket_address(&settings.listen.value)?;
    let listener = edge_web::bind(address, "SERVICE_SERVER_HOSTNAME or --listen")?;
    let bound = listener.local_addr()?;
    let mut options = boot::server_options(settings);
    if let Some(token) = boot::configuration_token(settings)? {
        tell_of(&token);
        options.configuration_token = Some(token.token);
    }
    options.configuration = Some(configuration);
    options.state = Some(boot::open_state(settings, "search-server")?);
    options.readers = std::env::current_exe().ok().map(Program::own);
    life::run(async move {
        let server = SearchServer::start(&search, options);
        let stopped = life::listening("search server", bound, &server.actors())?;
        server.serve(listener, stopped).await?;
        Ok(())
    })
}

/// The token is shown once, and to a person only: a journal keeps what is written to it.
fn tell_of(token: &ConfigurationToken) {
    if !token.is_new {
        return;
    }
    let path = token.path.display();
    if std::io::stderr().is_terminal() {
        say(&format!(
            "changing the configuration over the web page or the API needs this token: {}\nit is kept in {path}",
            token.token
        ));
    } else {
        say(&format!(
            "changing the configuration over the web page or the API needs the token in {path}"
        ));
    }
}
