//! The manager's own figures for `/metrics`, read from the view when they are asked for.

use std::collections::BTreeMap;

use edge_web::figures::{counters, gauges};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use vm_actors::VmManagerView;
use vm_engine::network::TrafficView;

/// Reads what the actors have published.
pub(crate) struct VmMetrics(pub(crate) VmManagerView);

impl Collector for VmMetrics {
    fn desc(&self) -> Vec<&Desc> {
        // Families are made when they are collected.
        Vec::new()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let manager = &self.0;
        let mut states: BTreeMap<&'static str, u64> = BTreeMap::new();
        for vm in manager.vms() {
            *states.entry(vm.entry.state().label()).or_default() += 1;
        }
        let pool = manager.pool();
        let view = manager.counters();
        let allocations = view.allocations.iter();
        let counts = allocations
            .clone()
            .map(|(source, (count, _))| (*source, *count as f64));
        let times = allocations.map(|(source, (_, took))| (*source, took.as_secs_f64()));
        let (failures, released) = (numbers(&view.failures), numbers(&view.released));
        let mut families = vec![
            gauges(
                "vm_vms",
                "VMs given out, by state.",
                "state",
                numbers(&states),
            ),
            gauges(
                "vm_pool_vms",
                "VMs that wait in the pool, and those that should.",
                "kind",
                vec![("ready", pool.ready as f64), ("target", pool.target as f64)],
            ),
            counters(
                "vm_allocations_total",
                "VMs given out, by where they came from.",
                "source",
                counts,
            ),
            counters(
                "vm_allocation_seconds_total",
                "Time from an order to its VM, in all.",
                "source",
                times,
            ),
            counters(
                "vm_failures_total",
                "VMs that did not start or broke, by reason.",
                "reason",
                failures,
            ),
            counters(
                "vm_released_total",
                "VMs released without being asked for it, by reason.",
                "reason",
                released,
            ),
            counters(
                "vm_orders_refused_total",
                "Orders refused because there was no room.",
                "",
                [("", view.refused as f64)],
            ),
            counters(
                "vm_execs_total",
                "Commands started.",
                "",
                [("", view.execs as f64)],
            ),
            counters(
                "vm_output_bytes_total",
                "Bytes that commands wrote.",
                "",
                [("", view.output_bytes as f64)],
            ),
            counters(
                "vm_leaked_total",
                "VMs of which something was left after their end.",
                "",
                [("", view.leaked as f64)],
            ),
        ];
        families.extend(network(&manager.traffic()));
        families
    }
}

fn numbers(map: &BTreeMap<&'static str, u64>) -> Vec<(&'static str, f64)> {
    map.iter()
        .map(|(label, number)| (*label, *number as f64))
        .collect()
}

/// What VMs with a network do with it.
fn network(traffic: &TrafficView) -> [MetricFamily; 3] {
    let refused = traffic.refused.iter();
    [
        counters(
            "vm_network_connections_total",
            "Connections made for VMs that have a network.",
            "",
            [("", traffic.connections as f64)],
        ),
        counters(
            "vm_network_refused_total",
            "Requests of VMs that were not passed on, by reason.",
            "reason",
            refused.map(|(reason, count)| (*reason, *count as f64)),
        ),
        counters(
            "vm_network_bytes_total",
            "Bytes between VMs and what they reach, by direction.",
            "direction",
            [
                ("sent", traffic.sent as f64),
                ("received", traffic.received as f64),
            ],
        ),
    ]
}
