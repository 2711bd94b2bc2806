-- The league by hand, for the client of MariaDB (--local-infile): LOAD DATA into a staging table, one set-based statement a
-- table, one transaction. {feed} is the path of the CSV file. Run again, it changes nothing.
SET NAMES utf8mb4;

CREATE TABLE IF NOT EXISTS season (
  id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(512) COLLATE utf8mb4_nopad_bin NOT NULL UNIQUE
);
CREATE TABLE IF NOT EXISTS club (
  id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(512) COLLATE utf8mb4_nopad_bin NOT NULL UNIQUE
);
CREATE TABLE IF NOT EXISTS venue (
  id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(512) COLLATE utf8mb4_nopad_bin NOT NULL UNIQUE
);
CREATE TABLE IF NOT EXISTS player (
  id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, code varchar(512) COLLATE utf8mb4_nopad_bin NOT NULL UNIQUE,
  name longtext COLLATE utf8mb4_nopad_bin
);
CREATE TABLE IF NOT EXISTS appearance (
  id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `row` bigint NOT NULL UNIQUE,
  player_id bigint,
  club_id bigint,
  venue_id bigint,
  season_id bigint,
  date date,
  minutes bigint,
  goals bigint,
  FOREIGN KEY (player_id) REFERENCES player (id),
  FOREIGN KEY (club_id) REFERENCES club (id),
  FOREIGN KEY (venue_id) REFERENCES venue (id),
  FOREIGN KEY (season_id) REFERENCES season (id)
);

-- A temporary table of Aria: what need not survive a crash is not logged, and does not crowd the buffer pool.
CREATE TEMPORARY TABLE stage (
  `row` bigint NOT NULL, player varchar(64) NOT NULL, player_name varchar(128), club varchar(64) NOT NULL,
  venue varchar(64) NOT NULL, season varchar(16) NOT NULL, date date, minutes bigint, goals bigint
) ENGINE = Aria TRANSACTIONAL = 0 COLLATE utf8mb4_nopad_bin;
LOAD DATA LOCAL INFILE '{feed}' INTO TABLE stage
FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' LINES TERMINATED BY '\n' IGNORE 1 LINES;

START TRANSACTION;
INSERT INTO season (name) SELECT DISTINCT season FROM stage ON DUPLICATE KEY UPDATE name = season.name;
INSERT INTO club (name) SELECT DISTINCT club FROM stage ON DUPLICATE KEY UPDATE name = club.name;
INSERT INTO venue (name) SELECT DISTINCT venue FROM stage ON DUPLICATE KEY UPDATE name = venue.name;
-- The generated league names a player the same in every row.
INSERT INTO player (code, name) SELECT player, min(player_name) FROM stage GROUP BY player ON DUPLICATE KEY UPDATE code = player.code;
INSERT INTO appearance (`row`, player_id, club_id, venue_id, season_id, date, minutes, goals)
SELECT s.`row`, p.id, c.id, v.id, e.id, s.date, s.minutes, s.goals
FROM stage s
STRAIGHT_JOIN player p ON p.code = s.player
STRAIGHT_JOIN club c ON c.name = s.club
STRAIGHT_JOIN venue v ON v.name = s.venue
STRAIGHT_JOIN season e ON e.name = s.season
ON DUPLICATE KEY UPDATE `row` = appearance.`row`;
COMMIT;
