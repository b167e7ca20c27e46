package btpy.agent;

import java.io.IOException;
import java.util.Arrays;

/** Takes the client's answers to questions about class files: WOVEN. */
final class Answers {
    private final Questions questions;
    private final Sites sites;
    private final Outbox outbox;
    private final Sweeper sweeper;
    private final JfrEvents jfr;

    Answers(Questions questions, Sites sites, Outbox outbox, Sweeper sweeper, JfrEvents jfr) {
        this.questions = questions;
        this.sites = sites;
        this.outbox = outbox;
        this.sweeper = sweeper;
        this.jfr = jfr;
    }

    void take(Payload message) throws IOException {
        Question question = questions.take(message.u4());
        if (question == null) {
            if (questions.isClosed()) {
                return;
            }
            throw new ProtocolException("WOVEN answers nothing that was asked");
        }
        try {
            weave(question, message);
        } finally {
            question.answer(null); // has an effect only after a malformed message: the thread must not keep waiting
        }
    }

    private void weave(Question question, Payload message) throws IOException {
        byte[] input = message.raw(Fingerprint.LENGTH);
        int verdict = message.u1();
        if (verdict > 1) {
            throw new ProtocolException("a verdict of " + verdict);
        }
        if (!Arrays.equals(input, question.hash)) {
            throw new ProtocolException("WOVEN was not made from the bytes of " + question.record.name);
        }
        String error = HandlerClasses.define(message, jfr);
        sites.add(question.record, message);
        byte[] classFile = message.bytes();
        message.end();
        if (verdict == 1 && classFile.length == 0) {
            throw new ProtocolException("a woven class without a class file");
        }
        question.record.failure = error;
        boolean changes = verdict == 1 && error == null;
        if (!question.answer(changes ? classFile : null) && changes) {
            question.record.overdue = true;
            sweeper.request();
        }
        if (error != null && question.isLoading()) {
            outbox.post(Transformer.late(question.record.name, question.record.loaderName, 2, error));
        }
    }
}
