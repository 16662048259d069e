//! The driver against a scripted Firecracker: the real one needs hardware that is not everywhere.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use serde_json::Value;
use vm_core::VmSpec;
use vm_core::guest::{FrameDecoder, Greeting, ToGuest, ToHost, decode_to_guest, encode_to_host};

use super::*;
use crate::Identity;
use crate::qemu::MachineKind;

const WAIT: Duration = Duration::from_secs(30);

/// What the scripted one does with its requests.
#[derive(Clone, Copy, PartialEq)]
enum Script {
    Work,
    RefuseDrive,
    NeverConnect,
    OtherVersion,
}

struct Lab {
    folder: tempfile::TempDir,
    driver: FirecrackerDriver,
}

/// A program that says a version, and otherwise only lives: its socket is served by the test.
fn lab(version: &str) -> Result<Lab, VersionError> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("firecracker");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Firecracker v{version}' && exit\nexec sleep 1000\n"
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("image"), vec![7; 5000]).unwrap();
    fs::create_dir(folder.path().join("run")).unwrap();
    let kernel = Kernel {
        vmlinux: "/k".into(),
        initramfs: "/i".into(),
        machine: MachineKind::Microvm,
        release: "own-6".to_owned(),
    };
    let driver = FirecrackerDriver::new(program, kernel, folder.path().join("run"))?;
    Ok(Lab { folder, driver })
}

impl Lab {
    fn request(&self, deadline: Duration) -> StartRequest {
        let spec = VmSpec {
            image: Default::default(),
            vcpus: 2,
            mem_mib: 300,
            disk_mib: 1,
            network: vm_core::Network::None,
            allow: None,
            services: None,
            services_for: Vec::new(),
            lease: WAIT,
            owner: "test".parse().unwrap(),
            isolation_min: Isolation::HardwareVm,
        };
        let image = Image {
            digest: String::new(),
            disk: self.folder.path().join("image"),
            format: DiskFormat::Raw,
            virtual_bytes: 5000,
        };
        let identity = Identity {
            seed: [0; 64],
            hostname: "vm-fire".to_owned(),
        };
        StartRequest {
            id: "vm-fire".parse().unwrap(),
            spec,
            image: Arc::new(image),
            identity,
            boot_deadline: deadline,
            on_event: Box::new(|_| {}),
        }
    }

    fn serve(&self, script: Script) -> (Receiver<(String, Value)>, JoinHandle<()>) {
        let (sender, requests) = channel();
        let folder = self.folder.path().join("run/vm-fire");
        let thread = std::thread::spawn(move || {
            // The driver makes the folder, and listens for the guest before it starts the program.
            while !folder.join("agent.sock_5000").exists() {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            let listener = UnixListener::bind(folder.join(API)).unwrap();
            loop {
                let (mut socket, _) = listener.accept().unwrap();
                let Some((path, body)) = request(&mut socket) else {
                    continue;
                };
                let last = path == "/actions";
                let refused = script == Script::RefuseDrive && path == "/drives/root";
                let _ = sender.send((path, body));
                if refused {
                    let fault = r#"{"fault_message":"no such disk"}"#;
                    write!(
                        socket,
                        "HTTP/1.1 400 Bad Request\r\nContent-Length: {}\r\n\r\n{fault}",
                        fault.len()
                    )
                    .unwrap();
                    return;
                }
                socket
                    .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
                    .unwrap();
                if last {
                    break;
                }
            }
            if script != Script::NeverConnect {
                guest(
                    UnixStream::connect(folder.join("agent.sock_5000")).unwrap(),
                    script,
                );
            }
        });
        (requests, thread)
    }
}

fn request(socket: &mut UnixStream) -> Option<(String, Value)> {
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.strip_prefix("PUT ")?.split(' ').next()?.to_owned();
    let mut length = 0;
    while line.trim() != "" {
        line.clear();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, serde_json::from_slice(&body).ok()?))
}

