//! The commands of podman that make and run a job's containers.

use super::request::ContainerRequest;

/// The first three numbers of the addresses in a job's network; the machine is `.1`.
pub const NETWORK: &str = "172.18.0";
/// The name of a job's network: `job.container.network`.
pub const NETWORK_NAME: &str = "orrery";
/// Labels that keep the runner's containers apart from those that steps start.
const LABEL: &str = "--label=orrery.job=1";

/// A container of a job: its name, its number in the network, and other names it is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobContainer {
    /// The engine's name for it.
    pub name: String,
    /// The last number of its address.
    pub number: u8,
    /// Names in the job's network.
    pub aliases: Vec<String>,
}

impl JobContainer {
    /// Its address in the job's network.
    #[must_use]
    pub fn address(&self) -> String {
        format!("{NETWORK}.{}", self.number)
    }
}

/// A folder of the machine that a container sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindMount {
    /// The machine's folder.
    pub from: String,
    /// Where the container sees it.
    pub to: String,
    /// Whether it cannot write to it.
    pub read_only: bool,
}

impl BindMount {
    /// One that can be written to.
    #[must_use]
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            read_only: false,
        }
    }

    fn argument(&self) -> String {
        let mode = if self.read_only { ":ro" } else { "" };
        format!("--volume={}:{}{mode}", self.from, self.to)
    }
}

/// Which container to make, and with what around it.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The container.
    pub request: &'a ContainerRequest,
    /// Its place in the network.
    pub member: &'a JobContainer,
    /// All members of the network, itself included.
    pub members: &'a [JobContainer],
    /// Folders of the machine, beside the request's volumes.
    pub mounts: &'a [BindMount],
    /// Variables beside the request's, which win.
    pub env: &'a [(String, String)],
}

impl Launch<'_> {
    fn common(&self) -> Vec<String> {
        let Self {
            request,
            member,
            members,
            ..
        } = self;
        let mut words = vec![
            format!("--name={}", member.name),
            LABEL.to_owned(),
            format!("--network=ns:/run/netns/{}", member.name),
        ];
        let hostname = request.options.engine.iter();
        if !hostname.clone().any(|word| word.starts_with("--hostname")) {
            words.push(format!("--hostname={}", member.name));
        }
        for other in members.iter().filter(|other| other.name != member.name) {
            let aliases = other.aliases.iter();
            let address = other.address();
            words.extend(aliases.map(|alias| format!("--add-host={alias}:{address}")));
        }
        words.push(format!("--add-host=host.docker.internal:{NETWORK}.1"));
        let env = self.env.iter().chain(&request.env);
        words.extend(env.map(|(name, value)| format!("--env={name}={value}")));
        let volumes = request.volumes.iter();
        words.extend(self.mounts.iter().map(BindMount::argument));
        words.extend(volumes.map(|volume| format!("--volume={volume}")));
        words
    }

    /// `podman create` of a service.
    #[must_use]
    pub fn service(&self) -> Vec<String> {
        let mut words = vec!["podman".to_owned(), "create".to_owned()];
        words.extend(self.common());
        words.extend(self.request.options.engine.iter().cloned());
        if let Some(entrypoint) = &self.request.entrypoint {
            words.push(format!("--entrypoint={entrypoint}"));
        }
        words.push(self.request.image.local_name());
        words.extend(self.request.command.iter().cloned());
        words
    }

    /// `podman create` of the container that a job's steps run in: it only waits.
    #[must_use]
    pub fn job(&self, workspace: &str) -> Vec<String> {
        let mut words = vec!["podman".to_owned(), "create".to_owned()];
        words.extend(self.common());
        words.push(format!("--workdir={workspace}"));
        words.extend(self.request.options.engine.iter().cloned());
        words.push("--entrypoint=tail".to_owned());
        words.push(self.request.image.local_name());
        words.extend(["-f", "/dev/null"].map(str::to_owned));
        words
    }

    /// `podman run` of a step that is a container.
    #[must_use]
    pub fn step(&self, workspace: &str) -> Vec<String> {
        let mut words = vec!["podman".to_owned(), "run".to_owned(), "--rm".to_owned()];
        words.extend(self.common());
        words.push(format!("--workdir={workspace}"));
        if let Some(entrypoint) = &self.request.entrypoint {
            words.push(format!("--entrypoint={entrypoint}"));
        }
        words.push(self.request.image.local_name());
        words.extend(self.request.command.iter().cloned());
        words
    }
}

/// What the engine says of a container that has been started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerState {
    /// Its id.
    pub id: String,
    /// Its variables, those of the image included.
    pub env: Vec<(String, String)>,
    /// Its user, as `uid:gid`.
    pub user: String,
    /// Its health check, as JSON.
    pub health: Option<String>,
    /// Whether it runs.
    pub running: bool,
    /// What it ended with.
    pub exit_code: i64,
}

/// Reads `podman inspect` of one container, and the configuration that the runtime got of it: there
/// names of users are numbers.
///
/// # Errors
/// When it is not what podman prints.
pub fn inspected(json: &str, runtime: &str) -> Result<ContainerState, String> {
    let wrong = |what: &str| format!("what podman says of a container cannot be read: {what}");
    let value: serde_json::Value =
        serde_json::from_str(json).map_err(|error| wrong(&error.to_string()))?;
    let one = value.get(0).ok_or_else(|| wrong("it is empty"))?;
    let text = |pointer: &str| one.pointer(pointer).and_then(serde_json::Value::as_str);
    let runtime: serde_json::Value =
        serde_json::from_str(runtime).map_err(|error| wrong(&error.to_string()))?;
    let number = |name: &str| {
        let user = runtime.pointer("/process/user");
        let number = user.and_then(|user| user.get(name)?.as_u64());
        number.ok_or_else(|| wrong("it has no user"))
    };
    let user = format!("{}:{}", number("uid")?, number("gid")?);
    let env = one.pointer("/Config/Env");
    let env = env
        .and_then(serde_json::Value::as_array)
        .into_iter()
        .flatten();
    let pair = |entry: &serde_json::Value| {
        let (name, value) = entry.as_str()?.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    let health = one.pointer("/Config/Healthcheck");
    let health = health.filter(|health| !health.is_null());
    Ok(ContainerState {
        id: text("/Id").ok_or_else(|| wrong("it has no id"))?.to_owned(),
        env: env.filter_map(pair).collect(),
        user,
        health: health.map(ToString::to_string),
        running: one.pointer("/State/Running") == Some(&serde_json::Value::Bool(true)),
        exit_code: one
            .pointer("/State/ExitCode")
            .and_then(serde_json::Value::as_i64)
            .unwrap_or_default(),
    })
}

/// Runs a command of a step in a container that runs, by its id and as a user: crun does, which
/// starts faster than podman. The variables are all that the command gets; without a user it is
/// root. A terminal of its own is as large as the one that the command has.
#[must_use]
pub fn exec<'a>(
    (id, user): (&str, Option<&str>),
    cwd: &str,
    env: impl Iterator<Item = (&'a str, &'a str)>,
    argv: &[String],
    terminal: bool,
) -> Vec<String> {
    let mut words: Vec<String> = ["crun", "exec"].map(str::to_owned).to_vec();
    words.extend(terminal.then(|| "--tty".to_owned()));
    words.extend(user.map(|user| format!("--user={user}")));
    words.push(format!("--cwd={cwd}"));
    words.extend(env.map(|(name, value)| format!("--env={name}={value}")));
    words.push(id.to_owned());
    words.extend(argv.iter().cloned());
    words
}
