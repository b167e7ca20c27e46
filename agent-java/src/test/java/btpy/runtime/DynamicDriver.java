package btpy.runtime;

import java.util.concurrent.Callable;

/** Prints the results of operations on values of unknown type, one line each, for tests/runtime/test_dynamic.py. */
public final class DynamicDriver {
    private static void show(String name, Callable<Object> operation) throws Exception {
        String result;
        try {
            Object value = operation.call();
            result = value == null ? "null" : value.getClass().getSimpleName() + " " + value;
        } catch (ProbeError e) {
            result = "error " + e.kind;
        } catch (ArithmeticException e) {
            result = "arithmetic";
        }
        System.out.println(name + "=" + result);
    }

    enum Color {
        RED
    }

    public static void main(String[] arguments) throws Exception {
        final Object[] operands = {
            null, 7L, -3L, 0L, Long.MAX_VALUE, Long.MIN_VALUE, -1L, 2.5, Double.NaN, -0.0, 5, (short) 5, (byte) 5, 2.5f, 'a', true,
            false, "text", "5", Color.RED, "RED",
        };
        final char[] operators = {'+', '-', '*', '/', '%', '&', '|', '^'};
        for (int i = 0; i < operands.length; i++) {
            for (int j = 0; j < operands.length; j++) {
                final Object a = operands[i];
                final Object b = operands[j];
                for (final char operator : operators) {
                    show(i + "" + operator + j, new Callable<Object>() {
                        @Override
                        public Object call() {
                            switch (operator) {
                                case '+':
                                    return Dynamic.add(a, b);
                                case '-':
                                    return Dynamic.subtract(a, b);
                                case '*':
                                    return Dynamic.multiply(a, b);
                                case '/':
                                    return Dynamic.divide(a, b);
                                case '%':
                                    return Dynamic.remainder(a, b);
                                case '&':
                                    return Dynamic.and(a, b);
                                case '|':
                                    return Dynamic.or(a, b);
                                default:
                                    return Dynamic.xor(a, b);
                            }
                        }
                    });
                }
                show(i + "==" + j, new Callable<Object>() {
                    @Override
                    public Object call() {
                        return Dynamic.equal(a, b);
                    }
                });
                show(i + "<=>" + j, new Callable<Object>() {
                    @Override
                    public Object call() {
                        return Integer.signum(Dynamic.compare(a, b));
                    }
                });
            }
        }
        String[][] types = {
            {"java.lang.Number"}, {"+java.lang.Number"}, {"Number"}, {"java.lang.Comparable"}, {"java.lang.*"}, {"java.*"},
            {"java.**"}, {"**.Long"}, {"java.lang.L?ng"}, {"java.lang.String"}, {"j*.l*.N*er"}, {"ng"},
        };
        for (final String[] type : types) {
            show("instanceof " + type[0], new Callable<Object>() {
                @Override
                public Object call() {
                    return Dynamic.instanceOf(5L, type[0]);
                }
            });
        }
        Object[] results = {
            Dynamic.contains("abc", "bc"), Dynamic.contains("abc", "cb"), Dynamic.contains(null, "a"), Dynamic.contains("a", ""),
            Dynamic.startsWith("abc", "ab"), Dynamic.startsWith("a", "ab"), Dynamic.endsWith("abc", "bc"),
            Dynamic.endsWith("c", "bc"), Dynamic.substring("abc", 1, 2), Dynamic.substring("abc", -5, 99),
            Dynamic.substring("abc", 2, 1), Dynamic.substring(null, 0, 1), Dynamic.length("abc"), Dynamic.length(new int[4]),
            Dynamic.length(new java.util.ArrayList<Object>()), Dynamic.length(new Object()), Dynamic.length(null),
            Dynamic.lower("ABC"), Dynamic.upper("abc"), Dynamic.trim(" a "), Dynamic.typeName(5), Dynamic.typeName(null),
            Dynamic.text(null), Dynamic.text(Color.RED), Dynamic.text(1.5), Dynamic.enumName(Color.RED), Dynamic.concat("a", null),
            Dynamic.shiftLeft(1L, 65), Dynamic.shiftRight(-8, 1), Dynamic.shiftRightUnsigned(-1L, 60), Dynamic.negate(5),
            Dynamic.not(true), Dynamic.not(5), Dynamic.toInt(1L << 33 | 5), Dynamic.toLong(2.9), Dynamic.toDouble('a'),
            Dynamic.message(new RuntimeException("m")), Dynamic.cause(new RuntimeException("m")), Dynamic.cause(null),
            Dynamic.indexOf("abcbc", "bc"), Dynamic.indexOf("abc", "cb"), Dynamic.indexOf("abc", ""), Dynamic.indexOf("", ""),
            Dynamic.indexOf("ab", "abc"), Dynamic.indexOf(null, "a"), Dynamic.indexOf("a", null),
        };
        for (int i = 0; i < results.length; i++) {
            System.out.println("call " + i + "=" + results[i]);
        }
    }
}
