package btpy.runtime;

import java.io.File;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Scenarios of values that handlers capture: every kind of value, the limits of a capture, and values that change during the capture.
 */
final class ValueScenarios extends Scenarios {
    ValueScenarios(File directory) {
        super(directory);
        add("values", this::values);
        add("limits", this::limits);
        add("growing", this::growing);
    }

    private void values() throws Exception {
        open(new Limits(1 << 20, 200, 2, 20, 20, 32));
        long begin = Records.begin(session, 0, 1, site(1), 5 + 9 + 9 + 1 + 1 + 3);
        long[] words = Records.words(session, begin);
        int end = Records.end(begin, 5 + 9 + 9 + 1 + 1 + 3);
        int at = Records.putInt(Records.position(begin), words, end, -2);
        at = Records.putLong(at, words, end, Long.MIN_VALUE + 1);
        at = Records.putDouble(at, words, end, -0.5);
        at = Records.putBoolean(at, words, end, 1);
        at = Records.putBoolean(at, words, end, 0);
        at = Records.putChar(at, words, end, 0x20AC);
        Records.commit(session, at, words, begin, end);
        emit(1, null, "plain", "caf\u00e9", "\u20ac\ud83d\ude00", "", 5, 6L, 1.25, 2.5f, (short) 7, (byte) -8, 'x', true, false);
        emit(2, ApplicationObjects.Color.RED, ApplicationObjects.Color.GREEN, String.class);
        emit(3, new int[] {1, -1}, new long[] {2}, new byte[] {-1}, new char[] {'c'}, new boolean[] {true}, new double[] {1.5},
                new float[] {2.5f}, new short[] {-2}, new String[] {"s", null}, new int[0][0]);
        ApplicationObjects.Money money = new ApplicationObjects.Money();
        money.other = money;
        emit(4, money);
        fact("identity", System.identityHashCode(money));
        Object[] loop = new Object[1];
        loop[0] = loop;
        emit(5, (Object) loop);
        emit(6, new ArrayList<Object>(Arrays.asList(1, "x", null)), Arrays.asList(1, 2), new LinkedList<Object>(Arrays.asList(1, 2)),
                new ArrayDeque<Object>(Arrays.asList(1, 2)), Collections.singletonList(9), Collections.emptyList(),
                new HashSet<Object>(Arrays.asList(5)), Collections.singleton(6));
        emit(7, ApplicationObjects.map(new HashMap<String, Object>()), ApplicationObjects.map(new LinkedHashMap<String, Object>()),
                ApplicationObjects.map(new TreeMap<String, Object>()), ApplicationObjects.map(new ConcurrentHashMap<String, Object>()),
                Collections.singletonMap("k", 1), Collections.emptyMap());
        ApplicationObjects.Hostile hostile = new ApplicationObjects.Hostile();
        emit(8, hostile, Collections.synchronizedList(new ArrayList<Object>()));
        emit(9, Boolean.TRUE);
        finish();
    }

    private void limits() throws Exception {
        open(new Limits(1 << 20, 10, 1, 3, 2, 4));
        StringBuilder huge = new StringBuilder();
        for (int i = 0; i < 1_000_000; i++) {
            huge.append((char) ('a' + i % 26));
        }
        emit(0, huge.toString());
        emit(1, "123456789\ud83d\ude00tail");
        emit(2, new int[10_000]);
        emit(3, new ApplicationObjects.Money());
        Object[] nested = {new ApplicationObjects.Money(), new int[] {1, 2}};
        emit(4, (Object) nested);
        HashMap<String, Object> many = new HashMap<String, Object>();
        for (int i = 0; i < 1000; i++) {
            many.put("k" + i, i);
        }
        emit(5, many);
        finish();
    }

    /** A list grows between {@code bound} and {@code put}. Other values need more space than the handler requested. */
    private void growing() throws Exception {
        open(defaults());
        List<Object> list = new ArrayList<Object>();
        list.add("one");
        int bound = Records.bound(session, list) + 9;
        long begin = Records.begin(session, 0, 1, site(1), bound);
        for (int i = 0; i < 15; i++) {
            list.add("a rather long string, to take all room there is");
        }
        long[] words = Records.words(session, begin);
        int end = Records.end(begin, bound);
        Records.commit(session, Records.put(session, Records.position(begin), words, end, list), words, begin, end);
        begin = Records.begin(session, 1, 1, site(1), 5);
        words = Records.words(session, begin);
        end = Records.end(begin, 5);
        int at = Records.putInt(Records.position(begin), words, end, 1);
        Records.commit(session, Records.putLong(at, words, end, 2), words, begin, end);
        Records.begin(session, 2, 1, site(1), 10 << 20);
        begin = Records.begin(session, 3, 1, site(1), 5);
        words = Records.words(session, begin);
        end = Records.end(begin, 5);
        Records.commit(session, Records.putInt(Records.position(begin), words, end, 3), words, begin, end);
        finish();
    }
}
