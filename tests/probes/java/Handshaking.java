import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.Semaphore;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/** TLS connections to a server in the same program: of two versions, resumed ones, and some that the client refuses. */
public final class Handshaking {
    /** A key that protects nothing, and its certificate for localhost until 2126. */
    private static final String STORE = ""
            + "MIID6AIBAzCCA5IGCSqGSIb3DQEHAaCCA4MEggN/MIIDezCCASIGCSqGSIb3DQEHAaCCARMEggEPMIIBCzCCAQcGCyqGSIb3"
            + "DQEMCgECoIG9MIG6MGYGCSqGSIb3DQEFDTBZMDgGCSqGSIb3DQEFDDArBBTzHN6A9499o7zseLGHQ3jyiSAEJwICJxACASAw"
            + "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEKp+XaBfhbZwkF+VbsKmFz0EUDpTLbbMTIkp/7aunJ3wx86sVSgtDUh9oUqq"
            + "k9MqCcKr2HsggmdB7PSMf5qsUX3H3usHUxpzf4nzcFATOQRnaeX3ERjHGjEACC+72JGFaQjrMTgwEwYJKoZIhvcNAQkUMQYe"
            + "BABpAHQwIQYJKoZIhvcNAQkVMRQEElRpbWUgMTc5NTc5OTEwNTY5ODCCAlEGCSqGSIb3DQEHBqCCAkIwggI+AgEAMIICNwYJ"
            + "KoZIhvcNAQcBMGYGCSqGSIb3DQEFDTBZMDgGCSqGSIb3DQEFDDArBBSrDtSnxFktFrCAedp/KykvEDhu8gICJxACASAwDAYI"
            + "KoZIhvcNAgkFADAdBglghkgBZQMEASoEECoY+Jx39j/TeV0KNYbiZWCAggHAunkKm0qM9HmyDdVBnj7hW8MqYFC8IrylejRo"
            + "OrGwUyxYgE4tNXf/1ys0EPaah0dctVtLqdLFQRgHLb8tK7H9EG2PQ3NoFSpEaN9DQbAnFucQ15k5TY+pG+5KxgNuFVClGXxQ"
            + "l+zILUMxvhEB5X1n+I7G7EAhGyA0T7wUP1IN2ewt58zPS6bfyayKn50DNAxPYk04F/S+aBioI5TCXYelfFt86UXuXBQ2lTYs"
            + "X++GKdXozY3awLIv3WJcATqWL9n0zSosI91pHLd2N3K/Wquk67rvFYipaKlmhQCocNmMb/Dfujhpe8zELGv/DLIPmSNDZLj9"
            + "gPNy+Fdc0QZJoPZ5UZmuA7aK2y0fXkJbxUlikNU+5yYjhuQ7Or62PIMsimZZgL37MOGIh8VM/OBImEZHXU/h9R171aPPshUG"
            + "yKCpL+0gqVMYwUo760fv8hCeQkF6moIEfSGllMiPyxcpmJ630FuxzHWrEuWGpfWgC53uLLkROm1i6xPVGpp0T1tnck4pjYp9"
            + "nTkn3sJ74vQqA6vpfgVW7fUZy6R8F+DA+O4YkZqKiczVjjTLs93ryMCafHCZl5A5EaKdIbNwxMyFwLlATDBNMDEwDQYJYIZI"
            + "AWUDBAIBBQAEINQhsRd8PQtjOhv2Eu0ka9oLHQG+2j/ODma3jCyq5xZPBBS3ZyCFkwJfd5+Rl/j+h/zwGzHNvAICJxA=";

    private static final char[] PASSWORD = "nothing".toCharArray();
    private static final Semaphore SERVED = new Semaphore(0);

    private Handshaking() {}

    public static void main(String[] arguments) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(new ByteArrayInputStream(Base64.getDecoder().decode(STORE)), PASSWORD);
        SSLServerSocket server = (SSLServerSocket) context(store, store)
                .getServerSocketFactory()
                .createServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread thread = new Thread(() -> serve(server));
        thread.setDaemon(true);
        thread.start();
        Gate.await();
        for (int i = 0; i < 13; i++) {
            talk(context(null, store), server.getLocalPort(), "TLSv1.3");
        }
        SSLContext resuming = context(null, store);
        for (int i = 0; i < 1 + 7; i++) {
            talk(resuming, server.getLocalPort(), "TLSv1.2");
        }
        for (int i = 0; i < 5; i++) {
            try {
                talk(context(null, null), server.getLocalPort(), "TLSv1.2");
                throw new AssertionError("the client does not trust the server");
            } catch (IOException e) {
                SERVED.acquire();
            }
        }
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    /** {@code own}: null for a client, which needs no key. {@code trusted}: null for the certificates that the JDK trusts. */
    private static SSLContext context(KeyStore own, KeyStore trusted) throws Exception {
        KeyManagerFactory keys = null;
        if (own != null) {
            keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(own, PASSWORD);
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys == null ? null : keys.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }

    private static void talk(SSLContext context, int port, String protocol) throws Exception {
        try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("localhost", port)) {
            socket.setEnabledProtocols(new String[] {protocol});
            socket.getOutputStream().write(1);
            socket.getInputStream().read();
            SERVED.acquire();
        }
    }

    private static void serve(SSLServerSocket server) {
        while (true) {
            try (SSLSocket socket = (SSLSocket) server.accept()) {
                socket.getOutputStream().write(socket.getInputStream().read());
            } catch (IOException e) {
                // The client refuses the certificate.
            }
            SERVED.release();
        }
    }
}
