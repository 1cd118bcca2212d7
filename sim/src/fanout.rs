//! Readers of one thread as a queue: one write takes all that a reader has not seen.

use crate::costs::{Appends, Deliveries};

/// Deliveries a second of events that are published as fast as they are acknowledged, and how many
/// of them one write takes.
///
/// Whoever writes goes from reader to reader. While it is on its way events come, so the more
/// readers there are, the more events each write has, and the less each costs.
pub(crate) fn flat_out(
    costs: &Deliveries,
    appends: &Appends,
    cores: usize,
    readers: usize,
) -> (f64, f64) {
    let publish = appends.cpu + appends.row + appends.commit + appends.load;
    let readers = readers as f64;
    // The publisher waits for each acknowledgement.
    let most = 1.0 / (publish + appends.sync + 3.0 * appends.wake);
    let mut rate = most;
    for _ in 0..1_000 {
        let delivery = delivery(costs, rate, readers);
        // One thread writes; and the cores do all there is to do.
        let thread = 1.0 / (delivery * readers);
        let all = cores as f64 / (publish + (delivery + costs.load) * readers);
        rate = f64::midpoint(rate, most.min(thread).min(all));
    }
    (rate * readers, taken(costs, rate, readers))
}

/// How many events one write takes at a rate: as many as come while all readers have their turn.
pub(crate) fn taken(costs: &Deliveries, rate: f64, readers: f64) -> f64 {
    // A round of k events takes `readers * (write + k * event)`, and k come in it.
    let busy = rate * readers * costs.event;
    let in_one = if busy < 1.0 { rate * readers * costs.write / (1.0 - busy) } else { costs.most };
    in_one.clamp(1.0, costs.most)
}

/// CPU of a delivery at a rate.
pub(crate) fn delivery(costs: &Deliveries, rate: f64, readers: f64) -> f64 {
    costs.write / taken(costs, rate, readers) + costs.event
}
