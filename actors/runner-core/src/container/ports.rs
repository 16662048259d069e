//! Ports of containers: what a workflow asks for, and the machine's port that each one gets.

use std::collections::BTreeSet;

/// Most ports of one range.
const MAX_RANGE: u16 = 100;
/// Ports that are chosen begin here, as the ephemeral ports of the kernel do.
const FIRST_CHOSEN: u16 = 32_768;

/// A port of a container that programs in the machine reach at a port of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortRequest {
    /// The machine's port; chosen when nothing is said.
    pub host: Option<u16>,
    /// The container's port.
    pub container: u16,
    /// UDP instead of TCP.
    pub udp: bool,
}

/// A port that is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortMapping {
    /// The machine's port.
    pub host: u16,
    /// The container's port.
    pub container: u16,
    /// UDP instead of TCP.
    pub udp: bool,
}

/// Reads `5432`, `8080:80`, `127.0.0.1:8080:80`, `8000-8005:8000-8005`, each with `/udp` or `/tcp`
/// behind it.
///
/// # Errors
/// What is wrong, for people.
pub fn parse(text: &str) -> Result<Vec<PortRequest>, String> {
    let wrong = || {
        let text = config_core::quoted(text);
        format!("{text} is no port: write `5432`, `8080:80` or `8080:80/udp`")
    };
    let (ports, protocol) = text.trim().split_once('/').unwrap_or((text.trim(), "tcp"));
    let udp = match protocol.to_ascii_lowercase().as_str() {
        "tcp" => false,
        "udp" => true,
        _ => return Err(wrong()),
    };
    let mut parts = ports.rsplit(':');
    let container = range(parts.next().unwrap_or_default()).ok_or_else(wrong)?;
    let host = parts.next().filter(|part| !part.is_empty());
    let host = host.map(|part| range(part).ok_or_else(wrong)).transpose()?;
    // An address in front changes nothing: the machine has no other network.
    let requests = container.clone().enumerate().map(|(at, container)| {
        let at = u16::try_from(at).unwrap_or(u16::MAX);
        PortRequest {
            host: host.as_ref().map(|host| host.start() + at),
            container,
            udp,
        }
    });
    match &host {
        Some(host) if host.clone().count() != container.count() => Err(wrong()),
        _ => Ok(requests.collect()),
    }
}

fn range(text: &str) -> Option<std::ops::RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    let (first, last) = (number(first)?, number(last)?);
    (first <= last && last - first < MAX_RANGE).then_some(first..=last)
}

/// Gives every request a port of the machine; those of one job are assigned together.
///
/// # Errors
/// When two want the same.
pub fn assign(requests: &[Vec<PortRequest>]) -> Result<Vec<Vec<PortMapping>>, String> {
    let mut taken = BTreeSet::new();
    for request in requests.iter().flatten() {
        if let Some(host) = request.host
            && !taken.insert((host, request.udp))
        {
            return Err(format!(
                "two containers want the port {host} of the machine"
            ));
        }
    }
    let mut next = FIRST_CHOSEN;
    let mut choose = |udp: bool| {
        while !taken.insert((next, udp)) {
            next += 1;
        }
        next
    };
    let mapping = |request: &PortRequest| PortMapping {
        host: request.host.unwrap_or_else(|| choose(request.udp)),
        container: request.container,
        udp: request.udp,
    };
    let mut mapping = mapping;
    let all = requests.iter();
    Ok(all
        .map(|of_one| of_one.iter().map(&mut mapping).collect())
        .collect())
}
