package com.acme.shop;

/** An amount of money in whole cents. */
public final class Money {
    public static final Money ZERO = new Money(0, "EUR");

    private final long cents;
    private final String currency;

    private Money(long cents, String currency) {
        this.cents = cents;
        this.currency = currency;
    }

    public static Money ofCents(long cents) {
        return new Money(cents, "EUR");
    }

    public long cents() {
        return cents;
    }

    public Money plus(Money other) {
        return new Money(Math.addExact(cents, other.cents), currency);
    }

    public Money times(int quantity) {
        return new Money(Math.multiplyExact(cents, (long) quantity), currency);
    }

    /** Returns this amount minus {@code percent} percent, rounded in the shop's favour. */
    public Money less(double percent) {
        return new Money((long) Math.ceil(cents * (100.0 - percent) / 100.0), currency);
    }

    @Override
    public String toString() {
        return String.format("%d.%02d %s", cents / 100, cents % 100, currency);
    }
}
