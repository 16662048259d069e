use std::time::Instant;
use actix::prelude::*;
use supervision::*;
struct Echo;
impl Actor for Echo { type Context = Context<Self>; }
#[derive(Message)] #[rtype(u64)] struct Say(u64);
impl Handler<Say> for Echo { type Result = u64; fn handle(&mut self, m: Say, _: &mut Context<Self>) -> u64 { m.0 + 1 } }
fn main() {
    System::new().block_on(async {
        for own in [false, true] {
        let plain = if own { let a = Arbiter::new(); Echo::start_in_arbiter(&a.handle(), |_| Echo) } else { Echo.start() };
        let mut spec = ChildSpec::new("echo", |_| Echo).capacity(1000);
        if own { spec = spec.placement(Placement::Own); }
        let r = spec.reference();
        let root = Root::start(SupervisorSpec::root("r").child(spec));
        r.ready().await;
        const N: u64 = 100_000;
        let n = if own { N/4 } else { N };
        for _ in 0..5 {
            let t = Instant::now(); let mut x = 0;
            for _ in 0..n { x = plain.send(Say(x)).await.unwrap(); }
            let p = t.elapsed().as_nanos() as f64 / n as f64;
            let t = Instant::now(); let mut x = 0;
            for _ in 0..n { x = r.ask(Say(x)).await.unwrap(); }
            let c = t.elapsed().as_nanos() as f64 / n as f64;
            let t = Instant::now(); let mut x = 0;
            for _ in 0..n { x = plain.send(Say(x)).timeout(std::time::Duration::from_secs(5)).await.unwrap(); }
            let pt = t.elapsed().as_nanos() as f64 / n as f64;
            println!("own {own} plain {p:.0} ns, plain+timeout {pt:.0}, ref {c:.0} ns, ratio {:.3}", p / c);
        }
        root.handle().stop();
        root.verdict().await;
        }
    });
}
