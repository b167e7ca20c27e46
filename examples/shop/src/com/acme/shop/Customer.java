package com.acme.shop;

/** Somebody who buys; {@code spentCents} grows with every paid order. */
public final class Customer {
    /** What a customer's loyalty is worth. */
    public enum Tier {
        BRONZE(0.0) {
            @Override
            boolean mayOrder(int quantity) {
                return quantity <= 20;
            }
        },
        SILVER(2.5),
        GOLD(5.0);

        final double discountPercent;

        Tier(double discountPercent) {
            this.discountPercent = discountPercent;
        }

        boolean mayOrder(int quantity) {
            return quantity <= 50;
        }
    }

    private final String name;
    private final Tier tier;
    private final String apiToken;
    private long spentCents;

    public Customer(String name, Tier tier) {
        this.name = name;
        this.tier = tier;
        this.apiToken = "token-of-" + name;
    }

    public String name() {
        return name;
    }

    public Tier tier() {
        return tier;
    }

    public boolean authenticates(String token) {
        return apiToken.equals(token);
    }

    /** Adds to what the customer has spent so far and returns the new total. */
    public synchronized long spend(Money amount) {
        Tally.count("spend");
        spentCents += amount.cents();
        return spentCents;
    }
}
