//! Ages as people read them: `5m30s`, `3d`.

use jiff::Timestamp;
use serde_json::Value;

/// How long ago a time is, with two or three digits.
pub(super) fn age(time: Timestamp, now: Timestamp) -> String {
    let milliseconds = now.as_millisecond() - time.as_millisecond();
    let seconds = milliseconds / 1000;
    let two = |big: i64, unit: char, small: i64, small_unit: char| match small {
        0 => format!("{big}{unit}"),
        small => format!("{big}{unit}{small}{small_unit}"),
    };
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    match (seconds, minutes, hours) {
        (..-1, ..) => "<invalid>".to_owned(),
        (..0, ..) => "0s".to_owned(),
        (..120, ..) => format!("{seconds}s"),
        (_, ..10, _) => two(minutes, 'm', seconds % 60, 's'),
        (_, ..180, _) => format!("{minutes}m"),
        (_, _, ..8) => two(hours, 'h', minutes % 60, 'm'),
        (_, _, ..48) => format!("{hours}h"),
        (_, _, ..192) => two(days, 'd', hours % 24, 'h'),
        (_, _, ..17520) => format!("{days}d"),
        (_, _, ..70080) => two(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

/// The age of a time in JSON.
pub(super) fn age_of(time: &Value, now: Timestamp) -> Value {
    let time = time.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    time.map_or_else(|| "<unknown>".into(), |time| age(time, now).into())
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn ages_are_short_and_exact_enough() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        for (seconds, text) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 60, "3h1m"),
            (9 * 3600, "9h"),
            (50 * 3600, "2d2h"),
            (200 * 3600, "8d"),
            (800 * 86400, "2y70d"),
            (3000 * 86400, "8y"),
        ] {
            assert_eq!(age(now - jiff::SignedDuration::from_secs(seconds), now), text);
        }
    }
}
