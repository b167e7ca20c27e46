package com.acme.shop;

/** The bank declined the payment. */
public final class PaymentDeclinedException extends ShopException {
    private static final long serialVersionUID = 1L;

    private final int reason;
    private final Money amount;

    public PaymentDeclinedException(int reason, Money amount) {
        super(402, "declined, reason " + reason);
        this.reason = reason;
        this.amount = amount;
    }

    public int reason() {
        return reason;
    }

    public Money amount() {
        return amount;
    }
}
