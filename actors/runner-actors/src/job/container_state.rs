//! The containers of a job as data: what runs, what expressions see of it, and how a process of a
//! step gets into the job's own.

use std::collections::BTreeMap;

use runner_core::container::engine::{self, Inspected, Member, NETWORK_NAME};
use runner_core::container::health::{HealthCheck, HealthWatch};
use runner_core::container::ports::PortMapping;
use runner_core::context::{OWN_DIRECTORY, WORKSPACE};
use runner_core::expr::Value;
use tokio::time::Instant;

use super::frame::{ProcessStart, StepContainer, StepProcess};

/// The files that carry out the engine's commands, by their names in the machine.
pub(super) const ENGINE: [(&str, &str); 12] = [
    ("engine.sh", include_str!("containers/machine/engine.sh")),
    ("docker.sh", include_str!("containers/machine/docker.sh")),
    ("crun.sh", include_str!("containers/machine/crun.sh")),
    (
        "iptables.sh",
        include_str!("containers/machine/iptables.sh"),
    ),
    ("podman.sh", include_str!("containers/machine/podman.sh")),
    ("common.py", include_str!("containers/machine/common.py")),
    ("keeper.py", include_str!("containers/machine/keeper.py")),
    ("client.py", include_str!("containers/machine/client.py")),
    ("buildx.py", include_str!("containers/machine/buildx.py")),
    (
        "dockerfile.py",
        include_str!("containers/machine/dockerfile.py"),
    ),
    ("compose.py", include_str!("containers/machine/compose.py")),
    (
        "compose_names.py",
        include_str!("containers/machine/compose_names.py"),
    ),
];
/// The home folder of containers, in the machine.
pub(super) const HOME: &str = "/var/lib/orrery-home";
/// Where containers have it, as on GitHub.
pub(super) const CONTAINER_HOME: &str = "/github/home";
/// Where containers have the event's payload, as on GitHub.
pub(super) const CONTAINER_WORKFLOW: &str = "/github/workflow";
/// Exit code of the engine where the machine cannot have containers.
pub(super) const UNABLE: i32 = 69;

/// The engine's script in the machine.
fn engine_path() -> String {
    format!("{OWN_DIRECTORY}/containers/engine.sh")
}

/// A command of the engine.
pub(super) fn engine_command<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut argv = vec!["sh".to_owned(), engine_path()];
    argv.extend(words.into_iter().map(str::to_owned));
    argv
}

/// The containers that run for a job.
#[derive(Clone, Default)]
pub(crate) struct JobContainers {
    /// Whether the engine runs.
    pub(super) ready: bool,
    /// The one that steps run in.
    pub(super) job: Option<Inspected>,
    pub(super) services: Vec<RunningService>,
    /// Services that are not ready yet.
    pub(super) watched: Vec<WatchedService>,
    /// Everything in the job's network.
    pub(super) members: Vec<Member>,
    /// Images built of Dockerfiles, by the step's slot.
    pub(super) built: BTreeMap<usize, String>,
}

/// A service that runs.
#[derive(Clone)]
pub(super) struct RunningService {
    pub(super) name: String,
    pub(super) member: Member,
    pub(super) id: String,
    pub(super) ports: Vec<PortMapping>,
}

impl JobContainers {
    /// `job.container` and `job.services`, as far as there are any.
    pub(super) fn contexts(&self) -> Vec<(&'static str, Value)> {
        let text = |text: &str| Value::text(text);
        let mut contexts = Vec::new();
        if let Some(job) = &self.job {
            let fields = [("id", text(&job.id)), ("network", text(NETWORK_NAME))];
            contexts.push(("container", Value::object(fields)));
        }
        if !self.services.is_empty() {
            let services = self.services.iter().map(|service| {
                let port =
                    |port: &PortMapping| (port.container.to_string(), text(&port.host.to_string()));
                let ports = Value::object(service.ports.iter().map(port));
                let fields = [
                    ("id", text(&service.id)),
                    ("network", text(NETWORK_NAME)),
                    ("ports", ports),
                ];
                (service.name.clone(), Value::object(fields))
            });
            contexts.push(("services", Value::object(services)));
        }
        contexts
    }

    /// Variables of a command that the runner itself runs for a step: the home folder of a job in
    /// a container is that of the container.
    pub(super) fn command_env(&self) -> BTreeMap<String, String> {
        let home = self
            .job
            .iter()
            .map(|_| ("HOME".to_owned(), HOME.to_owned()));
        home.collect()
    }

