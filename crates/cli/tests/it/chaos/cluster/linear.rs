//! Whether what clients saw of one thread can be told as one thing after the other.
//!
//! A thread is a log. An append that was acknowledged says where it is, a read says where the end
//! was, and a refused compare-and-set says which end it met: so each has one place in the order, and
//! the history is linearizable exactly if no two of them were there the other way round in time.
//! Appends whose outcome nobody knows are there or not; if they are, they came after they were asked
//! for, and that is all that is known of when.

use std::collections::HashMap;
use std::time::Duration;

/// Something that a client did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) what: What,
    /// When it was asked for.
    pub(super) asked: Duration,
    /// When it was answered, if it was.
    pub(super) answered: Option<Duration>,
    pub(super) came: Came,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Events by name, appended behind an end if one was given.
    Append { names: Vec<String>, behind: Option<u64> },
    /// Asking where the end is.
    Read,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Came {
    /// Acknowledged, first and last.
    Put(u64, u64),
    /// The end was here.
    End(u64),
    /// Refused, as the end was here.
    Refused(u64),
    /// Nobody knows.
    Unknown,
}

/// What in a history contradicts the journal, or another thing in it; nothing if it is one that
/// could have happened one by one.
pub(super) fn contradictions(journal: &[String], acts: &[Act]) -> Vec<String> {
    let mut found = Vec::new();
    let mut places: HashMap<&str, Vec<u64>> = HashMap::new();
    // A thread begins with what nobody here has asked for.
    let begun = journal.iter().take_while(|name| name.is_empty()).count();
    for (name, seq) in journal.iter().zip(1..).skip(begun) {
        places.entry(name).or_default().push(seq);
    }
    // Ends that the thread had between two appends.
    let mut ends = vec![begun as u64];
    let mut placed = Vec::new();
    for act in acts {
        match place(act, journal, &mut places) {
            Ok(Some(place)) => {
                if let Place::Append(last) = place {
                    ends.push(last);
                }
                placed.push((place, act));
            }
            Ok(None) => {}
            Err(wrong) => found.push(format!("{wrong}: {act:?}")),
        }
    }
    found.extend(places.iter().map(|(name, at)| format!("`{name}` at {at:?} was never asked for")));
    ends.sort_unstable();
    for (place, act) in &placed {
        if let Place::Behind(end) = place
            && ends.binary_search(end).is_err()
        {
            found.push(format!("{end} was never an end: {act:?}"));
        }
    }
    found.extend(inversions(&placed));
    found
}

/// Where something is in the order: an append at its end, whoever met that end behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Append(u64),
    Behind(u64),
}

impl Place {
    fn rank(self) -> u64 {
        match self {
            Self::Append(last) => last * 2,
            Self::Behind(end) => end * 2 + 1,
        }
    }
}

/// Where an act is; none if it is nowhere. Its events are taken out of those that nobody has yet.
fn place(
    act: &Act,
    journal: &[String],
    places: &mut HashMap<&str, Vec<u64>>,
) -> Result<Option<Place>, String> {
    let (names, behind) = match (&act.what, &act.came) {
        (What::Read, Came::End(end)) => return Ok(Some(Place::Behind(*end))),
        (What::Read, Came::Unknown) => return Ok(None),
        (What::Append { names, behind }, Came::Put(..) | Came::Refused(_) | Came::Unknown) => {
            (names, behind)
        }
        _ => return Err("no answer to what was asked".to_owned()),
    };
    let mut found = Vec::new();
    for name in names {
        match places.remove(name.as_str()).as_deref() {
            None => {}
            Some([seq]) => found.push(*seq),
            Some(more) => return Err(format!("`{name}` is there at {more:?}")),
        }
    }
    if let Came::Refused(end) = act.came {
        return match (behind, found.as_slice()) {
            (_, [seq, ..]) => Err(format!("refused, but there at {seq}")),
            (Some(behind), []) if *behind != end => Ok(Some(Place::Behind(end))),
            (_, []) => Err("refused for no reason".to_owned()),
        };
    }
    let Some(first) = found.first().copied() else {
        return match act.came {
            Came::Put(first, _) => {
                let there = journal.get(first as usize - 1);
                Err(format!("acknowledged, and {there:?} is there"))
            }
            _ => Ok(None),
        };
    };
    let last = first + names.len() as u64 - 1;
    if found.iter().copied().ne(first..=last) {
        return Err(format!("not one after the other: {found:?}"));
    }
    if let Came::Put(own, end) = act.came
        && (own, end) != (first, last)
    {
        return Err(format!("it is at {first} to {last}"));
    }
    if let Some(behind) = behind
        && first != behind + 1
    {
        return Err(format!("it is at {first}, not behind {behind}"));
    }
    Ok(Some(Place::Append(last)))
}

