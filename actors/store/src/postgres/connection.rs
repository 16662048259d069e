//! One connection to the server: statements prepared once, every wait bounded.

use super::bridge::ConnectionRuntime;
use super::fault::{Fault, with_causes};
use super::installation::Installation;
use super::listener::{self, Hints, UnreplicatedFlag};
use super::primaries::{self, Primaries, Primary, SURVEY_LIMIT};
use super::servers::{ServerConnection, Servers};
use super::tls::MakeTls;
use super::url::PostgresUrl;
use crate::compared_settings::SettingDigests;
use crate::options::StoreOptions;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row, Statement};

/// The parameters of a statement.
pub(super) type StatementParameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Begins what a reader sees: all of it as of its first statement.
const BEGIN_READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// What opens connections: the address, and what stays the same for all.
#[derive(Debug)]
pub(super) struct PostgresConnector {
    pub(super) bridge: Arc<ConnectionRuntime>,
    url: PostgresUrl,
    servers: Servers,
    /// Which of them accept writes, as far as was seen.
    pub(super) primaries: Primaries,
    /// Where the store's tables are.
    pub(super) schema: String,
    /// The statements by which a session for looks says the settings that are compared.
    compared: Mutex<String>,
    /// Whose processes these connections are of.
    pub(super) installation: Installation,
    /// Longest wait for a connection to one of the servers.
    connect_limit: Duration,
    /// Longest wait for an answer.
    limit: Duration,
}

impl PostgresConnector {
    pub(super) fn new(
        bridge: Arc<ConnectionRuntime>,
        url: PostgresUrl,
        schema: String,
        options: &StoreOptions,
        (connect_limit, limit): (Duration, Duration),
    ) -> Self {
        let mut config = Config::clone(&url.config);
        config.tcp_user_timeout(limit);
        config.keepalives_idle(Duration::from_secs(15));
        if config.get_application_name().is_none() {
            // Told to the server's administrator.
            config.application_name(&options.program);
        }
        let servers = Servers::from_config(&config);
        Self {
            bridge,
            url,
            installation: Installation::new(&schema, &options.installation),
            schema,
            compared: Mutex::new(options.compared.statements()),
            connect_limit: servers.share(connect_limit),
            servers,
            primaries: Primaries::default(),
            limit,
        }
    }

    /// Says these settings with the next session for looks.
    pub(super) fn set_compared_settings(&self, compared: &SettingDigests) {
        *self.compared.lock() = compared.statements();
    }

    /// Connects, and sets what all statements of the store rely on.
    pub(super) fn connect(&self) -> Result<PostgresConnection, Fault> {
        self.connect_hearing(None)
    }

    /// The same for a connection whose notifications, and whose end, are hints.
    pub(super) fn connect_hearing(
        &self,
        hints: Option<&Hints>,
    ) -> Result<PostgresConnection, Fault> {
        let reached = self
            .servers
            .first(|server| self.connect_to(server, hints))?;
        match self.servers.are_several() {
            true => self.to_the_primary(reached, hints),
            false => Ok(reached.answer),
        }
    }

    /// The connection to the server that is the primary, where several say that they are.
    fn to_the_primary(
        &self,
        reached: ServerConnection<PostgresConnection>,
        hints: Option<&Hints>,
    ) -> Result<PostgresConnection, Fault> {
        let mut connection = reached.answer;
        let said = match connection.rows(primaries::ASK, &[]) {
            Ok(rows) => rows.into_iter().next(),
            // A server that does not say it may be the only one that is.
            Err(Fault::Refused { .. }) => None,
            Err(fault) => return Err(fault),
        };
        let mut found = vec![Primary::from_row(reached.at, said.as_ref())];
        if self.primaries.is_survey_due(&found[0]) {
            found.extend(self.others(&reached.unasked));
        }
        let used = self.primaries.choose(&found, |at| self.servers.name(at));
        let used = used.inspect_err(|_| {
            // The next attempt begins with another.
            if let Some(next) = reached.unasked.first() {
                self.servers.prefer(*next);
            }
        })?;
        if used == reached.at {
            return Ok(connection);
        }
        self.servers.prefer(used);
        let gone = || Fault::Lost("the address names no server".to_owned());
        self.connect_to(self.servers.server(used).ok_or_else(gone)?, hints)
    }

