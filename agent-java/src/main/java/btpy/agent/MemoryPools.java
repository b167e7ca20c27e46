package btpy.agent;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.util.ArrayList;
import java.util.List;

/**
 * The memory pools that have exceeded the threshold since the last check. The thresholds of the pools themselves belong
 * to the application and do not change.
 */
final class MemoryPools {
    private static final long INTERVAL_NANOS = 100_000_000L;

    private final List<MemoryPoolMXBean> pools = new ArrayList<MemoryPoolMXBean>();
    private final List<Boolean> fullStates = new ArrayList<Boolean>();
    private final int perMille;
    private long dueNanos;

    /**
     * The pools whose names match. Without names, the bounded pools with a usage threshold, except pools that fill up
     * between two collections.
     *
     * @throws IllegalArgumentException that names the pools when none matches
     */
    MemoryPools(ClassPattern[] names, int perMille) {
        this.perMille = perMille;
        StringBuilder all = new StringBuilder();
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            boolean matches = names.length == 0 && pool.isUsageThresholdSupported() && pool.getUsage().getMax() > 0;
            for (ClassPattern name : names) {
                matches |= name.matchesText(pool.getName());
            }
            if (matches) {
                pools.add(pool);
                fullStates.add(Boolean.FALSE);
            }
            all.append(all.length() == 0 ? "" : ", ").append(pool.getName());
        }
        if (pools.isEmpty()) {
            throw new IllegalArgumentException("no memory pool matches; this JVM has " + all);
        }
    }

    /**
     * Passes on a call for each pool that has exceeded the threshold since the last check; {@code now}:
     * System.nanoTime.
     */
    void look(Hook hook, long now, List<Hook.Call> calls) {
        if (dueNanos != 0 && now - dueNanos < 0) {
            return;
        }
        dueNanos = now + INTERVAL_NANOS | 1;
        for (int i = 0; i < pools.size(); i++) {
            MemoryUsage usage = pools.get(i).getUsage();
            if (usage == null) {
                continue; // the pool no longer exists
            }
            // A heap pool without its own limit may use the whole heap.
            long maxBytes = usage.getMax() > 0 ? usage.getMax() : Runtime.getRuntime().maxMemory();
            boolean above = usage.getUsed() / 1000 * 1000 >= maxBytes / 1000 * perMille;
            if (above && !fullStates.get(i)) {
                calls.add(hook.call(pools.get(i).getName(), usage.getUsed(), maxBytes));
            }
            fullStates.set(i, above);
        }
    }
}
