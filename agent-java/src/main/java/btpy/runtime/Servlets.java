package btpy.runtime;

/**
 * Reads the content of requests and responses of Tomcat from their fields (tested with 10.1), because Tomcat's own
 * getters create strings with a cache that takes a lock. Other versions may have other fields; the error names the
 * missing field.
 */
final class Servlets {
    private static final int MOST_HEADERS = 1000;
    private static final int STRING = 1;
    private static final int BYTES = 2;
    private static final int CHARACTERS = 3;

    private Servlets() {}

    static Object call(Object target, int method, Object[] arguments) {
        boolean status = method == Substitutes.GET_STATUS;
        String owner = status ? "response" : "request";
        // An object that creates facades has a field with the last facade.
        boolean facade = Layouts.of(target).find("facade") < 0;
        Object connector = facade ? Fields.read(target, owner) : target;
        if (connector == null) {
            return null; // the request has ended
        }
        Object coyote = Fields.read(connector, status ? "coyoteResponse" : "coyoteRequest");
        if (status) {
            return Fields.read(coyote, "status");
        }
        if (method == Substitutes.GET_HEADER) {
            return header(Fields.read(coyote, "headers"), Substitutes.text(arguments[0]));
        }
        return text(Fields.read(
                coyote,
                method == Substitutes.GET_METHOD ? "methodMB" : method == Substitutes.GET_REQUEST_URI ? "uriMB" : "queryMB"));
    }

    /** Returns the value of the first header with that name. */
    private static String header(Object headers, String name) {
        Object[] fields = (Object[]) Fields.read(headers, "headers");
        long count = Math.min(Calendars.number(headers, "count"), Math.min(fields.length, MOST_HEADERS));
        for (int i = 0; i < count; i++) {
            Object field = fields[i];
            if (field != null && same(text(Fields.read(field, "nameB")), name)) {
                return text(Fields.read(field, "valueB"));
            }
        }
        return null;
    }

    private static boolean same(String header, String name) {
        int length = Strings.length(name);
        if (header == null || Strings.length(header) != length) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            if (lower(Strings.charAt(header, i)) != lower(Strings.charAt(name, i))) {
                return false;
            }
        }
        return true;
    }

    private static int lower(char c) {
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    }

    /** Returns the characters of a {@code MessageBytes}. Bytes are Latin-1, which is Tomcat's default. */
    private static String text(Object message) {
        long type = Calendars.number(message, "type");
        String cachedText = (String) Fields.read(message, "strValue");
        if (cachedText != null || type < BYTES || type > CHARACTERS) {
            return type < STRING ? null : cachedText;
        }
        Object chunk = Fields.read(message, type == BYTES ? "byteC" : "charC");
        Object buffer = Fields.read(chunk, "buff");
        if (buffer == null) {
            return null;
        }
        int start = (int) Calendars.number(chunk, "start");
        int end = (int) Math.min(Calendars.number(chunk, "end"), Values.length(buffer));
        if (start < 0 || end - start > Texts.MAX_LENGTH) {
            throw ProbeError.BUDGET;
        }
        StringBuilder text = new StringBuilder(Math.max(0, end - start));
        for (int i = start; i < end; i++) {
            text.append(type == BYTES ? (char) (((byte[]) buffer)[i] & 0xFF) : ((char[]) buffer)[i]);
        }
        return text.toString();
    }
}
