//! Quantities, in the form in which the server writes them.

/// The suffixes of powers of two.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The suffixes of powers of ten, by their exponents.
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// What the server says of a text that is no quantity.
pub(crate) const MALFORMED: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Writes a quantity in its shortest form. `None` is a text that is no quantity, or one with more digits than the
/// server keeps.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (negative, digits) = match number.as_bytes().first()? {
        b'-' => (true, &number[1..]),
        b'+' => (false, &number[1..]),
        _ => (false, number),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut mantissa: i128 = all.parse().ok()?;
    let mut exponent = -i32::try_from(fraction.len()).ok()?;
    let sign = if negative { "-" } else { "" };
    let binary = BINARY.iter().skip(1).position(|known| *known == suffix).map(|power| power + 1);
    if let Some(power) = binary {
        for _ in 0..power {
            mantissa = mantissa.checked_mul(1024)?;
        }
        while exponent < 0 {
            // The server rounds up what is smaller than one.
            mantissa = (mantissa + 9) / 10;
            exponent += 1;
        }
        let mut power = 0;
        while mantissa != 0 && mantissa % 1024 == 0 && power + 1 < BINARY.len() {
            mantissa /= 1024;
            power += 1;
        }
        return Some(format!("{sign}{mantissa}{}", BINARY[power]));
    }
    let scientific = suffix.strip_prefix(['e', 'E']).and_then(|power| power.parse::<i32>().ok());
    exponent = match scientific {
        Some(power) => exponent.checked_add(power)?,
        None => exponent.checked_add(DECIMAL.iter().find(|(known, _)| *known == suffix)?.1)?,
    };
    if mantissa == 0 {
        return Some("0".to_owned());
    }
    while mantissa % 10 == 0 {
        mantissa /= 10;
        exponent += 1;
    }
    while exponent < -9 {
        mantissa = (mantissa + 9) / 10;
        exponent += 1;
    }
    while exponent % 3 != 0 {
        mantissa = mantissa.checked_mul(10)?;
        exponent -= 1;
    }
    if scientific.is_some() {
        let power = if exponent == 0 { String::new() } else { format!("e{exponent}") };
        return Some(format!("{sign}{mantissa}{power}"));
    }
    while exponent > 18 {
        mantissa = mantissa.checked_mul(1000)?;
        exponent -= 3;
    }
    let suffix = DECIMAL.iter().find(|(_, power)| *power == exponent).map_or("", |(suffix, _)| suffix);
    Some(format!("{sign}{mantissa}{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_in_their_shortest_form() {
        for (text, shortest) in [
            ("0.1", "100m"),
            ("1000m", "1"),
            ("1024Mi", "1Gi"),
            ("1024Ki", "1Mi"),
            ("0.5", "500m"),
            ("1e3", "1e3"),
            ("100", "100"),
            ("1000", "1k"),
            ("1500Mi", "1500Mi"),
            ("0", "0"),
            ("-2000", "-2k"),
            ("2000000k", "2G"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(shortest), "{text}");
        }
        for text in ["", "much", "1x", ".", "+", "1Kib"] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
