//! The VM manager, as its users speak to it: any manager with this API can stand behind it.
//!
//! Every call carries `Authorization: Bearer <token>`; only `GET /health` needs none. Errors are
//! problem details (RFC 9457), of which `detail` is shown. Times are RFC 3339 in UTC, sizes are MiB.
//!
//! | Call | Body → answer |
//! |---|---|
//! | `GET /health` | → [`Health`] |
//! | `GET /vms` | → array of [`Vm`] |
//! | `POST /vms`, `Idempotency-Key` | [`NewVm`] → 201 [`Allocated`]; 409 [`VmmError::Isolation`]; 503 + `Retry-After` [`VmmError::Full`] |
//! | `GET /vms/{id}` | → [`Vm`], 404 |
//! | `DELETE /vms/{id}` | → 204, also when it is gone already |
//! | `PUT /vms/{id}/files?path=` | tar (`application/x-tar`) → 204; unpacked below `path` |
//! | `GET /vms/{id}/files?path=` | → tar of what is at `path` |
//! | `POST /vms/{id}/exec` | [`NewExec`] → 202 `{"exec_id": "…"}` |
//! | `GET /vms/{id}/exec/{eid}` | → [`ExecReport`] |
//! | `GET /vms/{id}/exec/{eid}?follow=1` | → `application/x-ndjson`, below |
//! | `DELETE /vms/{id}/exec/{eid}` | → 204; kills the process group |
//! | `POST /vms/{id}/lease` | `{"lease_s": 300}` → `{"lease_until": "…"}`: from now on |
//! | `DELETE /vms/stuck` | → [`Released`] |
//!
//! # Following an execution
//!
//! One JSON object a line (at most 1 MiB a line), from the first output on, whenever it is asked:
//!
//! ```text
//! {"stream":"stdout","data":"text, when the chunk is UTF-8"}
//! {"stream":"stderr","b64":"base64, when it is not"}
//! {}                                                   a sign of life, at least every 15 s
//! {"dropped":4096}                                     bytes of output past the manager's limit
//! {"state":"exited","exit_code":0,"signal":null}       the last line, always
//! ```
//!
//! The last line is an [`ExecReport`]. A stream that ends without it is [`VmmError::Lost`]: an exit
//! code is never made up. `state` is `exited` (then `exit_code` or `signal` is there), `timed_out`,
//! `killed` or `lost`.

mod client;
mod error;
mod follow;
mod shapes;

pub use client::VmmClient;
pub use error::VmmError;
pub use follow::{Follow, FollowEvent, OutputStream};
pub use shapes::{
    Allocated, ExecReport, ExecState, Health, HealthStatus, Isolation, Kvm, NewExec, NewVm, Pool,
    Released, ReleasedVm, Source, Vm,
};
