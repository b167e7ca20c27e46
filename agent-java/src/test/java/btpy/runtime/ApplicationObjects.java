package btpy.runtime;

import java.util.ArrayList;
import java.util.Map;

/** Objects of an application that handlers read. They throw if a handler calls one of their methods. */
final class ApplicationObjects {
    private ApplicationObjects() {}

    enum Color {
        RED,
        GREEN {
            @Override
            int wave() {
                return 520;
            }
        };

        int wave() {
            return 700;
        }
    }

    static class Base {
        private int hidden = 7;
        private String name = "base";
    }

    static class Money extends Base {
        private final long cents = 1250;
        private final char sign = '$';
        private final boolean exact = true;
        private final double rate = 0.5;
        private final float half = 1.5f;
        private final short small = -3;
        private final byte tiny = -4;
        private final String apiKey = "do not show";
        private final Object nothing = null;
        Money other;

        @Override
        public String toString() {
            throw new AssertionError("toString of an application object");
        }

        @Override
        public int hashCode() {
            throw new AssertionError("hashCode of an application object");
        }

        @Override
        public boolean equals(Object o) {
            throw new AssertionError("equals of an application object");
        }
    }

    /** A list whose methods the runtime must not call. */
    static final class Hostile extends ArrayList<String> {
        private static final long serialVersionUID = 1L;

        @Override
        public int size() {
            throw new AssertionError("size of an application list");
        }
    }

    static Map<String, Object> map(Map<String, Object> into) {
        into.put("a", 1);
        into.put("b", "two");
        into.put("password", "do not show");
        return into;
    }
}
