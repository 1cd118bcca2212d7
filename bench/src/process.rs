//! What processes have used: CPU time and memory, from `/proc`.

use std::fs;

/// A process and those it started.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    root: u32,
}

impl Tree {
    pub(crate) fn of(root: u32) -> Self {
        Self { root }
    }

    pub(crate) fn own() -> Self {
        Self::of(std::process::id())
    }

    /// CPU seconds of all of them, and of those that ended.
    pub(crate) fn cpu(&self) -> f64 {
        self.processes().into_iter().map(cpu_of).sum()
    }

    /// Bytes of memory; what several of them share counts once.
    pub(crate) fn memory(&self) -> f64 {
        self.processes().into_iter().map(memory_of).sum()
    }

    /// The most memory since `forget_peak`, of a server that is one process.
    pub(crate) fn peak(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.root)).unwrap_or_default();
        kilobytes(&status, "VmHWM:")
    }

    /// Begins to look for the most memory anew.
    pub(crate) fn forget_peak(&self) {
        let _ = fs::write(format!("/proc/{}/clear_refs", self.root), "5");
    }

    fn processes(&self) -> Vec<u32> {
        let mut all = vec![self.root];
        let mut next = 0;
        while let Some(&process) = all.get(next) {
            next += 1;
            let path = format!("/proc/{process}/task/{process}/children");
            let children = fs::read_to_string(path).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        all
    }
}

/// CPU seconds of several.
pub(crate) fn cpu(trees: &[Tree]) -> f64 {
    trees.iter().map(Tree::cpu).sum()
}

fn cpu_of(process: u32) -> f64 {
    // Fields 14 to 17, in hundredths of a second; the name before them may have spaces.
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
    let ticks: f64 = fields.skip(11).take(4).filter_map(|f| f.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn memory_of(process: u32) -> f64 {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    kilobytes(&rollup, "Pss:")
}

fn kilobytes(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|n| n.parse::<f64>().ok()).unwrap_or(f64::NAN) * 1024.0
}

/// How many files this process may have open.
pub(crate) fn files() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    soft.and_then(|n| n.parse().ok()).unwrap_or(1024)
}
