//! What a script does with containers, as far as its text says: which images it names, so that the
//! machine has them before it begins.

use super::ImageReference;
use super::compose_file;
use super::dockerfile::base_images;
use super::words;

/// Files that `docker compose` looks for, the first of which counts, and what is laid over it.
const COMPOSE_FILES: [&str; 4] = [
    "compose.yaml",
    "compose.yml",
    "docker-compose.yml",
    "docker-compose.yaml",
];
const COMPOSE_OVERRIDES: [&str; 2] = ["docker-compose.override.yml", "compose.override.yaml"];
/// Options of `docker run` without a value.
const RUN_FLAGS: [&str; 14] = [
    "--detach",
    "--disable-content-trust",
    "--init",
    "--interactive",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--privileged",
    "--publish-all",
    "--quiet",
    "--read-only",
    "--rm",
    "--sig-proxy",
    "--tty",
    "--help",
];
/// Images that set up emulators, which the machine has: they are answered without being fetched
/// (`machine/emulators.py`).
const EMULATORS: [&str; 2] = ["tonistiigi/binfmt", "multiarch/qemu-user-static"];
/// Programs that name containers and need no engine.
const NAMING: [&str; 22] = [
    "apt", "apt-get", "cat", "cd", "cp", "crane", "curl", "echo", "git", "grep", "helm", "ls",
    "mkdir", "mv", "oras", "printf", "regctl", "rm", "sed", "skopeo", "tar", "wget",
];
/// Words that say that a script has to do with containers.
const SIGNS: [&str; 3] = ["docker", "testcontainers", "podman"];

/// Whether a script may call an engine, or use its socket.
#[must_use]
pub fn calls_engine(script: &str) -> bool {
    let script = script.to_ascii_lowercase();
    SIGNS.iter().any(|sign| script.contains(sign))
}

/// Whether a command of a script names the engine, or something that is called after it: less than
/// [`calls_engine`], for what people are told.
#[must_use]
pub fn names_engine(script: &str) -> bool {
    let script = script.replace("\\\n", " ").to_ascii_lowercase();
    let lines = script.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.starts_with('#'));
    let mut parts = lines.flat_map(|line| line.split([';', '|', '&', '(', ')', '`']));
    parts.any(|part| {
        let words = part.split_whitespace();
        let mut words = words.map(|word| word.trim_matches(['"', '\'', '{', '}', '$']));
        let before = |word: &&str| matches!(*word, "sudo" | "if" | "!" | "then" | "do" | "time");
        let first = words
            .by_ref()
            .find(|word| !before(word) && !word.is_empty());
        let Some(first) = first.filter(|first| !NAMING.contains(first)) else {
            return false;
        };
        std::iter::once(first).chain(words).any(is_engine)
    })
}

/// Whether a word is the engine, or has it as a part of its own: `docker`, `docker:up`,
/// `DOCKER_HOST=x`, `./docker-test.sh`.
fn is_engine(word: &str) -> bool {
    if word.contains("testcontainers") || word.starts_with("docker_host") {
        return true;
    }
    if word.starts_with('-') || word.contains("://") {
        return false;
    }
    ["docker", "podman"].iter().any(|name| {
        word.match_indices(name).any(|(at, _)| {
            let before = word[..at].chars().next_back();
            let after = &word[at + name.len()..];
            let is_host = [".io", ".com", ".pkg"]
                .iter()
                .any(|end| after.starts_with(end));
            let mut ends = before.into_iter().chain(after.chars().next());
            !is_host && !ends.any(|c| c.is_ascii_alphanumeric())
        })
    })
}

/// The images that the steps of a job name, as far as they were read.
#[derive(Debug, Default)]
pub struct ImageNames {
    images: Vec<String>,
    /// Names that steps give to what they build.
    built: Vec<String>,
}

impl ImageNames {
    /// Adds those that the commands of a script name, those of its compose files and Dockerfiles
    /// included. `read` gives files of the folder it runs in.
    pub fn script(&mut self, script: &str, read: &dyn Fn(&str) -> Option<Vec<u8>>) {
        let joined = script.replace("\\\n", " ");
        for line in joined.split(['\n', ';', '|', '&']) {
            let line = line.trim();
            if line.starts_with('#') {
                continue;
            }
            let Ok(words) = words::split(line) else {
                continue;
            };
            self.command(&without_redirections(&words), read);
        }
    }

