//! Moments and durations for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use coven_model::Timestamp;

/// Now. The only clock of the command line's tables.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A duration in one or two units: `0.4s`, `12s`, `3m 05s`, `2h 10m`, `4d`.
pub(crate) fn age(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{}.{}s", seconds, duration.subsec_millis() / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long ago that was, in one unit: `12s`, `3m`, `2h`, `4d`.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.since(then).as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn zoned(time: Timestamp) -> Option<jiff::Zoned> {
    let millis = i64::try_from(time.as_millis()).ok()?;
    let moment = jiff::Timestamp::from_millisecond(millis).ok()?;
    Some(moment.to_zoned(jiff::tz::TimeZone::system()))
}

/// The time of day, here.
pub(crate) fn clock(time: Timestamp) -> String {
    zoned(time).map_or_else(|| "--:--:--".to_owned(), |time| time.strftime("%H:%M:%S").to_string())
}

/// Day and time, here.
pub(crate) fn moment(time: Timestamp) -> String {
    let format = |time: jiff::Zoned| time.strftime("%Y-%m-%d %H:%M:%S").to_string();
    zoned(time).map_or_else(|| "-".to_owned(), format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_in_what_a_person_would_say() {
        let told = |millis| age(Duration::from_millis(millis));
        assert_eq!(told(0), "0.0s");
        assert_eq!(told(1_290), "1.2s");
        assert_eq!(told(59_999), "59s");
        assert_eq!(told(185_000), "3m 05s");
        assert_eq!(told(7_800_000), "2h 10m");
        assert_eq!(told(400_000_000), "4d");
    }
}
