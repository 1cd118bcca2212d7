//! Two texts as a unified diff.
//!
//! The shortest edit is looked for (Myers) as long as that is cheap. Texts that differ too much are
//! told as the one that goes and the one that comes: longer, but just as true.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

/// Lines around a change.
const CONTEXT: usize = 3;
/// Edits, and lines compared, until the search is given up.
const EDITS: usize = 1000;
const STEPS: usize = 10_000_000;
/// Bytes of a diff; it ends with the hunk that exceeds them.
const BYTES: usize = 1 << 20;

/// A diff, and whether all of it is there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unified {
    pub(crate) text: String,
    pub(crate) truncated: bool,
}

/// Lines that go and lines that come in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// The unified diff of two texts.
pub(crate) fn unified(old: &str, new: &str) -> Unified {
    let (old, new) = (lines(old), lines(new));
    let changes = changes(&old, &new);
    let mut text = String::new();
    let mut at = 0;
    while let Some(first) = changes.get(at) {
        if text.len() > BYTES {
            return Unified { text, truncated: true };
        }
        let mut end = at + 1;
        // Changes whose surroundings meet are told together.
        while let (Some(last), Some(next)) = (changes.get(end - 1), changes.get(end))
            && next.old.start - last.old.end <= 2 * CONTEXT
        {
            end += 1;
        }
        hunk(&old, &new, changes.get(at..end).unwrap_or(std::slice::from_ref(first)), &mut text);
        at = end;
    }
    Unified { text, truncated: false }
}

/// Lines with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn hunk(old: &[&str], new: &[&str], changes: &[Change], out: &mut String) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
    let lead = first.old.start.min(first.new.start).min(CONTEXT);
    let trail = (old.len() - last.old.end).min(new.len() - last.new.end).min(CONTEXT);
    let side = |start: usize, end: usize| {
        let (from, count) = (start - lead, end + trail - (start - lead));
        // Nothing is told by the line before it.
        let from = if count == 0 { from } else { from + 1 };
        if count == 1 { from.to_string() } else { format!("{from},{count}") }
    };
    let olds = side(first.old.start, last.old.end);
    let news = side(first.new.start, last.new.end);
    let _ = writeln!(out, "@@ -{olds} +{news} @@");
    let mut at = first.old.start - lead;
    for change in changes {
        push(' ', old.get(at..change.old.start), out);
        push('-', old.get(change.old.clone()), out);
        push('+', new.get(change.new.clone()), out);
        at = change.old.end;
    }
    push(' ', old.get(at..at + trail), out);
}

