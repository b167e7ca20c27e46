package btpy.runtime;

/**
 * An application whose loop HotSpot compiles while firings still take the slow path, because the event thread has not
 * run yet. The compiled code should already include the fast path. Before the loop starts, an agent thread runs the JIT warm-up.
 */
public final class FastPaths {
    private static final int CALLS = 300_007;

    private FastPaths() {}

    public static void main(String[] arguments) throws InterruptedException {
        Thread agent = new AgentThread(new Runnable() {
            @Override
            public void run() {
                for (int i = 0; i < 100; i++) {
                    JitWarmup.advance();
                }
            }
        }, "warm-up");
        agent.start();
        agent.join();
        Session session = Session.open(new Limits(64 << 10, 200, 2, 20, 20, 32), 1);
        session.addProbe(1);
        session.setEnabled(1, true);
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        int site = session.slot() << 24 | 1;
        tally(site);
        session.tick(System.nanoTime());
        tally(site);
        Aggregation map = session.map(0);
        System.out.println("tallied " + map.value(map.find()));
        session.close();
    }

    private static void tally(int site) {
        for (int i = 0; i < CALLS; i++) {
            Session.tally(site, 1, 0);
        }
    }
}
