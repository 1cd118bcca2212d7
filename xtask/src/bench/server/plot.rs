//! The figures as a picture: groups of bars on a scale of powers of ten, as SVG.

use std::fmt::Write as _;

use super::peer::Peer;
use super::rows::{Rows, short};
use super::workloads::{
    IDLE_READERS, READERS, WRITERS, appends_of, fanout_of, lengths, replay_of, writers_of,
};

/// One chart.
struct Panel {
    title: &'static str,
    groups: Vec<Group>,
}

struct Group {
    label: String,
    bars: Vec<(Peer, f64)>,
}

/// Sizes in pixels.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 230.0;
const CHART: (f64, f64) = (60.0, 150.0);
const LEGEND: f64 = 40.0;

/// Whose bars have which colour, from left to right.
const COLOURS: [(Peer, &str); 8] = [
    (Peer::Selvedge, "#d9480f"),
    (Peer::Redis, "#1971c2"),
    (Peer::DurableStreams, "#2f9e44"),
    (Peer::Postgres, "#7048e8"),
    (Peer::Nchan, "#0c8599"),
    (Peer::Nats, "#e8a400"),
    (Peer::File, "#868e96"),
    (Peer::Bare, "#adb5bd"),
];

/// All that was measured, as an SVG document.
pub(super) fn draw(rows: &Rows) -> String {
    let panels: Vec<Panel> = panels(rows).into_iter().filter(|p| !p.groups.is_empty()).collect();
    let height = LEGEND + HEIGHT * panels.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <style>text {{ fill: #343a40 }} .line {{ stroke: #adb5bd; stroke-width: 0.5 }} \
         @media (prefers-color-scheme: dark) {{ text {{ fill: #dee2e6 }} .line {{ stroke: #495057 }} }}\
         </style>\n"
    );
    let shown = |peer: &Peer| {
        let bars = panels.iter().flat_map(|panel| &panel.groups).flat_map(|group| &group.bars);
        bars.into_iter().any(|(own, _)| own == peer)
    };
    let mut x = CHART.0;
    for (peer, colour) in COLOURS.iter().filter(|(peer, _)| shown(peer)) {
        let name = peer.name();
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"12\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"22\">{name}</text>",
            x + 17.0
        );
        x += 40.0 + 7.5 * name.len() as f64;
    }
    for (number, panel) in panels.iter().enumerate() {
        panel.draw(&mut svg, LEGEND + HEIGHT * number as f64);
    }
    svg.push_str("</svg>\n");
    svg
}

impl Panel {
    fn draw(&self, svg: &mut String, top: f64) {
        let values = || self.groups.iter().flat_map(|group| &group.bars).map(|(_, value)| *value);
        let most = values().fold(f64::MIN_POSITIVE, f64::max).log10().ceil();
        let least = values().fold(f64::INFINITY, f64::min).max(1e-3).log10().floor();
        let least = least.min(most - 1.0);
        let bottom = top + 30.0 + CHART.1;
        let at =
            |value: f64| CHART.1 * ((value.max(1e-3).log10() - least) / (most - least)).max(0.0);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-weight=\"600\">{}</text>",
            CHART.0,
            top + 16.0,
            self.title
        );
        for power in least as i32..=most as i32 {
            let y = bottom - at(10f64.powi(power));
            let _ = writeln!(
                svg,
                "<line class=\"line\" x1=\"{}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                CHART.0,
                WIDTH - 10.0,
                CHART.0 - 6.0,
                y + 4.0,
                power_of_ten(power)
            );
        }
        let room = (WIDTH - 10.0 - CHART.0) / self.groups.len().max(1) as f64;
        for (number, group) in self.groups.iter().enumerate() {
            let left = CHART.0 + room * number as f64;
            let wide = (room * 0.86 / group.bars.len().max(1) as f64).min(60.0);
            let begin = left + (room - wide * group.bars.len() as f64) / 2.0;
            for (place, (peer, value)) in group.bars.iter().enumerate() {
                let colour = COLOURS.iter().find(|(own, _)| own == peer).map_or("#000", |c| c.1);
                let (x, high) = (begin + wide * place as f64, at(*value));
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{high:.1}\" fill=\"{colour}\"/>\
                     <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"9\" text-anchor=\"middle\">{}</text>",
                    bottom - high,
                    wide - 2.0,
                    x + wide / 2.0 - 1.0,
                    bottom - high - 3.0,
                    short(*value)
                );
            }
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                left + room / 2.0,
                bottom + 16.0,
                group.label
            );
        }
    }
}

fn panels(rows: &Rows) -> Vec<Panel> {
    let group = |label: String, what: &str, name: &str| {
        let bars =
            COLOURS.iter().filter_map(|(peer, _)| Some((*peer, rows.get(what, *peer, name)?)));
        let bars: Vec<(Peer, f64)> = bars.collect();
        (!bars.is_empty()).then_some(Group { label, bars })
    };
    let writers = |name: &'static str| {
        let each = move |writers| (writers, appends_of(writers), name);
        WRITERS
            .map(each)
            .into_iter()
            .filter_map(|(writers, what, name)| group(writers_of(writers), &what, name))
    };
    let readers = READERS.into_iter().filter_map(|readers| {
        group(format!("{readers} readers"), &fanout_of(readers), "delivered_s")
    });
    let replays = lengths(true).0.into_iter().chain(lengths(false).0);
    let mut seen = Vec::new();
    let replays = replays.filter(|events| {
        let new = !seen.contains(events);
        seen.push(*events);
        new
    });
    let replays = replays.flat_map(|events| ["start", "middle"].map(|from| (events, from)));
    let replays = replays.filter_map(|(events, from)| {
        let label = format!("{} from the {from}", short(events as f64));
        group(label, &replay_of(events, from, "looopy"), "events_s")
    });
    let idle = group("idle readers".to_owned(), IDLE_READERS, "kb_a_reader");
    vec![
        Panel { title: "durable appends a second", groups: writers("appends_s").collect() },
        Panel {
            title: "99 of 100 appends are answered within, ms",
            groups: writers("p99_ms").collect(),
        },
        Panel {
            title: "deliveries a second, one thread to many readers",
            groups: readers.collect(),
        },
        Panel { title: "events a second, told again to one reader", groups: replays.collect() },
        Panel {
            title: "memory of a reader who is told nothing, KiB",
            groups: idle.into_iter().collect(),
        },
    ]
}

fn power_of_ten(power: i32) -> String {
    match power {
        6.. => format!("{}M", 10f64.powi(power - 6)),
        3..=5 => format!("{}k", 10f64.powi(power - 3)),
        _ => 10f64.powi(power).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::peer::Peer;
    use super::super::rows::Rows;
    use super::super::workloads::appends_of;
    use super::draw;

    #[test]
    fn a_picture_has_a_bar_for_each_figure_and_its_legend() {
        let mut rows = Rows::default();
        rows.add(&appends_of(1), Peer::Selvedge, &json!({ "appends_s": 3000 }));
        rows.add(&appends_of(1), Peer::Redis, &json!({ "appends_s": 3600 }));
        let svg = draw(&rows);
        assert_eq!(svg.matches("<rect").count(), 4);
        assert!(svg.contains(">3000<") && svg.contains(">redis<") && !svg.contains(">nats<"));
    }
}
