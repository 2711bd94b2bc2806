//! The reader of JSON documents: a survey where it is needed, then rows.

use super::late::Late;
use super::scan::{Kept, Scanner};
use super::walk::{Purpose, Walker};
use crate::plan::{Compression, Source, Step};
use crate::read::error::{ReadError, shortened};
use crate::read::input::{Limits, Opened, Part, Reading};
use crate::read::stream::{Place, Stream};
use crate::read::text::{MAX_ROW, Text};
use crate::rows::{Bad, Rows, Tree};
use std::sync::Arc;

struct Reader {
    name: Arc<str>,
    compression: Option<Compression>,
    encoding: Option<String>,
    steps: Vec<Step>,
    phase: Phase,
    row: Kept,
}

enum Phase {
    Fresh(Place),
    Walking(Box<Walker>),
    /// A phase is being changed, or changing it failed.
    Between,
}

pub(in crate::read) fn start(
    place: Place,
    name: &Arc<str>,
    source: &Source,
    steps: &[Step],
) -> Result<Opened, ReadError> {
    let mut reader = Reader {
        name: name.clone(),
        compression: source.compression,
        encoding: source.encoding.clone(),
        steps: steps.to_vec(),
        phase: Phase::Between,
        row: Kept::at_most(MAX_ROW),
    };
    if let Place::Path(path) = &place {
        // Only to see that it can be read and is in the right encoding.
        reader.text(Place::Path(path.clone()))?;
    }
    reader.phase = Phase::Fresh(place);
    Ok(Opened {
        reading: Box::new(reader),
        columns: Vec::new(),
    })
}

impl Reading for Reader {
    fn next(&mut self, limits: Limits) -> Result<Option<Part>, ReadError> {
        let mut walker = match std::mem::replace(&mut self.phase, Phase::Between) {
            Phase::Fresh(place) => Box::new(self.walker(place)?),
            Phase::Walking(walker) => walker,
            Phase::Between => return Ok(None),
        };
        let (mut trees, mut bad, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut ended = false;
        while !limits.reached(trees.len() + bad.len(), bytes) {
            let Some(line) = walker.row(&mut self.row)? else {
                ended = true;
                break;
            };
            bytes += self.row.text.len();
            match serde_json::from_str(&self.row.text) {
                Ok(value) => trees.push(Tree {
                    value,
                    parent: walker.scope().cloned(),
                    line,
                }),
                Err(error) => bad.push(bad_row(line, &self.row.text, &error)),
            }
        }
        let bytes_read = walker.bytes_read();
        if !ended {
            self.phase = Phase::Walking(walker);
        }
        Ok((!trees.is_empty() || !bad.is_empty()).then_some(Part {
            rows: Rows::Tree(trees),
            bad,
            bytes_read,
        }))
    }
}

impl Reader {
    fn text(&self, place: Place) -> Result<Text, ReadError> {
        Text::open(
            &self.name,
            Stream::open(place, &self.name, self.compression)?,
            self.encoding.as_deref(),
        )
    }

    /// The walk for the rows, after a survey if rows have something around them (J1).
    fn walker(&self, place: Place) -> Result<Walker, ReadError> {
        if self.steps.iter().all(|step| *step == Step::Each) {
            return Ok(Walker::new(
                Scanner::new(self.text(place)?),
                &self.steps,
                Purpose::Rows,
                Late::default(),
            ));
        }
        let failed = |e| ReadError::io(&self.name, "use a temporary copy of", e);
        let (first, second) = match place {
            Place::Path(path) => (Place::Path(path.clone()), Place::Path(path)),
            Place::Temp(file) => (
                Place::Temp(file.try_clone().map_err(failed)?),
                Place::Temp(file),
            ),
            once @ Place::Once(_) => {
                let file = Stream::open(once, &self.name, self.compression)?.spool()?;
                (
                    Place::Temp(file.try_clone().map_err(failed)?),
                    Place::Temp(file),
                )
            }
        };
        let mut survey = Walker::new(
            Scanner::new(self.text(first)?),
            &self.steps,
            Purpose::Survey,
            Late::default(),
        );
        let mut nothing = Kept::default();
        while survey.row(&mut nothing)?.is_some() {}
        let mut late = survey.into_late();
        late.rewind().map_err(failed)?;
        Ok(Walker::new(
            Scanner::new(self.text(second)?),
            &self.steps,
            Purpose::Rows,
            late,
        ))
    }
}

fn bad_row(line: u64, row: &str, error: &serde_json::Error) -> Bad {
    let why = error.to_string();
    let why = why
        .rsplit_once(" at line ")
        .map_or(why.as_str(), |(why, _)| why);
    let at = line + (error.line() as u64).saturating_sub(1);
    Bad {
        line,
        column: None,
        value: Some(shortened(row)),
        reason: format!("not JSON: {why} at line {at}, column {}", error.column()),
    }
}
