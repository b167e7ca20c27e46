/** Another version of the traced class: same members, other code. */
public class Subject implements Runnable {
    private final String name;
    private int runs;

    public Subject() {
        this("subject");
    }

    public Subject(String name) {
        this.name = name;
    }

    public int work(int n) {
        synchronized (this) {
            for (int i = 0; i < 3; i++) {
                runs += i;
            }
        }
        return n * 1000 + name.length();
    }

    @Override
    public void run() {
        runs += 2;
    }
}
