//! Single requests to the kernel.
#![allow(
    unsafe_code,
    reason = "four requests to the kernel have no safe wrapper: each passes one struct or number that lives across the call"
)]

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, sendto, socket,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_settime};

/// How long devices may take to appear.
const DEVICE_DEADLINE: Duration = Duration::from_secs(20);

/// A line for whoever looks at the console.
pub(crate) fn log_line(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Waits until the path exists; `None` when it does not in time.
pub(crate) fn wait_for(path: &Path) -> Option<()> {
    let start = Instant::now();
    while !path.exists() {
        if start.elapsed() > DEVICE_DEADLINE {
            return None;
        }
        pause(Duration::from_millis(2));
    }
    Some(())
}

/// Waits; there is no event for what the callers wait for.
pub(crate) fn pause(time: Duration) {
    std::thread::park_timeout(time);
}

/// Files that a program of the VM may come to have open: what the kernel allows at most (its
/// `fs.nr_open`), where it begins with 4,096.
const MOST_OPEN_FILES: u64 = 1 << 20;

/// Lets programs of the VM raise their limit of open files, as databases do.
pub(crate) fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = Rlimit {
        maximum: Some(MOST_OPEN_FILES),
        ..getrlimit(Resource::Nofile)
    };
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        log_line(&format!("vm-guest: the limit of open files stays: {error}"));
    }
}

/// Ends the machine. With `-no-reboot` a reboot ends the monitor; unlike powering off it needs no
/// ACPI.
pub(crate) fn power_off() -> ! {
    nix::unistd::sync();
    let _ = reboot(RebootMode::RB_AUTOBOOT);
    loop {
        pause(Duration::from_secs(60));
    }
}

/// What the wall clock and the steady clock say.
pub(crate) fn clocks() -> vm_core::guest::ClockReading {
    let read = |clock| {
        let time = nix::time::clock_gettime(clock).map(Duration::from);
        let since = time.unwrap_or_default().as_nanos();
        u64::try_from(since).unwrap_or(u64::MAX)
    };
    vm_core::guest::ClockReading {
        wall_ns: read(ClockId::CLOCK_REALTIME),
        steady_ns: read(ClockId::CLOCK_MONOTONIC),
    }
}

/// Sets the wall clock: nanoseconds since 1970.
pub(crate) fn set_clock(nanoseconds: u64) -> nix::Result<()> {
    clock_settime(
        ClockId::CLOCK_REALTIME,
        TimeSpec::from_duration(Duration::from_nanos(nanoseconds)),
    )
}

/// Names that programs look up without a network.
const HOSTS: &str = "/etc/hosts";
/// The address of the machine's own name.
const OWN: &str = "127.0.1.1";

/// Takes a host name, and has it resolve.
pub(crate) fn take_name(name: &str) -> std::io::Result<()> {
    nix::unistd::sethostname(name)?;
    let known = fs::read_to_string(HOSTS).unwrap_or_default();
    // An image whose files cannot be written has a name all the same.
    let _ = fs::write(HOSTS, hosts(&known, name));
    Ok(())
}

/// The file with this name in it, in place of a former one.
fn hosts(known: &str, name: &str) -> String {
    let others = known
        .lines()
        .filter(|line| line.split_whitespace().next() != Some(OWN));
    let mut text: String = others.map(|line| format!("{line}\n")).collect();
    if !text.contains("localhost") {
        text += "127.0.0.1 localhost\n";
    }
    if !text.lines().any(|line| line.starts_with("::1")) {
        text += "::1 localhost ip6-localhost ip6-loopback\n";
    }
    text + &format!("{OWN} {name}\n")
}

/// Most bytes of randomness taken at once.
const SEED: usize = 512;

/// The kernel's `struct rand_pool_info`, with room for one seed.
#[repr(C)]
struct PoolInfo {
    entropy_count: i32,
    buf_size: i32,
    buf: [u8; SEED],
}

nix::ioctl_write_ptr_bad!(
    /// RNDADDENTROPY: mixes bytes in and counts them.
    add_entropy, nix::request_code_write!(b'R', 0x03, 8), PoolInfo);
nix::ioctl_none_bad!(
    /// RNDRESEEDCRNG: what was mixed in is used from the next read on.
    reseed_now, nix::request_code_none!(b'R', 0x07));

/// Mixes the host's randomness in, so that no two clones make the same keys.
pub(crate) fn reseed(bytes: &[u8]) -> std::io::Result<()> {
    let Some(bytes) = bytes
        .get(..bytes.len().min(SEED))
        .filter(|bytes| !bytes.is_empty())
    else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    let mut info = PoolInfo {
        entropy_count: 0,
        buf_size: 0,
        buf: [0; SEED],
    };
    let length = i32::try_from(bytes.len()).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    (info.entropy_count, info.buf_size) = (length * 8, length);
    info.buf[..bytes.len()].copy_from_slice(bytes);
    let device = File::options().write(true).open("/dev/urandom")?;
    // SAFETY: `info` is laid out as the kernel reads it, and `buf_size` is within `buf`.
    unsafe { add_entropy(device.as_raw_fd(), &raw const info) }?;
    // SAFETY: the request takes no argument.
    unsafe { reseed_now(device.as_raw_fd()) }?;
    Ok(())
}

nix::ioctl_write_ptr_bad!(
    /// EXT4_IOC_RESIZE_FS: grows a mounted file system to so many blocks.
    resize_ext4, nix::request_code_write!(b'f', 16, 8), u64);

