package com.acme.shop;

import java.util.concurrent.locks.LockSupport;

/** A mail that waits in the mailer's queue until it is sent. */
final class ConfirmationMail implements Runnable {
    private final Order order;

    ConfirmationMail(Order order) {
        this.order = order;
    }

    @Override
    public void run() {
        Tally.count("mail");
        LockSupport.parkNanos(500_000L);
        order.become(Order.Status.CONFIRMED);
    }
}
