import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/** Makes tasks, and passes them from thread to thread, as the lines of its standard input say. */
public class Stateful {
    /** Tracers must not call its methods. */
    static class Task {
        final int number;

        Task(int number) {
            this.number = number;
        }

        void run() {}

        @Override
        public int hashCode() {
            throw new AssertionError("hashCode of the application");
        }

        @Override
        public boolean equals(Object other) {
            throw new AssertionError("equals of the application");
        }
    }

    private final List<Task> kept = new ArrayList<>();
    private final List<WeakReference<Task>> weak = new ArrayList<>();

    void queue(Task task) {}

    void touch(Task task) {}

    private void make(int count) {
        for (int i = 0; i < count; i++) {
            Task task = new Task(i);
            kept.add(task);
            weak.add(new WeakReference<>(task));
        }
    }

    /** Each task is queued by this thread, and run by several other threads. */
    private void tasks(int count, int threads, int rounds) throws Exception {
        make(count);
        for (Task task : kept) {
            queue(task);
        }
        List<Thread> started = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            started.add(new Thread(() -> {
                for (int round = 0; round < rounds; round++) {
                    for (Task task : kept) {
                        task.run();
                    }
                }
            }));
        }
        for (Thread thread : started) {
            thread.start();
        }
        for (Thread thread : started) {
            thread.join();
        }
    }

    private int forget() throws Exception {
        kept.clear();
        for (int i = 0; i < 50; i++) {
            System.gc();
            Thread.sleep(20);
            if (weak.stream().allMatch(reference -> reference.get() == null)) {
                break;
            }
        }
        int alive = (int) weak.stream().filter(reference -> reference.get() != null).count();
        weak.clear();
        return alive;
    }

    public static void main(String[] arguments) throws Exception {
        Stateful stateful = new Stateful();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            int count = words.length > 1 ? Integer.parseInt(words[1]) : 0;
            switch (words[0]) {
                case "tasks":
                    stateful.tasks(count, Integer.parseInt(words[2]), Integer.parseInt(words[3]));
                    System.out.println("ran " + count);
                    break;
                case "fill":
                    stateful.make(count);
                    for (Task task : stateful.kept) {
                        stateful.touch(task);
                    }
                    System.out.println("filled " + count);
                    break;
                default:
                    System.out.println("alive " + stateful.forget());
            }
        }
    }
}
