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
        StringBuilder made = new StringBuilder(40);
        if (is(o, "java.time.LocalDate")) {
            date(made, o);
        } else if (is(o, "java.time.LocalTime")) {
            time(made, o);
        } else if (is(o, "java.time.LocalDateTime")) {
            dateTime(made, o);
        } else if (is(o, "java.time.OffsetDateTime")) {
            dateTime(made, Fields.read(o, "dateTime"));
            made.append((String) Fields.read(Fields.read(o, "offset"), "id"));
        } else if (is(o, "java.time.YearMonth")) {
            year(made, number(o, "year"), "");
            two(made.append('-'), number(o, "month"));
        } else if (is(o, "java.time.Period")) {
            period(made, o);
        } else if (is(o, "java.time.Duration")) {
            duration(made, number(o, "seconds"), (int) number(o, "nanos"));
        } else {
            instant(made, number(o, "seconds"), (int) number(o, "nanos"));
        }
        return made.toString();
    }

    private static boolean is(Object o, String type) {
        return Strings.equal(o.getClass().getName(), type);
    }

    static long number(Object o, String field) {
        return ((Long) Fields.read(o, field)).longValue();
    }

    private static void date(StringBuilder made, Object date) {
        date(made, number(date, "year"), number(date, "month"), number(date, "day"));
    }

    private static void date(StringBuilder made, long year, long month, long day) {
        year(made, year, "+");
        two(made.append('-'), month);
        two(made.append('-'), day);
    }

    /** Appends a year with at least four digits. {@code more} is the prefix of a year with more digits. */
    private static void year(StringBuilder made, long year, String more) {
        long amount = year < 0 ? -year : year;
        made.append(year < 0 ? "-" : year > 9999 ? more : "");
        for (long limit = 1000; limit > 1 && amount < limit; limit /= 10) {
            made.append('0');
        }
        made.append(amount);
    }

    private static StringBuilder two(StringBuilder made, long number) {
        return made.append(number < 10 ? "0" : "").append(number);
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

    private static void instant(StringBuilder made, long seconds, int nanos) {
        long days = floor(seconds, SECONDS_A_DAY);
        long shifted = days + DAYS_TO_1970;
        long era = floor(shifted, DAYS_OF_400_YEARS);
        long ofEra = shifted - era * DAYS_OF_400_YEARS;
        long yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365;
        long ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
        long shiftedMonth = (5 * ofYear + 2) / 153;
        long month = shiftedMonth + (shiftedMonth < 10 ? 3 : -9);
        date(made, 400 * era + yearOfEra + (month <= 2 ? 1 : 0), month, ofYear - (153 * shiftedMonth + 2) / 5 + 1);
        long ofDay = seconds - days * SECONDS_A_DAY;
        two(made.append('T'), ofDay / 3600);
        two(made.append(':'), ofDay / 60 % 60);
        two(made.append(':'), ofDay % 60);
        fraction(made, nanos);
        made.append('Z');
    }

    private static long floor(long dividend, long divisor) {
        return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
    }

    private static void dateTime(StringBuilder made, Object local) {
        date(made, Fields.read(local, "date"));
        time(made.append('T'), Fields.read(local, "time"));
    }

    private static void time(StringBuilder made, Object time) {
        two(made, number(time, "hour"));
        two(made.append(':'), number(time, "minute"));
        long second = number(time, "second");
        int nanos = (int) number(time, "nano");
        if (second != 0 || nanos != 0) {
            two(made.append(':'), second);
            fraction(made, nanos);
        }
    }

    private static long secondOfDay(Object time) {
        return number(time, "hour") * 3600 + number(time, "minute") * 60 + number(time, "second");
    }

    /** Appends three, six or nine digits. */
    private static void fraction(StringBuilder made, int nanos) {
        if (nanos != 0) {
            int digits = nanos % 1_000_000 == 0 ? 3 : nanos % 1000 == 0 ? 6 : 9;
            int number = digits == 3 ? nanos / 1_000_000 : digits == 6 ? nanos / 1000 : nanos;
            made.append('.');
            digits(made, number, digits);
        }
    }

    private static void digits(StringBuilder made, int number, int digits) {
        int limit = 1;
        for (int i = 1; i < digits; i++) {
            limit *= 10;
        }
        for (; limit > 0; limit /= 10) {
            made.append((char) ('0' + number / limit % 10));
        }
    }

    private static void period(StringBuilder made, Object period) {
        int before = made.append('P').length();
        part(made, number(period, "years"), 'Y');
        part(made, number(period, "months"), 'M');
        part(made, number(period, "days"), 'D');
        if (made.length() == before) {
            made.append("0D");
        }
    }

    private static void part(StringBuilder made, long number, char unit) {
        if (number != 0) {
            made.append(number).append(unit);
        }
    }

    /**
     * Appends a duration. A fraction of a negative number of seconds counts towards zero: −0.5 s is −1 s and
     * 500,000,000 ns.
     */
    private static void duration(StringBuilder made, long seconds, int nanos) {
        made.append("PT");
        if (seconds == 0 && nanos == 0) {
            made.append("0S");
            return;
        }
        long whole = seconds < 0 && nanos > 0 ? seconds + 1 : seconds;
        part(made, whole / 3600, 'H');
        part(made, whole % 3600 / 60, 'M');
        long rest = whole % 60;
        if (rest == 0 && nanos == 0) {
            return;
        }
        made.append(seconds < 0 && nanos > 0 && rest == 0 ? "-" : "").append(rest);
        if (nanos > 0) {
            digits(made.append('.'), seconds < 0 ? 1_000_000_000 - nanos : nanos, 9);
            while (made.charAt(made.length() - 1) == '0') {
                made.setLength(made.length() - 1);
            }
        }
        made.append('S');
    }
}
