package com.acme.shop;

import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Places orders: price, reserve, charge, file, confirm. */
public final class OrderService {
    private final Map<String, Customer> customers;
    private final PricingEngine pricing;
    private final Inventory inventory;
    private final PaymentGateway payments = new PaymentGateway();
    private final OrderBook book = new OrderBook();
    private final ThreadPoolExecutor mailer = new ThreadPoolExecutor(
            1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> new Thread(task, "mailer-1"));

    public OrderService(Map<String, Customer> customers, PricingEngine pricing, Inventory inventory) {
        this.customers = customers;
        this.pricing = pricing;
        this.inventory = inventory;
    }

    /** Places one order; {@code quantity} is the number of pieces in the basket. */
    public Order place(String customerName, int quantity, Basket basket) {
        Tally.count("place");
        try {
            Customer customer = customer(customerName);
            if (!customer.tier().mayOrder(quantity)) {
                throw new BadRequestException(customerName + " may not order " + quantity + " pieces");
            }
            Order order = new Order(book.nextId(), customer, basket, price(customer, basket));
            for (Basket.Line line : basket.lines()) {
                inventory.reserve(line.sku, line.quantity);
            }
            payments.charge(customer, order.total());
            order.become(Order.Status.PAID);
            book.file(order);
            mailer.execute(new ConfirmationMail(order));
            Tally.count("place.ok");
            return order;
        } catch (ShopException e) {
            Tally.count("place!" + e.getClass().getSimpleName());
            throw e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    public Order find(long id) {
        Tally.count("lookup");
        return book.find(id);
    }

    private Money price(Customer customer, Basket basket) {
        Money total = Money.ZERO;
        for (Basket.Line line : basket.lines()) {
            total = total.plus(pricing.quote(line.sku, line.quantity));
        }
        return total.less(customer.tier().discountPercent);
    }

    private Customer customer(String name) {
        Customer customer = customers.get(name);
        if (customer == null) {
            throw new BadRequestException("no customer " + name);
        }
        return customer;
    }

    /** Waits until all mails are sent. */
    void close() throws InterruptedException {
        mailer.shutdown();
        mailer.awaitTermination(1, TimeUnit.MINUTES);
    }
}