    /// Where a process of a step begins: in the job's container where there is one. `env` are its
    /// variables in the machine, `path` the folders that steps put before `PATH`.
    pub(super) fn start_of(
        &self,
        env: &BTreeMap<String, String>,
        cwd: &str,
        path: &[String],
    ) -> ProcessStart {
        let cwd = cwd.to_owned();
        let Some(job) = &self.job else {
            return ProcessStart {
                env: env.clone(),
                cwd,
                container: None,
            };
        };
        let mut within: BTreeMap<String, String> = job.env.iter().cloned().collect();
        let image_path = within.remove("PATH").unwrap_or_default();
        within.insert("HOME".to_owned(), CONTAINER_HOME.to_owned());
        within.extend(env.clone());
        let full_path = path.iter().chain([&image_path]);
        let full_path = full_path.map(String::as_str).collect::<Vec<_>>().join(":");
        within.insert("PATH".to_owned(), full_path);
        ProcessStart {
            env: within,
            cwd,
            container: Some(StepContainer {
                id: job.id.clone(),
                user: job.user.clone(),
            }),
        }
    }

    /// A process of a step, in the job's container where there is one. `path` are the folders that
    /// steps put before `PATH`.
    pub(super) fn place(&self, process: StepProcess, path: &[String]) -> StepProcess {
        let start = self.start_of(&process.env, &process.cwd, path);
        let Some(container) = &start.container else {
            return process;
        };
        let argv = container.command(&start.env, &start.cwd, &process.argv, false);
        let unsecure = "ACTIONS_ALLOW_UNSECURE_COMMANDS";
        let kept = process.env.iter().filter(|(name, _)| *name == unsecure);
        StepProcess {
            argv,
            cwd: WORKSPACE.to_owned(),
            env: kept
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            directory: process.directory,
            script: process.script,
            limit: process.limit,
            within: Some(start),
        }
    }
}

impl StepContainer {
    /// A command in it, as the machine starts it; with a terminal of its own, or without.
    pub(crate) fn command(
        &self,
        env: &BTreeMap<String, String>,
        cwd: &str,
        argv: &[String],
        terminal: bool,
    ) -> Vec<String> {
        let env = env.iter().map(|(name, value)| (&**name, &**value));
        let place = (&*self.id, Some(&*self.user));
        let words = engine::exec(place, cwd, env, argv, terminal);
        let mut argv = engine_command(["run"]);
        argv.extend(words);
        argv
    }
}

/// A service that is not ready yet.
#[derive(Clone)]
pub(super) struct WatchedService {
    pub(super) found: Inspected,
    /// What its health check runs.
    pub(super) argv: Vec<String>,
    pub(super) watch: HealthWatch,
    pub(super) since: Instant,
}

