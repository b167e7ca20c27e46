package btpy.agent;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import sun.nio.ch.DefaultSelectorProvider;

/** Code that needs JDK 16. It is linked only there; {@code sun.nio.ch} must have been exported to the agent. */
final class Jdk16 {
    private Jdk16() {
    }

    /**
     * A blocking connection to a Unix domain socket. It uses the provider of the JDK: {@code SocketChannel.open} would
     * first search every jar of the application's class path for another provider, and use that.
     */
    static SocketChannel connect(String path) throws IOException {
        SocketChannel channel = DefaultSelectorProvider.get().openSocketChannel(StandardProtocolFamily.UNIX);
        boolean connected = false;
        try {
            channel.connect(UnixDomainSocketAddress.of(path));
            connected = true;
            return channel;
        } finally {
            if (!connected) {
                channel.close();
            }
        }
    }
}
