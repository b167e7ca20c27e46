package com.acme.shop;

import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.web.client.RestClient;

@Service
class OrderService {
    private final OrderRepository repository;
    private final RestClient prices;

    OrderService(OrderRepository repository, RestClient prices) {
        this.repository = repository;
        this.prices = prices;
    }

    @Transactional(readOnly = true)
    public Order find(int id) {
        return repository.findWithLinesById(id).orElseThrow();
    }

    /** Loads the lines of each order with a query of its own. */
    @Transactional(readOnly = true)
    public int countLines() {
        return repository.findTop40ByOrderById().stream().mapToInt(order -> order.lines().size()).sum();
    }

    /** Holds a connection while another service answers. */
    @Transactional
    public String reserve(int id) {
        repository.findById(id).orElseThrow();
        return prices.get().uri("/reserve/{id}", id).retrieve().body(String.class);
    }

    @Transactional(readOnly = true)
    public int report() {
        return repository.report().size();
    }
}
