//! The formats of strings that kube-apiserver checks. Names are compared without their hyphens.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use regex::Regex;

use super::url;

/// Whether the server checks this format; it ignores the others.
pub(super) fn is_known(format: &str) -> bool {
    checker(format).is_some()
}

/// Whether a text is of a format. A format that is not known accepts every text.
pub(super) fn accepts(format: &str, text: &str) -> bool {
    checker(format).is_none_or(|check| check(text))
}

fn checker(format: &str) -> Option<fn(&str) -> bool> {
    Some(match format.replace('-', "").as_str() {
        "bsonobjectid" => |text| text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "uri" => |text| url::parse(text).is_ok(),
        "email" => is_email,
        "hostname" => is_hostname,
        "ipv4" => |text| parse_ip_sloppy(text).is_some() && text.contains('.'),
        "ipv6" => |text| parse_ip(text).is_some() && text.contains(':'),
        "cidr" => is_cidr,
        "mac" => is_mac,
        "uuid" => |text| matches(&UUID, text),
        "uuid3" => |text| matches(&UUID3, text),
        "uuid4" => |text| matches(&UUID4, text),
        "uuid5" => |text| matches(&UUID5, text),
        "isbn" => |text| is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10,
        "isbn13" => is_isbn13,
        "creditcard" => is_credit_card,
        "ssn" => |text| text.len() == 11 && matches(&SSN, text),
        "hexcolor" => |text| matches(&HEX_COLOR, text),
        "rgbcolor" => |text| matches(&RGB_COLOR, text),
        "byte" => |text| matches(&BASE64, text),
        "password" => |_| true,
        "date" => is_date,
        "duration" => is_duration,
        "datetime" => is_date_time,
        "k8sshortname" => |text| text.len() <= 63 && matches(&SHORT_NAME, text),
        "k8slongname" => |text| text.len() <= 253 && matches(&LONG_NAME, text),
        _ => return None,
    })
}

type Lazy = LazyLock<Regex>;

macro_rules! expression {
    ($name:ident, $pattern:expr) => {
        static $name: Lazy = LazyLock::new(|| Regex::new($pattern).expect("a constant expression"));
    };
}

