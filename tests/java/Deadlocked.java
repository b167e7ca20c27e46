/** Two threads in a deadlock. */
public class Deadlocked {
    static void hold(Object first, Object second, java.util.concurrent.CountDownLatch both) {
        synchronized (first) {
            both.countDown();
            try {
                both.await();
            } catch (InterruptedException e) {
                return;
            }
            synchronized (second) {
                System.out.println("impossible");
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Object one = new Object();
        Object other = new Object();
        java.util.concurrent.CountDownLatch both = new java.util.concurrent.CountDownLatch(2);
        Thread left = new Thread(() -> hold(one, other, both), "left");
        Thread right = new Thread(() -> hold(other, one, both), "right");
        left.setDaemon(true);
        right.setDaemon(true);
        left.start();
        right.start();
        while (left.getState() != Thread.State.BLOCKED || right.getState() != Thread.State.BLOCKED) {
            Thread.yield();
        }
        System.out.println("ready");
        System.in.read();
    }
}
