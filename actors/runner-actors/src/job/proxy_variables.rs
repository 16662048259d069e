//! How programs of a job find the machine's proxy: some read the usual variables, others theirs.

use std::collections::BTreeMap;

use http_clients::vmm::{Network, PROXY_PORT};

use super::frame::set;
use super::protocol::JobRequest;
use super::step_runner::StepRunner;

/// Variables of the usual names.
const NAMES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
/// What is of the machine and of its containers' networks.
const DIRECT: &str = "localhost,127.0.0.1,::1,172.18.0.0/16,10.88.0.0/13";
/// Java's programs read properties alone; Maven from 3.9.1 on wants to be told to.
const JAVA: &str = "JAVA_TOOL_OPTIONS";
/// Node.js from 22.21 and 24.5 on.
const NODE: (&str, &str) = ("NODE_USE_ENV_PROXY", "1");
const NODE_OPTIONS: &str = "NODE_OPTIONS";
/// Has Node.js 22 and 23 write nothing about it. Others need it not, and those before 20.11 refuse
/// to start with it, so only who chooses one of these gets it.
const QUIET: &str = "--disable-warning=UNDICI-EHPA";

/// Whether the job's machine has a network.
pub(super) fn has_network(request: &JobRequest) -> bool {
    request.placement.machine.vm.network.unwrap_or_default() != Network::None
}

/// Whether the forge's own address is led to the job's services.
fn is_led(request: &JobRequest) -> bool {
    request.services.is_some() && !request.placement.machine.vm.services_for.is_empty()
}

/// Whether programs reach anything by the machine's proxy.
pub(super) fn is_proxied(request: &JobRequest) -> bool {
    has_network(request) || is_led(request)
}

/// What the agent does not tell commands of a machine with a network, of whose job these are the
/// variables. What the workflow says of Java comes after it, and counts.
pub(super) fn add_proxy(
    request: &JobRequest,
    job: &[(String, String)],
    env: &mut BTreeMap<String, String>,
) {
    if is_proxied(request) {
        add(job, env);
    }
}

fn add(job: &[(String, String)], env: &mut BTreeMap<String, String>) {
    let mut job = job.iter().filter(|(name, _)| name == NODE_OPTIONS);
    if job.any(|(_, options)| has_quiet(options))
        && let Some(own) = env.get_mut(NODE_OPTIONS)
        && !has_quiet(own)
    {
        // The step's own options stand in place of the job's.
        *own = format!("{QUIET} {own}").trim_end().to_owned();
    }
    let java = java_options();
    let java = match env.get(JAVA) {
        Some(own) => format!("{java} {own}"),
        None => java,
    };
    env.insert(JAVA.to_owned(), java);
    let (name, value) = NODE;
    env.entry(name.to_owned())
        .or_insert_with(|| value.to_owned());
}

/// The machine's proxy, which containers have at the same place.
fn own_proxy() -> String {
    format!("http://127.0.0.1:{PROXY_PORT}")
}

fn java_options() -> String {
    let proxies = ["http", "https"]
        .map(|scheme| format!("-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={PROXY_PORT}"));
    let maven = ["connector.http", "transport.apache"];
    let maven = maven.map(|name| format!("-Daether.{name}.useSystemProperties=true"));
    let direct = "-Dhttp.nonProxyHosts=localhost|127.*|[::1]".to_owned();
    [&proxies[..], &maven[..], &[direct]].concat().join(" ")
}

fn has_quiet(options: &str) -> bool {
    options.split_whitespace().any(|word| word == QUIET)
}

/// The job's variables once it has chosen this release of Node.js, such as `22.21.0`.
fn chosen(version: &str, env: &mut Vec<(String, String)>) {
    let known = env.iter().find(|(name, _)| name == NODE_OPTIONS);
    let known = known.map_or("", |(_, value)| value.as_str());
    let mut words: Vec<&str> = known.split_whitespace().collect();
    words.retain(|word| *word != QUIET);
    let major = version.trim_start_matches('v').split('.').next();
    if matches!(major, Some("22" | "23")) {
        words.insert(0, QUIET);
    } else if words.len() == known.split_whitespace().count() {
        return;
    }
    let options = words.join(" ");
    set(env, (NODE_OPTIONS.to_owned(), options));
}

