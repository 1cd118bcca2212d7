//! Records as they stand in a document: runs of neighbours, and literals that are used again.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::resolve::Resolved;
use crate::json::push_escaped;
use crate::record::Role;
use crate::residue::{Instance, ShapeWriter};

/// A literal is kept once and named by number when it is at least this long and is used again.
const WORTH_NAMING: usize = 10;

/// Writes records; neighbours that differ only in how much text they take become one entry.
pub(crate) fn write_records(records: &[Resolved], shapes: &mut ShapeWriter, out: &mut String) {
    let mut at = 0;
    while let Some(record) = records.get(at) {
        if at > 0 {
            out.push(',');
        }
        let mut instance = String::new();
        shapes.instance(&record.instance, &mut instance);
        let run = if !record.cuts.is_empty() {
            records
                .iter()
                .skip(at)
                .take_while(|r| {
                    !r.cuts.is_empty()
                        && r.glue == record.glue
                        && r.role == record.role
                        && same_instance(&r.instance, &record.instance)
                })
                .count()
                .max(1)
        } else {
            1
        };
        let plain = record.cuts.is_empty() && record.glue.is_none() && record.role == Role::Item;
        if plain {
            out.push_str(&instance);
        } else {
            let _ = write!(out, "{{\"record\":{instance}");
            if !record.cuts.is_empty() {
                out.push_str(",\"cut\":[");
                for (i, r) in records.iter().skip(at).take(run).enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    write_cuts(&r.cuts, out);
                }
                out.push(']');
            }
            if let Some(glue) = &record.glue {
                out.push_str(",\"glue\":\"");
                push_escaped(glue, out);
                out.push('"');
            }
            if record.role != Role::Item {
                let _ = write!(out, ",\"role\":\"{}\"", record.role.name());
            }
            out.push('}');
        }
        at += run;
    }
}

/// How much text a record takes: a number, or a list where it takes several texts.
fn write_cuts(cuts: &[usize], out: &mut String) {
    if let [units] = cuts {
        let _ = write!(out, "{units}");
        return;
    }
    for (i, units) in cuts.iter().enumerate() {
        let _ = write!(out, "{}{units}", if i > 0 { "," } else { "[" });
    }
    out.push(']');
}

fn same_instance(a: &Instance<'_>, b: &Instance<'_>) -> bool {
    Arc::ptr_eq(&a.shape, &b.shape)
        && a.base == b.base
        && a.leaves == b.leaves
        && a.lists.is_empty()
        && b.lists.is_empty()
}

/// Literals that are used more than once and are long enough to be worth a number.
pub(crate) fn repeated<'i>(instances: impl Iterator<Item = &'i Instance<'static>>) -> Vec<String> {
    fn count<'i>(
        of: &'i Instance<'static>,
        order: &mut Vec<&'i str>,
        seen: &mut HashMap<&'i str, u32>,
    ) {
        for (_, literal) in &of.leaves {
            if literal.len() >= WORTH_NAMING {
                let uses = seen.entry(literal.as_str()).or_insert(0);
                *uses += 1;
                if *uses == 2 {
                    order.push(literal);
                }
            }
        }
        for item in of.lists.iter().flatten() {
            count(item, order, seen);
        }
    }
    let (mut order, mut seen) = (Vec::new(), HashMap::new());
    for instance in instances {
        count(instance, &mut order, &mut seen);
    }
    order.into_iter().map(str::to_owned).collect()
}
