import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.file.Paths;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.Period;
import java.time.YearMonth;
import java.time.ZoneOffset;
import java.util.UUID;

/** Values and the results of their own methods. The substitutes of the agent must give the same results. */
public class Alike {
    static int values;

    static void text(Object value, String text) {
        values++;
    }

    static void decimal(BigDecimal value, String text, String plain, double real, long whole, int low, int signum, int precision) {
        values++;
    }

    static void integer(BigInteger value, double real, long whole, int low, int bits) {
        values++;
    }

    static void path(Object value, int names) {
        values++;
    }

    static void day(LocalDate value, long day) {
        values++;
    }

    static void second(OffsetDateTime value, long second) {
        values++;
    }

    static void run() throws Exception {
        for (String digits : new String[] {
            "0", "0.00", "0E+3", "0E-8", "1", "-1", "12.50", "-0.000001", "0.0000001", "1E+5", "-9223372036854775808", "9223372036854775807.5",
            "1234567890123456789012345678901234567890.123", "-99999999999999999999E-30", "5E-324", "1.7976931348623157E+308", "1E+400",
            "123456789E+60", "1E-999", "4294967296", "-1000000000000000000000000000000"
        }) {
            BigDecimal value = new BigDecimal(digits);
            decimal(value, value.toString(), value.toPlainString(), value.doubleValue(), value.longValue(), value.intValue(),
                    value.signum(), value.precision());
        }
        for (int bits = 0; bits < 1200; bits += 31) {
            BigInteger power = BigInteger.ONE.shiftLeft(bits);
            for (BigInteger value : new BigInteger[] {
                power, power.negate(), power.subtract(BigInteger.ONE), power.add(BigInteger.ONE).negate(), BigInteger.ZERO
            }) {
                integer(value, value.doubleValue(), value.longValue(), value.intValue(), value.bitLength());
            }
        }
        for (String path : new String[] {"/", "", "a", "/a", "a/b", "/a/b/c", "/caf\u00e9"}) {
            path(Paths.get(path), Paths.get(path).getNameCount());
        }
        text(new UUID(0x0123456789abcdefL, -2L), new UUID(0x0123456789abcdefL, -2L).toString());
        for (URI uri : new URI[] {
            URI.create("http://host/a?q#f"), new URI("http", "me", "::1", 80, "/a", "q", "f"), new URI("mailto", "a@b", null),
            URI.create("http://host/a/b").resolve("../c?x"), URI.create("file:/a/../b").normalize(), new URI(null, null, "rel", "f"),
            URI.create("//a_b:80/c").resolve("d")
        }) {
            text(uri, uri.toString());
        }
        for (long seconds : new long[] {0, 1, -1, 59, 86399, 86400, -86401, 951782400, 1709164800, 253402300800L, -62167219201L, 4102444799L}) {
            for (int nanos : new int[] {0, 1, 1000, 1000000, 500000000, 999999999}) {
                Instant instant = Instant.ofEpochSecond(seconds, nanos);
                LocalDateTime local = LocalDateTime.ofEpochSecond(seconds, nanos, ZoneOffset.UTC);
                OffsetDateTime offset = OffsetDateTime.of(local, ZoneOffset.ofHoursMinutes(-5, -30));
                Duration duration = Duration.ofSeconds(seconds, nanos);
                LocalDate date = local.toLocalDate();
                text(instant, instant.toString());
                text(local, local.toString());
                text(local.toLocalTime(), local.toLocalTime().toString());
                text(date, date.toString());
                text(offset, offset.toString());
                text(duration, duration.toString());
                text(YearMonth.from(date), YearMonth.from(date).toString());
                day(date, date.toEpochDay());
                second(offset, offset.toEpochSecond());
            }
        }
        for (LocalDate date : new LocalDate[] {LocalDate.of(-5, 1, 2), LocalDate.of(12345, 2, 28), LocalDate.MIN, LocalDate.MAX, LocalDate.of(0, 3, 1)}) {
            text(date, date.toString());
            day(date, date.toEpochDay());
        }
        for (Period period : new Period[] {Period.ZERO, Period.of(1, -2, 3), Period.ofDays(7)}) {
            text(period, period.toString());
        }
        text(LocalTime.MIDNIGHT, LocalTime.MIDNIGHT.toString());
        text(Paths.get("/a/caf\u00e9"), Paths.get("/a/caf\u00e9").toString());
        text(Character.valueOf('x'), "x");
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            run();
            System.out.println("values " + values);
        }
    }
}
