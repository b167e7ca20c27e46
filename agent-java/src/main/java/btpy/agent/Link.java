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

    boolean isCurrent(Connection candidate) {
        return connection == candidate;
    }

    void send(Frame frame) throws IOException {
        Connection currentConnection = connection;
        if (currentConnection == null) {
            throw new IOException("nobody is connected");
        }
        try {
            currentConnection.send(frame);
        } catch (IOException disconnection) {
            cut();
            throw disconnection;
        }
    }

    /** Ends the connection. The reading thread will notice the end. */
    void cut() {
        Connection currentConnection = connection;
        if (currentConnection != null) {
            currentConnection.close();
        }
    }

    /** Ends reads and writes of other threads, too. */
    void close() {
        Connection currentConnection = connection;
        connection = null;
        if (currentConnection != null) {
            currentConnection.close();
        }
    }
}
