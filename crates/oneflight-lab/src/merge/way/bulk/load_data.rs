//! MariaDB and MySQL: `LOAD DATA LOCAL` into a temporary table, by the client `mariadb`.

use super::super::pick::Task;
use super::shell::Shell;
use super::start::{answers, feed, pairs};
use crate::error::Error;
use crate::merge::database::{Clock, Ran};
use crate::merge::tables::SOURCE;
use sqlx::mysql::MySqlConnectOptions;
use std::str::FromStr;
use tokio::process::Command;

pub(super) async fn run(task: &Task) -> Result<Ran, Error> {
    let (things, links) = (task.tables.name(), task.tables.links());
    let folder = task.site.folder();
    std::fs::write(folder.join("feed.tsv"), feed(task)).map_err(Error::file)?;
    let shell = Shell::start(client(task)?, "SELECT 'ready';\n").await?;
    let script = format!(
        "CREATE TEMPORARY TABLE stage AS SELECT x.external_id, t.slug FROM {links} x, {things} t LIMIT 0;\n\
         LOAD DATA LOCAL INFILE 'feed.tsv' INTO TABLE stage CHARACTER SET utf8mb4;\n\
         START TRANSACTION;\n\
         INSERT IGNORE INTO {things} (slug) SELECT DISTINCT slug FROM stage ORDER BY slug;\n\
         INSERT IGNORE INTO {links} (source, external_id, entity_id) SELECT DISTINCT '{SOURCE}', s.external_id, t.id \
         FROM stage s JOIN {things} t ON t.slug = s.slug;\n\
         COMMIT;\n\
         SELECT external_id, entity_id FROM {links} WHERE source = '{SOURCE}' AND external_id IN (SELECT external_id FROM stage);\n"
    );
    let clock = Clock::start(&task.site);
    let printed = shell.run(&script).await.map_err(explain)?;
    Ok(clock.stop(answers(task, pairs(&printed))))
}

/// A server, or a client, that does not let files be loaded lacks something; it does not fail.
fn explain(error: Error) -> Error {
    let said = error.to_string();
    let refusals = ["ERROR 1148", "ERROR 3948", "ERROR 4166"];
    match refusals.iter().any(|code| said.contains(code)) {
        true => Error::lacking(format!("the server does not allow LOAD DATA LOCAL: {said}")),
        false => error,
    }
}

/// The client, with the address and the user of the URL; the password goes by the environment, where nobody lists it.
fn client(task: &Task) -> Result<Command, Error> {
    let url = task.site.far();
    let options = MySqlConnectOptions::from_str(url).map_err(Error::of_sqlx)?;
    let mut command = Command::new("mariadb");
    command
        .current_dir(task.site.folder())
        // First, or the client reads the settings of whoever runs this.
        .arg("--no-defaults")
        .args(["--batch", "--skip-column-names", "--unbuffered"])
        .args(["--local-infile=1", "--skip-ssl", "--protocol=tcp"])
        .arg(format!("--host={}", options.get_host()))
        .arg(format!("--port={}", options.get_port()))
        .arg(format!("--user={}", options.get_username()))
        .env_remove("MYSQL_PWD");
    if let Some(database) = options.get_database() {
        command.arg(database);
    }
    if let Some(password) = password(url) {
        command.env("MYSQL_PWD", password);
    }
    Ok(command)
}

/// The password of a URL; sqlx keeps it to itself.
fn password(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let (user, _) = rest.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    Some(unpercent(password))
}

fn unpercent(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let pair = [bytes.clone().next(), bytes.clone().nth(1)];
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match (byte, digit(pair[0]), digit(pair[1])) {
            (b'%', Some(high), Some(low)) => {
                out.extend(u8::try_from(16 * high + low));
                bytes.nth(1);
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_a_url_is_decoded() {
        let said = |url| password(url);
        assert_eq!(said("mysql://u:p%20w%2F%40@h/d").as_deref(), Some("p w/@"));
        assert_eq!(said("mysql://u:100%@h").as_deref(), Some("100%"));
        assert_eq!(said("mysql://u@h:3306/d"), None);
    }
}
