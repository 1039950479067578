//! One picture per workload: for each figure where it stands, how far it spreads, and where its
//! target is.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::figure::{Figure, Kind, Target};
use crate::statistics::Spread;

const WIDTH: u32 = 900;
const ROW: u32 = 30;
const HEAD: u32 = 64;
const FOOT: u32 = 62;
const LABELS: i32 = 430;
const MARGIN: i32 = 70;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(40, 40, 40);
const FAINT: RGBColor = RGBColor(215, 215, 215);
const MET: RGBColor = RGBColor(0, 114, 178);
const MISSED: RGBColor = RGBColor(213, 94, 0);
const OPEN: RGBColor = RGBColor(110, 110, 110);

/// Where a figure stands on an axis of ratios.
struct Bar {
    label: String,
    spread: Spread,
    target: Option<f64>,
    color: RGBColor,
}

impl Bar {
    fn new(figure: &Figure) -> Self {
        let target = figure.target.map(|target| match target {
            Target::AtMost(bound) | Target::AtLeast(bound) => bound,
        });
        let ratio = matches!(figure.kind, Kind::Ratio | Kind::Speed { .. });
        // What is no ratio is shown as a share of its target.
        let scale = if ratio { 1.0 } else { target.unwrap_or(figure.reached.median) };
        let Spread { low, median, high, count } = figure.reached;
        let beside = match (&figure.against, ratio) {
            (Some((name, _)), true) => format!("{} / {name}", figure.ours),
            (_, true) => figure.ours.clone(),
            (_, false) => format!("{} (share of bound)", figure.ours),
        };
        let color = match figure.is_met() {
            Some(true) => MET,
            Some(false) => MISSED,
            None => OPEN,
        };
        Self {
            label: format!("{}: {beside}", figure.what),
            spread: Spread { low: low / scale, median: median / scale, high: high / scale, count },
            target: target.map(|bound| bound / scale),
            color,
        }
    }

    fn ends(&self) -> impl Iterator<Item = f64> + use<> {
        let Spread { low, median, high, .. } = self.spread;
        [Some(low), Some(median), Some(high), self.target].into_iter().flatten()
    }
}

/// Ratios on pixels, by their logarithm.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn around(bars: &[Bar]) -> Self {
        let ends = bars.iter().flat_map(Bar::ends).filter(|end| *end > 0.0);
        let (low, high) =
            ends.fold((0.7_f64, 1.5_f64), |(low, high), end| (low.min(end), high.max(end)));
        Self { low: low.max(1e-3) / 1.15, high: high * 1.15 }
    }

    fn x(&self, ratio: f64) -> i32 {
        let share =
            (ratio.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        LABELS + (share * f64::from(WIDTH as i32 - LABELS - MARGIN)) as i32
    }

    fn ticks(&self) -> impl Iterator<Item = f64> + use<'_> {
        const STEPS: [f64; 19] = [
            0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0,
            100.0, 200.0, 500.0, 1000.0,
        ];
        STEPS.into_iter().filter(|step| (self.low..=self.high).contains(step))
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What is neither a ratio nor held against a bound has no place on the axis.
fn is_shown(figure: &Figure) -> bool {
    matches!(figure.kind, Kind::Ratio | Kind::Speed { .. }) || figure.target.is_some()
}

/// Draws the figures of a workload.
pub(crate) fn draw(file: &Path, title: &str, figures: &[Figure]) -> Result<()> {
    let bars: Vec<_> = figures.iter().filter(|figure| is_shown(figure)).map(Bar::new).collect();
    let axis = Axis::around(&bars);
    let height = HEAD + ROW * bars.len() as u32 + FOOT;
    let mut picture = String::new();
    {
        let area = SVGBackend::with_string(&mut picture, (WIDTH, height)).into_drawing_area();
        paint(&area, title, &axis, &bars, height).map_err(|error| anyhow!("{error}"))?;
    }
    std::fs::write(file, picture + "\n")?;
    Ok(())
}

type Painted = Result<(), DrawingAreaErrorKind<std::io::Error>>;

fn paint(area: &Area<'_>, title: &str, axis: &Axis, bars: &[Bar], height: u32) -> Painted {
    area.fill(&WHITE)?;
    text(area, title, (18, 26), 20.0, HPos::Left)?;
    let bottom = (height - FOOT) as i32;
    for tick in axis.ticks() {
        let x = axis.x(tick);
        let ink = if tick == 1.0 { INK } else { FAINT };
        line(area, (x, HEAD as i32 - 12), (x, bottom), ink.stroke_width(1))?;
        text(area, &format!("{tick}"), (x, bottom + 12), 12.0, HPos::Center)?;
    }
    for (row, bar) in bars.iter().enumerate() {
        let y = (HEAD + ROW * row as u32 + ROW / 2 - 6) as i32;
        paint_bar(area, axis, bar, y)?;
    }
    legend(area, height as i32 - 20)?;
    area.present()
}

fn paint_bar(area: &Area<'_>, axis: &Axis, bar: &Bar, y: i32) -> Painted {
    text(area, &bar.label, (LABELS - 14, y), 12.0, HPos::Right)?;
    let Spread { low, median, high, .. } = bar.spread;
    if let Some(target) = bar.target {
        let x = axis.x(target);
        line(area, (x, y - 9), (x, y + 9), INK.stroke_width(3))?;
    }
    line(area, (axis.x(low), y), (axis.x(high), y), bar.color.stroke_width(3))?;
    area.draw(&Circle::new((axis.x(median), y), 5, bar.color.filled()))?;
    // In a column of its own, where no mark is in the way.
    text(area, &format!("{median:.2}"), (WIDTH as i32 - 12, y), 12.0, HPos::Right)
}

fn legend(area: &Area<'_>, y: i32) -> Painted {
    let marks = [(MET, "target reached"), (MISSED, "target missed"), (OPEN, "no target")];
    for (at, (color, words)) in marks.into_iter().enumerate() {
        let x = 26 + 130 * at as i32;
        area.draw(&Circle::new((x, y), 5, color.filled()))?;
        text(area, words, (x + 10, y), 12.0, HPos::Left)?;
    }
    let x = LABELS + 10;
    line(area, (x, y - 9), (x, y + 9), INK.stroke_width(3))?;
    text(area, "target; dot: median, line: quartiles", (x + 10, y), 12.0, HPos::Left)
}

fn line(area: &Area<'_>, from: (i32, i32), to: (i32, i32), style: ShapeStyle) -> Painted {
    area.draw(&PathElement::new(vec![from, to], style))
}

fn text(area: &Area<'_>, words: &str, at: (i32, i32), size: f64, side: HPos) -> Painted {
    let style = (FONT, size).into_font().color(&INK).pos(Pos::new(side, VPos::Center));
    area.draw(&Text::new(words.to_owned(), at, style))
}
