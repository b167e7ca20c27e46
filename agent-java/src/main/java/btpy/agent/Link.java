package btpy.agent;

import java.io.IOException;

/** The connection of the current client. An unattended session has none until another client joins it. */
final class Link {
    private volatile Connection connection;

    void open(Connection connection) {
        this.connection = connection;
    }

    boolean isOpen() {
        return connection != null;
    }

    boolean is(Connection other) {
        return connection == other;
    }

    void send(Frame frame) throws IOException {
        Connection present = connection;
        if (present == null) {
            throw new IOException("nobody is connected");
        }
        try {
            present.send(frame);
        } catch (IOException gone) {
            cut();
            throw gone;
        }
    }

    /** Ends the connection. The reading thread will notice it. */
    void cut() {
        Connection present = connection;
        if (present != null) {
            present.close();
        }
    }

    /** Ends reads and writes of other threads, too. */
    void close() {
        Connection present = connection;
        connection = null;
        if (present != null) {
            present.close();
        }
    }
}