    /// Which others accept writes, all asked at once: one that says nothing takes
    /// [`SURVEY_LIMIT`].
    fn others(&self, unasked: &[usize]) -> Vec<Primary> {
        let until = Instant::now() + SURVEY_LIMIT;
        let asked = unasked.iter().filter_map(|at| {
            let server = self.servers.server(*at)?.clone();
            let (tls, at) = (self.tls(&server).ok()?, *at);
            let (tell, told) = oneshot::channel();
            self.bridge.spawn(async move {
                // Nobody waits for an answer that is late.
                let _ = tell.send(primaries::ask(at, server, tls).await);
            });
            Some(told)
        });
        let asked: Vec<_> = asked.collect();
        let answers = asked.into_iter().filter_map(|told| {
            let left = until.saturating_duration_since(Instant::now());
            self.bridge.wait(left, told).ok()?.ok()?
        });
        answers.collect()
    }

    /// What is wrong where more than one server accepts writes.
    pub(super) fn two_primaries(&self) -> Option<String> {
        if !self.servers.are_several() {
            return None;
        }
        let found = self.others(&self.servers.all());
        primaries::complaint(&found, |at| self.servers.name(at))
    }

    fn tls(&self, server: &Config) -> Result<MakeTls, Fault> {
        if server.get_ssl_mode() == SslMode::Disable {
            return Ok(MakeTls::none());
        }
        let (roots, client) = (&self.url.root_certificates, &self.url.client);
        let tls = MakeTls::trusting(roots.as_deref(), client.as_ref());
        tls.map_err(|reason| Fault::Refused {
            state: None,
            reason,
        })
    }

    fn connect_to(
        &self,
        server: &Config,
        hints: Option<&Hints>,
    ) -> Result<PostgresConnection, Fault> {
        let mut config = server.clone();
        config.connect_timeout(self.connect_limit);
        let tls = self.tls(&config)?;
        let connected = self.bridge.wait(self.connect_limit, config.connect(tls));
        let connected = connected.map_err(|_| late(self.connect_limit))?;
        let (client, connection) = connected.map_err(connect_fault)?;
        let unreplicated = UnreplicatedFlag::default();
        let driven = listener::drive(connection, hints.cloned(), Arc::clone(&unreplicated));
        let task = self.bridge.spawn(driven);
        let mut connection = PostgresConnection {
            client: Some(client),
            task,
            unreplicated,
            statements: HashMap::new(),
            bridge: Arc::clone(&self.bridge),
            limit: self.limit,
        };
        let mut settings = self.session_settings();
        if hints.is_some() {
            settings += &self.compared.lock();
        }
        connection.run_first_statements(&settings)?;
        Ok(connection)
    }

    /// Durable when answered, whatever the role's or the database's defaults are; every row is
    /// looked for by its key, and the planner is not asked to think of another way. The session of
    /// a host that has gone without a word ends within seconds, and with it what it has noted.
    fn session_settings(&self) -> String {
        let (schema, limit) = (&self.schema, self.limit.as_millis());
        format!(
            "SET search_path TO \"{schema}\", pg_catalog; SET statement_timeout = {limit}; \
             SET lock_timeout = {limit}; SET idle_in_transaction_session_timeout = {idle}; \
             SELECT set_config('synchronous_commit', 'on', false) \
             WHERE current_setting('synchronous_commit') IN ('off', 'local'); \
             SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; \
             SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; \
             SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; \
             SET tcp_keepalives_count = 2; \
             SET client_min_messages = warning; SET bytea_output = hex{mark}",
            mark = self.installation.mark(),
            idle = limit * 6
        )
    }
}

/// What a refused connection means, with what to do where that is known.
fn connect_fault(error: tokio_postgres::Error) -> Fault {
    let said = with_causes(&error);
    let fault = Fault::from(error);
    if !matches!(fault, Fault::Lost(_) | Fault::Refused { state: None, .. }) {
        return fault;
    }
    // Certificates are checked within a stream, so what is wrong with them looks like its failure.
    if said.contains("certificate") || said.contains("TLS") {
        let reason = format!(
            "{said}; name the authority's certificate with sslrootcert=, or connect without TLS \
             with sslmode=disable"
        );
        return Fault::Refused {
            state: None,
            reason,
        };
    }
    fault
}

