package btpy.runtime;

import java.lang.ref.WeakReference;

/** Data of a thread that a table keeps as long as the thread lives. */
class OwnedByThread {
    /**
     * The thread, until the event thread replaces it by a weak reference. Only the event thread may allocate the weak
     * reference.
     */
    private Thread thread = Thread.currentThread();
    private WeakReference<Thread> weak;
    /** The place in {@link ThreadRows}. */
    int entry;

    /**
     * Returns whether the thread has ended. Called by the event thread. After the first call the reference to the
     * thread is weak.
     */
    final boolean isOver() {
        Thread thread = this.thread;
        if (thread != null) {
            weak = new WeakReference<Thread>(thread);
            this.thread = null;
        } else {
            thread = weak.get();
        }
        return thread == null || !thread.isAlive();
    }
}
