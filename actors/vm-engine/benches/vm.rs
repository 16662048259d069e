//! How fast VMs come and go, and what they cost.
//!
//! `cargo bench -p vm-engine --bench vm -- [--rounds N] [--kernel own|debian] [--accel tcg|kvm] [--network | --snapshots]`;
//! the last two measure the network, or snapshots, alone. `--memory` measures what clones take
//! alone, and with `--image full` those of that image, with `--mem 1024` of that many MiB.
//!
//! Needs what the tests need (QEMU, and a kernel and an image in the cache folder, made when they
//! are missing). Each figure is of the whole path, from the call to the answer out of the guest.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    missing_docs
)]

#[path = "../tests/vm/support.rs"]
#[allow(dead_code)]
mod support;

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use vm_core::network::{AllowList, NetworkPolicy};
use vm_core::{ExecEnd, VmSpec, VmState};
use vm_engine::image::ImageStore;
use vm_engine::network::{NetworkLimits, TrustedAuthorities, Uplink};
use vm_engine::{Driver as _, Machine, OutputFlow, Template};

use support::{
    Collect, CollectedOutput, Lab, TEST_TIMEOUT, cache, clone_of, identity, run, script,
    warm_clone_of,
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)).cloned()
    };
    let rounds: usize =
        option("--rounds").map_or(200, |text| text.parse().expect("--rounds takes a number"));
    let lab = Lab::with(option("--kernel").as_deref(), option("--accel").as_deref());
    if arguments.iter().any(|argument| argument == "--memory") {
        let image = option("--image").unwrap_or_else(|| "default".to_owned());
        let mem_mib = option("--mem").map_or(256, |text| text.parse().expect("--mem takes MiB"));
        return of_image(&lab, &image, mem_mib);
    }
    println!(
        "kernel {}, isolation {}, VMs of 256 MiB",
        lab.config.kernel.release,
        lab.driver.isolation()
    );

    network(&lab);
    if arguments.iter().any(|argument| argument == "--network") {
        return;
    }
    if arguments.iter().any(|argument| argument == "--snapshots") {
        return going_back(&lab.template());
    }
    cold(&lab);
    let begun = Instant::now();
    let template = lab.template();
    println!("template made in {}", ms(begun.elapsed()));
    clones(&template);
    pool(&template);
    eight(&template);
    waiting(&template);
    tar_in(&template);
    going_back(&template);
    leaks(&lab, &template, rounds);
    drop(template);
    lab.assert_nothing_left();
    println!("nothing is left: state {:?}", VmState::Gone);
}

/// What clones of an image take that wait.
fn of_image(lab: &Lab, image: &str, mem_mib: u32) {
    let spec = VmSpec {
        image: image.parse().expect("a name of an image"),
        mem_mib,
        disk_mib: 8192,
        ..Lab::spec()
    };
    let images = ImageStore::open(&cache().join("images")).unwrap();
    let image = images.resolve(&spec.image).unwrap();
    let begun = Instant::now();
    let template = lab.driver.template(&spec.template_key(), &image);
    let template = template.unwrap().expect("QEMU has templates");
    println!(
        "image {}, {mem_mib} MiB: template made in {}",
        spec.image,
        ms(begun.elapsed())
    );
    waiting(&template);
}

/// Bytes that a peer of this machine sends to a VM, through a tunnel of its network.
fn network(lab: &Lab) {
    const MIB: usize = 64;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut peer in listener.incoming().flatten() {
            let piece = vec![0; 1 << 20];
            (0..MIB).for_each(|_| drop(peer.write_all(&piece)));
        }
    });
    let places = [format!("peer.test:{port}"), format!("127.0.0.1:{port}")];
    let places = places.iter().map(|text| text.parse().unwrap());
    let uplink = Uplink {
        reach: NetworkPolicy {
            manager: AllowList(places.collect()),
            requested: None,
        },
        services: None,
        limits: NetworkLimits::default(),
        traffic: Arc::default(),
        resolve: Arc::new(|_| Ok(vec!["127.0.0.1".parse().unwrap()])),
        trust: TrustedAuthorities::default(),
        on_refused: Box::new(|_, _| {}),
    };
    let machine = lab.start("vm-network");
    machine
        .open_network(Arc::new(uplink), TEST_TIMEOUT)
        .unwrap();
    let fetch = format!(
        "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT peer.test:{port} HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3 | wc -c"
    );
    let begun = Instant::now();
    let outcome = run(&*machine, &fetch);
    let seconds = begun.elapsed().as_secs_f64();
    let bytes: usize = outcome.stdout.trim().parse().unwrap();
    assert!(bytes > MIB << 20, "{outcome:?}");
    println!("network into a VM: {:.0} MiB/s", MIB as f64 / seconds);
    machine.kill().unwrap();
}

