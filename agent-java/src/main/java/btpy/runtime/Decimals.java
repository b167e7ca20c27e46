package btpy.runtime;

import java.math.BigDecimal;
import java.math.BigInteger;

/**
 * Computes values of {@code BigDecimal} and {@code BigInteger} from their fields. It refuses a {@code BigDecimal} that
 * contains a subclass of {@code BigInteger}, and numbers with more than {@link #MOST_WORDS} words or {@link
 * #MOST_ZEROS} zeros.
 */
final class Decimals {
    private static final Memory MEMORY = Memory.instance();
    private static final long COMPACT = MEMORY.fieldOffset(BigDecimal.class, "intCompact");
    private static final long UNSCALED = MEMORY.fieldOffset(BigDecimal.class, "intVal");
    private static final long SCALE = MEMORY.fieldOffset(BigDecimal.class, "scale");
    private static final long SIGNUM = MEMORY.fieldOffset(BigInteger.class, "signum");
    private static final long MAGNITUDE = MEMORY.fieldOffset(BigInteger.class, "mag");

    private static final long INFLATED = Long.MIN_VALUE;
    private static final int MOST_WORDS = 64;
    private static final int MOST_ZEROS = 1000;
    /** The number of words of a magnitude above every double: 1024 bits and one more word. */
    private static final int WORDS_OF_INFINITY = 33;

    private Decimals() {}

    static Object ofDecimal(Object o, int method) {
        long compact = MEMORY.getLong(o, COMPACT);
        int scale = MEMORY.getInt(o, SCALE);
        int sign;
        int[] magnitude;
        if (compact != INFLATED) {
            sign = Long.signum(compact);
            long amount = sign < 0 ? -compact : compact;
            magnitude = new int[] {(int) (amount >>> 32), (int) amount};
        } else {
            Object unscaled = MEMORY.getReference(o, UNSCALED);
            if (unscaled == null || unscaled.getClass() != BigInteger.class) {
                throw ProbeError.BAD_CAST;
            }
            sign = MEMORY.getInt(unscaled, SIGNUM);
            magnitude = (int[]) MEMORY.getReference(unscaled, MAGNITUDE);
        }
        if (method == Substitutes.SIGNUM) {
            return Long.valueOf(sign);
        }
        String digits = digits(magnitude);
        if (method == Substitutes.PRECISION) {
            return Long.valueOf(digits.length());
        }
        if (method == Substitutes.TO_STRING) {
            return (sign < 0 ? "-" : "").concat(canonical(digits, scale));
        }
        if (method == Substitutes.TO_PLAIN_STRING) {
            return (sign < 0 ? "-" : "").concat(plain(digits, scale));
        }
        if (method == Substitutes.DOUBLE_VALUE) {
            return Double.valueOf(sign * Double.parseDouble(digits + "E" + -(long) scale));
        }
        long value = sign * integral(digits, scale);
        return Long.valueOf(method == Substitutes.INT_VALUE ? (int) value : value);
    }

    /** Returns the low 64 bits of the number without its fraction. */
    private static long integral(String digits, int scale) {
        int digitCount = (int) Math.max(0, Math.min(digits.length(), digits.length() - (long) scale));
        long value = 0;
        for (int i = 0; i < digitCount; i++) {
            value = 10 * value + (digits.charAt(i) - '0');
        }
        for (long zeros = -(long) scale; zeros > 0 && value != 0; zeros--) { // 10^64 has 64 zero bits
            value *= 10;
        }
        return value;
    }

    private static String canonical(String digits, int scale) {
        long exponent = digits.length() - 1 - (long) scale;
        if (scale >= 0 && exponent >= -6) {
            return plain(digits, scale);
        }
        StringBuilder text = new StringBuilder(digits.length() + 16).append(digits.charAt(0));
        if (digits.length() > 1) {
            text.append('.').append(digits, 1, digits.length());
        }
        if (exponent != 0) {
            text.append('E').append(exponent > 0 ? "+" : "").append(exponent);
        }
        return text.toString();
    }

    private static String plain(String digits, int scale) {
        long wholeDigits = digits.length() - (long) scale;
        StringBuilder text = new StringBuilder(digits.length() + 16);
        if (scale <= 0) {
            return zeros(text.append(digits), digits.equals("0") ? 0 : -(long) scale).toString();
        }
        if (wholeDigits > 0) {
            text.append(digits, 0, (int) wholeDigits).append('.').append(digits, (int) wholeDigits, digits.length());
            return text.toString();
        }
        return zeros(text.append("0."), -wholeDigits).append(digits).toString();
    }

    private static StringBuilder zeros(StringBuilder text, long count) {
        if (count > MOST_ZEROS) {
            throw ProbeError.BUDGET;
        }
        for (long i = 0; i < count; i++) {
            text.append('0');
        }
        return text;
    }

    static Object ofInteger(Object o, int method) {
        int sign = MEMORY.getInt(o, SIGNUM);
        int[] magnitude = (int[]) MEMORY.getReference(o, MAGNITUDE);
        int words = magnitude.length;
        if (method == Substitutes.BIT_LENGTH) {
            return Long.valueOf(words == 0 ? 0 : bits(sign, magnitude));
        }
        if (method == Substitutes.DOUBLE_VALUE) {
            return Double.valueOf(
                    sign * (words > WORDS_OF_INFINITY ? Double.POSITIVE_INFINITY : Double.parseDouble(digits(magnitude))));
        }
        long low = words == 0 ? 0 : magnitude[words - 1] & 0xFFFFFFFFL;
        long value = sign * (words > 1 ? (long) magnitude[words - 2] << 32 | low : low);
        return Long.valueOf(method == Substitutes.INT_VALUE ? (int) value : value);
    }

    /** Returns the number of bits in two's complement without the sign: one less for the negative of a power of two. */
    private static long bits(int sign, int[] magnitude) {
        long bits = 32L * magnitude.length - Integer.numberOfLeadingZeros(magnitude[0]);
        if (sign >= 0 || Integer.bitCount(magnitude[0]) != 1) {
            return bits;
        }
        for (int i = 1; i < magnitude.length; i++) {
            if (i > Texts.MAX_LENGTH) {
                throw ProbeError.BUDGET;
            }
            if (magnitude[i] != 0) {
                return bits;
            }
        }
        return bits - 1;
    }

    /**
     * Returns the decimal digits of a magnitude whose first word is the most significant. Each division by 10^9 gives
     * nine digits.
     */
    private static String digits(int[] magnitude) {
        if (magnitude.length > MOST_WORDS) {
            throw ProbeError.BUDGET;
        }
        int[] words = magnitude.clone();
        char[] digits = new char[10 * words.length + 9];
        int at = digits.length;
        boolean more = true;
        while (more) {
            long remainder = 0;
            more = false;
            for (int i = 0; i < words.length; i++) {
                long dividend = remainder << 32 | words[i] & 0xFFFFFFFFL;
                words[i] = (int) (dividend / 1_000_000_000L);
                remainder = dividend % 1_000_000_000L;
                more |= words[i] != 0;
            }
            for (int digit = 0; digit < 9; digit++) {
                digits[--at] = (char) ('0' + remainder % 10);
                remainder /= 10;
            }
        }
        while (at < digits.length - 1 && digits[at] == '0') {
            at++;
        }
        return new String(digits, at, digits.length - at);
    }
}