/// Pairs of which one was answered before the other was asked for, and comes behind it all the same.
fn inversions(placed: &[(Place, &Act)]) -> Vec<String> {
    let mut asked: Vec<&(Place, &Act)> = placed.iter().collect();
    asked.sort_by_key(|(_, act)| act.asked);
    let mut answered: Vec<&(Place, &Act)> =
        placed.iter().filter(|(_, act)| act.answered.is_some()).collect();
    answered.sort_by_key(|(_, act)| act.answered);
    let mut answered = answered.into_iter().peekable();
    // The one furthest on of all that were answered before.
    let mut furthest: Option<&(Place, &Act)> = None;
    let mut found = Vec::new();
    for next in asked {
        while let Some(before) = answered.next_if(|(_, act)| act.answered < Some(next.1.asked)) {
            if furthest.is_none_or(|known| known.0.rank() < before.0.rank()) {
                furthest = Some(before);
            }
        }
        if let Some(before) = furthest
            && before.0.rank() > next.0.rank()
        {
            found.push(format!("{:?} was over before {:?} began", before.1, next.1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(what: What, asked: u64, answered: u64, came: Came) -> Act {
        let answered = (answered > 0).then(|| Duration::from_millis(answered));
        Act { what, asked: Duration::from_millis(asked), answered, came }
    }

    fn append(names: &[&str], behind: Option<u64>) -> What {
        What::Append { names: names.iter().map(|name| (*name).to_owned()).collect(), behind }
    }

    fn journal(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// What is wrong, in a word; nothing if all is well.
    fn wrong(names: &[&str], acts: &[Act]) -> Vec<String> {
        contradictions(&journal(names), acts)
    }

    #[test]
    fn what_can_have_happened_one_by_one_is_taken() {
        let acts = [
            act(append(&["a"], None), 1, 5, Came::Put(1, 1)),
            // Beside the first, so in either order.
            act(append(&["b", "c"], None), 2, 4, Came::Put(2, 3)),
            act(What::Read, 3, 6, Came::End(1)),
            act(What::Read, 6, 7, Came::End(3)),
            act(append(&["d"], Some(3)), 8, 9, Came::Put(4, 4)),
            act(append(&["e"], Some(3)), 8, 10, Came::Refused(4)),
            // One that came late, one that never came.
            act(append(&["f"], None), 11, 0, Came::Unknown),
            act(append(&["g"], None), 11, 0, Came::Unknown),
            act(What::Read, 12, 13, Came::End(4)),
            act(What::Read, 14, 15, Came::End(5)),
        ];
        assert_eq!(wrong(&["a", "b", "c", "d", "f"], &acts), Vec::<String>::new());
        assert_eq!(wrong(&[], &[]), Vec::<String>::new());
        let acts = [
            act(append(&["b"], Some(0)), 1, 2, Came::Refused(1)),
            act(append(&["a"], Some(1)), 3, 4, Came::Put(2, 2)),
        ];
        assert_eq!(wrong(&["", "a"], &acts), Vec::<String>::new());
    }

    /// Histories that must be refused, and what is told of each.
    #[test]
    fn what_cannot_have_happened_is_refused() {
        let put = |name: &str, asked, answered, first| {
            act(append(&[name], None), asked, answered, Came::Put(first, first))
        };
        let cases: Vec<(&str, Vec<&str>, Vec<Act>)> = vec![
            ("acknowledged", vec![], vec![put("a", 1, 2, 1)]),
            ("acknowledged", vec!["b"], vec![put("a", 1, 2, 1), put("b", 3, 4, 1)]),
            ("is there at [1, 2]", vec!["a", "a"], vec![put("a", 1, 2, 1)]),
            ("never asked for", vec!["a", "b"], vec![put("a", 1, 2, 1)]),
            ("it is at 2 to 2", vec!["b", "a"], vec![put("a", 1, 2, 1), put("b", 1, 2, 1)]),
            // In the order of the journal, against that of time.
            ("was over before", vec!["b", "a"], vec![put("a", 1, 2, 2), put("b", 3, 4, 1)]),
            // A read that misses what was acknowledged before it.
            (
                "was over before",
                vec!["a", "b"],
                vec![put("a", 1, 2, 1), put("b", 3, 4, 2), act(What::Read, 5, 6, Came::End(1))],
            ),
            // Two reads, the later of which sees less.
            (
                "was over before",
                vec!["a"],
                vec![
                    act(append(&["a"], None), 1, 0, Came::Unknown),
                    act(What::Read, 2, 3, Came::End(1)),
                    act(What::Read, 4, 5, Came::End(0)),
                ],
            ),
            // A read of what is written later.
            (
                "was over before",
                vec!["a"],
                vec![act(What::Read, 1, 2, Came::End(1)), put("a", 3, 4, 1)],
            ),
            // Seen before anyone had asked for it, though nobody knows how it ended.
            (
                "was over before",
                vec!["a"],
                vec![
                    act(What::Read, 1, 2, Came::End(1)),
                    act(append(&["a"], None), 3, 0, Came::Unknown),
                ],
            ),
            // An end in the middle of an append.
            (
                "never an end",
                vec!["a", "b"],
                vec![
                    act(append(&["a", "b"], None), 1, 5, Came::Put(1, 2)),
                    act(What::Read, 2, 3, Came::End(1)),
                ],
            ),
            (
                "not one after the other",
                vec!["a", "x", "b"],
                vec![act(append(&["a", "b"], None), 1, 5, Came::Put(1, 3)), put("x", 1, 5, 2)],
            ),
            (
                "not one after the other",
                vec!["a"],
                vec![
                    act(append(&["b", "a"], None), 1, 0, Came::Unknown),
                    act(append(&["a", "b"], None), 1, 0, Came::Unknown),
                ],
            ),
            ("not behind 5", vec!["a"], vec![act(append(&["a"], Some(5)), 1, 2, Came::Put(1, 1))]),
            (
                "refused, but there",
                vec!["a"],
                vec![act(append(&["a"], Some(3)), 1, 2, Came::Refused(0))],
            ),
            // Refused at the very end that it asked for, and without having asked.
            (
                "refused for no reason",
                vec![],
                vec![act(append(&["a"], Some(0)), 1, 2, Came::Refused(0))],
            ),
            (
                "refused for no reason",
                vec![],
                vec![act(append(&["a"], None), 1, 2, Came::Refused(0))],
            ),
            // Refused at an end that was past.
            (
                "was over before",
                vec!["a", "b"],
                vec![
                    put("a", 1, 2, 1),
                    put("b", 3, 4, 2),
                    act(append(&["c"], Some(0)), 5, 6, Came::Refused(1)),
                ],
            ),
            (
                "no answer",
                vec!["a"],
                vec![act(What::Read, 1, 2, Came::Put(1, 1)), put("a", 1, 2, 1)],
            ),
        ];
        for (told, names, acts) in cases {
            let found = wrong(&names, &acts);
            let tells = found.iter().any(|found| found.contains(told));
            assert!(tells, "{told}: {found:?} for {acts:?}");
        }
    }

    #[test]
    fn a_part_of_an_append_is_no_append() {
        let acts = [act(append(&["a", "b"], None), 1, 0, Came::Unknown)];
        let found = wrong(&["a"], &acts);
        assert!(found[0].contains("not one after the other"), "{found:?}");
    }
}