/// The clocks of a guest whose clocks are the host's.
fn clocks() -> vm_core::guest::ClockReading {
    static ORIGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let steady = ORIGIN.get_or_init(std::time::Instant::now).elapsed();
    let wall = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    vm_core::guest::ClockReading {
        wall_ns: u64::try_from(wall.as_nanos()).unwrap(),
        steady_ns: u64::try_from(steady.as_nanos()).unwrap(),
    }
}

/// An agent that says yes to everything.
fn guest(mut socket: UnixStream, script: Script) {
    let version = if script == Script::OtherVersion {
        VERSION + 1
    } else {
        VERSION
    };
    let hello = Greeting {
        version,
        uptime_ms: 1,
        kernel: "own".to_owned(),
        cgroups: true,
    };
    let mut bytes = Vec::new();
    encode_to_host(0, &ToHost::Hello(hello), &mut bytes).unwrap();
    socket.write_all(&bytes).unwrap();
    let mut decoder = FrameDecoder::default();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = socket.read(&mut buffer) {
        decoder.feed(&buffer[..count]);
        while let Some(frame) = decoder.next_frame().unwrap() {
            let channel = frame.channel;
            let answer = match decode_to_guest(frame).unwrap() {
                ToGuest::Ping(number) => ToHost::Pong(number),
                ToGuest::Clock => ToHost::Clock(clocks()),
                _ => ToHost::Finished(Default::default()),
            };
            let mut bytes = Vec::new();
            encode_to_host(channel, &answer, &mut bytes).unwrap();
            if socket.write_all(&bytes).is_err() {
                return;
            }
        }
    }
}

#[test]
fn a_vm_is_described_started_and_ended() {
    let lab = lab("1.15.1").unwrap();
    let (requests, thread) = lab.serve(Script::Work);
    let machine = lab
        .driver
        .start(lab.request(WAIT))
        .unwrap_or_else(|error| panic!("{error}"));
    machine.ping(WAIT).unwrap();
    let requests: Vec<(String, Value)> = requests.try_iter().collect();
    let paths: Vec<&str> = requests.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/machine-config",
            "/boot-source",
            "/drives/root",
            "/vsock",
            "/actions"
        ]
    );
    assert_eq!(
        (&requests[0].1["vcpu_count"], &requests[0].1["mem_size_mib"]),
        (&2.into(), &300.into())
    );
    assert!(
        requests[1].1["boot_args"]
            .as_str()
            .unwrap()
            .contains("orrery.vsock=5000")
    );
    let disk = requests[2].1["path_on_host"].as_str().unwrap();
    assert_eq!(
        fs::metadata(disk).unwrap().len(),
        1 << 20,
        "as large as was asked for"
    );
    assert_eq!(requests[3].1["uds_path"], AGENT);
    assert_eq!(lab.driver.isolation(), Isolation::HardwareVm);
    let pid = machine.process().pid;
    machine.kill().unwrap();
    assert!(!lab.folder.path().join("run/vm-fire").exists());
    assert_eq!(crate::process::start_ticks(pid), None);
    thread.join().unwrap();
}

#[test]
fn every_failure_leaves_nothing() {
    let other = format!("speaks protocol {}, not {VERSION}", VERSION + 1);
    for (script, deadline, wanted) in [
        (
            Script::RefuseDrive,
            WAIT,
            "refused `/drives/root`: its API refused with 400: no such disk",
        ),
        (
            Script::NeverConnect,
            Duration::from_millis(300),
            "not ready within 300 ms",
        ),
        (Script::OtherVersion, WAIT, other.as_str()),
    ] {
        let lab = lab("1.14.4").unwrap();
        let (_requests, thread) = lab.serve(script);
        let error = lab
            .driver
            .start(lab.request(deadline))
            .err()
            .expect("it cannot start");
        assert!(error.to_string().contains(wanted), "{error}");
        assert!(!lab.folder.path().join("run/vm-fire").exists());
        thread.join().unwrap();
    }
}

#[test]
fn r17_an_old_one_is_refused_before_anything_runs() {
    let error = lab("1.14.3").err().expect("it has known holes").to_string();
    assert!(
        error.contains("1.14.3") && error.contains("1.15.1"),
        "{error}"
    );
}
