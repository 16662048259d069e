//! Real VMs behind a real manager, spoken to with the client that the runner uses.
//!
//! Agent, kernel and image come from the cache folder (`ORRERY_CACHE`, else `~/.cache/orrery`) and
//! are made there when they are missing.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use config_core::Secret;
use http_clients::http::{HttpClient, HttpOptions};
use http_clients::vmm::{
    ExecState, FollowEvent, HealthStatus, Isolation, NewExec, NewVm, VmmClient,
};
use scripted_peers::{Program, VmCache};
use tempfile::TempDir;

use crate::manager::{DEADLINE, program, text};

fn need(program: &str, package: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    assert!(
        found,
        "{program} is missing: run `apt-get install -y --no-install-recommends {package}`"
    );
}

/// The static agent, built by cargo from this checkout.
pub(crate) fn agent() -> PathBuf {
    let workspace = std::path::absolute("../..").expect("a folder to work in");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(workspace)
        .args(["build", "--package", "vm-guest", "--profile", "guest"])
        .args([
            "--target",
            "x86_64-unknown-linux-gnu",
            "--message-format",
            "json",
        ])
        .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static")
        .output()
        .expect("cargo runs");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let marker = "\"executable\":\"";
    let found = lines.lines().rev().find_map(|line| {
        let rest = &line[line.find(marker)? + marker.len()..];
        Some(PathBuf::from(&rest[..rest.find('"')?]))
    });
    found.unwrap_or_else(|| panic!("vm-guest was not built: {}", text(&output)))
}

/// A home whose manager uses the images and kernels of the cache.
pub(crate) struct Home {
    folder: TempDir,
    agent: PathBuf,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with(&["images", "kernels"])
    }

    /// One whose manager has no images of its own.
    pub(crate) fn without_images() -> Self {
        Self::with(&["kernels"])
    }

    fn with(shared: &[&str]) -> Self {
        need("qemu-system-x86_64", "qemu-system-x86");
        need("mmdebstrap", "mmdebstrap");
        need("mke2fs", "e2fsprogs");
        let agent = agent();
        let cache = VmCache::open();
        let folder = cache.folder_of("manager-");
        cache.lend(&folder.path().join("data"), shared);
        Self { folder, agent }
    }

    fn command(&self) -> Command {
        let mut command = program(self.folder.path());
        command.arg("--agent").arg(&self.agent);
        command
    }

    /// What a subcommand prints, with the settings that the manager was started with.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let mut command = self.command();
        command
            .arg("--config")
            .arg(self.folder.path().join("vm-manager.toml"));
        let output = command.args(arguments).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        text(&output)
    }

    /// A manager whose VMs can be had. One process at a time makes what is missing.
    pub(crate) fn start(&self, settings: &str) -> Program {
        let file = self.folder.path().join("vm-manager.toml");
        fs::write(&file, settings).expect("it can be written");
        let _lock = VmCache::open().lock();
        let mut command = self.command();
        command.arg("--config").arg(&file);
        let manager = Program::start(command);
        manager.wait_for("vm.prepared");
        manager
    }

    pub(crate) fn client(&self, manager: &Program) -> VmmClient {
        client(self.command(), manager)
    }

    fn vms(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path().join("data/vms")).expect("it is there");
        entries
            .map(|entry| entry.expect("readable").path())
            .collect()
    }

    /// Processes that work in the folder of a VM or template.
    fn processes(&self) -> Vec<u32> {
        let runtime = self.folder.path().join("data/vms");
        let runtime = runtime.canonicalize().expect("it is there");
        let entries = fs::read_dir("/proc").expect("proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&runtime))
        })
        .collect()
    }
}

/// A client of a manager, whose program makes the token.
pub(crate) fn client(mut program: Command, manager: &Program) -> VmmClient {
    let output = program.arg("token").output().expect("it starts");
    let token = String::from_utf8(output.stdout).expect("a token is text");
    let url = format!("http://{}/", manager.address);
    let http = HttpClient::new(HttpOptions {
        deadline: DEADLINE,
        ..HttpOptions::default()
    });
    VmmClient::new(
        http,
        url.parse().expect("a URL"),
        Some(Secret::new(token.trim().to_owned())),
    )
}

/// Slow machines take their time to boot.
pub(crate) const SETTINGS: &str = "[deadlines]\nboot = \"120s\"\nsilence = \"60s\"\n";

fn script(text: &str) -> NewExec {
    NewExec {
        script: Some(text.to_owned()),
        shell: Some("bash".to_owned()),
        timeout_ms: Some(120_000),
        ..NewExec::default()
    }
}

