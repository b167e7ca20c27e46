package com.acme.shop;

/** A customer of the shop; {@code spentCents} grows with every paid order. */
public final class Customer {
    /** The level of a customer's loyalty. */
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

    /** Adds to the total that the customer has spent, and returns the new total. */
    public synchronized long spend(Money amount) {
        Tally.count("spend");
        spentCents += amount.cents();
        return spentCents;
    }
}
