package com.acme.shop;

/** A placed order. */
public final class Order {
    /** The progress of an order. */
    public enum Status {
        NEW,
        PAID,
        CONFIRMED
    }

    private final long id;
    private final Customer customer;
    private final Basket basket;
    private final Money total;
    private volatile Status status = Status.NEW;

    Order(long id, Customer customer, Basket basket, Money total) {
        this.id = id;
        this.customer = customer;
        this.basket = basket;
        this.total = total;
    }

    public long id() {
        return id;
    }

    public Customer customer() {
        return customer;
    }

    public Basket basket() {
        return basket;
    }

    public Money total() {
        return total;
    }

    public Status status() {
        return status;
    }

    void become(Status next) {
        status = next;
    }
}
