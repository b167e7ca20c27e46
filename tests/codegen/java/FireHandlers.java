import btpy.runtime.AgentThread;
import btpy.runtime.Guard;
import btpy.runtime.Headroom;
import btpy.runtime.Limits;
import btpy.runtime.Request;
import btpy.runtime.Session;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** Fires handlers in a real session: reads one command per line on stdin, and writes one answer per line on stdout. */
public class FireHandlers {
    static final int SITE = 1;
    static final int[] PROBES = {0, 1, 2, 3};
    private static int capacity = 64; // the limit of keys for later maps
    static Session session;
    static byte[] records = new byte[1 << 20];

    enum Level { GOLD, SILVER }

    static class Person {
        private final String name = "Ada";
        private final Level level = Level.GOLD;
    }

    static class Order extends Person {
        private final int quantity = 7;
        private final double price = 12.5;
        private final Person customer = new Person();
        private final Person val$buyer = customer;
        private final Person nobody = null;
        private final int[] lines = {10, 20, 30};
    }

    /** Containers. Containers of 103 elements are longer than the default limit of a loop. */
    static class Basket {
        private final Map<String, Integer> hash = new HashMap<>();
        private final Map<String, Object> linked = new LinkedHashMap<>();
        private final Map<Object, Object> concurrent = new ConcurrentHashMap<>();
        private final Map<String, Integer> tree = new TreeMap<>();
        private final List<String> list = new ArrayList<>(Arrays.asList("a", "b", null, "d"));
        private final Set<String> set = new HashSet<>();
        private final List<Object> mixed = new ArrayList<>(Arrays.asList("x", 2, null, 'c', 1.5));
        private final List<Integer> longList = new ArrayList<>();
        private final int[] longArray = new int[103];
        private final int[] hugeArray = new int[10_007];
        private final byte[] bytes = {1, -1};
        private final char[] chars = {'p', 'q'};
        private final boolean[] booleans = {true, false};
        private final Level[] levels = Level.values();
        private final Map<String, Integer> view = Collections.unmodifiableMap(hash);

        Basket() {
            for (int i = 0; i < 103; i++) {
                hash.put("k" + i, i);
                set.add("k" + i);
                concurrent.put((long) i - 50, "v" + i);
                concurrent.put(i - 50, "w" + i);
                longList.add(i);
                longArray[i] = i;
            }
            // strings with equal hash codes: all are in one bucket, which ConcurrentHashMap makes a tree
            for (int i = 0; i < 32; i++) {
                StringBuilder key = new StringBuilder();
                for (int bit = 0; bit < 5; bit++) {
                    key.append((i >> bit & 1) == 0 ? "Aa" : "BB");
                }
                concurrent.put(key.toString(), i);
                hash.put(key.toString(), i);
            }
            linked.put("one", 1);
            linked.put("two", null);
            linked.put("three", 3.5);
            tree.put("t", 7);
            hugeArray[10_006] = 5;
        }
    }

    /** Links its classes with verification, and sees only the boot loader. */
    static class Handlers extends ClassLoader {
        Handlers() {
            super(null);
        }

        Class<?> define(String name, byte[] data) {
            return defineClass(name, data, 0, data.length);
        }
    }

