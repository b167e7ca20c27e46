/** Methods that the prover of safe calls must refuse, each for one reason, and some that it must accept. */
public final class Refused {
    static class Open {
        int read() {
            return 1;
        }
    }

    static int written;
    private int seen;
    private Open open = new Open();
    private Object any = "text";
    private int number;
    private byte[] bytes = new byte[8];
    private CharSequence text = "text";
    private Runnable task = () -> {};

    synchronized int isSynchronized() {
        return seen;
    }

    int callsSynchronized() {
        return isSynchronized();
    }

    int entersMonitor() {
        synchronized (this) {
            return seen;
        }
    }

    int callsSubclasses() {
        return open.read();
    }

    String callsObject() {
        return any.toString();
    }

    int callsInterface() {
        return text.length();
    }

    int writesField() {
        return ++seen;
    }

    int writesStatic() {
        written = 1;
        return 1;
    }

    byte[] writesArray() {
        bytes[0] = 1;
        return bytes;
    }

    byte[] allocatesUnbounded() {
        return new byte[number];
    }

    byte[] allocatesDoubled() {
        int length = 1;
        for (int i = 0; i < bytes.length; i++) {
            length *= 2;
        }
        return new byte[length];
    }

    int loopsUnbounded() {
        int sum = 0;
        for (int i = 0; i < number; i++) {
            sum += i;
        }
        return sum;
    }

    int loopsForever() {
        int i = 0;
        while (bytes.length > 0) {
            i += 2;
        }
        return i;
    }

    int loopsBack() {
        int sum = 0;
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] == 0) {
                i -= 1;
            }
            sum++;
        }
        return sum;
    }

    int loopsFromAnywhere() {
        int sum = 0;
        for (int i = number; i < bytes.length; i++) {
            sum++;
        }
        return sum;
    }

    int loopsSquared() {
        int sum = 0;
        for (int i = 0; i < bytes.length; i++) {
            for (int j = 0; j < bytes.length; j++) {
                sum++;
            }
        }
        return sum;
    }

    String doubles() {
        String made = "x";
        for (int i = 0; i < 40; i++) {
            made = new StringBuilder().append(made).append(made).toString();
        }
        return made;
    }

    int recurs() {
        return seen == 0 ? 0 : recurs();
    }

    int callsNative() {
        return Runtime.getRuntime().availableProcessors();
    }

    int initializesMore() {
        return Starting.read();
    }

    Object makesLambda() {
        return (Runnable) () -> {};
    }

    boolean takesObject(Object other) {
        return other == this;
    }

    int reads() {
        return seen + bytes[0];
    }

    byte[] copies() {
        byte[] copy = new byte[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            copy[i] = bytes[i];
        }
        return copy;
    }

    int countsDown() {
        int sum = 0;
        for (int i = bytes.length - 1; i >= 0; i--) {
            sum += bytes[i];
        }
        return sum;
    }

    int locksOwn() {
        Object own = new Object();
        synchronized (own) {
            return seen;
        }
    }

    String appends() {
        return new StringBuilder().append(seen).append("/").append(number).toString();
    }

    static final class Starting {
        static Thread started = Thread.currentThread();

        static int read() {
            return 1;
        }
    }
}
