package com.acme.shop;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

@RestController
class OrderController {
    private static final Logger LOG = LoggerFactory.getLogger(OrderController.class);

    private final OrderService orders;
    private final Customers customers;
    private final Mailer mailer;
    private final RestClient prices;
    private final Faults faults;

    OrderController(OrderService orders, Customers customers, Mailer mailer, RestClient prices, Faults faults) {
        this.orders = orders;
        this.customers = customers;
        this.mailer = mailer;
        this.prices = prices;
        this.faults = faults;
    }

    record Answer(String customer, List<String> skus, String price) {}

    @GetMapping("/orders/{id}")
    Answer order(@PathVariable("id") int number) throws Exception {
        int id = 1 + number % Shop.ORDERS;
        Order order = orders.find(id);
        String customer = customers.name(order.customer());
        String price = prices.get().uri("/price/{id}", id).retrieve().body(String.class);
        CompletableFuture<String> mail = mailer.send(customer);
        faults.cause(id);
        LOG.info("order {} of {}", id, customer);
        return new Answer(mail.get(), order.lines().stream().map(Line::sku).toList(), price);
    }
}