fn late(limit: Duration) -> Fault {
    Fault::Lost(format!("no answer within {} s", limit.as_secs_f64()))
}

/// A connection. Dropped, it says goodbye to the server.
#[derive(Debug)]
pub(super) struct PostgresConnection {
    /// Gone once an answer did not come: nobody knows what the server does with the rest.
    client: Option<Client>,
    task: AbortHandle,
    unreplicated: UnreplicatedFlag,
    statements: HashMap<String, Statement>,
    bridge: Arc<ConnectionRuntime>,
    limit: Duration,
}

impl PostgresConnection {
    /// Whether it can be used no more.
    pub(super) fn is_closed(&self) -> bool {
        self.client.as_ref().is_none_or(Client::is_closed)
    }

    /// The rows of a statement.
    pub(super) fn rows(
        &mut self,
        statement: &str,
        parameters: StatementParameters<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let prepared = self.prepared(statement)?;
        let client = self.client()?;
        let answer = self
            .bridge
            .wait(self.limit, client.query(&prepared, parameters));
        self.answered(answer)
    }

    /// The same as the first statement of a reader's transaction, sent with its beginning.
    pub(super) fn first_rows(
        &mut self,
        statement: &str,
        parameters: StatementParameters<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let prepared = self.prepared(statement)?;
        let client = self.client()?;
        let both = async {
            tokio::join!(
                biased;
                client.batch_execute(BEGIN_READING),
                client.query(&prepared, parameters)
            )
        };
        let answer = self.bridge.wait(self.limit, both);
        self.answered(answer.map(|(begun, rows)| begun.and(rows)))
    }

    /// Runs the first statements. What the server had to warn of at the login comes before their
    /// answer, and says nothing of a commit.
    fn run_first_statements(&mut self, settings: &str) -> Result<(), Fault> {
        let client = self.client()?;
        let answer = self.bridge.wait(self.limit, client.batch_execute(settings));
        self.unreplicated.store(false, Ordering::SeqCst);
        self.answered(answer)
    }

    /// Runs statements without parameters.
    pub(super) fn batch(&mut self, statements: &str) -> Result<(), Fault> {
        let client = self.client()?;
        let answer = self
            .bridge
            .wait(self.limit, client.batch_execute(statements));
        self.answered(answer)
    }

    /// Ends a transaction some time; what is asked next is answered behind that.
    pub(super) fn roll_back(self, back: impl FnOnce(Self) + Send + 'static) {
        let bridge = Arc::clone(&self.bridge);
        bridge.spawn(async move {
            let ended = match &self.client {
                Some(client) => client.batch_execute("ROLLBACK").await.is_ok(),
                None => false,
            };
            if ended {
                back(self);
            }
        });
    }

    fn client(&self) -> Result<&Client, Fault> {
        let gone = || Fault::Lost("the connection was given up".to_owned());
        self.client.as_ref().ok_or_else(gone)
    }

    fn prepared(&mut self, text: &str) -> Result<Statement, Fault> {
        if let Some(known) = self.statements.get(text) {
            return Ok(known.clone());
        }
        let answer = self.bridge.wait(self.limit, self.client()?.prepare(text));
        let statement = self.answered(answer)?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    fn answered<T, L>(
        &mut self,
        answer: Result<Result<T, tokio_postgres::Error>, L>,
    ) -> Result<T, Fault> {
        let Ok(answer) = answer else {
            self.client = None;
            self.task.abort();
            return Err(late(self.limit));
        };
        if answer.is_ok() && self.unreplicated.load(Ordering::SeqCst) {
            // Not an answer: it has to be waited for anew.
            self.client = None;
            let reason = "its wait for a synchronous replica was cancelled";
            return Err(Fault::Lost(reason.to_owned()));
        }
        answer.map_err(Fault::from)
    }
}
