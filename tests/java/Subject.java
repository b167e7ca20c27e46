/** The class that several tools trace at once. */
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
        if (n % 5 == 4) {
            throw new IllegalArgumentException("no " + n);
        }
        return n * 2 + name.length();
    }

    @Override
    public void run() {
        runs++;
    }
}
