//! Waiting times, counted in classes: no memory for each, and percentiles within 2 %.

/// Classes for each doubling.
const STEPS: usize = 64;

/// How often which time was seen, in microseconds.
pub(crate) struct Spread {
    counts: Vec<u64>,
    total: u64,
}

impl Spread {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; STEPS * 40], total: 0 }
    }

    /// Counts a time.
    pub(crate) fn add(&mut self, micros: u64) {
        if let Some(count) = self.counts.get_mut(class(micros)) {
            *count += 1;
        }
        self.total += 1;
    }

    /// Adds all of another.
    pub(crate) fn join(&mut self, other: &Self) {
        for (own, more) in self.counts.iter_mut().zip(&other.counts) {
            *own += more;
        }
        self.total += other.total;
    }

    /// The time that so great a share stays below, in milliseconds.
    pub(crate) fn at(&self, share: f64) -> Option<f64> {
        let wanted = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (class, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Some(middle(class) / 1000.0);
            }
        }
        None
    }
}

/// Up to `STEPS` exact, then `STEPS` classes for each doubling.
fn class(micros: u64) -> usize {
    if micros < STEPS as u64 {
        return micros as usize;
    }
    let doublings = micros.ilog2() - STEPS.ilog2();
    let within = (micros >> doublings) as usize - STEPS;
    STEPS * (doublings as usize + 1) + within
}

fn middle(class: usize) -> f64 {
    if class < STEPS {
        return class as f64;
    }
    let (doublings, within) = (class / STEPS - 1, class % STEPS);
    ((STEPS + within) as f64 + 0.5) * 2f64.powi(doublings as i32)
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn percentiles_are_within_two_percent() {
        let mut spread = Spread::new();
        for micros in 1..=100_000 {
            spread.add(micros);
        }
        for (share, wanted) in [(0.5, 50.0), (0.99, 99.0), (1.0, 100.0)] {
            let found = spread.at(share).unwrap();
            assert!((found / wanted - 1.0f64).abs() < 0.02, "{share}: {found}");
        }
        assert_eq!(Spread::new().at(0.5), None);
    }
}
