package btpy.agent;

import btpy.runtime.Session;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** Hooks, and the calls of hooks that wait for the event thread. */
final class Hooks {
    /** The largest number of waiting calls. Further calls are counted as errors of their probes. */
    private static final int MAX_CALLS = 4096;

    private final List<Hook> hooks = new ArrayList<Hook>();
    private final ArrayDeque<Hook.Call> calls = new ArrayDeque<Hook.Call>();
    private Session session;

    synchronized void begin(Session session) {
        this.session = session;
    }

    synchronized void add(Hook hook) {
        hooks.add(hook);
    }

    synchronized void remove(int site) {
        for (int i = hooks.size() - 1; i >= 0; i--) {
            if (hooks.get(i).site == site) {
                hooks.remove(i);
            }
        }
    }

    /** Ends the hooks that watch the target. */
    synchronized void stopWatching() {
        for (int i = hooks.size() - 1; i >= 0; i--) {
            if (hooks.get(i).kind != Hook.EVENT && hooks.get(i).kind != Hook.PROBE_FAILED) {
                hooks.remove(i);
            }
        }
    }

    synchronized boolean has(int kind) {
        for (int i = 0; i < hooks.size(); i++) {
            if (hooks.get(i).kind == kind) {
                return true;
            }
        }
        return false;
    }

    synchronized void call(Hook hook, Object... facts) {
        enqueue(hook, hook.call(facts));
    }

    /** Calls the hooks of an event. */
    synchronized void send(int event) {
        for (Hook hook : hooks) {
            if (hook.kind == Hook.EVENT && hook.event == event) {
                enqueue(hook, hook.call());
            }
        }
    }

    /** Puts the answer to a request behind the calls that wait now. */
    synchronized void answerBehind(int request) {
        calls.add(new Hook.Call(null, request));
    }

    /** Calls the hooks for errors of probes; a hook is not called for its own errors. */
    synchronized void reportFailure(int probe, int position, String kind, long count, String message) {
        for (Hook hook : hooks) {
            if (hook.kind == Hook.PROBE_FAILED && hook.probe == probe) {
                return;
            }
        }
        for (Hook hook : hooks) {
            if (hook.kind == Hook.PROBE_FAILED) {
                enqueue(hook, hook.call(kind, (long) hook.line(position), count, message));
            }
        }
    }

    /** Checks the memory pools and the threads for hooks. Only the event thread calls it. */
    void check() {
        for (Hook hook : watchingHooks()) {
            List<Hook.Call> dueCalls = new ArrayList<Hook.Call>(0);
            if (hook.pools != null) {
                hook.pools.look(hook, System.nanoTime(), dueCalls);
            } else {
                String change = hook.sampler.look(hook, System.nanoTime(), dueCalls);
                if (change != null) {
                    session.sampledAtAnotherRate(hook.probe, hook.position(), change);
                }
            }
            synchronized (this) {
                for (Hook.Call call : dueCalls) {
                    enqueue(hook, call);
                }
            }
        }
    }

    private synchronized List<Hook> watchingHooks() {
        List<Hook> watchers = new ArrayList<Hook>(0);
        for (int i = 0; i < hooks.size(); i++) {
            if (hooks.get(i).pools != null || hooks.get(i).sampler != null) {
                watchers.add(hooks.get(i));
            }
        }
        return watchers;
    }

    private void enqueue(Hook hook, Hook.Call call) {
        if (calls.size() < MAX_CALLS) {
            calls.add(call);
        } else {
            session.countMissed(hook.probe);
        }
    }

    synchronized int waiting() {
        return calls.size();
    }

    synchronized Hook.Call take() {
        return calls.remove();
    }

    /** Drops the requests that wait for an answer; the calls stay. */
    synchronized void dropRequests() {
        for (int callCount = calls.size(); callCount > 0; callCount--) {
            Hook.Call call = calls.remove();
            if (call.fire != null) {
                calls.add(call);
            }
        }
    }

    /** The time until a call or a sample is due, at most {@code most}. */
    synchronized long nanosUntilDue(long now, long most) {
        long nanos = calls.isEmpty() ? most : 0;
        for (int i = 0; i < hooks.size(); i++) {
            if (hooks.get(i).sampler != null) {
                nanos = Math.min(nanos, hooks.get(i).sampler.nanosUntilDue(now));
            }
        }
        return nanos;
    }
}
