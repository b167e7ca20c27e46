package btpy.runtime;

import java.io.File;

/** Scenarios of records in event buffers, and of requests to the event thread. */
final class BufferScenarios extends Scenarios {
    BufferScenarios(File directory) {
        super(directory);
        add("overflow", this::overflow);
        add("stuck", this::stuckWriter);
        add("requests", this::requests);
    }

    private void overflow() throws Exception {
        open(new Limits(128 << 10, 200, 2, 20, 20, 32));
        final boolean[] stop = {false};
        final Throwable[] failure = {null};
        Thread drainer = new Thread("drainer") {
            @Override
            public void run() {
                try {
                    while (!stop[0]) {
                        drainAll();
                        Thread.sleep(1);
                    }
                } catch (Throwable t) {
                    failure[0] = t;
                }
            }
        };
        drainer.start();
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 40_000; i++) {
                    print(writer, i % 5 == 0 ? 100 : 0, i, ~i);
                }
            }
        });
        stop[0] = true;
        drainer.join();
        fact("drainer", failure[0]);
        finish();
    }

    private void stuckWriter() throws Exception {
        open(new Limits(64 << 10, 200, 2, 20, 20, 32));
        long now = System.nanoTime();
        emit(0, 1);
        long stuck = Records.begin(session, 0, 2, site(1), 9);
        long[] words = Records.words(session, stuck);
        int end = Records.end(stuck, 9);
        int half = Records.putInt(Records.position(stuck), words, end, 99);
        emit(0, 2);
        drainAll(now);
        // Claims space like a writer that is stopped before it marks its claim.
        EventBuffer.Ring ring = session.events.ringOf(stuck);
        long head = ring.head();
        fact("claimed", ring.moveHead(head, head + 64));
        emit(0, 3);
        drainAll(now + EventBuffer.STALL_NANOS / 2);
        drainAll(now + EventBuffer.STALL_NANOS + 1); // closes the ring
        emit(0, 4);
        drainAll(now + EventBuffer.STALL_NANOS + 2);
        drainAll(now + 2 * EventBuffer.STALL_NANOS + 3); // gives up the unfinished records in the closed ring
        fact("late", Records.words(session, stuck) == null);
        for (int i = 0; i < 5000; i++) { // these records have many times the size of the new ring
            emit(0, 5);
            Records.commit(session, i % 2 == 0 ? Records.putInt(half, words, end, 100) : Integer.MAX_VALUE, words, stuck, end);
            if (i % 50 == 0) {
                drainAll();
            }
        }
        finish();
    }

    private void requests() throws Exception {
        open(defaults());
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        emit(0, 1);
        Request.printMaps(session, 7, "\0");
        emit(0, 2);
        Request.exit(session, 8, 3, site(5), 42);
        emit(0, 3);
        StringBuilder order = new StringBuilder();
        for (int i = 0; i < 6; i++) {
            int count = session.drain(target);
            order.append(count / 40 == 0 ? "" : "e" + (count > 40 && i == 0 ? "n" : ""));
            Request request = session.takeRequest();
            if (request != null) {
                order.append(request.kind == Request.EXIT ? "x" : "m").append(request.template).append(',').append(request.argument);
                order.append(',').append(request.probe).append(',').append(request.site & 0xFFFFFF).append(';');
            }
        }
        fact("order", order);
        for (int bound = 1000; bound >= 0; bound -= 100) {
            while (Records.begin(session, 0, 1, site(1), bound) >= 0) {
                // fills the buffers with records that are never finished
            }
        }
        Request.exit(session, 9, 3, site(5), 1);
        session.drain(target);
        Request late = session.takeRequest();
        fact("late", late == null ? "lost" : late.template);
        session.close();
    }
}
