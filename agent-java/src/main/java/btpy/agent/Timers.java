package btpy.agent;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

/** The handlers that the event thread runs at given times. */
final class Timers {
    private static final long SHORTEST_PERIOD_NANOS = 1_000_000L;

    static final class Timer {
        final int request;
        final int site;
        final Method fire;
        final long period;
        private long dueNanos;

        /** Creates a timer. With a {@code period} of 0 it runs once, and the agent answers {@code request}. */
        Timer(int request, int site, Method fire, long period, long dueNanos) {
            this.request = request;
            this.site = site;
            this.fire = fire;
            this.period = period;
            this.dueNanos = dueNanos;
        }

        boolean isSingle() {
            return period == 0;
        }
    }

    private final List<Timer> timers = new ArrayList<Timer>();

    synchronized void addSingle(int request, int site, Method fire) {
        timers.add(new Timer(request, site, fire, 0, System.nanoTime()));
    }

    synchronized void addPeriodic(long period, int site, Method fire) {
        timers.add(new Timer(0, site, fire, Math.max(SHORTEST_PERIOD_NANOS, period), System.nanoTime() + period));
    }

    /** Ends the periodic timer of a site. */
    synchronized void remove(int site) {
        for (int i = timers.size() - 1; i >= 0; i--) {
            if (timers.get(i).site == site && !timers.get(i).isSingle()) {
                timers.remove(i);
            }
        }
    }

    synchronized void removePeriodic() {
        for (int i = timers.size() - 1; i >= 0; i--) {
            if (!timers.get(i).isSingle()) {
                timers.remove(i);
            }
        }
    }

    synchronized void removeSingle() {
        for (int i = timers.size() - 1; i >= 0; i--) {
            if (timers.get(i).isSingle()) {
                timers.remove(i);
            }
        }
    }

    /** Returns a timer that is due, and sets it to its next period. Returns null if none is due. */
    synchronized Timer takeDue(long now) {
        for (int i = 0; i < timers.size(); i++) {
            Timer timer = timers.get(i);
            if (now - timer.dueNanos >= 0) {
                if (timer.isSingle()) {
                    timers.remove(i);
                } else {
                    timer.dueNanos += timer.period * (1 + (now - timer.dueNanos) / timer.period);
                }
                return timer;
            }
        }
        return null;
    }

    /** The time until the next timer is due, at most {@code most}. */
    synchronized long nanosUntilDue(long now, long most) {
        long nanos = most;
        for (int i = 0; i < timers.size(); i++) {
            nanos = Math.min(nanos, timers.get(i).dueNanos - now);
        }
        return nanos;
    }
}
