//! Times from milliseconds to hours, in one column.

use crate::print::count;

/// `0.4 ms`, `124 ms`, `1.24 s`, `12.4 s`, `4 min 05 s`, `1 h 03 min`.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 0.00995 => format!("{:.1} ms", s * 1e3),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 3_599.5 => crate::print::seconds(s),
        s => {
            let minutes = (s / 60.0).round().clamp(0.0, 1e15) as u64;
            format!("{} h {:02} min", count(minutes / 60), minutes % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_time_is_as_exact_as_anyone_needs_from_milliseconds_to_hours() {
        let times = [0.000_4, 0.0124, 0.124, 1.24, 12.4, 245.2, 3_790.0].map(super::time);
        let expected = [
            "0.4 ms",
            "12 ms",
            "124 ms",
            "1.24 s",
            "12.4 s",
            "4 min 05 s",
            "1 h 03 min",
        ];
        assert_eq!(times, expected);
    }
}
