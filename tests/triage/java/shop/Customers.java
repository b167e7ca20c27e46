package com.acme.shop;

import org.springframework.cache.annotation.Cacheable;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;

@Service
class Customers {
    private final JdbcTemplate jdbc;

    Customers(JdbcTemplate jdbc) {
        this.jdbc = jdbc;
    }

    @Cacheable(cacheNames = "customers", sync = true)
    public String name(int customer) {
        return jdbc.queryForObject("SELECT 'customer ' || PAUSE(5) || ?", String.class, customer);
    }
}
