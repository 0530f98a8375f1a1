//! The chart: for each goal against a peer, how many times better we are, on a logarithmic scale.

use std::fmt::Write as _;

use crate::goals::Goal;

const ROW: f64 = 26.0;
const LEFT: f64 = 330.0;
const WIDTH: f64 = 900.0;
const TOP: f64 = 50.0;

/// Draws the goals as bars.
pub(crate) fn draw(goals: &[Goal]) -> String {
    let bars: Vec<_> = goals
        .iter()
        .filter(|goal| goal.against != "itself" && goal.ratio > 0.0)
        .map(|goal| {
            let better = |ratio: f64| if goal.at_least { ratio } else { 1.0 / ratio };
            (goal, better(goal.ratio), better(goal.bound))
        })
        .collect();
    let most = bars.iter().map(|(_, better, goal)| better.max(*goal)).fold(10.0, f64::max);
    let decades = most.log10().ceil();
    let x = |times: f64| LEFT + (WIDTH - LEFT - 70.0) * (times.max(1.0).log10() / decades);
    let height = TOP + ROW * bars.len() as f64 + 20.0;

    let mut svg = String::new();
    let mut put = |line: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = svg.write_fmt(line);
        svg.push('\n');
    };
    put(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">"#
    ));
    put(format_args!(r##"<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>"##));
    put(format_args!(
        r##"<text x="12" y="20" font-size="14" fill="#222222">How many times better genclient is; the mark is the goal</text>"##
    ));
    let mut times = 1.0;
    while times <= 10f64.powf(decades) {
        let at = x(times);
        put(format_args!(
            r##"<line x1="{at:.1}" y1="{}" x2="{at:.1}" y2="{}" stroke="#dddddd"/><text x="{at:.1}" y="{}" text-anchor="middle" fill="#666666">{times}×</text>"##,
            TOP - 6.0,
            height - 12.0,
            TOP - 10.0
        ));
        times *= 10.0;
    }
    for (row, (goal, better, bound)) in bars.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        let colour = if goal.against == "kube-rs" { "#b5562b" } else { "#2a6f97" };
        let (end, mark) = (x(*better), x(*bound));
        put(format_args!(
            r##"<text x="{}" y="{}" text-anchor="end" fill="#222222">{}, to {}</text>"##,
            LEFT - 8.0,
            y + 16.0,
            goal.title,
            goal.against
        ));
        put(format_args!(
            r##"<rect x="{LEFT}" y="{}" width="{:.1}" height="16" fill="{colour}"/>"##,
            y + 4.0,
            (end - LEFT).max(1.0)
        ));
        put(format_args!(
            r##"<line x1="{mark:.1}" y1="{}" x2="{mark:.1}" y2="{}" stroke="#111111" stroke-width="2"/>"##,
            y + 1.0,
            y + 23.0
        ));
        put(format_args!(
            r##"<text x="{:.1}" y="{}" fill="#222222">{}×</text>"##,
            end.max(mark) + 6.0,
            y + 16.0,
            crate::figure(*better)
        ));
    }
    put(format_args!("</svg>"));
    svg
}
