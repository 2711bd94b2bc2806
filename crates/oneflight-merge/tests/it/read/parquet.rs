//! Parquet, flat and nested, sound and damaged.

use super::{all, names, read, refused, source, try_read};
use oneflight_merge::plan::Format;
use oneflight_merge::read::{Limits, open};
use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType,
};
use parquet::data_type::{FloatType, Int32Type, Int64Type, Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};
use std::io::Write as _;
use std::sync::Arc;

type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

fn any() -> Format {
    Format::Parquet { needs: Vec::new() }
}

fn write(schema: &str, groups: &[&dyn Fn(&mut Group<'_>)]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("a writer");
    for fill in groups {
        let mut group = writer.next_row_group().expect("a row group");
        fill(&mut group);
        group.close().expect("a row group");
    }
    writer.into_inner().expect("a file")
}

fn put<T: DataType>(
    group: &mut Group<'_>,
    values: &[T::T],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) {
    let mut column = group
        .next_column()
        .expect("a column")
        .expect("one more column");
    column
        .typed::<T>()
        .write_batch(values, definitions, repetitions)
        .expect("values");
    column.close().expect("a column");
}

fn text(values: &[&str]) -> Vec<ByteArray> {
    values.iter().map(|value| ByteArray::from(*value)).collect()
}

const FLAT: &str = "message flat {
  required binary name (UTF8);
  optional int32 n;
  required int64 big;
  required int64 u (INTEGER(64,false));
  required int32 day (DATE);
  required int64 at (TIMESTAMP(MICROS,true));
  required int64 local (TIMESTAMP(NANOS,false));
  required double x;
  required float y;
  required boolean flag;
  required int32 price (DECIMAL(9,2));
  required fixed_len_byte_array(5) cost (DECIMAL(11,3));
  required fixed_len_byte_array(16) id (UUID);
  optional binary raw;
  required int32 clock (TIME(MILLIS,true));
}";

fn flat_group(group: &mut Group<'_>) {
    let fixed = |bytes: &[u8]| FixedLenByteArray::from(ByteArray::from(bytes.to_vec()));
    put::<ByteArrayType>(group, &text(&["Åland", ""]), None, None);
    put::<Int32Type>(group, &[-7], Some(&[1, 0]), None);
    put::<Int64Type>(group, &[9_007_199_254_740_993, i64::MIN], None, None);
    put::<Int64Type>(group, &[-1, 0], None, None);
    put::<Int32Type>(group, &[19_417, -1], None, None);
    put::<Int64Type>(group, &[1_700_000_000_123_456, -1], None, None);
    put::<Int64Type>(group, &[1, 86_400_000_000_000], None, None);
    put::<DoubleType>(group, &[0.1, 6.0], None, None);
    put::<FloatType>(group, &[0.1, 1.5], None, None);
    put::<BoolType>(group, &[true, false], None, None);
    put::<Int32Type>(group, &[-5, 12_345], None, None);
    put::<FixedLenByteArrayType>(
        group,
        &[
            fixed(&[0xff, 0xff, 0xff, 0xff, 0xfe]),
            fixed(&[0, 0, 0, 4, 0xd2]),
        ],
        None,
        None,
    );
    put::<FixedLenByteArrayType>(group, &[fixed(&[0x12; 16]), fixed(&[0xab; 16])], None, None);
    put::<ByteArrayType>(group, &text(&["raw"]), Some(&[0, 1]), None);
    put::<Int32Type>(group, &[45_296_001, 0], None, None);
}

fn flat_rows() -> [Value; 2] {
    [
        json!([
            "Åland",
            "-7",
            "9007199254740993",
            "18446744073709551615",
            "2023-03-01",
            "2023-11-14T22:13:20.123456Z",
            "1970-01-01T00:00:00.000000001",
            "0.1",
            "0.1",
            "true",
            "-0.05",
            "-0.002",
            "12121212-1212-1212-1212-121212121212",
            null,
            "12:34:56.001"
        ]),
        json!([
            "",
            null,
            "-9223372036854775808",
            "0",
            "1969-12-31",
            "1969-12-31T23:59:59.999999Z",
            "1970-01-02T00:00:00",
            "6",
            "1.5",
            "false",
            "123.45",
            "1.234",
            "abababab-abab-abab-abab-abababababab",
            "raw",
            "00:00:00"
        ]),
    ]
}

#[test]
fn flat_values_become_plain_text() {
    let file = write(FLAT, &[&flat_group, &flat_group]);
    let seen = read(&file, any());
    assert_eq!(seen.columns[..3], names(&["name", "n", "big"]));
    assert_eq!(seen.values(), [flat_rows(), flat_rows()].concat());
    assert_eq!(seen.lines(), [1, 2, 3, 4]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&file).expect("gzip");
    assert_eq!(read(gzip.finish().expect("gzip"), any()), seen);
}

#[test]
fn nested_values_become_trees() {
    let schema = "message nested {
      required int64 id;
      optional group who { required binary name (UTF8); optional int32 born (DATE); }
      optional group tags (LIST) { repeated group list { optional binary element (UTF8); } }
      optional group points (MAP) { repeated group key_value { required binary key (UTF8); optional double value; } }
      repeated int32 old;
      required int64 at (TIMESTAMP(MILLIS,true));
    }";
    let file = write(
        schema,
        &[&|group| {
            put::<Int64Type>(group, &[9_007_199_254_740_993, 2], None, None);
            put::<ByteArrayType>(group, &text(&["Ann"]), Some(&[1, 0]), None);
            put::<Int32Type>(group, &[0], Some(&[2, 0]), None);
            put::<ByteArrayType>(
                group,
                &text(&["a", "b"]),
                Some(&[3, 2, 3, 1]),
                Some(&[0, 1, 1, 0]),
            );
            put::<ByteArrayType>(group, &text(&["k"]), Some(&[2, 0]), Some(&[0, 0]));
            put::<DoubleType>(group, &[1.5], Some(&[3, 0]), Some(&[0, 0]));
            put::<Int32Type>(group, &[1, 2], Some(&[1, 1, 0]), Some(&[0, 1, 0]));
            put::<Int64Type>(group, &[1, 2_000], None, None);
        }],
    );
    let seen = read(&file, any());
    let first: Value = serde_json::from_str(
        r#"{"id": 9007199254740993, "who": {"name": "Ann", "born": "1970-01-01"}, "tags": ["a", null, "b"],
            "points": {"k": 1.5}, "old": [1, 2], "at": "1970-01-01T00:00:00.001Z"}"#,
    )
    .expect("JSON");
    let second = json!({"id": 2, "who": null, "tags": [], "points": null, "old": [], "at": "1970-01-01T00:00:02Z"});
    assert_eq!(seen.values(), [first, second]);
    assert_eq!((seen.columns.len(), seen.lines()), (0, vec![1, 2]));
}

