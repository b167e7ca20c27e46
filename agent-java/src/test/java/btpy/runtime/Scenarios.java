package btpy.runtime;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;

/**
 * Scenarios of one subject. A scenario performs the steps of handlers and of the agent. It writes its results to files
 * for tests/runtime: {@code NAME.events} (payloads of EVENTS), {@code NAME.stacks}, {@code NAME.counters}, {@code
 * NAME.errors}, {@code NAME.map<id>}. It prints facts as lines {@code NAME KEY VALUE} to stdout.
 */
abstract class Scenarios {
    static final Memory MEMORY = Memory.instance();
    static final int WRITERS = 8;

    /** The entry at which {@link #enterGuarded} has marked the thread. */
    private static final ThreadLocal<Integer> MARKED = new ThreadLocal<Integer>();

    final byte[] target = new byte[1 << 19];
    Session session;
    private final File directory;
    private final Map<String, Scenario> scenarios = new LinkedHashMap<String, Scenario>();
    private String running;

    Scenarios(File directory) {
        this.directory = directory;
    }

    interface Scenario {
        void run() throws Exception;
    }

    interface Work {
        void run(int writer) throws Exception;
    }

    final void add(String name, Scenario scenario) {
        scenarios.put(name, scenario);
    }

    final Set<String> names() {
        return scenarios.keySet();
    }

    final Scenario start(String name) {
        running = name;
        return scenarios.get(name);
    }

    /** Opens the session of the scenario, with probes 0 to 15 enabled. */
    void open(Limits limits) {
        session = Session.open(limits, 4711);
        for (int probe = 0; probe < 16; probe++) {
            session.addProbe(probe);
            session.setEnabled(probe, true);
        }
    }

    static Limits defaults() {
        return new Limits(8 << 20, 200, 2, 20, 20, 32);
    }

    int site(int n) {
        return session.slot() << 24 | n;
    }

    void fact(String key, Object value) {
        System.out.println(running + " " + key + " " + value);
    }

    void write(String suffix, byte[] bytes, int count) throws IOException {
        if (bytes != null) {
            try (OutputStream out = new FileOutputStream(new File(directory, running + "." + suffix), true)) {
                out.write(bytes, 0, count);
            }
        }
    }

    void drainAll() throws IOException {
        drainAll(System.nanoTime());
    }

    void drainAll(long now) throws IOException {
        int count;
        do {
            count = session.drain(target, now);
            writeStacks();
            write("events", target, count);
        } while (count > 0);
    }

    void writeStacks() throws IOException {
        for (byte[] stacks = session.takeStacks(); stacks != null; stacks = session.takeStacks()) {
            write("stacks", stacks, stacks.length);
        }
    }

    void finish(int... maps) throws IOException {
        drainAll();
        for (int map : maps) {
            byte[] content = session.mapContent(map, false, 12 << 20);
            write("map" + map, content, content.length);
        }
        writeStacks();
        byte[] counters = session.counters();
        write("counters", counters, counters.length);
        byte[] errors = session.takeErrors();
        write("errors", errors, errors == null ? 0 : errors.length);
        session.close();
    }

    static void inParallel(final Work work) throws Exception {
        Thread[] threads = new Thread[WRITERS];
        final CyclicBarrier start = new CyclicBarrier(WRITERS);
        final List<Throwable> failures = Collections.synchronizedList(new ArrayList<Throwable>());
        for (int i = 0; i < WRITERS; i++) {
            final int writer = i;
            threads[i] = new Thread(new Runnable() {
                @Override
                public void run() {
                    try {
                        start.await();
                        work.run(writer);
                    } catch (Throwable t) {
                        failures.add(t);
                    }
                }
            }, "writer-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (Throwable failure : failures) {
            throw new AssertionError(failure);
        }
    }

    /** Makes a record as a handler does. The record requests {@code spare} bytes more than it uses. */
    void print(int probe, int spare, long... values) {
        long begin = Records.begin(session, 0, probe, site(1), 9 * values.length + spare);
        long[] words = Records.words(session, begin);
        if (words != null) {
            int at = Records.position(begin);
            int end = Records.end(begin, 9 * values.length);
            for (long value : values) {
                at = Records.putLong(at, words, end, value);
            }
            Records.commit(session, at, words, begin, end);
        }
    }

    void emit(int template, Object... values) {
        int bound = 0;
        for (Object value : values) {
            bound += Records.bound(session, value);
        }
        long begin = Records.begin(session, template, 1, site(1), bound);
        long[] words = Records.words(session, begin);
        if (words == null) {
            return;
        }
        int at = Records.position(begin);
        int end = Records.end(begin, bound);
        for (Object value : values) {
            at = Records.put(session, at, words, end, value);
        }
        Records.commit(session, at, words, begin, end);
    }

    static Session enterGuarded(int site, int probe) {
        Session enteredSession = Session.enter(site, probe);
        int entry = enteredSession == null ? -1 : Guard.enter(enteredSession, probe);
        if (entry < 0) {
            return null;
        }
        MARKED.set(entry);
        return enteredSession;
    }

    static void leave() {
        Guard.leave(MARKED.get());
    }
}
