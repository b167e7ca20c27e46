/** Works a prime number of times, at once and on a second thread, and exits with a status. */
public class Brief {
    static int work(int n) {
        return n * 3;
    }

    public static void main(String[] args) throws Exception {
        Thread second = new Thread(() -> {
            for (int i = 0; i < 211; i++) {
                work(i);
            }
        });
        second.start();
        for (int i = 0; i < 1009; i++) {
            work(i);
        }
        second.join();
        System.out.println("worked");
        System.exit(args.length == 0 ? 0 : Integer.parseInt(args[0]));
    }
}