impl WatchedService {
    /// Nothing where the service has no health check: it is ready when it runs.
    pub(super) fn new(found: Inspected) -> Option<Self> {
        let check = found.health.as_deref()?;
        let argv = HealthCheck::argv(check)?;
        let watch = HealthWatch::new(HealthCheck::of_inspect(check)?);
        Some(Self {
            found,
            argv,
            watch,
            since: Instant::now(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// What a line of Python says that sees the programs of the engine; its words are `words`.
    fn python(line: &str, words: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in ENGINE {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let mut command = Command::new("python3");
        command.args(["-B", "-c", line]).args(words);
        let output = command.env("PYTHONPATH", folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn i17_a_shell_begins_in_the_jobs_container_with_what_its_steps_have() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            let owned = pairs
                .iter()
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            owned.collect()
        };
        let job = Inspected {
            id: "abc".to_owned(),
            env: pairs(&[("PATH", "/usr/bin"), ("HOME", "/root"), ("OWN", "image")]),
            user: "1:2".to_owned(),
            health: None,
            running: true,
            exit_code: 0,
        };
        let containers = JobContainers {
            job: Some(job),
            ..JobContainers::default()
        };
        let env = pairs(&[("PATH", "/machine"), ("OWN", "step"), ("CI", "true")]);
        let env: BTreeMap<String, String> = env.into_iter().collect();
        let start = containers.start_of(&env, "/workspace/web", &["/added".to_owned()]);
        let container = start.container.expect("steps are in one");
        let words = container.command(&start.env, &start.cwd, &["sh".to_owned()], true);
        let expected = "run crun exec --tty --user=1:2 --cwd=/workspace/web --env=CI=true --env=HOME=/github/home --env=OWN=step --env=PATH=/added:/usr/bin abc sh";
        assert_eq!(words[2..].join(" "), expected);
        let none = JobContainers::default().start_of(&env, "/", &[]);
        assert_eq!((none.env, none.container), (env, None));
    }

    #[test]
    fn i17_what_buildx_is_asked_for_is_podmans() {
        const SHOW: &str = "import sys, buildx
try:
    made = buildx.plan(sys.argv[1:])
    print(*made.words, '|', made.context, '|', *made.tags, '|', made.push, *made.archives, *made.notes)
except buildx.Unable as wrong:
    print(wrong)";
        let cases: [(&[&str], &str); 7] = [
            (
                &[
                    "--load",
                    "-t",
                    "a:1",
                    "--platform=linux/amd64",
                    "--target",
                    "last",
                    ".",
                ],
                "--tag=a:1 --target=last | . | a:1 | False",
            ),
            (
                &[
                    "--push",
                    "--tag=r/a",
                    "--build-arg",
                    "A=b",
                    "--progress",
                    "plain",
                    "-f",
                    "x/D",
                    "ctx",
                ],
                "--tag=r/a --build-arg=A=b --file=x/D --layers=false | ctx | r/a | True",
            ),
            (
                &[
                    "--output",
                    "type=docker,dest=/t.tar",
                    "--pull",
                    "--provenance=false",
                    ".",
                ],
                "--pull=newer | . | | False ('docker-archive', '/t.tar')",
            ),
            (
                &[
                    "--output=type=image,name=r/a,push=true",
                    "--cache-to",
                    "type=inline",
                    ".",
                ],
                "--tag=r/a | . | r/a | True --cache-to has no effect: no cache is kept beyond the job",
            ),
            (
                &["--platform", "linux/amd64,linux/arm64", "."],
                "--platform linux/amd64,linux/arm64: only linux/amd64 can be built here; leave it out, or build the others on a machine of theirs",
            ),
            (&["--push", "."], "--push needs a --tag"),
            (&["--what", "."], "docker build --what is not given here"),
        ];
        for (words, expected) in cases {
            assert_eq!(python(SHOW, words), expected, "{words:?}");
        }
    }

    #[test]
    fn i17_verbs_of_buildx_that_are_not_given_say_what_does_the_same() {
        const ASK: &str = "import sys, buildx
sys.stderr = sys.stdout
try: buildx.buildx(sys.argv[1:])
except SystemExit as ended: print(ended.code)";
        for (verb, other) in [
            ("bake", "docker buildx build"),
            ("imagetools", "docker push"),
        ] {
            let said = python(ASK, &[verb]);
            assert!(said.contains(other) && said.ends_with("\n64"), "{said}");
        }
    }

    const REWRITE: &str = "import sys, dockerfile, os, tempfile
with tempfile.TemporaryDirectory() as folder:
    try:
        print(dockerfile.rewritten(sys.argv[1], {'V': '9'}, folder))
    except dockerfile.Wrong as wrong:
        print(wrong)
    for name in sorted(os.listdir(folder)):
        print(name, oct(os.stat(f'{folder}/{name}').st_mode)[-3:], repr(open(f'{folder}/{name}').read()))";

    fn rewrites(cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            assert_eq!(python(REWRITE, &[text]), *expected, "{text}");
        }
    }

    #[test]
    fn i17_here_documents_are_rewritten_for_podman() {
        rewrites(&[
            (
                "FROM a\nRUN <<EOF\necho \"$HOME\" \\\n more\nEOF\nRUN true",
                r#"FROM a
RUN ["/bin/sh", "-c", "echo \"$HOME\" \\\n more\n"]
RUN true"#,
            ),
            (
                "FROM a\nSHELL [\"/bin/bash\", \"-ec\"]\nRUN --network=none <<-'EOF'\n\tx\n\tEOF",
                r#"FROM a
SHELL ["/bin/bash", "-ec"]
RUN --network=none ["/bin/bash", "-ec", "x\n"]"#,
            ),
            (
                "FROM a\nRUN <<P\n#!/usr/bin/python3\nprint(1)\nP",
                r#"FROM a
RUN --mount=type=bind,from=orrery-here-documents,source=/1-P,target=/run/1-P ["/run/1-P"]
1-P 755 '#!/usr/bin/python3\nprint(1)\n'"#,
            ),
            (
                "FROM a\nRUN cat <<-A > /a && \\\n  cat <<B > /b\n\tone\n\tA\ntwo\nB",
                r#"FROM a
RUN ["/bin/sh", "-c", "cat <<A > /a &&   cat <<B > /b\none\nA\ntwo\nB\n"]"#,
            ),
            (
                "FROM a\nADD <<one <<\"two\" f /d/\n1\none\n$2\ntwo",
                "FROM a
ADD f /d/
COPY --from=orrery-here-documents 1-one /d/one
COPY --from=orrery-here-documents 2-two /d/two
1-one 644 '1\\n'
2-two 644 '$2\\n'",
            ),
            ("FROM a\nRUN echo $((1<<x)) \"a <<b\" && cat <<<c", "None"),
            ("FROM a\nRUN <<E\nx", "the here-document E has no end"),
            (
                "FROM a\nSHELL /bin/bash\nRUN <<E\nx\nE",
                "SHELL /bin/bash: it takes a JSON list of words",
            ),
        ]);
    }

    #[test]
    fn i17_variables_of_here_documents_are_known_or_said() {
        rewrites(&[
            (
                "ARG G=before\nFROM a\nARG V=1 G\nENV N=\"a b\" M=${V}x\nCOPY --chmod=600 <<E /c\n$V $G $N $M \\$V ${Q:-q} ${V:+yes}\nE",
                r#"ARG G=before
FROM a
ARG V=1 G
ENV N="a b" M=${V}x
COPY --from=orrery-here-documents --chmod=600 1-E /c
1-E 644 '9 before a b 9x $V q yes\n'"#,
            ),
            (
                "FROM a\nCOPY <<E /c\n$PATH\nE",
                "a here-document has the variable PATH, which no ARG or ENV of its stage sets; those of its image are not known here: quote the document's name",
            ),
            (
                "FROM a\nENV PATH=/x:$PATH OTHER=1\nRUN <<E\nx\nE",
                r#"FROM a
ENV PATH=/x:$PATH OTHER=1
RUN ["/bin/sh", "-c", "x\n"]"#,
            ),
            (
                "FROM a\nENV PATH=/x:$PATH\nCOPY <<E /c\n$PATH\nE",
                "a here-document has the variable PATH, which no ARG or ENV of its stage sets; those of its image are not known here: quote the document's name",
            ),
            (
                "FROM a AS One\nENV N=1 V=2\nARG V\nFROM --platform=linux/amd64 one\nCOPY\t<<E /c\n$N$V\nE",
                "FROM a AS One
ENV N=1 V=2
ARG V
FROM --platform=linux/amd64 one
COPY --from=orrery-here-documents 1-E /c
1-E 644 '12\\n'",
            ),
        ]);
    }

    #[test]
    fn i17_compose_gets_the_words_that_podman_compose_knows() {
        const SHOW: &str = "import sys, compose
found = compose.translate(sys.argv[1:])
print(found if isinstance(found, str) else ' '.join(found))";
        let cases: [(&[&str], &str); 6] = [
            (&["up", "--wait"], "up -d --wait"),
            (
                &[
                    "--progress",
                    "plain",
                    "-f",
                    "a.yml",
                    "-p",
                    "x",
                    "up",
                    "-d",
                    "--quiet-pull",
                ],
                "-f a.yml -p x up -d",
            ),
            (&["exec", "web", "id", "-u"], "exec -T web id -u"),
            (&["run", "--rm", "-T", "web"], "run --rm -T web"),
            (&["convert"], "config"),
            (&["watch"], "docker compose watch is not given here"),
        ];
        for (words, expected) in cases {
            assert_eq!(python(SHOW, words), expected, "{words:?}");
        }
    }

    #[test]
    fn i17_templates_of_docker_are_filled_and_a_commit_of_the_job_is_known() {
        let form = "import common, json
data = {'A': {'B': True}, 'C': [1]}
print(common.fill('{{.A.B}} {{json .C}} {{ .A }}', data))";
        assert_eq!(python(form, &[]), "true [1] {\"B\": true}");
        let commit = "import buildx, sys
env = {'GITHUB_SERVER_URL': 'https://f', 'GITHUB_REPOSITORY': 'o/r', 'GITHUB_REF': 'refs/heads/m', 'GITHUB_SHA': 'abc'}
print(buildx.commit_of(sys.argv[1], env))";
        let cases = [
            ("https://f/o/r.git#refs/heads/m", "('abc', '')"),
            ("https://f/o/r.git#123:web", "('123', 'web')"),
            ("https://f/o/other.git#123", "None"),
        ];
        for (context, expected) in cases {
            assert_eq!(python(commit, &[context]), expected, "{context}");
        }
    }
}
