//! Containers: names of images, options, ports, health, commands of the engine, plans.

use std::time::Duration;

use runner_core::container::engine::{self, BindMount, JobContainer, Launch, inspected};
use runner_core::container::health::{ContainerHealth, HealthCheck, HealthWatch};
use runner_core::container::ports::{self, PortMapping, PortRequest, assign};
use runner_core::container::stored::{StoredImage, StoredLayer, TarSplit, seed, unpack_script};
use runner_core::container::{
    ImageReference, container, dockerfile::base_images, options, services, words,
};
use runner_core::expr::ExprValue;

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn image(text: &str) -> ImageReference {
    text.parse().expect("a name of an image")
}

#[test]
fn i17_names_of_images_are_read_as_docker_reads_them() {
    let pinned = format!("redis@{DIGEST}");
    let both = format!("ghcr.io/acme/app:1.2@{DIGEST}");
    for (text, registry, repository, version, familiar) in [
        (
            "redis",
            "docker.io",
            "library/redis",
            "latest",
            "redis:latest",
        ),
        ("redis:7", "docker.io", "library/redis", "7", "redis:7"),
        (
            "docker://redis:7",
            "docker.io",
            "library/redis",
            "7",
            "redis:7",
        ),
        (
            "acme/app",
            "docker.io",
            "acme/app",
            "latest",
            "acme/app:latest",
        ),
        (
            "docker.io/library/redis:7",
            "docker.io",
            "library/redis",
            "7",
            "redis:7",
        ),
        (
            "index.docker.io/acme/app:1",
            "docker.io",
            "acme/app",
            "1",
            "acme/app:1",
        ),
        (
            "localhost:5000/a/b/c:x",
            "localhost:5000",
            "a/b/c",
            "x",
            "localhost:5000/a/b/c:x",
        ),
        (
            "ghcr.io/acme/app",
            "ghcr.io",
            "acme/app",
            "latest",
            "ghcr.io/acme/app:latest",
        ),
        (&pinned, "docker.io", "library/redis", DIGEST, &pinned),
        (&both, "ghcr.io", "acme/app", DIGEST, &both),
    ] {
        let found = image(text);
        assert_eq!(found.registry(), registry, "{text}");
        assert_eq!(found.repository(), repository, "{text}");
        assert_eq!(found.version(), version, "{text}");
        let spelt = found.familiar();
        assert_eq!(
            spelt.replace(":latest", ""),
            familiar.replace(":latest", ""),
            "{text}"
        );
        assert_eq!(spelt.parse::<ImageReference>().unwrap(), found, "{text}");
    }
    for text in [
        "",
        "Redis",
        "a b",
        "redis:",
        "redis@sha256:12",
        "../x",
        "a//b",
        "x:-a",
    ] {
        assert!(text.parse::<ImageReference>().is_err(), "{text}");
    }
}

#[test]
fn i17_options_are_those_of_docker_create() {
    let read = |line: &str| options::parse(line).unwrap();
    let health =
        read("--health-cmd \"pg_isready -U postgres\" --health-interval 10s --health-retries=5");
    assert_eq!(
        health.engine,
        [
            "--health-cmd=pg_isready -U postgres",
            "--health-interval=10s",
            "--health-retries=5"
        ]
    );
    let short = read("-u root -eA=b=c -it -v /a:/b --name db --network-alias=store -p 80:8080");
    assert_eq!(
        short.engine,
        [
            "--user=root",
            "--env=A=b=c",
            "--interactive",
            "--tty",
            "--volume=/a:/b"
        ]
    );
    assert_eq!(short.aliases, ["db", "store"]);
    assert_eq!(
        short.ports,
        [PortRequest {
            host: Some(80),
            container: 8080,
            udp: false
        }]
    );
    let limits = read("--cpus 2 --memory=1g --privileged");
    let all = ["--cap-add=ALL", "--security-opt=seccomp=unconfined"];
    assert_eq!(limits.engine, all);
    assert!(
        limits.notes[0].contains("`--cpus` has no effect"),
        "{:?}",
        limits.notes
    );
    assert_eq!(limits.notes.len(), 3);
    assert_eq!(read("--privileged=false").engine, [""; 0]);
    for (line, part) in [
        ("--network host", "share one network"),
        ("--gpus all", "graphics"),
        ("--healthcheck x", "is no option"),
        ("--env", "has no value"),
        ("--health-cmd \"x", "is not closed"),
        ("postgres", "is no option"),
        ("-p x", "is no port"),
    ] {
        let error = options::parse(line).unwrap_err();
        assert!(error.contains(part), "{line}: {error}");
    }
}