expression!(UUID, "(?i)^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$");
expression!(UUID3, "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$");
expression!(UUID4, "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$");
expression!(UUID5, "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$");
expression!(SSN, "^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$");
expression!(HEX_COLOR, "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$");
expression!(
    RGB_COLOR,
    r"^rgb\(\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])(\s*,\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])){2}\s*\)$"
);
expression!(BASE64, "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$");
expression!(SHORT_NAME, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
expression!(LONG_NAME, r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$");
expression!(
    CREDIT_CARD,
    "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$"
);
expression!(
    HOSTNAME,
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
);
expression!(TIME, "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$");
expression!(LOOSE_DURATION, r"([0-9]+)[\t\n\x0C\r ]*([A-Za-zµ]+)");

fn matches(expression: &Lazy, text: &str) -> bool {
    expression.is_match(text)
}

fn is_hostname(text: &str) -> bool {
    matches(&HOSTNAME, text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63)
}

/// Parses an address as `net.ParseIP` does: strictly, and with the IPv4 in IPv6 forms.
pub(super) fn parse_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') { text.parse::<Ipv6Addr>().ok().map(IpAddr::V6) } else { parse_ipv4(text, false) }
}

/// As [`parse_ip`], but the numbers of an IPv4 address may have leading zeros.
fn parse_ip_sloppy(text: &str) -> Option<IpAddr> {
    let Some(colon) = text.rfind(':') else {
        return parse_ipv4(text, true);
    };
    let (head, tail) = text.split_at(colon + 1);
    let text = match (tail.contains('.'), parse_ipv4(tail, true)) {
        (true, Some(address)) => format!("{head}{address}"),
        _ => text.to_owned(),
    };
    text.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}

fn parse_ipv4(text: &str, leading_zeros: bool) -> Option<IpAddr> {
    let mut octets = [0u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        let digits = !part.is_empty() && part.len() < 20 && part.bytes().all(|b| b.is_ascii_digit());
        if !digits || (!leading_zeros && part.len() > 1 && part.starts_with('0')) {
            return None;
        }
        *octet = part.parse::<u64>().ok()?.try_into().ok()?;
    }
    parts.next().is_none().then(|| IpAddr::V4(Ipv4Addr::from(octets)))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let Some(address) = parse_ip_sloppy(address) else {
        return false;
    };
    let max = if address.is_ipv4() { 32 } else { 128 };
    !bits.is_empty()
        && bits.len() < 10
        && bits.bytes().all(|b| b.is_ascii_digit())
        && bits.parse::<u32>().is_ok_and(|bits| bits <= max)
}

fn is_mac(text: &str) -> bool {
    let of = |separator: char, width: usize, counts: &[usize]| {
        let groups: Vec<_> = text.split(separator).collect();
        counts.contains(&groups.len())
            && groups.iter().all(|group| group.len() == width && group.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    of(':', 2, &[6, 8, 20]) || of('-', 2, &[6, 8, 20]) || of('.', 4, &[3, 4, 10])
}

fn sanitized(text: &str) -> Vec<u8> {
    text.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'-').collect()
}

fn digit(byte: u8) -> u32 {
    u32::from(byte - b'0')
}

fn is_isbn10(text: &str) -> bool {
    let text = sanitized(text);
    if text.len() != 10 || !text[..9].iter().all(u8::is_ascii_digit) {
        return false;
    }
    let last = match text[9] {
        b'X' => 10,
        byte if byte.is_ascii_digit() => digit(byte),
        _ => return false,
    };
    let sum: u32 = (1..).zip(&text[..9]).map(|(i, byte)| i * digit(*byte)).sum();
    (sum + 10 * last).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let text = sanitized(text);
    if text.len() != 13 || !text.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = text[..12].iter().enumerate().map(|(i, byte)| [1, 3][i % 2] * digit(*byte)).sum();
    digit(text[12]) == (10 - sum % 10) % 10
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if !matches(&CREDIT_CARD, &digits) {
        return false;
    }
    let sum: u32 = (digits.bytes().rev().enumerate())
        .map(|(i, byte)| match digit(byte) * if i % 2 == 0 { 1 } else { 2 } {
            doubled if doubled >= 10 => doubled % 10 + 1,
            single => single,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Whether a text is a mail address with an optional name, such as `Ann <ann@example.org>`.
fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>') {
        Some(text) => match text.rsplit_once('<') {
            Some((name, address)) if is_phrase(name.trim()) => address,
            _ => return false,
        },
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let quoted = local.len() > 1 && local.starts_with('"') && local.ends_with('"');
    (quoted || is_dot_atom(local))
        && (is_dot_atom(domain)
            || (domain.starts_with('[')
                && domain.ends_with(']')
                && parse_ip(&domain[1..domain.len() - 1]).is_some()))
}

fn is_phrase(text: &str) -> bool {
    (text.len() > 1 && text.starts_with('"') && text.ends_with('"'))
        || text.split_whitespace().all(|word| word.chars().all(|c| is_atom(c) || c == '.'))
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom))
}

fn is_atom(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii()
}

fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 10
        && bytes
            .iter()
            .enumerate()
            .all(|(i, b)| if i == 4 || i == 7 { *b == b'-' } else { b.is_ascii_digit() });
    if !shaped {
        return false;
    }
    let number = |range: std::ops::Range<usize>| text[range].parse::<u32>().unwrap_or_default();
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date)
        && TIME.captures(time).is_some_and(|time| &time[1] <= "23" && &time[2] <= "59" && &time[3] <= "59")
}

