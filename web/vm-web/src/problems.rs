//! Failures of the actors as answers.

use std::time::Duration;

use actix_web::http::StatusCode;
use edge_web::{FieldError, Problem};
use store::StoreError;
use supervision::AskError;
use vm_actors::images::ImageFailure;
use vm_actors::messages::{CreateFailure, VmFailure};
use vm_actors::network::NetworkUnmet;
use vm_core::guest::FailureKind;

/// When to come again while an image is being made.
const IMAGE_RETRY: u32 = 10;

/// Why there is no reply.
pub(crate) fn of_ask(error: &AskError) -> Problem {
    if matches!(error, AskError::NoReply { .. }) {
        return Problem::unavailable("the request was interrupted", 1);
    }
    let full = "as many requests are under way as this part of the manager takes";
    let restarting = "this part of the manager is being restarted, or has ended";
    edge_web::ask_problem(error, full, restarting)
}

/// Why no VM was given out.
pub(crate) fn of_create(failure: CreateFailure) -> Problem {
    let detail = failure.to_string();
    match failure {
        CreateFailure::Isolation(_) => {
            Problem::conflict(detail).kind("isolation", "Isolation not to be had")
        }
        CreateFailure::Limits(errors) => {
            let fields = errors
                .iter()
                .map(|error| FieldError::new(error.field, error.to_string()));
            Problem::unprocessable(detail, fields.collect())
        }
        CreateFailure::Network(unmet) => {
            let field = match unmet {
                NetworkUnmet::None => "network",
                NetworkUnmet::Services(_) => "services",
                NetworkUnmet::WithoutServices => "services_for",
                NetworkUnmet::Beyond(_) | NetworkUnmet::WithoutNetwork => "allow",
            };
            let field = FieldError::new(field, detail.clone());
            Problem::unprocessable(detail, vec![field])
        }
        CreateFailure::Never { .. } => {
            let field = FieldError::new("mem_mib", detail.clone());
            Problem::unprocessable(detail, vec![field])
        }
        CreateFailure::Unsupported(_) => Problem::unprocessable(detail, Vec::new()),
        CreateFailure::NoRoom { retry_after, .. } => {
            Problem::unavailable(detail, seconds(retry_after)).kind("no-room", "No room")
        }
        CreateFailure::Image(ImageFailure::Unknown { .. }) => {
            let field = FieldError::new("image", detail.clone());
            Problem::unprocessable(detail, vec![field])
        }
        CreateFailure::Image(ImageFailure::Preparing { .. }) => {
            Problem::unavailable(detail, IMAGE_RETRY).kind("preparing", "Being prepared")
        }
        CreateFailure::Image(ImageFailure::Fetching { .. }) => {
            Problem::unavailable(detail, IMAGE_RETRY).kind("preparing", "Being prepared")
        }
        CreateFailure::Image(ImageFailure::Unfetched { .. }) => {
            Problem::bad_gateway(detail).kind("image-not-fetched", "The image was not fetched")
        }
        CreateFailure::Image(ImageFailure::NoRoom { .. }) => {
            Problem::unavailable(detail, 60).kind("no-room", "No room")
        }
        CreateFailure::Image(ImageFailure::Unusable(_)) => Problem::unavailable(detail, 60),
        CreateFailure::OtherRequest => {
            let field = FieldError::new("Idempotency-Key", detail.clone());
            Problem::unprocessable(detail, vec![field])
        }
        CreateFailure::Ended(_) => Problem::new(StatusCode::GONE, detail),
        CreateFailure::NotStarted { .. } => {
            Problem::bad_gateway(detail).kind("not-started", "The VM did not start")
        }
        CreateFailure::Shortage { retry_after, .. } => {
            Problem::unavailable(detail, seconds(retry_after)).kind("no-room", "No room")
        }
        CreateFailure::Store(error) => of_store(&error),
        CreateFailure::Interrupted => Problem::unavailable(detail, 1),
    }
}

fn of_store(error: &StoreError) -> Problem {
    if error.is_temporary() {
        return Problem::unavailable(error.to_string(), 2);
    }
    tracing::error!(event = "vm.store_failed", %error, "an order could not be written down");
    Problem::internal()
}

/// Why a VM did not do what it was asked.
pub(crate) fn of_vm(failure: &VmFailure) -> Problem {
    let detail = failure.to_string();
    match failure {
        VmFailure::State(_)
        | VmFailure::Gone(_)
        | VmFailure::Paused
        | VmFailure::Working
        | VmFailure::InUse(_)
        | VmFailure::Snapshots(_)
        | VmFailure::Impossible(_) => Problem::conflict(detail),
        VmFailure::Busy(_) => Problem::unavailable(detail, 1),
        VmFailure::NoRoom(_) => Problem::unavailable(detail, 5).kind("no-room", "No room"),
        VmFailure::UnknownExec(_) | VmFailure::UnknownSnapshot(_) => Problem::not_found(detail),
        VmFailure::Guest { kind, .. } => match kind {
            FailureKind::NotFound => Problem::not_found(detail),
            FailureKind::Forbidden | FailureKind::BadTar => {
                Problem::unprocessable(detail, Vec::new())
            }
            FailureKind::DiskFull => Problem::new(StatusCode::INSUFFICIENT_STORAGE, detail),
            FailureKind::Aborted | FailureKind::System => Problem::bad_gateway(detail),
        },
        VmFailure::Upload(_) => Problem::bad_request(detail),
        VmFailure::TimedOut(_) => Problem::gateway_timeout(detail),
        VmFailure::Unsupported(_) => Problem::unprocessable(detail, Vec::new()),
    }
}

fn seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs().max(1)).unwrap_or(u32::MAX)
}
