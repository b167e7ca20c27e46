package btpy.runtime;

import java.math.BigDecimal;
import java.math.RoundingMode;

/** Formats values like f-strings, where this JVM needs the text. The client formats printed values. */
public final class Formats {
    private Formats() {}

    /**
     * Formats by a specification of Python's {@code format}. A format that does not fit the value keeps its width and
     * shows the value.
     *
     * @param flags fill, alignment ({@code < > ^ =} or blank), sign ({@code - +} or blank), grouping or blank, type
     * or blank
     * @param precision −1 if it is not specified
     */
    public static String format(Object o, String flags, int width, int precision) {
        char type = flags.charAt(4);
        String digits = digits(o, type, precision);
        boolean number = digits != null;
        String sign = "";
        if (number) {
            boolean negative = digits.charAt(0) == '-';
            sign = negative ? "-" : flags.charAt(2) == '-' ? "" : flags.substring(2, 3);
            digits = grouped(negative ? digits.substring(1) : digits, flags.charAt(3));
        } else {
            digits = Dynamic.text(o);
            if (precision >= 0 && o instanceof String) {
                digits = Texts.truncate(digits, precision);
            }
        }
        char align = flags.charAt(1) != ' ' ? flags.charAt(1) : number ? '>' : '<';
        int padding = width - digits.length() - sign.length();
        StringBuilder text = new StringBuilder(width > 16 ? width : 16);
        int leftPadding = align == '<' || align == '=' && number ? 0 : align == '^' ? padding / 2 : padding;
        pad(text, flags.charAt(0), leftPadding);
        text.append(sign);
        if (align == '=' && number) {
            pad(text, flags.charAt(0), padding);
        }
        text.append(digits);
        if (align == '<' || align == '^') {
            pad(text, flags.charAt(0), padding - leftPadding);
        }
        return text.toString();
    }

    /** Returns null if the value does not have the type. */
    private static String digits(Object o, char type, int precision) {
        boolean real = o instanceof Double || o instanceof Float;
        if (!real && !(o instanceof Long || o instanceof Integer || o instanceof Short || o instanceof Byte) || type == 's') {
            return null;
        }
        double d = ((Number) o).doubleValue();
        if (type == 'f' || type == 'F' || type == '%') {
            if (d != d || Double.isInfinite(d)) {
                return (d != d ? "nan" : d > 0 ? "inf" : "-inf").concat(type == '%' ? "%" : "");
            }
            BigDecimal exact = real ? new BigDecimal(d) : new BigDecimal(((Number) o).longValue());
            exact = type == '%' ? exact.movePointRight(2) : exact;
            String text = exact.setScale(precision < 0 ? 6 : precision, RoundingMode.HALF_EVEN).toPlainString();
            boolean lost = (d < 0 || d == 0 && 1 / d < 0) && text.charAt(0) != '-'; // for values that round to −0
            return (lost ? "-" + text : text) + (type == '%' ? "%" : "");
        }
        if (real && (type == ' ' || d != (long) d)) {
            return type == ' ' ? o.toString() : null;
        }
        long value = real ? (long) d : ((Number) o).longValue();
        int radix = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
        String text = Long.toUnsignedString(value < 0 ? -value : value, radix);
        text = type == 'X' ? Dynamic.upper(text) : text;
        return value < 0 ? "-" + text : text;
    }

    private static String grouped(String digits, char separator) {
        int end = 0;
        while (end < digits.length() && digits.charAt(end) >= '0' && digits.charAt(end) <= '9') {
            end++;
        }
        if (separator == ' ' || end <= 3) {
            return digits;
        }
        StringBuilder text = new StringBuilder(digits.length() + end / 3);
        for (int i = 0; i < end; i++) {
            if (i != 0 && (end - i) % 3 == 0) {
                text.append(separator);
            }
            text.append(digits.charAt(i));
        }
        return text.append(digits, end, digits.length()).toString();
    }

    private static void pad(StringBuilder text, char fill, int count) {
        for (int i = 0; i < count; i++) {
            text.append(fill);
        }
    }

    /**
     * Formats nanoseconds or bytes in a unit of {@code size}, with at most three digits after the point. Returns "null"
     * for null.
     */
    public static String inUnit(Object o, long size, String unit) {
        if (o == null) {
            return "null";
        }
        BigDecimal value = new BigDecimal(Dynamic.toLong(o)).divide(new BigDecimal(size), 3, RoundingMode.HALF_EVEN);
        String text = value.toPlainString();
        int end = text.length();
        while (text.charAt(end - 1) == '0') {
            end--;
        }
        return text.substring(0, text.charAt(end - 1) == '.' ? end - 1 : end).concat(unit);
    }
}
