//! How far a merge is, on standard error: a bar for each feed on a terminal, a plain line now and then anywhere else.
//!
//! P1. A line of ours never tears a bar: while there are bars, everything goes through them.

use super::{count, err, plain};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Between two plain lines about one feed.
const EVERY: Duration = Duration::from_secs(5);

/// The progress of a merge.
#[derive(Debug)]
pub(crate) struct Progress {
    form: Form,
    feed: Option<Feed>,
}

#[derive(Clone, Debug)]
enum Form {
    Bars { all: MultiProgress, width: usize },
    Lines,
    Nothing,
}

/// The feed that is being read.
#[derive(Debug)]
struct Feed {
    name: String,
    bytes: u64,
    began: Instant,
    said: Instant,
    last: Numbers,
    bar: Option<ProgressBar>,
}

/// Numbers of a feed so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    /// Rows read.
    pub(crate) rows: u64,
    /// Bytes read.
    pub(crate) bytes: u64,
    /// Rows created in the database.
    pub(crate) created: u64,
    /// Rows rejected.
    pub(crate) rejected: u64,
}

impl Progress {
    /// Progress for feeds of these names, or none at all.
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str>, quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let form = if quiet {
            Form::Nothing
        } else if std::io::stderr().is_terminal() && !dumb {
            let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
            Form::Bars {
                all,
                width: names.map(|name| name.chars().count()).max().unwrap_or(0),
            }
        } else {
            Form::Lines
        };
        Self { form, feed: None }
    }

    /// The next feed begins.
    pub(crate) fn start(&mut self, name: &str, size: u64) {
        let name = plain(name);
        let now = Instant::now();
        let bar = match &self.form {
            Form::Bars { all, width } => {
                let bar = all.add(if size > 0 {
                    ProgressBar::new(size)
                } else {
                    ProgressBar::no_length()
                });
                bar.set_style(style(size > 0, *width));
                bar.set_prefix(name.clone());
                bar.enable_steady_tick(Duration::from_millis(200));
                Some(bar)
            }
            Form::Lines | Form::Nothing => None,
        };
        self.feed = Some(Feed {
            name,
            bytes: size,
            began: now,
            said: now,
            last: Numbers::default(),
            bar,
        });
    }

    /// Some more rows are done.
    pub(crate) fn update(&mut self, numbers: Numbers) {
        let Some(feed) = &mut self.feed else { return };
        feed.last = numbers;
        match (&self.form, &feed.bar) {
            (_, Some(bar)) => {
                bar.set_position(numbers.bytes);
                bar.set_message(feed.rows(numbers));
            }
            (Form::Lines, None) if feed.said.elapsed() >= EVERY => {
                feed.said = Instant::now();
                err(&format!(
                    "{}: {}{}",
                    feed.name,
                    feed.rows(numbers),
                    feed.rest(numbers.bytes)
                ));
            }
            _ => {}
        }
    }

    /// A feed is done, with this many rows read and rejected; or it was cut off there.
    pub(crate) fn end(&mut self, rows: u64, rejected: u64, whole: bool) {
        let Some(feed) = self.feed.take() else { return };
        let numbers = Numbers {
            rows,
            rejected,
            ..feed.last
        };
        let rows = feed.rows(numbers);
        match (&self.form, &feed.bar) {
            (_, Some(bar)) if whole => {
                bar.set_position(feed.bytes.max(numbers.bytes));
                bar.finish_with_message(rows);
            }
            (_, Some(bar)) => bar.abandon_with_message(rows),
            (Form::Lines, None) => err(&format!("{}: {rows}", feed.name)),
            _ => {}
        }
    }

    /// Prints a line beside the progress; when quiet, not.
    pub(crate) fn say(&self, line: &str) {
        self.form.say(line);
    }

    /// Something that can say a line at any time, from any task.
    pub(crate) fn voice(&self) -> Voice {
        Voice(self.form.clone())
    }
}

/// Says lines beside the progress.
#[derive(Clone, Debug)]
pub(crate) struct Voice(Form);

impl Voice {
    /// Prints a line beside the progress; when quiet, not.
    pub(crate) fn say(&self, line: &str) {
        self.0.say(line);
    }
}

impl Form {
    fn say(&self, line: &str) {
        match self {
            Self::Nothing => {}
            Self::Lines => err(line),
            // P1.
            Self::Bars { all, .. } => all.suspend(|| err(line)),
        }
    }
}

/// A bar that is not done is left as it stands.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.feed.as_ref().and_then(|feed| feed.bar.as_ref()) {
            bar.abandon();
        }
    }
}

impl Feed {
    /// `12,000 rows, 48,000 rows/s, 310 created, 2 rejected`
    fn rows(&self, numbers: Numbers) -> String {
        let seconds = self.began.elapsed().as_secs_f64().max(0.001);
        let rate = (numbers.rows as f64 / seconds).round() as u64;
        let mut text = format!(
            "{} rows, {} rows/s, {} created",
            count(numbers.rows),
            count(rate),
            count(numbers.created)
        );
        if numbers.rejected > 0 {
            text.push_str(&format!(", {} rejected", count(numbers.rejected)));
        }
        text
    }

    /// `, 40%, 12 s left`
    fn rest(&self, read: u64) -> String {
        if self.bytes == 0 || read == 0 {
            return String::new();
        }
        let part = (read as f64 / self.bytes as f64).min(1.0);
        let left = self.began.elapsed().as_secs_f64() * (1.0 - part) / part;
        format!(", {:.0}%, {} left", part * 100.0, super::seconds(left))
    }
}

/// How a bar looks. A feed of unknown size (standard input) has no bar, only its numbers.
fn style(sized: bool, width: usize) -> ProgressStyle {
    let text = if sized {
        format!("{{prefix:{width}}} [{{bar:24}}] {{percent:>3}}%  {{msg}}{{left}}")
    } else {
        format!("{{prefix:{width}}} [{{elapsed:>4}}]  {{msg}}")
    };
    let style =
        ProgressStyle::with_template(&text).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ").with_key("left", left)
}

/// How long it will take, once that can be told.
fn left(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    if state.pos() > 0 && state.len().is_some_and(|all| state.pos() < all) {
        // A line of progress that cannot be written is none that anybody misses.
        let _ = write!(out, "  {} left", super::seconds(state.eta().as_secs_f64()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_of_the_bars_are_valid() {
        for sized in [true, false] {
            let bar = ProgressBar::hidden();
            bar.set_style(style(sized, 8));
        }
        let template = "{prefix:8} [{bar:24}] {percent:>3}%  {msg}{left}";
        assert!(ProgressStyle::with_template(template).is_ok());
    }

    #[test]
    fn what_is_left_is_told_from_the_bytes() {
        let now = Instant::now();
        let began = now.checked_sub(Duration::from_secs(10)).unwrap_or(now);
        let feed = Feed {
            name: "a".into(),
            bytes: 1_000,
            began,
            said: now,
            last: Numbers::default(),
            bar: None,
        };
        assert!(
            feed.rest(500).starts_with(", 50%, 10.0 s left"),
            "{}",
            feed.rest(500)
        );
        assert_eq!(feed.rest(0), "");
    }
}
