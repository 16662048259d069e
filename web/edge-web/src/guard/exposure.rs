//! Whether a server may listen where it is told to.

use std::net::SocketAddr;

/// How far a server can be reached, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Only from this machine, without a token.
    Loopback,
    /// With a token, from wherever the address can be reached.
    Guarded,
    /// By everybody who reaches the address: allowed by an explicit flag, and worth a warning.
    Open,
}

/// A server that everybody could use without anybody having said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{listen} can be reached from other machines, and no token is set; set SERVICE_API_TOKEN, \
     listen on 127.0.0.1, or allow it explicitly with --allow-unauthenticated"
)]
pub struct ExposureError {
    /// The address to listen on.
    pub listen: SocketAddr,
}

/// Decides from the address, the token (an empty one is none) and the explicit flag.
///
/// # Errors
/// Beyond loopback without a token and without the flag.
pub fn exposure(
    listen: SocketAddr,
    token: Option<&str>,
    allow_unauthenticated: bool,
) -> Result<Exposure, ExposureError> {
    let guarded = token.is_some_and(|token| !token.trim().is_empty());
    let loopback = listen.ip().to_canonical().is_loopback();
    match (guarded, loopback, allow_unauthenticated) {
        (true, _, _) => Ok(Exposure::Guarded),
        (false, true, _) => Ok(Exposure::Loopback),
        (false, false, true) => Ok(Exposure::Open),
        (false, false, false) => Err(ExposureError { listen }),
    }
}

impl Exposure {
    /// What to warn of at the start, if anything.
    pub fn warning(self) -> Option<&'static str> {
        (self == Self::Open).then_some(
            "everybody who reaches this address can use the server: it listens beyond loopback without a token",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s15_exposure_table() {
        let refused = |listen: &str| {
            Err(ExposureError {
                listen: listen.parse().unwrap(),
            })
        };
        for (listen, token, flag, expected) in [
            ("127.0.0.1:8000", None, false, Ok(Exposure::Loopback)),
            ("127.9.9.9:8000", Some(""), false, Ok(Exposure::Loopback)),
            ("[::1]:8000", None, true, Ok(Exposure::Loopback)),
            (
                "[::ffff:127.0.0.1]:8000",
                None,
                false,
                Ok(Exposure::Loopback),
            ),
            ("127.0.0.1:8000", Some("t"), false, Ok(Exposure::Guarded)),
            ("0.0.0.0:8000", Some("t"), false, Ok(Exposure::Guarded)),
            ("0.0.0.0:8000", Some("t"), true, Ok(Exposure::Guarded)),
            ("0.0.0.0:8000", None, true, Ok(Exposure::Open)),
            ("0.0.0.0:8000", None, false, refused("0.0.0.0:8000")),
            ("0.0.0.0:8000", Some(" "), false, refused("0.0.0.0:8000")),
            ("[::]:8000", None, false, refused("[::]:8000")),
            ("192.168.1.5:8000", None, false, refused("192.168.1.5:8000")),
        ] {
            let verdict = exposure(listen.parse().unwrap(), token, flag);
            assert_eq!(verdict, expected, "{listen} {token:?} {flag}");
            assert_eq!(
                verdict.is_ok_and(|it| it.warning().is_some()),
                expected == Ok(Exposure::Open)
            );
        }
    }
}