    /// Adds those that a Dockerfile builds on, in the folder `context` if `file` does not name it;
    /// what is built is called `tags`.
    pub fn build<'t>(
        &mut self,
        context: &str,
        file: &str,
        tags: impl IntoIterator<Item = &'t str>,
        read: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) {
        self.built.extend(tags.into_iter().map(familiar));
        let path = match file {
            "" => format!("{context}/Dockerfile"),
            file => file.to_owned(),
        };
        if let Some(file) = read(&path) {
            self.add(base_images(&String::from_utf8_lossy(&file)));
        }
    }

    /// All that have to come from elsewhere: not those that a step builds, nor those of a registry
    /// in the machine.
    #[must_use]
    pub fn into_images(mut self) -> Vec<String> {
        let built = &self.built;
        self.images.retain(|name| {
            !built.contains(&familiar(name)) && !is_in_machine(name) && !sets_up_emulators(name)
        });
        self.images
    }

    fn add(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            let known = name.is_empty() || name.contains('$') || self.images.contains(&name);
            if !known {
                self.images.push(name);
            }
        }
    }

    fn command(&mut self, words: &[&str], read: &dyn Fn(&str) -> Option<Vec<u8>>) {
        let Some(at) = words.iter().position(|word| {
            matches!(
                *word,
                "docker" | "podman" | "docker-compose" | "podman-compose"
            )
        }) else {
            return;
        };
        let rest = &words[at + 1..];
        if words[at].ends_with("-compose") {
            return self.compose(rest, read);
        }
        let rest = match rest {
            ["container" | "image", rest @ ..] => rest,
            ["buildx" | "builder", "build" | "b", ..] => &rest[1..],
            // Builders have names, too, which are no images.
            ["buildx" | "builder", ..] => return,
            rest => rest,
        };
        match rest {
            ["compose", rest @ ..] => self.compose(rest, read),
            ["pull", rest @ ..] => {
                let names = rest.iter().filter(|word| !word.starts_with('-'));
                self.add(names.map(|name| (*name).to_owned()));
            }
            ["run" | "create", rest @ ..] => self.add(run_image(rest).map(str::to_owned)),
            ["build" | "b", rest @ ..] => self.build_command(rest, read),
            ["tag", _, name] => self.built.push(familiar(name)),
            _ => {}
        }
    }

    fn compose(&mut self, words: &[&str], read: &dyn Fn(&str) -> Option<Vec<u8>>) {
        let mut files = values(words, &["-f", "--file"]);
        if files.is_empty() {
            let there = |name: &&&str| read(name).is_some();
            files.extend(COMPOSE_FILES.iter().find(there));
            files.extend(COMPOSE_OVERRIDES.iter().filter(there));
        }
        let folder = |path: &str| {
            path.rsplit_once('/')
                .map_or("", |(folder, _)| folder)
                .to_owned()
        };
        // Paths in all of them begin where the first one is.
        let base = files.first().map(|file| folder(file)).unwrap_or_default();
        for file in files {
            let Some(bytes) = read(file) else { continue };
            let beside = |path: &str| match &*base {
                "" => read(path),
                base => read(&format!("{base}/{path}")),
            };
            self.add(compose_file::images(&bytes, &beside));
        }
    }

    fn build_command(&mut self, words: &[&str], read: &dyn Fn(&str) -> Option<Vec<u8>>) {
        let file = values(words, &["-f", "--file"]);
        let context = words.last().copied().unwrap_or_default();
        let file = file.last().copied().unwrap_or_default();
        self.build(context, file, values(words, &["-t", "--tag"]), read);
    }
}

/// The words of a command alone: not where its output goes to, or its input comes from.
fn without_redirections(words: &[String]) -> Vec<&str> {
    let mut plain = Vec::with_capacity(words.len());
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let operator = word.trim_start_matches(|it: char| it.is_ascii_digit());
        if !operator.starts_with(['<', '>']) {
            plain.push(word);
        } else if operator.trim_start_matches(['<', '>', '-']).is_empty() {
            // The file is the next word.
            words.next();
        }
    }
    plain
}

/// The name with what may be left out of it.
fn familiar(name: &str) -> String {
    name.parse::<ImageReference>()
        .map_or_else(|_| name.to_owned(), |image| image.familiar())
}

/// Whether its registry is one that a step or service runs in the machine itself.
fn is_in_machine(name: &str) -> bool {
    let image = name.parse::<ImageReference>();
    image.is_ok_and(|image| {
        let registry = image.registry();
        let host = registry.split_once(':').map_or(registry, |(host, _)| host);
        matches!(host, "localhost" | "127.0.0.1")
    })
}

fn sets_up_emulators(name: &str) -> bool {
    let image = name.parse::<ImageReference>();
    image.is_ok_and(|image| EMULATORS.contains(&image.repository()))
}

/// The values of an option, as `-f x`, `-fx`, `--file x` and `--file=x`.
fn values<'a>(words: &[&'a str], names: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        for name in names {
            match word.strip_prefix(name) {
                Some("") => found.extend(words.next()),
                Some(value) if name.starts_with("--") => found.extend(value.strip_prefix('=')),
                Some(value) => found.push(value.trim_start_matches('=')),
                None => continue,
            }
            break;
        }
    }
    found
}

