//! Which addresses anybody may be sent to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of the public internet: neither this machine, nor a local network, nor
/// one of the ranges IANA keeps for special purposes, nor a cloud's own inside of it. Addresses
/// that carry another (mapped, 6to4, NAT64, Teredo) are judged by what they carry.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let special = ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_broadcast()
        || ip.is_documentation()
        || a == 0
        || a >= 240
        // Shared by providers (RFC 6598), which also hides some clouds' metadata services.
        || (a == 100 && (64..128).contains(&b))
        // Protocol assignments, the old 6to4 relay, benchmarks.
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19));
    !special && !is_of_a_clouds_host(ip)
}

/// Addresses that look public and are the cloud's own inside of it: Azure's host (metadata, keys of
/// the machine), IBM's services. Those of the others lie in ranges that are not public:
/// 169.254.169.254, 100.100.100.200, 192.0.0.192, fd00:ec2::254, fd20:ce::254.
fn is_of_a_clouds_host(ip: Ipv4Addr) -> bool {
    match ip.octets() {
        [168, 63, 129, 16] | [161, 26, _, _] => true,
        [166, second, _, _] => (8..12).contains(&second),
        _ => false,
    }
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    if let Some(v4) = ip.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    let parts = ip.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match parts {
        // NAT64 with the well-known prefix.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(v4(high, low)),
        // 6to4.
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Protocol assignments (Teredo among them) and documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // Only 2000::/3 is handed out; the rest is loopback, local, multicast or unassigned.
        [first, ..] => (first & 0xe000) == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn t11_hosts_of_clouds_are_not_public() {
        for host in [
            "168.63.129.16",
            "::ffff:168.63.129.16",
            "64:ff9b::168.63.129.16",
            "2002:a83f:8110::1",
            "169.254.169.254",
            "100.100.100.200",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd20:ce::254",
            "161.26.0.10",
            "166.9.1.1",
        ] {
            assert!(!is_public(ip(host)), "{host}");
        }
        for public in ["168.63.129.17", "161.27.0.1", "166.12.0.1"] {
            assert!(is_public(ip(public)), "{public}");
        }
    }

    #[test]
    fn only_public_addresses_are_public() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ] {
            assert!(is_public(ip(public)), "{public}");
        }
        for local in [
            "127.0.0.1",
            "127.255.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "192.0.0.192",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:0:53aa::1",
            "2001:db8::1",
            "3fff::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
        ] {
            assert!(!is_public(ip(local)), "{local}");
        }
    }
}
