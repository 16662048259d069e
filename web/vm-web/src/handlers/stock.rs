//! What VMs are made of: images, templates, clones that wait.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use edge_web::Problem;
use vm_actors::images::ImageFailure;
use vmm_api_core::{ImageView, PoolStock};

use super::json;
use crate::auth::ReadCaller;
use crate::state::VmWebState;

/// Lists the images that VMs can be made of.
#[utoipa::path(
    get, path = "/images", tag = "vms", security(("token" = [])),
    responses((status = 200, description = "All images, by digest.", body = Vec<ImageView>), (status = 503, description = "They are being made."))
)]
pub(crate) async fn images(
    _caller: ReadCaller,
    state: web::Data<VmWebState>,
) -> Result<HttpResponse, Problem> {
    let view = state.view.clone();
    let listed = tokio::task::spawn_blocking(move || view.images()).await;
    let listed = listed.map_err(|_| Problem::internal())?;
    match listed {
        Ok(images) => Ok(json(StatusCode::OK, &images)),
        Err(error @ ImageFailure::Preparing { .. }) => {
            Err(Problem::unavailable(error.to_string(), 5))
        }
        Err(error) => {
            tracing::error!(event = "vm.images_unreadable", %error, "the images cannot be listed");
            Err(Problem::internal())
        }
    }
}

/// Lists what waits in the warm pool: templates and clones of them.
#[utoipa::path(
    get, path = "/pool", tag = "vms", security(("token" = [])),
    responses((status = 200, description = "One entry for each kind of VM that is configured or was asked for.", body = Vec<PoolStock>))
)]
pub(crate) async fn pool(_caller: ReadCaller, state: web::Data<VmWebState>) -> HttpResponse {
    let stock: Vec<PoolStock> = state.view.stock();
    json(StatusCode::OK, &stock)
}