#[test]
fn lists_of_groups_and_rare_types_become_trees_too() {
    let schema = "message rare {
      required group drivers (LIST) { repeated group list { required group element {
        required binary id (UTF8); optional int32 rounds; } } }
      repeated group pairs { required int32 a; }
      required group price { required fixed_len_byte_array(2) value (DECIMAL(4,1)); }
      required group when { required int64 nanos (TIMESTAMP(NANOS,true)); required int96 old; required int32 clock (TIME(MILLIS,false)); }
      required group ids { required fixed_len_byte_array(16) id (UUID); required int64 big (INTEGER(64,false)); required float nan; }
    }";
    let file = write(
        schema,
        &[&|group| {
            let fixed = |bytes: &[u8]| FixedLenByteArray::from(ByteArray::from(bytes.to_vec()));
            put::<ByteArrayType>(group, &text(&["x", "y"]), Some(&[1, 1]), Some(&[0, 1]));
            put::<Int32Type>(group, &[7], Some(&[2, 1]), Some(&[0, 1]));
            put::<Int32Type>(group, &[1, 2], Some(&[1, 1]), Some(&[0, 1]));
            put::<FixedLenByteArrayType>(group, &[fixed(&[0xff, 0xf6])], None, None);
            put::<Int64Type>(group, &[1_500_000_000], None, None);
            put::<Int96Type>(group, &[Int96::from(vec![0, 0, 2_440_589])], None, None);
            put::<Int32Type>(group, &[1_000], None, None);
            put::<FixedLenByteArrayType>(group, &[fixed(&[1; 16])], None, None);
            put::<Int64Type>(group, &[-1], None, None);
            put::<FloatType>(group, &[f32::NAN], None, None);
        }],
    );
    let row: Value = serde_json::from_str(
        r#"{"drivers": [{"id": "x", "rounds": 7}, {"id": "y", "rounds": null}], "pairs": [{"a": 1}, {"a": 2}], "price": {"value": -1.0},
            "when": {"nanos": "1970-01-01T00:00:01.5Z", "old": "1970-01-02T00:00:00", "clock": "00:00:01"},
            "ids": {"id": "01010101-0101-0101-0101-010101010101", "big": 18446744073709551615, "nan": "NaN"}}"#,
    )
    .expect("JSON");
    assert_eq!(read(&file, any()).values(), [row]);
}

#[test]
fn bytes_that_are_no_text_make_their_row_bad() {
    let file = write(
        "message m { required int32 n; required binary b; }",
        &[&|group| {
            put::<Int32Type>(group, &[1, 2, 3], None, None);
            let bytes = [b"ok".to_vec(), vec![0xff, 0x00], b"fine".to_vec()].map(ByteArray::from);
            put::<ByteArrayType>(group, &bytes, None, None);
        }],
    );
    let seen = read(&file, any());
    assert_eq!(seen.values(), [json!(["1", "ok"]), json!(["3", "fine"])]);
    assert_eq!(
        seen.bad,
        [(
            2,
            Some("b".to_owned()),
            "bytes that are not UTF-8 text".to_owned()
        )]
    );
}

#[test]
fn a_missing_column_is_refused_when_the_file_is_opened() {
    let file = write("message m { required int32 n; required int32 o; }", &[]);
    let needs = Format::Parquet {
        needs: names(&["n", "city"]),
    };
    assert_eq!(
        refused(&file, needs),
        "FILE: no column `city`; the columns are `n`, `o`"
    );
    assert_eq!(read(&file, any()).rows, []);
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let file = write(FLAT, &[&flat_group]);
    for end in 0..file.len() {
        let error = try_read(&file[..end], source("", any())).expect_err("a cut file");
        assert!(error.is_truncated() || end < 4, "{end}: {error}");
    }
    assert_eq!(
        refused(b"a,b\n1,2\n and so on", any()),
        "FILE: not a Parquet file: it does not begin with PAR1"
    );
}

#[test]
fn a_file_that_is_damaged_anywhere_never_ends_in_a_panic() {
    let file = write(FLAT, &[&flat_group]);
    let (mut refused, mut read) = (0, 0);
    let folder = tempfile::tempdir().expect("a temporary folder");
    for at in 4..file.len() - 4 {
        let mut damaged = file.clone();
        damaged[at] ^= 0x3c;
        std::fs::write(folder.path().join("f.parquet"), damaged).expect("a temporary file");
        let seen = open(&source("f.parquet", any()), folder.path())
            .and_then(|inputs| all(inputs, Limits::default()));
        match seen {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 50, "{refused} refused, {read} read");
}