/// All output of a command, and how it ended.
pub(crate) async fn run(
    client: &VmmClient,
    vm: &str,
    text: &str,
) -> (String, ExecState, Option<i32>) {
    let exec = client.exec(vm, &script(text)).await.expect("it starts");
    let mut follow = client.follow(vm, &exec).await.expect("it can be followed");
    let mut output = Vec::new();
    loop {
        match follow.next().await.transpose().expect("a whole stream") {
            Some(FollowEvent::Output(_, bytes)) => output.extend_from_slice(&bytes),
            Some(FollowEvent::Dropped(bytes)) => panic!("{bytes} bytes were lost"),
            Some(FollowEvent::Ended(report)) => {
                let output = String::from_utf8_lossy(&output).into_owned();
                return (output, report.state, report.exit_code);
            }
            None => panic!("no end"),
        }
    }
}

/// A tar of one file.
fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[108..115].copy_from_slice(b"0000000");
    header[116..123].copy_from_slice(b"0000000");
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[136..147].copy_from_slice(b"00000000000");
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut tar = header.to_vec();
    tar.extend_from_slice(content);
    tar.resize(tar.len().next_multiple_of(512) + 1024, 0);
    tar
}

async fn killed_on_request(client: &VmmClient, vm: &str) {
    let endless = client
        .exec(vm, &script("sleep 1000"))
        .await
        .expect("it starts");
    client.kill(vm, &endless).await.expect("it is told");
    let report = loop {
        let report = client.exec_report(vm, &endless).await.expect("it is known");
        if report.state != ExecState::Running {
            break report;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!((report.state, report.exit_code), (ExecState::Killed, None));
}

async fn comes_out(client: &VmmClient, vm: &str, content: &[u8]) {
    let mut got = client
        .get_files(vm, "/workspace/note.txt")
        .await
        .expect("it is there");
    let mut packed = Vec::new();
    while let Some(chunk) = got.next_chunk().await {
        packed.extend_from_slice(&chunk.expect("whole"));
    }
    assert!(
        packed.windows(content.len()).any(|part| part == content),
        "the file is in the tar"
    );
}

#[test]
fn a_job_runs_in_a_vm_from_order_to_release() {
    let home = Home::new();
    let mut manager = home.start(SETTINGS);
    let client = home.client(&manager);
    actix_rt::System::new().block_on(async {
        let health = client.health().await.expect("it answers");
        assert_eq!(health.status, HealthStatus::Ok);
        assert_eq!(health.driver, "qemu");
        let kvm = health.kvm;
        let wanted = if kvm.usable {
            Isolation::HardwareVm
        } else {
            Isolation::EmulatedVm
        };
        assert_eq!(
            health.isolation, wanted,
            "the label is what the canary found: {kvm:?}"
        );
        let order = NewVm {
            owner: "octo/repo#1".parse().ok(),
            ..NewVm::default()
        };
        let vm = client
            .create("job-1", &order, DEADLINE)
            .await
            .expect("a VM")
            .id;
        let again = client
            .create("job-1", &order, DEADLINE)
            .await
            .expect("the same")
            .id;
        assert_eq!(vm, again);
        let content = b"from the host\n".to_vec();
        let bytes = tar("note.txt", &content);
        let stream = futures_util::stream::iter([Ok(bytes::Bytes::from(bytes))]);
        client
            .put_files(&vm, "/workspace", stream, DEADLINE)
            .await
            .expect("unpacked");
        let told = run(&client, &vm, "cat note.txt; hostname; git --version >&2").await;
        assert!(
            told.0.contains("from the host\n") && told.0.contains(&vm),
            "{told:?}"
        );
        assert_eq!((told.1, told.2), (ExecState::Exited, Some(0)), "{told:?}");
        let failed = run(&client, &vm, "echo before; false; echo after").await;
        assert_eq!(
            (failed.0.as_str(), failed.1, failed.2),
            ("before\n", ExecState::Exited, Some(1))
        );
        killed_on_request(&client, &vm).await;
        comes_out(&client, &vm, &content).await;
        assert!(client.lease(&vm, 3600).await.is_ok());
        client.delete(&vm).await.expect("released");
        assert!(client.list().await.expect("a list").is_empty());
    });
    let (code, log) = manager.end();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(
        (home.vms(), home.processes()),
        (Vec::<PathBuf>::new(), Vec::new())
    );
}

#[test]
fn f06_a_manager_that_is_killed_leaves_nothing_once_it_is_started_again() {
    let home = Home::new();
    let mut manager = home.start(SETTINGS);
    let client = home.client(&manager);
    let former = actix_rt::System::new().block_on(async {
        let vm = client
            .create("job", &NewVm::default(), DEADLINE)
            .await
            .expect("a VM")
            .id;
        client
            .exec(&vm, &script("sleep 1000"))
            .await
            .expect("it starts");
        vm
    });
    assert!(!home.processes().is_empty());
    manager.kill();
    let mut manager = home.start(SETTINGS);
    let client = home.client(&manager);
    actix_rt::System::new().block_on(async {
        assert!(client.get(&former).await.is_err(), "it is gone");
        assert!(client.list().await.expect("a list").is_empty());
        let folders = home.vms();
        assert!(
            !folders.iter().any(|folder| folder.ends_with(&former)),
            "{folders:?}"
        );
        // The order is free again: its VM went with the former manager.
        let vm = client
            .create("job", &NewVm::default(), DEADLINE)
            .await
            .expect("a VM")
            .id;
        assert_ne!(vm, former);
    });
    manager.kill();
    let mut manager = home.start(SETTINGS);
    let (code, log) = manager.end();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(
        (home.vms(), home.processes()),
        (Vec::<PathBuf>::new(), Vec::new())
    );
}

#[test]
fn r12_a_vm_whose_process_is_killed_is_seen_released_and_its_command_is_lost() {
    let home = Home::new();
    let mut manager = home.start(SETTINGS);
    let client = home.client(&manager);
    actix_rt::System::new().block_on(async {
        let vm = client
            .create("job", &NewVm::default(), DEADLINE)
            .await
            .expect("a VM")
            .id;
        let exec = client
            .exec(&vm, &script("sleep 1000"))
            .await
            .expect("it starts");
        let mut follow = client.follow(&vm, &exec).await.expect("it can be followed");
        let folder = home.vms().into_iter().find(|folder| folder.ends_with(&vm));
        let folder = folder
            .expect("its folder")
            .canonicalize()
            .expect("it is there");
        let pid = home
            .processes()
            .into_iter()
            .find(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder));
        let pid = i32::try_from(pid.expect("its process")).expect("a number");
        let pid = rustix::process::Pid::from_raw(pid).expect("not zero");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
        let end = loop {
            match follow.next().await.transpose().expect("a whole stream") {
                Some(FollowEvent::Ended(report)) => break report,
                Some(_) => {}
                None => panic!("no end"),
            }
        };
        assert_eq!((end.state, end.exit_code), (ExecState::Lost, None));
        while client.get(&vm).await.expect("it is kept to be seen").state != "failed" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let released = client.release_stuck().await.expect("an answer");
        assert_eq!(released.released.len(), 1);
        assert_eq!(
            (
                released.released[0].id.as_str(),
                released.released[0].reason.as_str()
            ),
            (vm.as_str(), "process_gone")
        );
        assert!(client.get(&vm).await.is_err());
    });
    assert_eq!(manager.end().0, Some(0));
    assert_eq!(
        (home.vms(), home.processes()),
        (Vec::<PathBuf>::new(), Vec::new())
    );
}

#[test]
fn a_warm_pool_gives_out_clones_that_differ() {
    let home = Home::new();
    let settings = format!("{SETTINGS}[pool]\nclones = 2\n[[pool.warm]]\nmemory = \"256MiB\"\n");
    let mut manager = home.start(&settings);
    let client = home.client(&manager);
    actix_rt::System::new().block_on(async {
        while client.health().await.expect("it answers").pool.ready < 2 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let mut seen = Vec::new();
        for key in ["one", "two"] {
            let vm = client
                .create(key, &NewVm::default(), DEADLINE)
                .await
                .expect("a VM");
            assert_eq!(vm.source, http_clients::vmm::VmSource::Pool);
            let text = "hostname; head -c 16 /dev/urandom | od -An -tx1; date +%s";
            let (output, state, code) = run(&client, &vm.id, text).await;
            assert_eq!((state, code), (ExecState::Exited, Some(0)), "{output}");
            let lines: Vec<String> = output.lines().map(str::to_owned).collect();
            assert_eq!(lines[0], vm.id);
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let apart = now
                .unwrap()
                .as_secs()
                .abs_diff(lines[2].trim().parse().expect("seconds"));
            assert!(apart < 60, "its clock is {apart} s off");
            seen.push(lines[1].clone());
        }
        assert_ne!(seen[0], seen[1], "two clones drew the same randomness");
    });
    let (code, log) = manager.end();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(
        (home.vms(), home.processes()),
        (Vec::<PathBuf>::new(), Vec::new())
    );
}
