package com.acme.shop;

import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;

@Entity
public class Line {
    @Id
    private int id;

    private String sku;

    @ManyToOne(fetch = FetchType.LAZY)
    private Order order;

    String sku() {
        return sku;
    }
}
