//! The bar chart on the terminal: a bar for each way, on a scale of powers of ten.
//!
//! C1. A bar's length is the logarithm of its time: ten times as long is one step more, the same step everywhere.
//! C2. No line is wider than the terminal, as long as that has room for names and times.

use super::time::time;

/// What a bar shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) seconds: f64,
    /// What stands behind the time.
    pub(super) note: String,
}

/// Eighths of a column.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// The shortest bar that the longest may be.
const LEAST: usize = 10;

/// The chart, each line ended.
pub(super) fn chart(bars: &[Bar], width: usize) -> String {
    let chars = |text: &str| text.chars().count();
    let labels: Vec<String> = bars.iter().map(|bar| time(bar.seconds)).collect();
    let widest = |of: &dyn Fn(usize) -> usize| (0..bars.len()).map(of).max().unwrap_or(0);
    let names = widest(&|at| chars(&bars[at].name));
    let behind = widest(&|at| chars(&labels[at]) + 2 + chars(&bars[at].note));
    let room = width.saturating_sub(names + 2 + 1 + behind).max(LEAST);
    let (low, high) = decades(bars.iter().map(|bar| bar.seconds));
    let mut out = String::new();
    for (bar, label) in bars.iter().zip(&labels) {
        let share = (bar.seconds.max(1e-9).log10() - low) / (high - low);
        let eighths = (share.clamp(0.0, 1.0) * 8.0 * room as f64).round().max(1.0) as usize;
        let blocks = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
        let line = format!("{:<names$}  {blocks} {label}  {}", bar.name, bar.note);
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The powers of ten around the values: below the least, and the greatest itself.
fn decades(seconds: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut least, mut greatest) = (f64::INFINITY, 0.0_f64);
    for value in seconds {
        (least, greatest) = (least.min(value), greatest.max(value));
    }
    let low = least.clamp(1e-9, 1e9).log10().floor();
    (low, greatest.max(1e-9).log10().max(low + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &str, seconds: f64) -> Bar {
        Bar {
            name: name.to_owned(),
            seconds,
            note: String::new(),
        }
    }

    #[test]
    fn ten_times_as_long_is_one_step_more() {
        let drawn = chart(
            &[bar("slow", 1_000.0), bar("fast", 10.0), bar("a", 0.1)],
            50,
        );
        // Room for 30 columns: from 0.1 s, which is where the scale begins, to 1,000 s.
        let blocks: Vec<usize> = drawn
            .lines()
            .map(|line| line.matches('█').count())
            .collect();
        assert_eq!(blocks, [30, 15, 0], "\n{drawn}");
        assert!(drawn.lines().nth(2).is_some_and(|line| line.contains('▏')));
    }

    #[test]
    fn a_chart_fits_the_terminal() {
        let mut bars = vec![bar("one by one", 956.7), bar("flights and batches", 0.116)];
        bars[1].note = "8,250×".to_owned();
        for width in [60, 80, 132] {
            let drawn = chart(&bars, width);
            assert!(
                drawn.lines().all(|line| line.chars().count() <= width),
                "\n{drawn}"
            );
        }
        assert_eq!(
            chart(&bars, 60),
            "one by one           ████████████████████████ 15 min 57 s\n\
             flights and batches  ▍ 116 ms  8,250×\n"
        );
    }

    #[test]
    fn one_bar_alone_is_drawn_too() {
        assert!(chart(&[bar("a", 0.0)], 40).contains("0.0 ms"));
    }
}
