package btpy.runtime;

/**
 * An application whose loop the JVM compiles while firings still go the long way, because the event thread has not looked yet: what it
 * compiles should know the short way already. After the run with no way before, once for each kind of probe.
 */
public final class ShortWays {
    private static final int CALLS = 300_007;

    private ShortWays() {}

    public static void main(String[] arguments) throws InterruptedException {
        Thread agent = new AgentThread(new Runnable() {
            @Override
            public void run() {
                for (int i = 0; i < 100; i++) {
                    Rehearsal.goOn();
                }
            }
        }, "rehearsal");
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