/// Grows the file system to its disk. It is no fault when it cannot: the space is what the image
/// has then.
pub(crate) fn grow_ext4(mounted: &Path, disk: &Path) {
    let Some(name) = disk.file_name() else { return };
    let size = Path::new("/sys/class/block").join(name).join("size");
    let sectors = fs::read_to_string(size)
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok());
    let (Some(sectors), Ok(stat), Ok(folder)) = (
        sectors,
        nix::sys::statvfs::statvfs(mounted),
        File::open(mounted),
    ) else {
        return;
    };
    let block = stat.block_size().max(512);
    let wanted = sectors * 512 / block;
    // A few blocks more are not worth the work.
    if wanted <= stat.blocks() + stat.blocks() / 8 {
        return;
    }
    // SAFETY: the number lives across the call.
    let _ = unsafe { resize_ext4(folder.as_raw_fd(), &raw const wanted) };
}

/// The kernel's `struct ifreq` as far as flags are concerned.
#[repr(C)]
struct InterfaceFlags {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

nix::ioctl_write_ptr_bad!(
    /// SIOCSIFFLAGS.
    set_interface_flags, 0x8914, InterfaceFlags);

/// Lets programs reach each other over 127.0.0.1.
pub(crate) fn loopback_up() {
    const UP_AND_RUNNING: i16 = 0x1 | 0x40;
    let Ok(socket) = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    ) else {
        return;
    };
    let mut request = InterfaceFlags {
        name: [0; 16],
        flags: UP_AND_RUNNING,
        rest: [0; 22],
    };
    request.name[..2].copy_from_slice(b"lo");
    // SAFETY: `request` is as long as the kernel's struct and lives across the call.
    let _ = unsafe { set_interface_flags(socket.as_raw_fd(), &raw const request) };
}

/// Leads everything to the loopback interface, where what is not the machine's own is dropped: a
/// program that tries an address without the proxy waits in vain, as behind a firewall, instead of
/// being told at once that there is no network. A machine with a device keeps its own routes.
pub(crate) fn swallow_the_unreachable() {
    let devices = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    if !is_loopback_alone(&devices) {
        return;
    }
    let Ok(socket) = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    ) else {
        return;
    };
    // It is no fault where it may not: then what is tried fails at once.
    let kernel = NetlinkAddr::new(0, 0);
    let _ = sendto(
        socket.as_raw_fd(),
        &route_to_loopback(),
        &kernel,
        MsgFlags::empty(),
    );
}

/// `ip route add default dev lo src 127.0.0.1` as a message for the kernel.
fn route_to_loopback() -> Vec<u8> {
    const NEW_ROUTE: u16 = 24;
    const REQUEST_AND_CREATE: u16 = 0x401;
    const MAIN_TABLE: u8 = 254;
    const BY_BOOT: u8 = 3;
    const LINK_SCOPE: u8 = 253;
    const UNICAST: u8 = 1;
    const OUT: u16 = 4;
    const SOURCE: u16 = 7;
    /// The loopback interface is the first of each network.
    const LOOPBACK: u32 = 1;
    let attribute = |kind: u16, value: [u8; 4]| {
        let head = [8_u16, kind].map(u16::to_ne_bytes);
        [head.concat(), value.to_vec()].concat()
    };
    // struct rtmsg: the family, lengths of prefixes, and what kind of route it is.
    let family = 2;
    let route = [
        family, 0, 0, 0, MAIN_TABLE, BY_BOOT, LINK_SCOPE, UNICAST, 0, 0, 0, 0,
    ];
    let rest = [
        route.to_vec(),
        attribute(OUT, LOOPBACK.to_ne_bytes()),
        attribute(SOURCE, [127, 0, 0, 1]),
    ];
    let rest = rest.concat();
    // struct nlmsghdr, whose length is that of the whole.
    let length = u32::try_from(16 + rest.len()).unwrap_or_default();
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(
        [NEW_ROUTE, REQUEST_AND_CREATE]
            .map(u16::to_ne_bytes)
            .concat(),
    );
    message.extend([1_u32, 0].map(u32::to_ne_bytes).concat());
    message.extend(rest);
    message
}

/// Whether of the devices, as the kernel lists them, there is the loopback interface only.
fn is_loopback_alone(devices: &str) -> bool {
    let names = devices.lines().filter_map(|line| line.split_once(':'));
    let mut names = names.map(|(name, _)| name.trim()).peekable();
    names.peek().is_some() && names.all(|name| name == "lo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x9_the_machine_s_own_name_resolves_and_others_stay() {
        let (own, six) = (
            "127.0.0.1 localhost\n",
            "::1 localhost ip6-localhost ip6-loopback\n",
        );
        let first = hosts(&format!("{own}10.0.0.1 db\n"), "vm-1");
        assert_eq!(first, format!("{own}10.0.0.1 db\n{six}127.0.1.1 vm-1\n"));
        let clone = hosts(&first, "vm-2");
        assert_eq!(clone, format!("{own}10.0.0.1 db\n{six}127.0.1.1 vm-2\n"));
        assert_eq!(hosts("", "vm-3"), format!("{own}{six}127.0.1.1 vm-3\n"));
    }

    #[test]
    fn i17_routes_of_a_machine_with_a_device_are_left_alone() {
        let head = "Inter-|   Receive    |  Transmit\n face |bytes    |bytes\n";
        for (lines, expected) in [
            ("    lo: 1 2\n", true),
            ("    lo: 1 2\n  eth0: 1 2\n", false),
            ("", false),
        ] {
            assert_eq!(
                is_loopback_alone(&format!("{head}{lines}")),
                expected,
                "{lines}"
            );
        }
    }

    /// `localhost` was no name of `::1`.
    #[test]
    fn i17_localhost_has_its_address_of_version_six() {
        let known = "127.0.0.1 localhost\n::1 ip6-loopback localhost\n";
        assert_eq!(hosts(known, "vm"), format!("{known}127.0.1.1 vm\n"));
        assert!(hosts("", "vm").contains("\n::1 localhost "));
    }
}