fn cold(lab: &Lab) {
    let mut starts = Vec::new();
    let mut kills = Vec::new();
    for round in 0..5 {
        let begun = Instant::now();
        let machine = lab.start(&format!("vm-cold-{round}"));
        first_output(&*machine);
        starts.push(begun.elapsed());
        kills.push(kill(&*machine));
    }
    print_times("cold start to first output", &mut starts);
    print_times("kill of a booted VM to everything gone", &mut kills);
}

fn clones(template: &Arc<dyn Template>) {
    let (mut ready, mut output, mut kills) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..60 {
        let begun = Instant::now();
        let machine = clone_of(template, &format!("vm-clone-{round}"));
        machine.wake(&identity("clone"), TEST_TIMEOUT).unwrap();
        ready.push(begun.elapsed());
        first_output(&*machine);
        output.push(begun.elapsed());
        kills.push(kill(&*machine));
    }
    print_times("clone to ready for work", &mut ready);
    print_times("clone to first output", &mut output);
    print_times("kill of a clone to everything gone", &mut kills);
}

fn pool(template: &Arc<dyn Template>) {
    let (mut made, mut times, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..60 {
        let begun = Instant::now();
        let machine = warm_clone_of(template, &format!("vm-pool-{round}"));
        made.push(begun.elapsed());
        let begun = Instant::now();
        machine.wake(&identity("pool"), TEST_TIMEOUT).unwrap();
        first_output(&*machine);
        times.push(begun.elapsed());
        let begun = Instant::now();
        first_output(&*machine);
        again.push(begun.elapsed());
        machine.kill().unwrap();
    }
    print_times("clone made for the pool: loaded, warmed, paused", &mut made);
    print_times("pool hit to first output", &mut times);
    print_times("second command in the same VM to its output", &mut again);
}

/// Snapshots of clones that have run a command, and of the same with 64 MiB of memory written.
fn going_back(template: &Arc<dyn Template>) {
    for (which, work) in [
        ("a clone that has run a command", "true"),
        (
            "one that has written 64 MiB more",
            "head -c 64M /dev/urandom >/dev/shm/x",
        ),
    ] {
        let (mut taken, mut back, mut bytes) = (Vec::new(), Vec::new(), 0);
        for round in 0..10 {
            let machine = clone_of(template, &format!("vm-back-{round}"));
            let identity = identity("back");
            machine.wake(&identity, TEST_TIMEOUT).unwrap();
            run(&*machine, work);
            let name = "one".parse().unwrap();
            let begun = Instant::now();
            bytes += machine.snapshot(&name, &identity, TEST_TIMEOUT).unwrap();
            taken.push(begun.elapsed());
            first_output(&*machine);
            let begun = Instant::now();
            machine.restore(&name, &identity, TEST_TIMEOUT).unwrap();
            first_output(&*machine);
            back.push(begun.elapsed());
            machine.kill().unwrap();
        }
        println!(
            "snapshot of {which}: {} MB on the disk",
            bytes / 10 / 1_000_000
        );
        print_times("  taken, the VM runs again", &mut taken);
        print_times("  gone back to it, to the first output", &mut back);
    }
}

fn eight(template: &Arc<dyn Template>) {
    let mut times = Vec::new();
    for round in 0..3 {
        let begun = Instant::now();
        let machines: Vec<Arc<dyn Machine>> = std::thread::scope(|scope| {
            let start = |index| {
                scope.spawn(move || {
                    let machine = clone_of(template, &format!("vm-eight-{round}-{index}"));
                    machine.wake(&identity("eight"), TEST_TIMEOUT).unwrap();
                    first_output(&*machine);
                    machine
                })
            };
            let threads: Vec<_> = (0..8).map(start).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        times.push(begun.elapsed());
        if round == 2 {
            memory("that has run a command", &machines);
        }
    }
    print_times("8 clones at once, all to first output", &mut times);
}

/// Eight that wait: as they come from the template, ready for work, and warm as in a pool.
fn waiting(template: &Arc<dyn Template>) {
    let eight = |make: &dyn Fn(&str) -> Arc<dyn Machine>| -> Vec<_> {
        (0..8)
            .map(|index| make(&format!("vm-waiting-{index}")))
            .collect()
    };
    memory("that was loaded", &eight(&|id| clone_of(template, id)));
    let ready = |id: &str| {
        let machine = clone_of(template, id);
        machine.wake(&identity("ready"), TEST_TIMEOUT).unwrap();
        machine
    };
    memory("that is ready for its first command", &eight(&ready));
    memory(
        "that waits warm in a pool",
        &eight(&|id| warm_clone_of(template, id)),
    );
}

fn memory(which: &str, machines: &[Arc<dyn Machine>]) {
    for (what, field) in [
        ("of its own (Private)", "Private_"),
        ("with its share of what is shared (Pss)", "Pss:"),
    ] {
        let of = |machine: &Arc<dyn Machine>| {
            let path = format!("/proc/{}/smaps_rollup", machine.process().pid);
            let text = fs::read_to_string(path).unwrap();
            let lines = text.lines().filter(|line| line.starts_with(field));
            lines
                .map(|line| {
                    line.split_whitespace()
                        .nth(1)
                        .unwrap()
                        .parse::<u64>()
                        .unwrap()
                })
                .sum::<u64>()
        };
        let kib: Vec<u64> = machines.iter().map(of).collect();
        let mib = |kib: u64| kib as f64 / 1024.0;
        println!(
            "memory of a clone {which}, {what}: mean {:.1} MiB, most {:.1} MiB",
            mib(kib.iter().sum::<u64>() / 8),
            mib(*kib.iter().max().unwrap())
        );
    }
}

fn tar_in(template: &Arc<dyn Template>) {
    for (what, files, size) in [
        ("16 files of 4 MB", 16, 4 << 20),
        ("2,000 files of 8 kB", 2000, 8 << 10),
    ] {
        let mut tar = tar::Builder::new(Vec::new());
        let content: Vec<u8> = (0..size as u32)
            .map(|index| (index.wrapping_mul(2_654_435_761) >> 11) as u8)
            .collect();
        for index in 0..files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            tar.append_data(
                &mut header,
                format!("d{}/f{index}", index % 20),
                content.as_slice(),
            )
            .unwrap();
        }
        let tar = tar.into_inner().unwrap();
        let machine = clone_of(template, &format!("vm-tar-{files}"));
        machine.wake(&identity("tar"), TEST_TIMEOUT).unwrap();
        let begun = Instant::now();
        machine
            .put_tar("/workspace", &mut tar.as_slice(), TEST_TIMEOUT)
            .unwrap();
        let took = begun.elapsed();
        let begun = Instant::now();
        machine
            .get_tar("/workspace", &mut std::io::sink(), TEST_TIMEOUT)
            .unwrap();
        let speed = |took: Duration| tar.len() as f64 / 1e6 / took.as_secs_f64();
        println!(
            "tar of {what}: in {:.1} MB/s, out {:.1} MB/s",
            speed(took),
            speed(begun.elapsed())
        );
        machine.kill().unwrap();
    }
}

/// Allocate, run, release: what the process holds must not grow.
fn leaks(lab: &Lab, template: &Arc<dyn Template>, rounds: usize) {
    let mut held = (0, 0, 0);
    let begun = Instant::now();
    for round in 0..rounds {
        let machine = clone_of(template, &format!("vm-round-{round}"));
        machine.wake(&identity("round"), TEST_TIMEOUT).unwrap();
        assert_eq!(run(&*machine, "true").end, ExecEnd::Exited { code: 0 });
        machine.kill().unwrap();
        drop(machine);
        if round == rounds / 10 {
            held = holds();
        }
    }
    let (files, threads, kib) = holds();
    let folders = fs::read_dir(lab.runtime()).unwrap().count() - 1;
    println!(
        "{rounds} rounds in {:.1} s; folders left {folders}; open files {} -> {files}, threads {} -> {threads}, memory {} -> {kib} KiB",
        begun.elapsed().as_secs_f64(),
        held.0,
        held.1,
        held.2
    );
}

/// Open files, threads, and resident memory in KiB of this process.
fn holds() -> (usize, usize, usize) {
    // Threads of a connection end a moment after it.
    std::thread::park_timeout(Duration::from_millis(200));
    let count = |path| fs::read_dir(path).unwrap().count();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let rss = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    (
        count("/proc/self/fd"),
        count("/proc/self/task"),
        rss.split_whitespace().next().unwrap().parse().unwrap(),
    )
}

fn first_output(machine: &dyn Machine) {
    let (sender, news) = channel();
    machine
        .exec(
            script("echo here"),
            Box::new(Collect {
                sender,
                flow: OutputFlow::Continue,
            }),
        )
        .unwrap();
    match news.recv_timeout(TEST_TIMEOUT).unwrap() {
        CollectedOutput::Output(_, bytes) => assert_eq!(bytes, b"here\n"),
        CollectedOutput::Ended(end) => panic!("it ended without output: {end:?}"),
    }
}

fn kill(machine: &dyn Machine) -> Duration {
    let begun = Instant::now();
    machine.kill().unwrap();
    begun.elapsed()
}

fn print_times(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at =
        |part: f64| times[((times.len() as f64 * part).ceil() as usize).clamp(1, times.len()) - 1];
    println!(
        "{what}: p50 {}, p95 {}, most {} (n = {})",
        ms(at(0.5)),
        ms(at(0.95)),
        ms(at(1.0)),
        times.len()
    );
}

fn ms(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1000.0)
}
