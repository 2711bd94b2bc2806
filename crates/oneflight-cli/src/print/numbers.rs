//! Numbers as people read them.

/// A count with a separator at every thousand: `49,520`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A length of time: `0.42 s`, `12.3 s`, `4 min 05 s`.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 9.995 => format!("{s:.2} s"),
        s if s < 59.95 => format!("{s:.1} s"),
        s => {
            let whole = s.round().clamp(0.0, 1e15) as u64;
            format!("{} min {:02} s", count(whole / 60), whole % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_has_a_separator_at_every_thousand() {
        let counts = [0, 7, 999, 1_000, 49_520, 1_234_567].map(count);
        assert_eq!(counts, ["0", "7", "999", "1,000", "49,520", "1,234,567"]);
    }

    #[test]
    fn a_time_is_as_exact_as_anyone_needs() {
        let times = [0.004, 9.991, 9.999, 59.9, 59.96, 245.2].map(seconds);
        assert_eq!(
            times,
            [
                "0.00 s",
                "9.99 s",
                "10.0 s",
                "59.9 s",
                "1 min 00 s",
                "4 min 05 s"
            ]
        );
    }
}
