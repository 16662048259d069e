//! One request on its way from a standby to the leader, and the answer back, both bodies as they
//! come: a log that is followed is followed across processes.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use actix_web::guard::fn_guard;
use actix_web::http::header;
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, Route, web};
use cluster_actors::replica::{
    ForwardRefusal, ReplicaRole, RoleControl, StoreSight, forward_target, is_for_next_leader,
};
use http_clients::forward::{ForwardOptions, Forwarder};
use http_clients::http::HttpError;
use tokio::time::Instant;

use super::headers::{from_leader, to_leader};
use super::reach::out_of_reach;
use super::timeouts::PassageTimeouts;
use crate::edge::REPLICA_KEY;
use crate::limit::ConcurrencyLimit;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::relay::{self, TooLarge};
use crate::routes::Routes;

/// Requests that are passed on at once, followed logs among them.
const PASSAGES: usize = 512;

/// What is passed on, and how.
#[derive(Debug, Clone, Default)]
pub struct PassageOptions {
    /// What the path is put below at the leader.
    pub prefix: &'static str,
    /// This process has judged who asks; the leader is not to ask again.
    pub as_operator: bool,
    /// How long each thing is waited for.
    pub timeouts: PassageTimeouts,
}

/// The way from a standby to whoever leads. Clones share the limit.
#[derive(Clone)]
pub struct LeaderPassage {
    control: RoleControl,
    options: PassageOptions,
    limit: ConcurrencyLimit,
    /// It is of a process that led until now.
    is_of_leader: bool,
}

/// One worker's connections to the leader that it found last.
type KnownForwarder = Rc<RefCell<Option<Forwarder>>>;

impl LeaderPassage {
    /// The way to whoever `control` sees leading.
    #[must_use]
    pub fn new(control: &RoleControl, options: PassageOptions) -> Self {
        Self {
            control: control.clone(),
            options,
            limit: ConcurrencyLimit::new(PASSAGES, 1),
            is_of_leader: false,
        }
    }

    /// Adds it for every path that has no route of its own.
    #[must_use]
    pub fn add(&self, routes: Routes) -> Routes {
        let known = KnownForwarder::default();
        routes.every_method("/{rest:.*}", || self.route(&known))
    }

    /// Adds it for a path that has a route of its own, behind that: for whom that one does not
    /// answer.
    #[must_use]
    pub fn add_behind(&self, routes: Routes, path: &str) -> Routes {
        routes.route(Method::GET, path, self.route(&KnownForwarder::default()))
    }

    fn route(&self, known: &KnownForwarder) -> Route {
        let (passage, known) = (self.clone(), Rc::clone(known));
        web::route().to(move |request: HttpRequest, body: web::Payload| {
            let (passage, known) = (passage.clone(), Rc::clone(&known));
            async move { passage.pass(&known, request, body).await }
        })
    }

    /// Adds it in front of all other routes of a process that leads, for what it leaves to the next
    /// leader once `has_lost_store`, or while it hands over.
    pub fn add_before(
        &self,
        config: &mut web::ServiceConfig,
        metrics: &Metrics,
        has_lost_store: impl Fn() -> bool + 'static,
    ) {
        let former = Self {
            is_of_leader: true,
            ..self.clone()
        };
        let control = self.control.clone();
        let is_left = fn_guard(move |context| {
            let head = context.head();
            let reads = matches!(head.method, Method::GET | Method::HEAD);
            let asked = (head.uri.path(), reads);
            is_for_next_leader(asked, control.hands_over(), has_lost_store())
        });
        let routes = former.add(Routes::new(metrics));
        let scope = web::scope("").guard(is_left);
        config.service(scope.configure(|config| routes.configure(config)));
    }

    /// Address and key of the process that leads, as soon as one does within the time for it.
    async fn target(&self, is_forwarded: bool) -> Result<(String, String), Problem> {
        let control = &self.control;
        let wait = self.options.timeouts.next_leader;
        let mut sights = control.sights();
        let mut until = Instant::now() + wait;
        loop {
            // What the former leader passes on must not come back to it.
            let leads = !self.is_of_leader && control.role() == ReplicaRole::Leader;
            let own = (control.own_address(), leads);
            let (found, is_silent) = {
                let sight = sights.borrow_and_update();
                let is_silent = sight.trouble.is_some();
                (target_of(&sight, own, is_forwarded), is_silent)
            };
            let refusal = match found {
                Ok(target) => return Ok(target),
                Err(refusal) => refusal,
            };
            // A database that is restarted is waited for, one that stays away is not.
            let restarts_until = control.silent_since().map(|since| since + wait);
            if let Some(restarts_until) = restarts_until {
                until = until.min(restarts_until.into());
            }
            let waits = refusal.is_of_a_hand_over() && (!is_silent || restarts_until.is_some());
            if !waits
                || tokio::time::timeout_at(until, sights.changed())
                    .await
                    .is_err()
            {
                return Err(refused(refusal));
            }
        }
    }

