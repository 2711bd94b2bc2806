//! The generated league: appearances of 200,000 players, four references a row, in several forms.

use super::Failure;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PLAYERS: u32 = 200_000;
const CLUBS: u32 = 2_000;
const VENUES: u32 = 500;
const SEASONS: u32 = 40;
const FIRST: [&str; 10] = [
    "Adam", "Bjorn", "Carlos", "Daniel", "Emile", "Fabio", "Georg", "Henrik", "Ivan", "Joao",
];
const LAST: [&str; 8] = [
    "Almeida",
    "Bergstrom",
    "Costa",
    "Doyle",
    "Eriksen",
    "Fischer",
    "Garcia",
    "Hughes",
];

/// How the rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Csv,
    /// Names in several spellings, one in eight of them not ASCII, that the mapping folds in full.
    Folded,
    Ndjson,
    Parquet,
}

impl Form {
    pub(super) const ALL: [Self; 4] = [Self::Csv, Self::Folded, Self::Ndjson, Self::Parquet];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Folded => "csv, names folded",
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
        }
    }

    pub(super) fn is_csv(self) -> bool {
        matches!(self, Self::Csv | Self::Folded)
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Csv | Self::Folded => "csv",
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
        }
    }

    /// The mapping of this form.
    pub(super) fn mapping(self) -> String {
        let tables: String = ["season", "club", "venue"]
            .iter()
            .map(|table| {
                let fold = if self == Self::Folded {
                    "fold = \"full\"\n"
                } else {
                    ""
                };
                format!("[table.{table}]\nkey = \"name\"\ncolumns = {{ name = \"text\" }}\n{fold}")
            })
            .collect();
        format!(
            r#"{tables}
[table.player]
key = "code"
columns = {{ code = "text", name = "text" }}
[table.appearance]
key = "row"
columns = {{ row = "integer", player = "ref player", club = "ref club", venue = "ref venue", season = "ref season", date = "date", minutes = "integer", goals = "integer" }}
[feed.league]
path = "league.{extension}"
[feed.league.into.appearance]
row = "row"
player = {{ code = "player", name = "player_name" }}
club = "club"
venue = "venue"
season = "season"
date = "date"
minutes = "minutes"
goals = "goals"
"#,
            extension = self.extension()
        )
    }
}

/// One appearance.
struct Row {
    row: u32,
    player: u32,
    club: u32,
    season: u32,
    minutes: u32,
    spelling: u32,
}

impl Row {
    fn texts(&self, form: Form) -> [String; 6] {
        let Self {
            row,
            player,
            club,
            season,
            ..
        } = self;
        let name = format!(
            "{} {} {player}",
            FIRST[*player as usize % FIRST.len()],
            LAST[*player as usize / FIRST.len() % LAST.len()]
        );
        let year = 1980 + season;
        let names = [
            format!("Club {club:04} FC"),
            format!("Venue {:03}", club % VENUES),
        ];
        let [club, venue] = match form {
            Form::Folded => names.map(|name| spelled(&name, *club, self.spelling)),
            _ => names,
        };
        [
            format!("P{player:07}"),
            name,
            club,
            venue,
            format!("{year}-{:02}", (year + 1) % 100),
            format!("{year}-{:02}-{:02}", 1 + row % 12, 1 + row % 28),
        ]
    }

    fn goals(&self) -> u32 {
        if self.row.is_multiple_of(7) {
            self.row % 4
        } else {
            0
        }
    }
}

/// One of the spellings of a name; every eighth club has letters that are not ASCII.
fn spelled(name: &str, club: u32, spelling: u32) -> String {
    let name = match club % 8 {
        0 => name.replace("Club", "Clúb Weiße").replace("Venue", "Vénue"),
        _ => name.to_owned(),
    };
    match spelling {
        0 => name.to_uppercase(),
        1 => name.to_lowercase(),
        2 => name.replace(' ', "  "),
        _ => name,
    }
}

fn rows(count: u32) -> impl Iterator<Item = Row> {
    let mut random = SmallRng::seed_from_u64(7);
    (1..=count).map(move |row| Row {
        row,
        player: if row <= PLAYERS {
            row - 1
        } else {
            random.random_range(0..PLAYERS)
        },
        club: random.random_range(0..CLUBS),
        season: (u64::from(row) * u64::from(SEASONS) / u64::from(count + 1)) as u32,
        minutes: random.random_range(0..=90),
        spelling: random.random_range(0..6),
    })
}

/// Writes so many rows into a file of the folder.
pub(super) fn write(folder: &Path, form: Form, count: u32) -> Result<PathBuf, Failure> {
    let path = folder.join(format!("league.{}", form.extension()));
    if form == Form::Parquet {
        parquet(&path, count)?;
        return Ok(path);
    }
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
    if form.is_csv() {
        writeln!(
            out,
            "row,player,player_name,club,venue,season,date,minutes,goals"
        )?;
    }
    for row in rows(count) {
        let [player, name, club, venue, season, date] = row.texts(form);
        let (nth, minutes, goals) = (row.row, row.minutes, row.goals());
        if form.is_csv() {
            writeln!(
                out,
                "{nth},{player},{name},{club},{venue},{season},{date},{minutes},{goals}"
            )?;
        } else {
            writeln!(
                out,
                r#"{{"row":{nth},"player":"{player}","player_name":"{name}","club":"{club}","venue":"{venue}","season":"{season}","date":"{date}","minutes":{minutes},"goals":{goals}}}"#
            )?;
        }
    }
    out.flush()?;
    Ok(path)
}

fn parquet(path: &Path, count: u32) -> Result<(), Failure> {
    let schema = "message league { required int64 row; required binary player (UTF8); required binary player_name (UTF8);
        required binary club (UTF8); required binary venue (UTF8); required binary season (UTF8); required binary date (UTF8);
        required int64 minutes; required int64 goals; }";
    let schema = Arc::new(parse_message_type(schema)?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(File::create(path)?, schema, properties)?;
    let mut rows = rows(count).peekable();
    while rows.peek().is_some() {
        let (mut numbers, mut texts): ([Vec<i64>; 3], [Vec<ByteArray>; 6]) = Default::default();
        for row in rows.by_ref().take(1 << 17) {
            let all = [row.row, row.minutes, row.goals()];
            numbers
                .iter_mut()
                .zip(all)
                .for_each(|(column, int)| column.push(int.into()));
            for (column, text) in texts.iter_mut().zip(row.texts(Form::Parquet)) {
                column.push(ByteArray::from(text.into_bytes()));
            }
        }
        let mut group = writer.next_row_group()?;
        let [row, minutes, goals] = &numbers;
        put::<Int64Type>(&mut group, row)?;
        texts
            .iter()
            .try_for_each(|column| put::<ByteArrayType>(&mut group, column))?;
        put::<Int64Type>(&mut group, minutes)?;
        put::<Int64Type>(&mut group, goals)?;
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
) -> Result<(), Failure> {
    let mut column = group
        .next_column()?
        .ok_or("the schema has another column")?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()?;
    Ok(())
}
