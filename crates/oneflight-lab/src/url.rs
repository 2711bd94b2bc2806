//! URLs of servers, cut and put together.

/// The same server, and another database on it.
///
/// # Examples
/// ```
/// use oneflight_lab::url::renamed;
///
/// assert_eq!(renamed("postgres://u:p@h:1/postgres", "x"), "postgres://u:p@h:1/x");
/// assert_eq!(renamed("mysql://u@h", "x"), "mysql://u@h/x");
/// assert_eq!(renamed("mysql://u@h/a?ssl-mode=disabled", "x"), "mysql://u@h/x?ssl-mode=disabled");
/// ```
pub fn renamed(url: &str, database: &str) -> String {
    let (address, options) = match url.split_once('?') {
        Some((address, options)) => (address, format!("?{options}")),
        None => (url, String::new()),
    };
    let host = address.find("://").map_or(0, |at| at + 3);
    let end = address[host..].find('/');
    let end = end.map_or(address.len(), |at| host + at);
    format!("{}/{database}{options}", &address[..end])
}

/// A URL, cut in three: what is before host and port, the two (the port that the scheme is known for, if none is said), and
/// what is after them.
pub(crate) fn address(url: &str) -> Option<(&str, String, &str)> {
    let host = url.find("://")? + 3;
    let end = url[host..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| host + at);
    let host = url[host..end].rfind('@').map_or(host, |at| host + at + 1);
    let server = &url[host..end];
    // The colons of an IPv6 address stand in brackets.
    let said = server
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.contains(']'));
    let server = match url.split(':').next() {
        _ if said => server.to_owned(),
        Some("postgres" | "postgresql") => format!("{server}:5432"),
        Some("mysql" | "mariadb") => format!("{server}:3306"),
        _ => return None,
    };
    (!server.starts_with(':')).then_some((&url[..host], server, &url[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_cut_at_host_and_port() {
        let server = |text: &str| text.to_owned();
        assert_eq!(
            address("postgres://u:p@h:1/db?x=@"),
            Some(("postgres://u:p@", server("h:1"), "/db?x=@"))
        );
        assert_eq!(
            address("postgres://h/db"),
            Some(("postgres://", server("h:5432"), "/db"))
        );
        assert_eq!(
            address("mysql://u@[::1]"),
            Some(("mysql://u@", server("[::1]:3306"), ""))
        );
        assert_eq!(address("mysql:///db"), None);
        assert_eq!(address("sqlite:a.db"), None);
        assert_eq!(address("echo://h/"), None);
    }
}