fn push(sign: char, lines: Option<&[&str]>, out: &mut String) {
    for line in lines.unwrap_or_default() {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let head = old.iter().zip(new).take_while(same).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(same).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    if head == old_end && head == new_end {
        return Vec::new();
    }
    let mut names = HashMap::new();
    let mut named = |lines: Option<&[&str]>| -> Vec<usize> {
        let lines = lines.unwrap_or_default().iter();
        lines
            .map(|line| {
                let next = names.len();
                *names.entry((*line).to_owned()).or_insert(next)
            })
            .collect()
    };
    let (a, b) = (named(old.get(head..old_end)), named(new.get(head..new_end)));
    let found =
        shortest(&a, &b).unwrap_or_else(|| vec![Change { old: 0..a.len(), new: 0..b.len() }]);
    let moved = |range: Range<usize>| range.start + head..range.end + head;
    found.into_iter().map(|c| Change { old: moved(c.old), new: moved(c.new) }).collect()
}

/// The furthest that so many edits reach on each diagonal; those from `-edits` to `edits`.
struct Reach {
    edits: isize,
    x: Vec<isize>,
}

impl Reach {
    fn at(&self, k: isize) -> isize {
        let index = usize::try_from(k + self.edits).ok();
        index.and_then(|index| self.x.get(index)).copied().unwrap_or(-1)
    }

    /// Where the next edit on a diagonal leads: down from the one above, or right from the one
    /// below.
    fn step(&self, k: isize) -> (isize, isize) {
        let (down, right) = (self.at(k + 1), self.at(k - 1) + 1);
        if k == -(self.edits + 1) || (k != self.edits + 1 && right <= down) {
            (down, k + 1)
        } else {
            (right, k - 1)
        }
    }
}

/// The shortest edit, if it is found in time.
fn shortest(a: &[usize], b: &[usize]) -> Option<Vec<Change>> {
    let mut steps = 0;
    let mut slide = |mut x: isize, k: isize| {
        let from = |x: isize| usize::try_from(x).ok();
        while let (Some(left), Some(right)) =
            (from(x).and_then(|x| a.get(x)), from(x - k).and_then(|y| b.get(y)))
            && left == right
        {
            x += 1;
            steps += 1;
        }
        (x, steps)
    };
    let (ends_at, goal) = (a.len() as isize, a.len() as isize - b.len() as isize);
    let mut trace = vec![Reach { edits: 0, x: vec![slide(0, 0).0] }];
    while trace.last()?.at(goal) < ends_at {
        let last = trace.last()?;
        let edits = last.edits + 1;
        if edits as usize > EDITS {
            return None;
        }
        let mut x = vec![-1; 2 * edits as usize + 1];
        for k in (-edits..=edits).step_by(2) {
            let (reached, steps) = slide(last.step(k).0, k);
            if steps > STEPS {
                return None;
            }
            if let Some(place) = usize::try_from(k + edits).ok().and_then(|at| x.get_mut(at)) {
                *place = reached;
            }
        }
        trace.push(Reach { edits, x });
    }
    Some(walk_back(&trace, goal))
}

/// The changes on the way that was found, from its end to its beginning.
fn walk_back(trace: &[Reach], goal: isize) -> Vec<Change> {
    let mut out: Vec<Change> = Vec::new();
    let mut k = goal;
    let at = |place: isize| usize::try_from(place).unwrap_or(0);
    for before in trace.iter().rev().skip(1) {
        let (stepped, from) = before.step(k);
        let y = stepped - k;
        let (old, new) = if from > k {
            (at(stepped)..at(stepped), at(y - 1)..at(y))
        } else {
            (at(stepped - 1)..at(stepped), at(y)..at(y))
        };
        k = from;
        match out.last_mut() {
            Some(next) if next.old.start == old.end && next.new.start == new.end => {
                (next.old.start, next.new.start) = (old.start, new.start);
            }
            _ => out.push(Change { old, new }),
        }
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts the new text together from the old one and a diff.
    fn apply(old: &str, diff: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut at, mut out) = (0, String::new());
        let lines: Vec<&str> = diff.split_inclusive('\n').collect();
        for (i, line) in lines.iter().enumerate() {
            let bare = lines.get(i + 1).is_some_and(|next| next.starts_with('\\'));
            let body = if bare { line[1..].trim_end_matches('\n') } else { &line[1..] };
            match &line[..1] {
                "@" => {
                    let start =
                        line[4..].split([',', ' ']).next().unwrap().parse::<usize>().unwrap();
                    let empty = line[4..].split(' ').next().unwrap().ends_with(",0");
                    let start = if empty { start } else { start - 1 };
                    out.push_str(&old[at..start].concat());
                    at = start;
                }
                " " | "-" => {
                    assert_eq!(old[at], body);
                    at += 1;
                    if line.starts_with(' ') {
                        out.push_str(body);
                    }
                }
                "+" => out.push_str(body),
                _ => {}
            }
        }
        out + &old[at..].concat()
    }

    #[test]
    fn a_change_is_told_with_what_stands_around_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let diff = unified(old, "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
        assert_eq!(diff.text, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        assert_eq!(unified("a", "a\n").text, "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        assert_eq!(unified("", "x\n").text, "@@ -0,0 +1 @@\n+x\n");
        assert_eq!(unified("x\n", "").text, "@@ -1 +0,0 @@\n-x\n");
        assert_eq!(unified(old, old).text, "");
    }

    #[test]
    fn any_diff_leads_from_the_one_to_the_other() {
        let mut seed = 7u64;
        let mut next = move |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for round in 0..400 {
            let mut text = |most: u64| {
                let count = next(most);
                let mut out = String::new();
                for _ in 0..count {
                    out.push_str(&format!("{}\n", next(6)));
                }
                if next(3) == 0 { out.trim_end().to_owned() } else { out }
            };
            let (old, new) = (text(40), text(40));
            let diff = unified(&old, &new);
            assert_eq!(
                apply(&old, &diff.text),
                new,
                "round {round}: {old:?} {new:?} {}",
                diff.text
            );
        }
    }

    #[test]
    fn texts_that_have_nothing_in_common_are_told_whole_and_soon() {
        let numbered = |sign: char| (0..5000).map(|n| format!("{sign}{n}\n")).collect::<String>();
        let (old, new) = (numbered('a'), numbered('b'));
        let diff = unified(&old, &new);
        assert_eq!((apply(&old, &diff.text), diff.truncated), (new, false));
    }
}
