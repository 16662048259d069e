//! Getting in by SSH: one key, the hosts that are known, and nothing of this machine's own.
//!
//! ssh takes keys and known hosts from files. These are files of memory that the child processes
//! reach through this process: nothing of a key is written to a disk, and nothing is left of it
//! when this process ends.

use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use config_core::Secret;
use rustix::fs::{MemfdFlags, Mode, fchmod, memfd_create};

/// What lets git in by SSH. Clones share it.
#[derive(Debug, Clone)]
pub struct SshAccess {
    key: Arc<File>,
    known_hosts: Arc<File>,
    strict: bool,
}

impl SshAccess {
    /// With a private key as `ssh-keygen` writes it, and the lines of a `known_hosts`. A host that
    /// is not in them is refused when `strict`; else its key is believed, and has to stay the same
    /// as long as this is used.
    ///
    /// # Errors
    /// When the system gives no memory for them.
    pub fn new(key: &Secret<String>, known_hosts: &str, strict: bool) -> io::Result<Self> {
        // Without a line's end at its end ssh cannot read it.
        let key = format!("{}\n", key.expose().trim().replace("\r\n", "\n"));
        Ok(Self {
            key: Arc::new(memory_file("orrery-ssh-key", key.as_bytes())?),
            known_hosts: Arc::new(memory_file("orrery-known-hosts", known_hosts.as_bytes())?),
            strict,
        })
    }

    /// The program and its options, as git hands them to a shell: `host` and `port` are checked,
    /// and connected to at `address` where one is given.
    pub(crate) fn command(&self, host: &str, port: u16, address: Option<&IpAddr>) -> String {
        let strict = if self.strict { "yes" } else { "accept-new" };
        let path = |file: &File| format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let mut options = vec![
            format!("UserKnownHostsFile={}", path(&self.known_hosts)),
            format!("StrictHostKeyChecking={strict}"),
        ];
        options.extend(OPTIONS.map(str::to_owned));
        if let Some(address) = address {
            // Known by its name, whatever address it has; with another port as `known_hosts` has
            // it.
            let alias = match port {
                22 => host.to_owned(),
                port => format!("[{host}]:{port}"),
            };
            options.push(format!("HostName={address}"));
            options.push(format!("HostKeyAlias={alias}"));
        }
        let options = options.iter().map(|option| format!(" -o '{option}'"));
        let options: String = options.collect();
        format!("ssh -F /dev/null -i {}{options}", path(&self.key))
    }
}

/// Options of every call: only the key given, only the hosts given, no questions, and nothing that
/// a configuration of the host or the server could add.
const OPTIONS: [&str; 12] = [
    "GlobalKnownHostsFile=/dev/null",
    "UpdateHostKeys=no",
    "HashKnownHosts=no",
    "CheckHostIP=no",
    "VerifyHostKeyDNS=no",
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    "PreferredAuthentications=publickey",
    "BatchMode=yes",
    "ClearAllForwardings=yes",
    "ConnectTimeout=30",
    "LogLevel=ERROR",
];

fn memory_file(name: &str, bytes: &[u8]) -> io::Result<File> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC)?;
    // ssh uses no key that others may read.
    fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    let mut file = File::from(file);
    file.write_all(bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_the_key_stands_in_no_argument_and_no_file() {
        let key = Secret::new("-----BEGIN\r\ns3cret\r\n-----END".to_owned());
        let access = SshAccess::new(&key, "example.org ssh-ed25519 AAAA\n", true).unwrap();
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let command = access.command("example.org", 2222, Some(&address));
        for part in [
            "-F /dev/null",
            "'HostName=192.0.2.1'",
            "'HostKeyAlias=[example.org]:2222'",
            "'StrictHostKeyChecking=yes'",
            "'BatchMode=yes'",
        ] {
            assert!(command.contains(part), "{part}: {command}");
        }
        assert!(!command.contains("s3cret"), "{command}");
        assert!(!format!("{access:?}").contains("s3cret"));
        let path = command.split("-i ").nth(1).unwrap();
        let path = path.split(' ').next().unwrap();
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            "-----BEGIN\ns3cret\n-----END\n"
        );
        let plain = access.command("example.org", 22, Some(&address));
        assert!(plain.contains("'HostKeyAlias=example.org'"), "{plain}");
        let loose = SshAccess::new(&key, "", false).unwrap();
        let loose = loose.command("example.org", 22, None);
        assert!(loose.contains("'StrictHostKeyChecking=accept-new'"));
        assert!(!loose.contains("HostName"), "{loose}");
    }
}
