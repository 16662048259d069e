//! The servers that an address names. Each is asked by itself and within a time of its own: one
//! that says nothing must not take the time of the next, which may be the primary by now.

use super::fault::Fault;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, TargetSessionAttrs};

/// The shortest time that one of several gets, if there is as much.
const MIN_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest: commands over whole stores wait for a minute otherwise.
const MAX_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The servers of an address.
#[derive(Debug)]
pub(super) struct Servers {
    each: Vec<Config>,
    /// The one that was reached last: it is asked first.
    reached: AtomicUsize,
}

impl Servers {
    /// Those of an address, in its order.
    pub(super) fn from_config(config: &Config) -> Self {
        let (hosts, addresses) = (config.get_hosts().len(), config.get_hostaddrs().len());
        let count = hosts.max(addresses);
        let are_paired = hosts == addresses || hosts.min(addresses) == 0;
        let have_ports = [0, 1, count].contains(&config.get_ports().len());
        let each = match count > 1 && are_paired && have_ports {
            true => (0..count).map(|at| single_server(config, at)).collect(),
            // What is wrong with it the client says.
            false => vec![config.clone()],
        };
        Self {
            each,
            reached: AtomicUsize::new(0),
        }
    }

    /// What one of them gets of a time for all.
    pub(super) fn share(&self, limit: Duration) -> Duration {
        let count = u32::try_from(self.each.len()).unwrap_or(u32::MAX);
        if count <= 1 {
            return limit;
        }
        let share = (limit / count).clamp(MIN_ATTEMPT_TIMEOUT, MAX_ATTEMPT_TIMEOUT);
        share.min(limit)
    }

    /// Whether there are several.
    pub(super) fn are_several(&self) -> bool {
        self.each.len() > 1
    }

    /// The places of all.
    pub(super) fn all(&self) -> Vec<usize> {
        (0..self.each.len()).collect()
    }

    /// One of them.
    pub(super) fn server(&self, at: usize) -> Option<&Config> {
        self.each.get(at)
    }

    /// What people call one of them.
    pub(super) fn name(&self, at: usize) -> String {
        let one = self.each.get(at);
        let port = one.and_then(|one| one.get_ports().first().copied());
        let port = port.unwrap_or(5432);
        let address = one.and_then(|one| one.get_hostaddrs().first());
        match one.and_then(|one| one.get_hosts().first()) {
            Some(Host::Tcp(name)) => format!("{name}:{port}"),
            Some(Host::Unix(folder)) => format!("{}:{port}", folder.display()),
            None => address.map_or_else(String::new, |ip| format!("{ip}:{port}")),
        }
    }

    /// Uses this one first from now on.
    pub(super) fn prefer(&self, at: usize) {
        self.reached.store(at, Ordering::Relaxed);
    }

    /// Asks one after the other, from the one on that was reached last, until one answers.
    pub(super) fn first<T>(
        &self,
        ask: impl Fn(&Config) -> Result<T, Fault>,
    ) -> Result<ServerConnection<T>, Fault> {
        let from = self.reached.load(Ordering::Relaxed);
        let mut faults = Vec::new();
        let mut rest = (0..self.each.len()).map(|n| (from + n) % self.each.len());
        while let Some(at) = rest.next() {
            match ask(&self.each[at]) {
                Ok(answer) => {
                    self.prefer(at);
                    let unasked = rest.collect();
                    return Ok(ServerConnection {
                        at,
                        answer,
                        unasked,
                    });
                }
                Err(fault) => faults.push(fault),
            }
        }
        Err(merge_faults(faults))
    }
}

/// What one of several answered.
#[derive(Debug)]
pub(super) struct ServerConnection<T> {
    /// Its place in the address.
    pub(super) at: usize,
    pub(super) answer: T,
    /// Those that were not asked before it answered.
    pub(super) unasked: Vec<usize>,
}

/// The address with one of its servers. Where there are several the store wants the one that can be
/// written, unless the address says otherwise.
fn single_server(config: &Config, at: usize) -> Config {
    let mut one = Config::new();
    match config.get_hosts().get(at) {
        Some(Host::Tcp(name)) => drop(one.host(name)),
        Some(Host::Unix(folder)) => drop(one.host_path(folder)),
        None => {}
    }
    if let Some(address) = config.get_hostaddrs().get(at) {
        one.hostaddr(*address);
    }
    let ports = config.get_ports();
    if let Some(port) = ports.get(at).or_else(|| ports.first()) {
        one.port(*port);
    }
    with_the_rest(&mut one, config);
    if one.get_target_session_attrs() == TargetSessionAttrs::Any {
        one.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    one
}

/// All but the servers.
fn with_the_rest(one: &mut Config, config: &Config) {
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(database) = config.get_dbname() {
        one.dbname(database);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(program) = config.get_application_name() {
        one.application_name(program);
    }
    if let Some(limit) = config.get_connect_timeout() {
        one.connect_timeout(*limit);
    }
    if let Some(limit) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*limit);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts())
        .target_session_attrs(config.get_target_session_attrs());
}

