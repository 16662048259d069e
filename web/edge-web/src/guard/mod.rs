//! Who may talk to this server: which hosts it answers for, which pages, with which token.

pub(crate) mod credential;
mod exposure;
mod host;
mod origin;
pub(crate) mod session;
mod token;

pub use exposure::{Exposure, ExposureError, exposure};
pub use host::{HostPolicy, HostRefusal};
pub use origin::{OriginPolicy, OriginPolicyError, OriginVerdict, RequestSource};
pub use token::{ApiToken, PublicPaths};