#[test]
fn i17_words_are_split_as_a_shell_splits_them() {
    let escaped = r"d\ e";
    for (line, expected) in [
        ("a 'b c' \"d \\\" e\"", vec!["a", "b c", "d \" e"]),
        (escaped, vec!["d e"]),
        ("", vec![]),
        ("a \\\n b", vec!["a", "b"]),
        ("'' x", vec!["", "x"]),
        (r#""a\nb""#, vec![r"a\nb"]),
    ] {
        assert_eq!(words::split(line).unwrap(), expected, "{line}");
    }
    assert!(words::split("'").is_err());
}

#[test]
fn i17_ports_are_read_and_assigned() {
    let port = |host, container, udp| PortRequest {
        host,
        container,
        udp,
    };
    assert_eq!(ports::parse("5432").unwrap(), [port(None, 5432, false)]);
    assert_eq!(
        ports::parse("8080:80/udp").unwrap(),
        [port(Some(8080), 80, true)]
    );
    assert_eq!(
        ports::parse("127.0.0.1:8080:80").unwrap(),
        [port(Some(8080), 80, false)]
    );
    assert_eq!(
        ports::parse("90-91:80-81/tcp").unwrap(),
        [port(Some(90), 80, false), port(Some(91), 81, false)]
    );
    for wrong in ["", "x", "0", "70000", "80:90-91", "80/sctp", "9-8"] {
        assert!(ports::parse(wrong).is_err(), "{wrong}");
    }
    let all = [
        vec![port(None, 5432, false), port(Some(32_768), 1, false)],
        vec![port(None, 5432, false), port(None, 53, true)],
    ];
    let mapping = |host, container, udp| PortMapping {
        host,
        container,
        udp,
    };
    assert_eq!(
        assign(&all).unwrap(),
        [
            vec![mapping(32_769, 5432, false), mapping(32_768, 1, false)],
            vec![mapping(32_770, 5432, false), mapping(32_770, 53, true)],
        ]
    );
    let twice = [
        vec![port(Some(80), 1, false)],
        vec![port(Some(80), 2, false)],
    ];
    assert!(assign(&twice).unwrap_err().contains("port 80"));
}

#[test]
fn i17_a_service_has_as_long_as_docker_gives_it() {
    let json = r#"{"Test":["CMD-SHELL","pg_isready"],"Interval":10000000000,"Retries":2,"StartPeriod":5000000000}"#;
    let check = HealthCheck::of_inspect(json).unwrap();
    assert_eq!(
        HealthCheck::argv(json).unwrap(),
        ["/bin/sh", "-c", "pg_isready"]
    );
    let seconds = Duration::from_secs;
    let mut watch = HealthWatch::new(check.clone());
    let pause = ContainerHealth::Starting(seconds(2));
    for (at, expected) in [
        (1, pause),
        (9, pause),
        // The first that counts, then the second.
        (10, pause),
        (19, pause),
        (20, ContainerHealth::Unhealthy),
    ] {
        assert_eq!(watch.observe(seconds(at), false), expected, "{at}");
    }
    let mut watch = HealthWatch::new(check);
    assert_eq!(watch.observe(seconds(19), false), pause);
    assert_eq!(watch.observe(seconds(20), true), ContainerHealth::Healthy);
    assert_eq!(HealthCheck::of_inspect(r#"{"Test":["NONE"]}"#), None);
    let defaults = HealthCheck::of_inspect(r#"{"Test":["CMD","x"]}"#).unwrap();
    assert_eq!((defaults.interval, defaults.retries), (seconds(30), 3));
}

fn value(yaml_as_json: &str) -> ExprValue {
    let contexts = runner_core::expr::Contexts::default();
    let source = format!("${{{{ fromJSON('{yaml_as_json}') }}}}");
    let place = runner_core::source_location::SourceLocation::default();
    let template = runner_core::expr::ExprTemplate::parse(&source, place);
    let template = template.expect("an expression");
    template
        .value(&runner_core::expr::ExprScope::new(&contexts))
        .expect("a value")
}

#[test]
fn i17_containers_are_read_from_their_values() {
    assert_eq!(container(&ExprValue::Null).unwrap(), None);
    assert_eq!(container(&value(r#""""#)).unwrap(), None);
    let plain = container(&value(r#""node:20""#)).unwrap().unwrap();
    assert_eq!(plain.image, image("node:20"));
    let full = r#"{"image": "x", "env": {"A": 1}, "ports": [80, "90:91"], "volumes": ["v:/v", "/d"], "options": "--user 1", "credentials": {"username": "u", "password": "p"}}"#;
    let full = container(&value(full)).unwrap().unwrap();
    assert_eq!(full.env, [("A".to_owned(), "1".to_owned())]);
    assert_eq!(full.ports.len(), 2);
    assert_eq!(full.volumes, ["v:/v", "/d"]);
    assert_eq!(full.options.engine, ["--user=1"]);
    let shown = format!("{full:?}");
    assert!(!shown.contains("\"p\""), "{shown}");
    let two =
        r#"{"db": {"image": "postgres:16", "command": "-c fsync=off"}, "off": {"image": ""}}"#;
    let two = services(&value(two)).unwrap();
    assert_eq!(two.len(), 1);
    assert_eq!(two[0].1.command, ["-c", "fsync=off"]);
    for (wrong, part) in [
        (
            r#"{"db": {"image": "x", "imag": 1}}"#,
            "services.db: it has no key `imag`",
        ),
        (r#"{"d b": {"image": "x"}}"#, "a name has"),
        (r#"{"db": {"image": "X"}}"#, "is no name of an image"),
        (
            r#"{"db": {"image": "x", "volumes": ["a"]}}"#,
            "is no volume",
        ),
        (
            r#"{"db": {"image": "x", "credentials": {"username": "u"}}}"#,
            "one is empty",
        ),
    ] {
        let error = services(&value(wrong)).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn i17_what_a_dockerfile_builds_on_is_known() {
    let text = "# syntax=docker/dockerfile:1\nARG VERSION=3.1 BASE\nFROM --platform=linux/amd64 golang:${VERSION} AS build\nRUN --mount=type=bind,from=tools:2,target=/t make \\\n  all\nFROM ${BASE:-debian}:bookworm\nCOPY --from=build /a /a\nCOPY --from=busybox:1 /b /b\nCOPY --from=0 /c /c\nfrom scratch\n";
    assert_eq!(
        base_images(text),
        ["golang:3.1", "tools:2", "debian:bookworm", "busybox:1"]
    );
}

#[test]
fn i17_here_documents_of_a_dockerfile_name_no_images() {
    let text = "FROM a:1\nCOPY <<E <<-\"other\" /d/\nFROM none:1\nE\nFROM none:2\n\tother\nRUN cat 3<<E; echo $((1<<2)) <<<x\n# FROM none:3\nE\nFROM b:1\n";
    assert_eq!(base_images(text), ["a:1", "b:1"]);
}

#[test]
fn i17_the_engine_gets_names_addresses_and_folders() {
    let mut request = container(&value(
        r#"{"image": "redis:7", "env": {"A": "b"}, "volumes": ["data:/data"], "options": "--health-cmd ping"}"#,
    ))
    .unwrap()
    .unwrap();
    request.command = vec!["--port".to_owned(), "1".to_owned()];
    let member = |name: &str, number, alias: &str| JobContainer {
        name: name.to_owned(),
        number,
        aliases: vec![alias.to_owned()],
    };
    let members = [member("service-db", 2, "db"), member("job", 3, "job")];
    let launch = Launch {
        request: &request,
        member: &members[1],
        members: &members,
        mounts: &[BindMount::new("/workspace", "/__w")],
        env: &[("CI".to_owned(), "true".to_owned())],
    };
    let words = launch.service();
    for word in [
        "--name=job",
        "--network=ns:/run/netns/job",
        "--add-host=db:172.18.0.2",
        "--add-host=host.docker.internal:172.18.0.1",
        "--env=CI=true",
        "--env=A=b",
        "--volume=/workspace:/__w",
        "--volume=data:/data",
        "--health-cmd=ping",
    ] {
        assert!(words.contains(&word.to_owned()), "{word}: {words:?}");
    }
    assert!(!words.contains(&"--add-host=job:172.18.0.3".to_owned()));
    let end = ["docker.io/library/redis:7", "--port", "1"].map(str::to_owned);
    assert!(words.ends_with(&end), "{words:?}");
    let waits = [
        "--entrypoint=tail",
        "docker.io/library/redis:7",
        "-f",
        "/dev/null",
    ];
    assert!(
        launch
            .job("/workspace")
            .ends_with(&waits.map(str::to_owned))
    );
    let argv = ["sh".to_owned(), "x".to_owned()];
    let exec = engine::exec(
        ("id", Some("7:8")),
        "/w",
        [("A", "b c")].into_iter(),
        &argv,
        false,
    );
    assert_eq!(
        exec,
        [
            "crun",
            "exec",
            "--user=7:8",
            "--cwd=/w",
            "--env=A=b c",
            "id",
            "sh",
            "x"
        ]
    );
    let said = r#"[{"Id": "abc", "State": {"Running": true, "ExitCode": 0}, "Config": {"User": "1", "Env": ["PATH=/bin", "X=a=b"], "Healthcheck": {"Test": ["CMD", "x"]}}}]"#;
    let runtime = r#"{"process": {"user": {"uid": 100, "gid": 101}}}"#;
    let said = inspected(said, runtime).unwrap();
    assert_eq!(said.user, "100:101");
    assert_eq!((said.id.as_str(), said.running), ("abc", true));
    assert_eq!(said.env[1], ("X".to_owned(), "a=b".to_owned()));
    assert!(inspected("[]", runtime).is_err());
}

#[test]
fn i17_a_machine_gets_each_layer_once() {
    let layer = |letter: &str, hidden: &[&str]| StoredLayer {
        diff_id: format!("sha256:{}", letter.repeat(64)),
        tar: format!("sha256:{}", letter.repeat(64)),
        bytes: 7,
        hidden: hidden.iter().map(|path| (*path).to_owned()).collect(),
        split: Some(TarSplit {
            digest: format!("sha256:{}", "5".repeat(64)),
            bytes: 9,
        }),
    };
    let of = |config: &str, layers: Vec<StoredLayer>| StoredImage {
        config: format!("sha256:{}", config.repeat(64)),
        layers,
    };
    let base = layer("a", &[]);
    let images = [
        (
            vec!["x:1".to_owned()],
            of("1", vec![base.clone()]),
            b"{}".to_vec(),
        ),
        (
            vec!["y:1".to_owned()],
            of("2", vec![base, layer("b", &["etc/it's"])]),
            b"{}".to_vec(),
        ),
    ];
    let seed = seed(&images);
    assert_eq!(seed.layers.len(), 2);
    let file = |path: &str| {
        let mut files = seed.files.iter();
        let (_, bytes) = files.find(|(name, _)| name.contains(path)).unwrap();
        String::from_utf8(bytes.clone()).unwrap()
    };
    assert!(file("images.json").contains("\"names\":[\"y:1\"]"));
    let upper = seed.layers[1].folder.clone();
    assert_eq!(
        file(&format!("{upper}/lower")),
        format!("l/{}", "A".repeat(26))
    );
    // Layers are put together again as they came: their size is the one that is announced.
    let (split, _) = seed.layers[1].split.clone().expect("a description");
    let id = upper.trim_start_matches("overlay/");
    assert_eq!(split, format!("overlay-layers/{id}.tar-split.gz"));
    assert!(file("layers.json").contains("\"diff-size\":9"));
    let script = unpack_script(&seed);
    assert!(
        script.contains("tar --numeric-owner -p -xf incoming/1.tar"),
        "{script}"
    );
    assert!(script.contains(r"diff/etc/it'\''s' c 0 0"), "{script}");
}