/// The image of `docker run`: the first word that is no option, nor the value of one.
fn run_image<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut words = words.iter();
    loop {
        let word = words.next()?;
        let Some(option) = word.strip_prefix('-') else {
            return Some(word);
        };
        let has_value = match option.strip_prefix('-') {
            Some(_) => !word.contains('=') && !RUN_FLAGS.contains(word),
            None => option.len() == 1 && !"dPiqt".contains(option),
        };
        if has_value {
            words.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(path: &str) -> Option<Vec<u8>> {
        let text = match path.trim_start_matches("./") {
            "compose.yml" => "services: {db: {image: 'postgres:16'}}",
            "ci/stack.yml" => "services: {web: {build: web}, cache: {image: 'redis:7'}}",
            "ci/web/Dockerfile" => "FROM node:22\n",
            "Dockerfile" => "FROM alpine:3\n",
            "docker/Dockerfile.ci" => "FROM debian:12\n",
            _ => return None,
        };
        Some(text.as_bytes().to_vec())
    }

    #[test]
    fn i17_images_of_scripts_are_known_before_they_run() {
        let cases: [(&str, &[&str]); 15] = [
            ("docker compose up -d --wait", &["postgres:16"]),
            (
                "sudo docker-compose -f ci/stack.yml up",
                &["node:22", "redis:7"],
            ),
            (
                "docker compose --file=ci/stack.yml \\\n  run --rm cache",
                &["node:22", "redis:7"],
            ),
            (
                "docker pull -q busybox:1 && docker run --rm -it -v x:/y -e A=b alpine:3 run debian",
                &["busybox:1", "alpine:3"],
            ),
            (
                "docker container run --name=x --network n --privileged acme/a:1",
                &["acme/a:1"],
            ),
            ("docker build -t mine .\ndocker run mine", &["alpine:3"]),
            (
                "docker buildx build --load --file docker/Dockerfile.ci --tag=mine:2 .; docker run -d mine:2",
                &["debian:12"],
            ),
            ("docker build -t mine . > build.log 2>&1", &["alpine:3"]),
            (
                "docker pull busybox:1 >out\ndocker pull redis:7 2> out",
                &["busybox:1", "redis:7"],
            ),
            ("docker run ${IMAGE}", &[]),
            ("docker buildx create --use --name many", &[]),
            (
                "docker run --privileged tonistiigi/binfmt:latest --install all",
                &[],
            ),
            ("docker ps; docker exec db psql", &[]),
            ("# docker run alpine:3\necho docker", &[]),
            ("docker run 'unclosed", &[]),
        ];
        for (script, expected) in cases {
            let mut found = ImageNames::default();
            found.script(script, &files);
            assert_eq!(found.into_images(), expected, "{script}");
        }
    }

    #[test]
    fn i17_what_one_step_builds_no_other_one_needs_from_elsewhere() {
        let mut found = ImageNames::default();
        found.script("docker run mine\ndocker run alpine:3", &files);
        found.script(
            "docker pull localhost:5000/a/b:1; docker run 127.0.0.1/c",
            &files,
        );
        found.build("docker", "docker/Dockerfile.ci", ["mine:latest"], &files);
        found.script(
            "docker tag alpine:3 acme/b:2 && docker run acme/b:2",
            &files,
        );
        assert_eq!(found.into_images(), ["alpine:3", "debian:12"]);
    }

    #[test]
    fn i17_a_script_that_may_use_the_engine_is_known() {
        for script in [
            "docker ps",
            "mvn verify -Dtestcontainers.x=1",
            "DOCKER_HOST=x ./run",
            "podman ps",
        ] {
            assert!(calls_engine(script), "{script}");
        }
        assert!(!calls_engine("cargo test"));
    }

    /// `docker.io` in an address made a note that the job needs podman.
    #[test]
    fn i17_a_script_that_only_names_containers_is_told_apart() {
        for script in [
            "docker ps",
            "sudo docker-compose up",
            "mvn verify -Dtestcontainers.x=1",
            "DOCKER_HOST=x ./run",
            "make docker-test",
            "npm run docker:up",
            "id=$(docker ps -q)",
            "if ! podman ps; then exit 1; fi",
            "echo $(docker ps)",
        ] {
            assert!(names_engine(script), "{script}");
        }
        for script in [
            "skopeo copy docker://docker.io/a/b dir:x",
            "oras push docker.io/a/b",
            "printf '%s' docker-baseimage-alpine",
            "./build --cleanup-docker",
            "echo 'see the dockerfile'",
            "cat docker/README",
            "# docker ps",
            "./sign docker.io/a/b",
            "hadolint Dockerfile",
        ] {
            assert!(!names_engine(script), "{script}");
        }
    }
}
