package com.acme.shop;

import java.util.concurrent.TimeUnit;

/** The bank. */
public final class PaymentGateway {
    private static final long LIMIT_CENTS = 90_000;

    /** Charges the amount; slow for large amounts. */
    public void charge(Customer customer, Money amount) throws InterruptedException {
        Tally.count("charge");
        if (amount.cents() > LIMIT_CENTS) {
            TimeUnit.MILLISECONDS.sleep(8);
            decline(51, amount);
        }
        if (customer.name().startsWith("m") && amount.cents() % 2 == 1) {
            decline(14, amount);
        }
        customer.spend(amount);
    }

    private void decline(int reason, Money amount) {
        Tally.count("decline");
        throw new PaymentDeclinedException(reason, amount);
    }
}
