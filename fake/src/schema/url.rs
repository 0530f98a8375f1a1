//! URLs as `url.ParseRequestURI` of Go reads them: absolute, or an absolute path.

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    pub text: String,
    pub scheme: String,
    pub host: String,
    pub path: String,
    pub query: String,
}

/// Parses a URL; the error is what is wrong with it, as Go says it.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    let wrong = |reason: &str| Err(format!("parse {}: {reason}", super::cause::quote(text)));
    if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return wrong("net/url: invalid control character in URL");
    }
    if text.is_empty() {
        return wrong("empty url");
    }
    let mut url = Url {
        text: text.to_owned(),
        scheme: String::new(),
        host: String::new(),
        path: String::new(),
        query: String::new(),
    };
    if text == "*" {
        url.path = text.to_owned();
        return Ok(url);
    }
    let rest = match split_scheme(text) {
        Ok((scheme, rest)) => {
            url.scheme = scheme.to_ascii_lowercase();
            rest
        }
        Err(reason) => return wrong(reason),
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    url.query = query.to_owned();
    if !rest.starts_with('/') {
        // Such as mailto:ann@example.org, which has no path.
        if !url.scheme.is_empty() {
            return Ok(url);
        }
        return wrong("invalid URI for request");
    }
    let path = match rest.strip_prefix("//") {
        Some(after) if !url.scheme.is_empty() && !rest.starts_with("///") => {
            let end = after.find('/').unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            if let Err(reason) = check_host(host) {
                return wrong(&reason);
            }
            url.host = unescape(host).unwrap_or_else(|_| host.to_owned());
            path
        }
        _ => rest,
    };
    if let Err(escape) = unescape(path) {
        return wrong(&format!("invalid URL escape {}", super::cause::quote(&escape)));
    }
    url.path = path.to_owned();
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(&str, &str), &'static str> {
    for (i, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if i > 0 => {}
            ':' if i == 0 => return Err("missing protocol scheme"),
            ':' => return Ok((&text[..i], &text[i + 1..])),
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

fn check_host(host: &str) -> Result<(), String> {
    let port = if host.starts_with('[') {
        let Some(end) = host.rfind(']') else {
            return Err("missing ']' in host".into());
        };
        &host[end + 1..]
    } else {
        host.rfind(':').map_or("", |colon| &host[colon..])
    };
    if !port.is_empty() && (!port.starts_with(':') || !port[1..].bytes().all(|b| b.is_ascii_digit())) {
        return Err(format!("invalid port {} after host", super::cause::quote(port)));
    }
    let wrong = |c: char| c == ' ' || c == '\\' || c == '^' || c == '`' || c == '{' || c == '|' || c == '}';
    if let Some(c) = host.chars().find(|c| wrong(*c)) {
        return Err(format!("invalid character {} in host name", super::cause::quote(&c.to_string())));
    }
    Ok(())
}

/// Replaces `%41` and its like; the error is the escape that is none.
pub(super) fn unescape(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            bytes.push(byte);
            rest = after;
            continue;
        }
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => bytes.push(byte),
            None => return Err(String::from_utf8_lossy(&rest[..rest.len().min(3)]).into_owned()),
        }
        rest = &after[2..];
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Url {
    /// The host without the port and without the brackets of an IPv6 address.
    pub fn hostname(&self) -> &str {
        match self.host.strip_prefix('[').and_then(|host| host.split_once(']')) {
            Some((host, _)) => host,
            None => self.host.rsplit_once(':').map_or(&self.host, |(host, _)| host),
        }
    }

    /// The port, or nothing.
    pub fn port(&self) -> &str {
        let after = self.host.rfind(']').map_or(0, |end| end + 1);
        self.host[after..].rsplit_once(':').map_or("", |(_, port)| port)
    }

    /// The parameters of the query, in the order in which they come first.
    pub fn query(&self) -> Vec<(String, Vec<String>)> {
        let mut parameters: Vec<(String, Vec<String>)> = Vec::new();
        for part in self.query.split('&').filter(|part| !part.is_empty() && !part.contains(';')) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (Ok(name), Ok(value)) =
                (unescape(&name.replace('+', " ")), unescape(&value.replace('+', " ")))
            else {
                continue;
            };
            match parameters.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => parameters.push((name, vec![value])),
            }
        }
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_url_is_taken_apart() {
        let url = parse("https://user@[::1]:8080/a%20b?x=1&x=2&y=%41").unwrap();
        assert_eq!((url.scheme.as_str(), url.hostname(), url.port()), ("https", "::1", "8080"));
        assert_eq!(url.path, "/a%20b");
        assert_eq!(url.query()[0], ("x".to_owned(), vec!["1".to_owned(), "2".to_owned()]));
        assert_eq!(url.query()[1].1, ["A"]);
    }
}
