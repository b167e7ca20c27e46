package btpy.runtime;

/** What a session knows of one probe: whether it may fire, and what became of its records. */
final class Probe {
    /** Why a record was dropped. */
    static final int FULL = 0;
    static final int LARGE = 1;
    static final int MAP_FULL = 2;

    private static final Memory MEMORY = Memory.instance();
    private static final int STRIPE_BITS = 3;

    final int id;
    volatile boolean enabled;
    boolean fired;
    /** Records that the drain thread handed over, and records whose writer never finished; only that thread writes them. */
    long delivered;
    long stalled;
    private final long[] lost = new long[8 << STRIPE_BITS];

    Probe(int id) {
        this.id = id;
    }

    void lose(int cause) {
        int stripe = Threads.hash(Threads.id(), STRIPE_BITS);
        MEMORY.getAndAddLong(lost, Memory.LONG_BASE + 8L * (8 * stripe + cause), 1);
    }

    long lost(int cause) {
        long sum = 0;
        for (int stripe = 0; stripe < 1 << STRIPE_BITS; stripe++) {
            sum += MEMORY.getLongVolatile(lost, Memory.LONG_BASE + 8L * (8 * stripe + cause));
        }
        return sum;
    }
}
