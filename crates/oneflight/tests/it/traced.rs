//! What the observer for `tracing` writes, and that the leader's span goes with the work.

use crate::script::{Flights, HandClock, Script};
use futures_util::FutureExt;
use oneflight::{Group, Tracing};
use std::fmt::{self, Write};
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Instrument, Metadata, Subscriber};
use tracing_core::span::Current;

const MS: Duration = Duration::from_millis(1);

/// A subscriber for one thread: writes events down, and the span that each came in.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Pages>>);

#[derive(Default)]
struct Pages {
    lines: Vec<String>,
    spans: Vec<&'static Metadata<'static>>,
    entered: Vec<Id>,
}

impl Pages {
    fn of(&self, id: &Id) -> &'static Metadata<'static> {
        self.spans[usize::try_from(id.into_u64()).unwrap() - 1]
    }
}

impl Subscriber for Notes {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut pages = self.0.lock().unwrap();
        pages.spans.push(span.metadata());
        Id::from_u64(pages.spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut pages = self.0.lock().unwrap();
        let (metadata, span) = (event.metadata(), pages.entered.last());
        let mut line = format!("{} {}", metadata.level(), metadata.target());
        if let Some(span) = span {
            let _ = write!(line, " in {}", pages.of(span).name());
        }
        event.record(&mut Words(&mut line));
        pages.lines.push(line);
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(span.clone());
    }

    fn exit(&self, span: &Id) {
        assert_eq!(self.0.lock().unwrap().entered.pop().as_ref(), Some(span));
    }

    fn current_span(&self) -> Current {
        let pages = self.0.lock().unwrap();
        let entered = pages.entered.last().cloned();
        entered.map_or_else(Current::none, |id| {
            let metadata = pages.of(&id);
            Current::new(id, metadata)
        })
    }
}

struct Words<'a>(&'a mut String);

impl Visit for Words<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

/// What is written meanwhile.
fn written(play: impl FnOnce()) -> Vec<String> {
    let notes = Notes::default();
    tracing::subscriber::with_default(notes.clone(), play);
    std::mem::take(&mut notes.0.lock().unwrap().lines)
}

#[test]
fn every_event_is_written_with_group_key_and_what_is_told() {
    let clock = HandClock::new();
    let group: Flights = Group::builder()
        .clock(clock.clone())
        .max_flight(9 * MS)
        .observer(Tracing::new("prices"))
        .build();
    let lines = written(|| {
        let mut s = Script::new(&group);
        s.call("a");
        s.settle();
        clock.advance(2 * MS);
        s.call("a");
        clock.advance(3 * MS);
        s.finish_work("a", 7);
        s.settle();
        let mut hurried = group.run("b", pending).within(MS);
        assert!((&mut hurried).now_or_never().is_none());
        assert!(group.forget("b"));
        clock.advance(MS);
        assert!(hurried.now_or_never().unwrap().is_err());
    });
    assert_eq!(
        lines,
        [
            r#"DEBUG oneflight started group="prices" key="a""#,
            r#"DEBUG oneflight joined group="prices" key="a""#,
            r#"DEBUG oneflight landed group="prices" key="a" took=5ms callers=2"#,
            r#"TRACE oneflight answered group="prices" key="a" waited=5ms led=true callers=2"#,
            r#"TRACE oneflight answered group="prices" key="a" waited=3ms led=false callers=2"#,
            r#"DEBUG oneflight started group="prices" key="b""#,
            r#"DEBUG oneflight forgotten group="prices" key="b""#,
            r#"DEBUG oneflight timed out group="prices" key="b" waited=1ms"#,
            r#"DEBUG oneflight abandoned group="prices" key="b" took=1ms callers=1"#,
        ]
    );
}

#[test]
fn what_should_not_be_is_a_warning_and_times_are_left_out_without_a_clock() {
    let group: Flights = Group::builder().observer(Tracing::new("g")).build();
    let lines = written(|| {
        let mut s = Script::new(&group);
        let call = s.call("a");
        s.panic_work("a", "oh");
        s.settle();
        assert!(s.error(call).is_panic());
        s.call("b");
        s.fail_work("b", "no");
        s.settle();
        s.call("c");
        group.cancel_all();
    });
    let at = |line: &str| lines.iter().position(|other| other.starts_with(line));
    assert!(
        at(r#"WARN oneflight panicked group="g" key="a" panic="oh""#).is_some(),
        "{lines:?}"
    );
    assert!(
        at(r#"DEBUG oneflight failed group="g" key="b" callers=1"#).is_some(),
        "{lines:?}"
    );
    assert!(
        at(r#"DEBUG oneflight cancelled group="g" key="c" callers=1"#).is_some(),
        "{lines:?}"
    );
    let clock = HandClock::new();
    let group: Flights = Group::builder()
        .clock(clock.clone())
        .max_flight(MS)
        .observer(Tracing::new(String::from("named at run time")))
        .build();
    let lines = written(|| {
        let mut s = Script::new(&group);
        s.call("a");
        s.settle();
        clock.advance(MS);
        s.settle();
    });
    let expected = r#"WARN oneflight overdue group="named at run time" key="a" took=1ms callers=1"#;
    assert_eq!(lines[1], expected);
}

#[test]
fn the_leaders_span_goes_with_the_work_whoever_drives_it() {
    let group: Group<u32, u32> = Group::new();
    let work = || async {
        tracing::info!(target: "work", "first step");
        tokio::task::yield_now().await;
        tracing::info!(target: "work", "second step");
        Ok(7)
    };
    let lines = written(|| {
        let mut plain = tracing::info_span!("leader").in_scope(|| group.run(&1, work));
        let mut traced =
            tracing::info_span!("leader").in_scope(|| group.run(&2, || work().in_current_span()));
        assert!((&mut plain).now_or_never().is_none() && (&mut traced).now_or_never().is_none());
        let others = [group.join(&1), group.join(&2)];
        drop((plain, traced));
        tracing::info_span!("other").in_scope(|| {
            for other in others.into_iter().flatten() {
                assert_eq!(other.now_or_never().unwrap().unwrap(), 7);
            }
        });
    });
    assert_eq!(
        lines,
        [
            "INFO work first step",
            "INFO work in leader first step",
            "INFO work in other second step",
            "INFO work in leader second step",
        ]
    );
}