    public static void main(String[] args) throws Exception {
        open();
        PrintStream out = new PrintStream(System.out, true, "US-ASCII");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "US-ASCII"));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = answer(line.split(" "));
            } catch (Throwable t) {
                answer = "! " + t;
            }
            out.println(answer.replace('\n', ' '));
        }
    }

    static void open() {
        session = Session.open(new Limits(1 << 20, 200, 2, 20, 20, 32, true, 0, 0, new String[0]), 4711);
        session.addSite(site(), "com.acme.Shop", "sell", "(I)V", 42, "com.acme.Order", "ship", "app");
        for (int probe : PROBES) {
            session.addProbe(probe);
            session.setEnabled(probe, true);
        }
    }

    static int site() {
        return session.slot() << 24 | SITE;
    }

    static String answer(String[] words) throws Throwable {
        switch (words[0]) {
            case "open":
                capacity = 64;
                session.close();
                Headroom.look(); // as the event thread does, because the maps of closed sessions are garbage
                open();
                return String.valueOf(site());
            case "capacity":
                capacity = number(words[1]);
                return "";
            case "map":
                long[] parameters = new long[words.length - 4];
                for (int i = 0; i < parameters.length; i++) {
                    parameters[i] = Long.parseUnsignedLong(words[4 + i]);
                }
                session.addMap(number(words[1]), number(words[2]), number(words[3]), 2, capacity, parameters);
                return "";
            case "sampling":
                double parameter = Double.parseDouble(words[3]);
                session.sampling(number(words[1]), number(words[2]), parameter, false, number(words[4]));
                return "";
            case "limit":
                session.limit(number(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]), Long.parseLong(words[4]), 0);
                session.setEnabled(number(words[1]), true);
                return "";
            case "tick":
                session.tick(System.nanoTime() + Long.parseLong(words[1]));
                return "";
            case "enable":
                session.setEnabled(number(words[1]), words[2].equals("on"));
                return "";
            case "fire":
                return fire(words);
            case "agent":
                String[] result = {null};
                Thread thread = new AgentThread(() -> result[0] = fireQuietly(words), "agent");
                thread.start();
                thread.join();
                return result[0];
            case "overflow":
                return overflow(words);
            case "prepare":
                return prepare(words);
            case "inject":
                Injection.arm(number(words[1]), number(words[2]), number(words[3]), words[4].equals("memory"));
                return "";
            case "again":
                return again();
            case "inside":
                int entry = Guard.enter(session, number(words[1]));
                marked = entry >= 0 ? entry : marked;
                return String.valueOf(entry >= 0);
            case "outside":
                Guard.leave(marked);
                return "";
            case "events":
                return events();
            case "errors":
                return hex(session.takeErrors());
            case "counters":
                return hex(session.counters());
            case "content":
                return hex(session.mapContent(number(words[1]), words.length > 2, 12 << 20));
            case "name":
                Thread.currentThread().setName(words[1]);
                return String.valueOf(Thread.currentThread().getId());
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    /** Whether the command "inside" has marked the thread. */
    static int marked;

    static String fireQuietly(String[] words) {
        try {
            return fire(words);
        } catch (Throwable t) {
            return "! " + t;
        }
    }

    /** The command is: fire NAME HEX, then the inputs after the site. */
    static String fire(String[] words) throws Throwable {
        Class<?> handler = new Handlers().define(words[1], bytes(words[2]));
        Method fire = null;
        for (Method method : handler.getDeclaredMethods()) {
            fire = method;
        }
        Class<?>[] types = fire.getParameterTypes();
        Object[] inputs = new Object[types.length];
        inputs[0] = site();
        for (int i = 1; i < types.length; i++) {
            inputs[i] = input(types[i], words[2 + i]);
        }
        try {
            Object value = fire.invoke(null, inputs);
            return fire.getReturnType() == void.class ? "void" : show(value);
        } catch (InvocationTargetException thrown) {
            return "thrown " + thrown.getCause();
        }
    }

    /** The handler that {@link #again} fires: prepare NAME HEX, then inputs after the site. */
    static String prepare(String[] words) throws Throwable {
        Class<?> handler = new Handlers().define(words[1], bytes(words[2]));
        for (Method method : handler.getDeclaredMethods()) {
            prepared = method;
        }
        Class<?>[] types = prepared.getParameterTypes();
        inputs = new Object[types.length];
        inputs[0] = site();
        for (int i = 1; i < types.length; i++) {
            inputs[i] = input(types[i], words[2 + i]);
        }
        Injection.forget();
        return "";
    }

    private static Method prepared;
    private static Object[] inputs;

    /** Fires the prepared handler. @return the result, then the result of {@link Injection#end} */
    static String again() throws Throwable {
        String answer;
        Injection.begin();
        try {
            Object value = prepared.invoke(null, inputs);
            answer = prepared.getReturnType() == void.class ? "void" : show(value);
        } catch (InvocationTargetException thrown) {
            answer = "thrown";
        }
        return answer + " " + Injection.end();
    }

    private static final int SMALL_STACK = 256 << 10;

    /**
     * Fires at every depth of a recursion that ends in a StackOverflowError, several times. Returns the number of these
     * errors, and the number of times after which the guard was not open. The last recursion is on this thread, and the
     * others are on a thread with a small stack, whose depths are soon passed.
     */
    static String overflow(String[] words) throws Throwable {
        Class<?> handler = new Handlers().define(words[1], bytes(words[2]));
        MethodHandle fire = MethodHandles.publicLookup()
            .findStatic(handler, "fire", MethodType.methodType(void.class, int.class));
        int[] counts = new int[2];
        Thread thread = new Thread(null, () -> {
            for (int i = 1; i < number(words[3]); i++) {
                overflowOnce(fire, counts);
            }
        }, "small", SMALL_STACK);
        thread.start();
        thread.join();
        overflowOnce(fire, counts);
        return counts[0] + " " + counts[1];
    }

    private static void overflowOnce(MethodHandle fire, int[] counts) {
        try {
            recurse(fire, site());
        } catch (StackOverflowError expected) {
            counts[0]++;
        } catch (Throwable unexpected) {
            throw new AssertionError(unexpected);
        }
        int entry = Guard.enter(session, 0);
        counts[1] += entry < 0 ? 1 : 0;
        Guard.leave(entry);
    }

    static void recurse(MethodHandle fire, int site) throws Throwable {
        fire.invokeExact(site);
        recurse(fire, site);
        fire.invokeExact(site);
    }

    static Object input(Class<?> type, String word) {
        if (type == boolean.class) return word.equals("1");
        if (type == char.class) return (char) number(word);
        if (type == byte.class) return (byte) number(word);
        if (type == short.class) return (short) number(word);
        if (type == int.class) return number(word);
        if (type == long.class) return Long.parseLong(word);
        if (type == float.class) return Float.intBitsToFloat(number(word));
        if (type == double.class) return Double.longBitsToDouble(Long.parseLong(word));
        int colon = word.indexOf(':');
        String text = word.substring(colon + 1);
        switch (word.substring(0, Math.max(0, colon))) {
            case "long": return Long.parseLong(text);
            case "double": return Double.longBitsToDouble(Long.parseLong(text));
            case "boolean": return Boolean.valueOf(text);
            case "char": return (char) number(text);
            case "int": return number(text);
            case "string": return text(text);
            case "a": return object(text);
            default: return null;
        }
    }

    static Object object(String kind) {
        switch (kind) {
            case "order": return new Order();
            case "basket": return new Basket();
            case "list": return new ArrayList<Object>(Arrays.asList("x", 2, null));
            case "array": return new int[] {10, 20, 30};
            case "level": return Level.SILVER;
            case "lock": return new Object();
            case "failure": return new IllegalStateException("no stock", new java.io.IOException("disk"));
            default: throw new IllegalArgumentException(kind);
        }
    }

    static String show(Object value) {
        if (value == null) return "null";
        if (value instanceof Integer) return "int:" + value;
        if (value instanceof Long) return "long:" + value;
        if (value instanceof Double) return "double:" + Double.doubleToLongBits((Double) value);
        if (value instanceof Boolean) return "boolean:" + value;
        if (value instanceof Character) return "char:" + (int) (Character) value;
        if (value instanceof String) {
            StringBuilder hex = new StringBuilder("string:");
            for (char c : ((String) value).toCharArray()) {
                hex.append(String.format("%04x", (int) c));
            }
            return hex.toString();
        }
        return "a:" + value.getClass().getName();
    }

    /** Returns the records in hexadecimal, then for each request its kind, template, probe, site and argument. */
    static String events() throws Exception {
        StringBuilder answer = new StringBuilder();
        StringBuilder requests = new StringBuilder();
        while (true) {
            int count = session.drain(records);
            answer.append(hex(Arrays.copyOf(records, count)));
            Request request = session.takeRequest();
            if (request == null && count == 0) {
                break;
            }
            if (request != null) {
                requests.append(" ").append(request.kind).append(',').append(request.template).append(',')
                    .append(request.probe).append(',').append(request.site & 0xFFFFFF).append(',').append(request.argument);
                for (int map : request.maps) {
                    requests.append(',').append(map);
                }
            }
        }
        byte[] stacks = session.takeStacks();
        return "=" + answer + " " + hex(stacks) + requests;
    }

    static int number(String word) {
        return Integer.parseInt(word);
    }

    static String text(String hex) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < hex.length(); i += 4) {
            text.append((char) Integer.parseInt(hex.substring(i, i + 4), 16));
        }
        return text.toString();
    }

    static byte[] bytes(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    static String hex(byte[] bytes) {
        if (bytes == null || bytes.length == 0) return "-";
        StringBuilder hex = new StringBuilder();
        for (byte b : bytes) {
            hex.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
        }
        return hex.toString();
    }
}