/// Whether a text is a duration as Go writes it, such as `1h30m`, or as Scala does, such as `2 days`.
pub(super) fn is_duration(text: &str) -> bool {
    parse_go_duration(text).is_some() || {
        let mut found = false;
        for part in LOOSE_DURATION.captures_iter(text) {
            if part[1].parse::<i64>().is_err() {
                return false;
            }
            let unit = part[2].to_lowercase();
            found |= matches!(
                unit.as_str(),
                "ns" | "us" | "µs" | "ms" | "s" | "m" | "h" | "hr" | "d" | "w" | "wk"
            ) || ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"]
                .iter()
                .any(|prefix| unit.starts_with(prefix));
        }
        found
    }
}

/// A duration as `time.ParseDuration` reads it, in nanoseconds.
pub(super) fn parse_go_duration(text: &str) -> Option<i128> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut nanoseconds = 0f64;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        if !digits.bytes().any(|b| b.is_ascii_digit()) || digits.matches('.').count() > 1 {
            return None;
        }
        let unit = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let factor = match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return None,
        };
        nanoseconds += format!("0{digits}0")
            .parse::<f64>()
            .ok()
            .filter(|_| digits.contains('.'))
            .or(digits.parse().ok())?
            * factor;
        rest = after;
    }
    if nanoseconds > i64::MAX as f64 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it was compared with the largest value")]
    let nanoseconds = nanoseconds as i128;
    Some(if negative { -nanoseconds } else { nanoseconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_accepts_what_the_server_accepts() {
        for (format, good, bad) in [
            ("date", &["2024-02-29"][..], &["2023-02-29", "2024-1-1", "x"][..]),
            (
                "date-time",
                &["2024-01-01T00:00:00Z", "2024-01-01t23:59:59.5+01:00"],
                &["2024-01-01 00:00:00Z", "2024-01-01T24:00:00Z"],
            ),
            ("datetime", &["2024-01-01T00:00:00Z"], &["2024-01-01"]),
            ("duration", &["1h30m", "1.5s", "2 days", "-3ms", "0"], &["1", "abc", ""]),
            ("ipv4", &["10.0.0.1", "010.0.0.1", "::ffff:1.2.3.4"], &["10.0.0", "256.1.1.1", "::1"]),
            ("ipv6", &["::1", "fd00::1"], &["10.0.0.1", "::g"]),
            ("cidr", &["10.0.0.0/8", "fd00::/64", "010.0.0.0/8"], &["10.0.0.0/33", "10.0.0.0", "10.0.0.0/"]),
            (
                "mac",
                &["00:00:5e:00:53:01", "0000.5e00.5301", "00-00-5e-00-53-01"],
                &["00:00:5e:00:53", "zz:00:5e:00:53:01"],
            ),
            ("uuid", &["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"], &["123"]),
            ("byte", &["aGVsbG8="], &["a", "", "a=b="]),
            ("email", &["a@b", "Ann <ann@example.org>"], &["a", "@b", "a@"]),
            ("hostname", &["example.com", "a"], &["-a", "a_b"]),
            ("uri", &["http://example.com/a?b", "/a"], &["a", "http//x", ""]),
            ("isbn", &["0321751043", "978-0321751041"], &["0321751044"]),
            ("creditcard", &["4111 1111 1111 1111"], &["4111 1111 1111 1112"]),
            ("ssn", &["111-11-1111"], &["111111111"]),
            ("hexcolor", &["#FFF", "ffffff"], &["#FFFF"]),
            ("rgbcolor", &["rgb(0, 10,255)"], &["rgb(256,0,0)"]),
            ("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f"]),
            ("k8s-short-name", &["a-b"], &["a.b", "A"]),
            ("k8s-long-name", &["a.b"], &["a..b"]),
            ("password", &["x"], &[]),
        ] {
            assert!(is_known(format), "{format}");
            for text in good {
                assert!(accepts(format, text), "{format}: {text}");
            }
            for text in bad {
                assert!(!accepts(format, text), "{format}: {text}");
            }
        }
    }

    #[test]
    fn an_unknown_format_is_ignored() {
        assert!(!is_known("quantity") && accepts("quantity", "anything"));
    }
}
