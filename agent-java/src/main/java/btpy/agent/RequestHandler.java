package btpy.agent;

import java.io.IOException;

/** Carries out the requests of one subject, on the thread of {@link Commands}. */
abstract class RequestHandler {
    private final Link link;

    RequestHandler(Link link) {
        this.link = link;
    }

    final void send(Frame frame) throws IOException {
        link.send(frame);
    }

    final void done(int id, String error) throws IOException {
        send(new Frame(Frame.DONE).u4(id).string(error));
    }
}