/// What several servers said: as long as one of them may come back it is worth asking again.
fn merge_faults(mut faults: Vec<Fault>) -> Fault {
    let may_pass = faults.iter().any(|fault| matches!(fault, Fault::Lost(_)));
    if faults.len() > 1 && may_pass {
        let reasons = faults.iter().filter_map(|fault| match fault {
            Fault::Lost(reason) | Fault::Refused { reason, .. } => Some(reason.as_str()),
            _ => None,
        });
        return Fault::Lost(reasons.collect::<Vec<_>>().join("; "));
    }
    let none = || Fault::Lost("the address names no server".to_owned());
    faults.pop().unwrap_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(text: &str) -> Servers {
        Servers::from_config(&text.parse().expect("an address"))
    }

    #[test]
    fn i18_each_server_of_an_address_is_asked_with_all_that_the_address_says() {
        let servers = servers(
            "postgresql://me:secret@one,%2Frun%2Fpg:7/ci?application_name=x&sslmode=disable\
             &connect_timeout=9&keepalives_idle=4",
        );
        let seen: Vec<_> = (servers.each.iter())
            .map(|one| (one.get_hosts().to_vec(), one.get_ports().to_vec()))
            .collect();
        let unix = Host::Unix("/run/pg".into());
        assert_eq!(
            seen,
            [
                (vec![Host::Tcp("one".to_owned())], vec![5432]),
                (vec![unix], vec![7])
            ]
        );
        for one in &servers.each {
            assert_eq!(one.get_user(), Some("me"));
            assert_eq!(one.get_password(), Some(&b"secret"[..]));
            assert_eq!(one.get_dbname(), Some("ci"));
            assert_eq!(one.get_application_name(), Some("x"));
            assert_eq!(one.get_connect_timeout(), Some(&Duration::from_secs(9)));
            assert_eq!(one.get_keepalives_idle(), Duration::from_secs(4));
            let wanted = one.get_target_session_attrs();
            assert_eq!(wanted, TargetSessionAttrs::ReadWrite);
        }
    }

    #[test]
    fn i18_the_server_that_answered_last_is_asked_first_and_all_of_them_once() {
        let servers = servers("postgresql://a,b,c/d");
        let asked = std::cell::RefCell::new(Vec::new());
        let ask = |answers: &'static str| {
            asked.borrow_mut().clear();
            let answer = servers.first(|one| {
                let [Host::Tcp(name)] = one.get_hosts() else {
                    return Err(Fault::Full);
                };
                asked.borrow_mut().push(name.clone());
                match name == answers {
                    true => Ok(()),
                    false => Err(Fault::Lost(format!("{name} is gone"))),
                }
            });
            (answer.is_ok(), asked.borrow().join(""))
        };
        assert_eq!(ask("b"), (true, "ab".to_owned()));
        assert_eq!(ask("b"), (true, "b".to_owned()));
        assert_eq!(ask("a"), (true, "bca".to_owned()));
        assert_eq!(ask("none"), (false, "abc".to_owned()));
    }

    #[test]
    fn i18_one_server_that_refuses_ends_no_waiting_for_another() {
        let refused = || Fault::Refused {
            state: None,
            reason: "wrong password".to_owned(),
        };
        let lost = || Fault::Lost("gone".to_owned());
        for (faults, expected) in [
            (vec![lost()], "lost gone"),
            (vec![refused()], "refused wrong password"),
            (vec![refused(), lost()], "lost wrong password; gone"),
            (vec![refused(), refused()], "refused wrong password"),
        ] {
            let found = match merge_faults(faults) {
                Fault::Lost(reason) => format!("lost {reason}"),
                Fault::Refused { reason, .. } => format!("refused {reason}"),
                other => format!("{other:?}"),
            };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn i18_several_servers_share_the_time_of_one() {
        let share = |text, limit| servers(text).share(Duration::from_millis(limit));
        assert_eq!(share("postgresql://a/d", 60_000), Duration::from_secs(60));
        assert_eq!(share("postgresql://a,b/d", 60_000), MAX_ATTEMPT_TIMEOUT);
        assert_eq!(
            share("postgresql://a,b/d", 5000),
            Duration::from_millis(2500)
        );
        assert_eq!(share("postgresql://a,b,c/d", 2000), MIN_ATTEMPT_TIMEOUT);
        assert_eq!(share("postgresql://a,b/d", 500), Duration::from_millis(500));
    }
}
