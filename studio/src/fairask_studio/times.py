"""Times as the log of a study writes them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from fairask_studio._errors import StudyError


def now(shift: float = 0.0) -> str:
    """Return the time in UTC, as the log writes it, ``shift`` seconds from now.

    Examples
    --------
    >>> now().endswith("Z")
    True
    """
    return _written(datetime.now(UTC) + timedelta(seconds=shift))


def at_second(seconds: float) -> str:
    """Return a time given in seconds since 1970 as the log writes it.

    Examples
    --------
    >>> at_second(0.25)
    '1970-01-01T00:00:00.250Z'
    """
    return _written(datetime.fromtimestamp(seconds, UTC))


def end_of_day(day: date) -> str:
    """Return the end of a day in UTC, as the log writes it.

    Examples
    --------
    >>> end_of_day(date(2026, 11, 15))
    '2026-11-15T23:59:59.999Z'
    """
    return f"{day.isoformat()}T23:59:59.999Z"


def utc(text: str) -> str:
    """Return a time that a person wrote as the log writes it; UTC, unless the text has an offset.

    Examples
    --------
    >>> utc("2026-11-15 14:00"), utc("2026-11-15T14:00+01:00")
    ('2026-11-15T14:00:00.000Z', '2026-11-15T13:00:00.000Z')
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise StudyError(f"{text!r} is not a time", "Write it as 2026-11-15 or 2026-11-15 14:30") from error
    return _written(moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC))


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
