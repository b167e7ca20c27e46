import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** Sockets and channels that connect, are refused, and send a known number of bytes. Prints the ports first. */
public final class Talking {
    private Talking() {}

    public static void main(String[] arguments) throws Exception {
        InetAddress local = InetAddress.getByName("127.0.0.1");
        try (ServerSocket server = new ServerSocket(0, 50, local);
                ServerSocketChannel channels = ServerSocketChannel.open()) {
            channels.bind(new InetSocketAddress(local, 0));
            int closed = closedPort(local);
            int channel = ((InetSocketAddress) channels.getLocalAddress()).getPort();
            System.out.println("ports " + server.getLocalPort() + " " + channel + " " + closed);
            Gate.await();
            for (int i = 0; i < 13; i++) {
                sockets(server);
            }
            for (int i = 0; i < 7; i++) {
                channels(channels);
            }
            for (int i = 0; i < 3; i++) {
                try (Socket refused = new Socket()) {
                    refused.connect(new InetSocketAddress(local, closed), 10_000);
                } catch (ConnectException e) {
                    // the expected result
                }
            }
            System.out.println("done");
            System.out.flush();
            Gate.pass();
        }
    }

    /** The client sends 101 bytes and then a single byte; the server sends 37 bytes. */
    private static void sockets(ServerSocket server) throws IOException {
        try (Socket client = new Socket(server.getInetAddress(), server.getLocalPort()); Socket other = server.accept()) {
            client.getOutputStream().write(new byte[101]);
            client.getOutputStream().write(1);
            read(other.getInputStream(), 102);
            other.getOutputStream().write(new byte[37]);
            read(client.getInputStream(), 37);
        }
    }

    /** The client sends 211 bytes; the server sends 53 bytes. */
    private static void channels(ServerSocketChannel server) throws IOException {
        try (SocketChannel client = SocketChannel.open(server.getLocalAddress()); SocketChannel other = server.accept()) {
            client.write(ByteBuffer.allocate(211));
            fill(other, 211);
            other.write(ByteBuffer.allocate(53));
            fill(client, 53);
        }
    }

    private static void read(InputStream in, int count) throws IOException {
        if (in.readNBytes(count).length != count) {
            throw new IOException("too short");
        }
    }

    private static void fill(SocketChannel channel, int count) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(count);
        while (buffer.hasRemaining()) {
            channel.read(buffer);
        }
    }

    private static int closedPort(InetAddress local) throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, local)) {
            return server.getLocalPort();
        }
    }
}
