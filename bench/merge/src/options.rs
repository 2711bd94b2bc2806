//! What the command line asks for.

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    References,
    Rows,
    Sqlite,
    Postgres,
    Mariadb,
    Tools,
    Memory,
    Reading,
}

impl Part {
    const ALL: [(&'static str, Self); 8] = [
        ("references", Self::References),
        ("rows", Self::Rows),
        ("sqlite", Self::Sqlite),
        ("postgres", Self::Postgres),
        ("mariadb", Self::Mariadb),
        ("tools", Self::Tools),
        ("memory", Self::Memory),
        ("reading", Self::Reading),
    ];
}

pub(crate) const USAGE: &str = "usage: bench-merge [--write | --smoke] [OPTIONS]
       bench-merge reading [FILE MAP]

  --write        writes the tables, the chart and the figures to BENCHMARKS.md and docs/
  --smoke        only sees that all who take part give right answers; seconds, no Python
  --only PARTS   some of: references,rows,sqlite,postgres,mariadb,tools,memory,reading
  --rows N       rows of the league (2000000)
  --more N       rows of the longer one, for memory (10000000)
  --tool-rows N  rows for tools from PyPI (200000)
  --references N references at a round trip of 40 ms (20000)
  --keys N       distinct keys among them (2000)
  --passes N     how often a league is loaded (2)
  --program P    the program `oneflight`; built if it is not told

PostgreSQL and MariaDB are those of `./test shell`.";

/// What is run, and how big.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) write: bool,
    pub(crate) smoke: bool,
    pub(crate) parts: Vec<Part>,
    pub(crate) sizes: Sizes,
    pub(crate) program: Option<String>,
}

/// How big.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Sizes {
    pub(crate) rows: u64,
    pub(crate) more: u64,
    pub(crate) tool_rows: u64,
    pub(crate) references: u32,
    pub(crate) keys: u32,
    pub(crate) passes: usize,
    pub(crate) reading_rows: u32,
}

impl Sizes {
    const FULL: Self = Self {
        rows: 2_000_000,
        more: 10_000_000,
        tool_rows: 200_000,
        references: 20_000,
        keys: 2_000,
        passes: 2,
        reading_rows: 1_000_000,
    };
    const SMOKE: Self = Self {
        rows: 2_000,
        more: 4_000,
        tool_rows: 2_000,
        references: 400,
        keys: 40,
        passes: 1,
        reading_rows: 2_000,
    };
}

impl Options {
    /// Understands arguments.
    ///
    /// # Errors
    /// How it is used.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self, String> {
        let smoke = arguments.contains(&"--smoke");
        let mut options = Self {
            write: false,
            smoke,
            parts: Part::ALL.map(|(_, part)| part).to_vec(),
            sizes: if smoke { Sizes::SMOKE } else { Sizes::FULL },
            program: None,
        };
        if smoke {
            options.parts.retain(|part| *part != Part::Tools);
        }
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().copied().ok_or_else(|| USAGE.to_owned());
            let sizes = &mut options.sizes;
            match *argument {
                "--write" => options.write = true,
                "--smoke" => {}
                "--only" => options.parts = parts(value()?)?,
                "--rows" => sizes.rows = number(value()?)?,
                "--more" => sizes.more = number(value()?)?,
                "--tool-rows" => sizes.tool_rows = number(value()?)?,
                "--references" => sizes.references = small(value()?)?,
                "--keys" => sizes.keys = small(value()?)?,
                "--passes" => sizes.passes = number(value()?)? as usize,
                "--program" => options.program = Some(value()?.to_owned()),
                _ => return Err(USAGE.to_owned()),
            }
        }
        // What is written down is the whole of it, or the page would show half of a run as if it were one.
        if options.write && (smoke || options.parts.len() < Part::ALL.len()) {
            return Err(format!("--write is for whole runs\n\n{USAGE}"));
        }
        Ok(options)
    }

    pub(crate) fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

fn parts(names: &str) -> Result<Vec<Part>, String> {
    let part = |name: &str| {
        let known = Part::ALL.iter().find(|(known, _)| *known == name);
        known
            .map(|(_, part)| *part)
            .ok_or_else(|| format!("there is no part {name}\n\n{USAGE}"))
    };
    names.split(',').map(part).collect()
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    let number = digits.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("{text} is no number\n\n{USAGE}"))
}

fn small(text: &str) -> Result<u32, String> {
    u32::try_from(number(text)?).map_err(|_| format!("{text} is too many"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_sizes_are_understood() {
        let options = Options::parse(&["--only", "sqlite,memory", "--rows", "1_000"]).unwrap();
        assert_eq!(options.parts, [Part::Sqlite, Part::Memory]);
        assert_eq!(options.sizes.rows, 1_000);
        assert!(Options::parse(&["--only", "oracle"]).is_err());
        assert!(Options::parse(&["--rows", "0"]).is_err());
    }

    #[test]
    fn only_a_whole_run_is_written_down() {
        assert!(Options::parse(&["--write"]).is_ok_and(|options| options.write));
        assert!(Options::parse(&["--write", "--smoke"]).is_err());
        assert!(Options::parse(&["--write", "--only", "sqlite"]).is_err());
    }
}
