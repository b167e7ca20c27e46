package btpy.runtime;

/** Computes values of {@code java.time} from their fields, according to ISO 8601 and the documentation of the classes. */
final class Calendars {
    private static final long SECONDS_A_DAY = 86_400;
    private static final int DAYS_OF_400_YEARS = 146_097;
    /** The days from 0000-03-01 to 1970-01-01. */
    private static final int DAYS_TO_1970 = 719_468;

    private Calendars() {}

    static Object call(Object o, int method) {
        if (method == Substitutes.TO_EPOCH_DAY) {
            return Long.valueOf(epochDay(o));
        }
        if (method == Substitutes.TO_EPOCH_SECOND) {
            Object local = Fields.read(o, "dateTime");
            long seconds = epochDay(Fields.read(local, "date")) * SECONDS_A_DAY + secondOfDay(Fields.read(local, "time"));
            return Long.valueOf(seconds - number(Fields.read(o, "offset"), "totalSeconds"));
        }
        StringBuilder text = new StringBuilder(40);
        if (is(o, "java.time.LocalDate")) {
            date(text, o);
        } else if (is(o, "java.time.LocalTime")) {
            time(text, o);
        } else if (is(o, "java.time.LocalDateTime")) {
            dateTime(text, o);
        } else if (is(o, "java.time.OffsetDateTime")) {
            dateTime(text, Fields.read(o, "dateTime"));
            text.append((String) Fields.read(Fields.read(o, "offset"), "id"));
        } else if (is(o, "java.time.YearMonth")) {
            year(text, number(o, "year"), "");
            appendTwoDigits(text.append('-'), number(o, "month"));
        } else if (is(o, "java.time.Period")) {
            period(text, o);
        } else if (is(o, "java.time.Duration")) {
            duration(text, number(o, "seconds"), (int) number(o, "nanos"));
        } else {
            instant(text, number(o, "seconds"), (int) number(o, "nanos"));
        }
        return text.toString();
    }

    private static boolean is(Object o, String type) {
        return Strings.equal(o.getClass().getName(), type);
    }

    static long number(Object o, String field) {
        return ((Long) Fields.read(o, field)).longValue();
    }

    private static void date(StringBuilder text, Object date) {
        date(text, number(date, "year"), number(date, "month"), number(date, "day"));
    }

    private static void date(StringBuilder text, long year, long month, long day) {
        year(text, year, "+");
        appendTwoDigits(text.append('-'), month);
        appendTwoDigits(text.append('-'), day);
    }

    /** Appends a year with at least four digits. {@code prefix} is the prefix of a year with more digits. */
    private static void year(StringBuilder text, long year, String prefix) {
        long amount = year < 0 ? -year : year;
        text.append(year < 0 ? "-" : year > 9999 ? prefix : "");
        for (long limit = 1000; limit > 1 && amount < limit; limit /= 10) {
            text.append('0');
        }
        text.append(amount);
    }

    private static StringBuilder appendTwoDigits(StringBuilder text, long number) {
        return text.append(number < 10 ? "0" : "").append(number);
    }

    /** Years begin in March here, so that the leap day is the last day of a year. */
    private static long epochDay(Object date) {
        long month = number(date, "month");
        long year = number(date, "year") - (month <= 2 ? 1 : 0);
        long era = floor(year, 400);
        long ofEra = year - 400 * era;
        long ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + number(date, "day") - 1;
        return era * DAYS_OF_400_YEARS + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - DAYS_TO_1970;
    }

    private static void instant(StringBuilder text, long seconds, int nanos) {
        long days = floor(seconds, SECONDS_A_DAY);
        long shiftedDays = days + DAYS_TO_1970;
        long era = floor(shiftedDays, DAYS_OF_400_YEARS);
        long ofEra = shiftedDays - era * DAYS_OF_400_YEARS;
        long yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365;
        long ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
        long shiftedMonth = (5 * ofYear + 2) / 153;
        long month = shiftedMonth + (shiftedMonth < 10 ? 3 : -9);
        date(text, 400 * era + yearOfEra + (month <= 2 ? 1 : 0), month, ofYear - (153 * shiftedMonth + 2) / 5 + 1);
        long ofDay = seconds - days * SECONDS_A_DAY;
        appendTwoDigits(text.append('T'), ofDay / 3600);
        appendTwoDigits(text.append(':'), ofDay / 60 % 60);
        appendTwoDigits(text.append(':'), ofDay % 60);
        fraction(text, nanos);
        text.append('Z');
    }

    private static long floor(long dividend, long divisor) {
        return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
    }

    private static void dateTime(StringBuilder text, Object local) {
        date(text, Fields.read(local, "date"));
        time(text.append('T'), Fields.read(local, "time"));
    }

    private static void time(StringBuilder text, Object time) {
        appendTwoDigits(text, number(time, "hour"));
        appendTwoDigits(text.append(':'), number(time, "minute"));
        long second = number(time, "second");
        int nanos = (int) number(time, "nano");
        if (second != 0 || nanos != 0) {
            appendTwoDigits(text.append(':'), second);
            fraction(text, nanos);
        }
    }

    private static long secondOfDay(Object time) {
        return number(time, "hour") * 3600 + number(time, "minute") * 60 + number(time, "second");
    }

    /** Appends three, six or nine digits. */
    private static void fraction(StringBuilder text, int nanos) {
        if (nanos != 0) {
            int digits = nanos % 1_000_000 == 0 ? 3 : nanos % 1000 == 0 ? 6 : 9;
            int number = digits == 3 ? nanos / 1_000_000 : digits == 6 ? nanos / 1000 : nanos;
            text.append('.');
            digits(text, number, digits);
        }
    }

    private static void digits(StringBuilder text, int number, int digits) {
        int limit = 1;
        for (int i = 1; i < digits; i++) {
            limit *= 10;
        }
        for (; limit > 0; limit /= 10) {
            text.append((char) ('0' + number / limit % 10));
        }
    }

    private static void period(StringBuilder text, Object period) {
        int length = text.append('P').length();
        part(text, number(period, "years"), 'Y');
        part(text, number(period, "months"), 'M');
        part(text, number(period, "days"), 'D');
        if (text.length() == length) {
            text.append("0D");
        }
    }

    private static void part(StringBuilder text, long number, char unit) {
        if (number != 0) {
            text.append(number).append(unit);
        }
    }

    /**
     * Appends a duration. A fraction of a negative number of seconds counts towards zero: −0.5 s is −1 s and
     * 500,000,000 ns.
     */
    private static void duration(StringBuilder text, long seconds, int nanos) {
        text.append("PT");
        if (seconds == 0 && nanos == 0) {
            text.append("0S");
            return;
        }
        long wholeSeconds = seconds < 0 && nanos > 0 ? seconds + 1 : seconds;
        part(text, wholeSeconds / 3600, 'H');
        part(text, wholeSeconds % 3600 / 60, 'M');
        long restSeconds = wholeSeconds % 60;
        if (restSeconds == 0 && nanos == 0) {
            return;
        }
        text.append(seconds < 0 && nanos > 0 && restSeconds == 0 ? "-" : "").append(restSeconds);
        if (nanos > 0) {
            digits(text.append('.'), seconds < 0 ? 1_000_000_000 - nanos : nanos, 9);
            while (text.charAt(text.length() - 1) == '0') {
                text.setLength(text.length() - 1);
            }
        }
        text.append('S');
    }
}