impl StepRunner<'_> {
    /// Keeps a release of Node.js that later steps get from saying how it found the proxy.
    pub(super) fn quieten_node(&mut self, version: &str, updates: &str) {
        if updates != "false" && is_proxied(self.request) {
            chosen(version, &mut self.variables.env);
        }
    }

    /// What is said of the proxy beside what the agent tells commands of it: which hosts are of the
    /// job itself. By the proxy a machine without network reaches the forge at its own address and
    /// the job's services; where it is those alone, which programs reach directly, nothing.
    pub(super) fn own_hosts(&self) -> Vec<(String, String)> {
        if !is_proxied(self.request) {
            let hidden = NAMES.iter().filter(|_| self.request.services.is_some());
            return hidden
                .map(|name| ((*name).to_owned(), String::new()))
                .collect();
        }
        let members = &self.containers.members;
        if !is_led(self.request) && members.is_empty() {
            return Vec::new();
        }
        let names = members.iter().flat_map(|member| &member.aliases);
        let names = names.map(|name| format!(",{name}")).collect::<String>();
        let direct = format!("{DIRECT},{}{names}", self.machine.id);
        let direct = ["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), direct.clone()));
        // The agent tells nothing to the job's container.
        let proxies = NAMES.iter().filter(|_| self.containers.job.is_some());
        let proxies = proxies.map(|name| ((*name).to_owned(), own_proxy()));
        proxies.chain(direct).collect()
    }

    /// How a container finds the machine's proxy, where the job has a network.
    pub(super) fn proxy_variables(&self) -> Vec<(String, String)> {
        if !is_proxied(self.request) {
            return Vec::new();
        }
        let proxies = NAMES.map(|name| (name.to_owned(), own_proxy()));
        let direct = ["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), DIRECT.to_owned()));
        let mut others = BTreeMap::new();
        add(&[], &mut others);
        proxies.into_iter().chain(direct).chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_java_and_node_find_the_proxy_and_keep_what_the_workflow_says() {
        let mut env = BTreeMap::new();
        add(&[], &mut env);
        let java = env[JAVA].as_str();
        assert!(
            java.contains("-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128"),
            "{java}"
        );
        // One word: Java splits at blanks and knows no shell.
        assert!(
            java.ends_with(" -Dhttp.nonProxyHosts=localhost|127.*|[::1]"),
            "{java}"
        );
        assert_eq!(env["NODE_USE_ENV_PROXY"], "1");
        let own = [(JAVA, "-Xmx1g"), ("NODE_USE_ENV_PROXY", "0")];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut env = BTreeMap::from(own);
        add(&[], &mut env);
        assert!(env[JAVA].starts_with("-D") && env[JAVA].ends_with(" -Xmx1g"));
        assert_eq!(env["NODE_USE_ENV_PROXY"], "0");
    }

    /// Each process of Node.js 22 wrote two lines about the proxy.
    #[test]
    fn i17_a_chosen_node_says_nothing_of_the_proxy() {
        let options = |env: &[(String, String)]| env.first().map(|(_, value)| value.clone());
        let mut job = Vec::new();
        chosen("v24.5.0", &mut job);
        assert!(job.is_empty());
        chosen("v22.23.5", &mut job);
        assert_eq!(options(&job).as_deref(), Some(QUIET));
        // What the step says of Node stays beside it.
        let own = [(
            NODE_OPTIONS.to_owned(),
            "--max-old-space-size=99".to_owned(),
        )];
        let mut env = BTreeMap::from(own.clone());
        add(&job, &mut env);
        assert_eq!(
            env[NODE_OPTIONS],
            format!("{QUIET} --max-old-space-size=99")
        );
        // An old one would not start with it.
        chosen("v18.19.0", &mut job);
        assert_eq!(options(&job).as_deref(), Some(""));
        let mut job = own.to_vec();
        chosen("v23.0.0", &mut job);
        chosen("v20.1.0", &mut job);
        assert_eq!(options(&job).as_deref(), Some("--max-old-space-size=99"));
    }
}
