//! An actor's work that comes round: again and again, a pause after each end. For one that is woken
//! in between, or whose rounds change the actor itself, there is [`start_tick`](crate::start_tick).

use std::time::Duration;

use actix::{Actor, AsyncContext, Context, fut};

/// When the first round begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstRound {
    /// With the actor.
    AtOnce,
    /// When the actor has run for as long as lies between two rounds.
    AfterInterval,
}

/// Runs `round` in an actor's context, again and again, `interval` after each end. It ends with the
/// actor; several of one actor run beside each other.
///
/// ```
/// use std::time::Duration;
///
/// use actix::prelude::{Actor, Context};
/// use supervision::{FirstRound, start_rounds};
///
/// struct Cleaner;
///
/// impl Actor for Cleaner {
///     type Context = Context<Self>;
///
///     fn started(&mut self, ctx: &mut Context<Self>) {
///         let mut rounds = 0;
///         start_rounds(
///             ctx,
///             (FirstRound::AfterInterval, Duration::from_secs(300)),
///             async move || rounds += 1,
///         );
///     }
/// }
/// ```
pub fn start_rounds<A: Actor<Context = Context<A>>>(
    ctx: &mut Context<A>,
    (first, interval): (FirstRound, Duration),
    mut round: impl AsyncFnMut() + 'static,
) {
    let pause = match first {
        FirstRound::AtOnce => Duration::ZERO,
        FirstRound::AfterInterval => interval,
    };
    let round = async move || {
        round().await;
        interval
    };
    spawn(ctx, pause, round);
}

/// [`start_rounds`], the first at once, where each round says how long the pause after it is.
pub fn start_paced_rounds<A: Actor<Context = Context<A>>>(
    ctx: &mut Context<A>,
    round: impl AsyncFnMut() -> Duration + 'static,
) {
    spawn(ctx, Duration::ZERO, round);
}

fn spawn<A: Actor<Context = Context<A>>>(
    ctx: &mut Context<A>,
    mut pause: Duration,
    mut round: impl AsyncFnMut() -> Duration + 'static,
) {
    let rounds = async move {
        loop {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            pause = round().await;
        }
    };
    ctx.spawn(fut::wrap_future::<_, A>(rounds));
}