    /// Ends some time after another process has followed the one with this key: what is on its way
    /// to that one may not be answered any more, and this process may be who leads by now.
    async fn followed(&self, key: &str, last: Duration) {
        let mut sights = self.control.sights();
        loop {
            let is_followed = {
                let sight = sights.borrow_and_update();
                let leader = sight.leader.as_ref().filter(|leader| leader.is_locked);
                leader.is_some_and(|leader| leader.forward_key != key)
            };
            if is_followed || (self.control.role() == ReplicaRole::Leader && !self.is_of_leader) {
                break;
            }
            if sights.changed().await.is_err() {
                break;
            }
        }
        tokio::time::sleep(last).await;
    }

    async fn pass(
        &self,
        known: &KnownForwarder,
        request: HttpRequest,
        body: web::Payload,
    ) -> Result<HttpResponse, Problem> {
        let permit = self.limit.try_acquire()?;
        let is_forwarded = request.headers().contains_key(REPLICA_KEY);
        let (address, key) = self.target(is_forwarded).await?;
        let headers = to_leader(&request, &key, self.options.as_operator);
        let at = resolved(&address).await?;
        let forwarder = forwarder(known, at);
        let path = request.uri().path_and_query();
        let path = path.map_or("/", |path| path.as_str());
        let path = format!("{}{path}", self.options.prefix);
        if request.headers().contains_key(header::UPGRADE) {
            let protocols = relay::offered_protocols(&request);
            let way = (&forwarder, path.as_str());
            let said = (&headers, protocols.as_slice());
            return relay::web_socket((&request, body), way, said, permit, failed).await;
        }
        let method = request.method().clone();
        let too_large = TooLarge::default();
        let timeouts = self.options.timeouts;
        let body = relay::request_body(&request, body, &too_large)?;
        let sent = tokio::select! {
            sent = forwarder.send(method.clone(), &path, &headers, body) => sent,
            () = self.followed(&key, timeouts.last_answer) => return Err(Problem::unavailable(
                "the process that led was asked and did not answer, and another leads now; try \
                 again, and look first whether what you asked for was done",
                1,
            )
            .kind("no-leader", "No leader")),
            () = out_of_reach(at, timeouts) => return Err(unreachable_leader(
                "the leading process was asked and cannot be reached from this one any more; try \
                 again, and look first whether what you asked for was done"
                    .to_owned(),
            )),
        };
        let answer = sent.map_err(|error| too_large.problem().unwrap_or_else(|| failed(&error)))?;
        let status = relay::status(&answer);
        let status = status.ok_or_else(|| {
            Problem::bad_gateway("the answer of the leading process has no status")
        })?;
        let headers = from_leader(&answer.headers);
        // A log that is followed would say nothing for ever where its leader was paused.
        let passage = self.clone();
        let gone = async move { passage.followed(&key, timeouts.last_body).await };
        let head = (status, &headers, &method);
        Ok(relay::respond_until(answer, head, permit, gone))
    }
}

/// Address and key of the process that leads, if that is known and a request may go there.
fn target_of(
    sight: &StoreSight,
    own: (&str, bool),
    is_forwarded: bool,
) -> Result<(String, String), ForwardRefusal> {
    let leader = sight.leader.as_ref().filter(|leader| leader.is_locked);
    let leader = leader.map(|leader| (leader.address.as_str(), leader.forward_key.as_str()));
    let target = forward_target(leader, own, is_forwarded)?;
    Ok((target.address.to_owned(), target.key.to_owned()))
}

/// Connections to the address; those to another leader are given up.
fn forwarder(known: &KnownForwarder, address: SocketAddr) -> Forwarder {
    let kept = known.borrow().clone();
    if let Some(kept) = kept.filter(|kept| kept.address() == Some(address)) {
        return kept;
    }
    let options = ForwardOptions {
        keep_host: true,
        ..ForwardOptions::default()
    };
    let new = Forwarder::new(address, options);
    *known.borrow_mut() = Some(new.clone());
    new
}

async fn resolved(address: &str) -> Result<SocketAddr, Problem> {
    if let Ok(address) = address.parse() {
        return Ok(address);
    }
    let found = tokio::net::lookup_host(address).await;
    let first = found.ok().and_then(|mut found| found.next());
    first.ok_or_else(|| {
        unreachable_leader(format!(
            "the name {address}, under which the leading process is reached, has no address here"
        ))
    })
}

fn refused(refusal: ForwardRefusal) -> Problem {
    let seconds = match refusal {
        ForwardRefusal::NoAddress => 30,
        _ => 1,
    };
    Problem::unavailable(refusal.to_string(), seconds).kind("no-leader", "No leader")
}

fn failed(error: &HttpError) -> Problem {
    match error {
        HttpError::TimedOut { .. } => {
            Problem::gateway_timeout("the leading process does not answer in time")
        }
        HttpError::BadRequest { .. } => Problem::bad_request("the body of the request broke off"),
        // Only WebSockets: other answers are passed back.
        HttpError::Status { status, .. } => {
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_GATEWAY);
            Problem::new(status, "the leading process opens no WebSocket here")
        }
        error => {
            tracing::info!(event = "replica.leader_unreachable", %error);
            unreachable_leader(
                "the leading process cannot be reached from this one; try again".to_owned(),
            )
        }
    }
}

fn unreachable_leader(detail: String) -> Problem {
    Problem::unavailable(detail, 2).kind("no-leader", "No leader")
}
