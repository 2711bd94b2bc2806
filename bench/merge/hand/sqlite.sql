-- The league by hand, for the shell of SQLite: one staging table, one set-based statement a table, one transaction.
-- {feed} is the path of the CSV file. Run again, it changes nothing.
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA foreign_keys = ON;
PRAGMA cache_size = -65536;
PRAGMA temp_store = MEMORY;

CREATE TABLE IF NOT EXISTS season (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS club (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS venue (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS player (id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, name TEXT);
CREATE TABLE IF NOT EXISTS appearance (
  id INTEGER PRIMARY KEY,
  "row" INTEGER NOT NULL UNIQUE,
  player_id INTEGER REFERENCES player (id),
  club_id INTEGER REFERENCES club (id),
  venue_id INTEGER REFERENCES venue (id),
  season_id INTEGER REFERENCES season (id),
  date TEXT,
  minutes INTEGER,
  goals INTEGER
);

CREATE TEMP TABLE stage (
  "row" INTEGER, player TEXT, player_name TEXT, club TEXT, venue TEXT, season TEXT, date TEXT, minutes INTEGER, goals INTEGER
);
.import --csv --skip 1 --schema temp {feed} stage

BEGIN IMMEDIATE;
INSERT INTO season (name) SELECT DISTINCT season FROM stage WHERE true ON CONFLICT DO NOTHING;
INSERT INTO club (name) SELECT DISTINCT club FROM stage WHERE true ON CONFLICT DO NOTHING;
INSERT INTO venue (name) SELECT DISTINCT venue FROM stage WHERE true ON CONFLICT DO NOTHING;
-- The first row of a player names it: no DISTINCT, which would sort two million rows only to keep what the index keeps anyway.
INSERT INTO player (code, name) SELECT player, player_name FROM stage WHERE true ON CONFLICT DO NOTHING;
INSERT INTO appearance ("row", player_id, club_id, venue_id, season_id, date, minutes, goals)
SELECT s."row", p.id, c.id, v.id, e.id, s.date, s.minutes, s.goals
FROM stage s
JOIN player p ON p.code = s.player
JOIN club c ON c.name = s.club
JOIN venue v ON v.name = s.venue
JOIN season e ON e.name = s.season
WHERE true
ON CONFLICT ("row") DO NOTHING;
COMMIT;
