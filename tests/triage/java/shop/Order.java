package com.acme.shop;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.OneToMany;
import jakarta.persistence.Table;
import java.util.List;

@Entity
@Table(name = "orders")
public class Order {
    @Id
    private int id;

    private int customer;

    @OneToMany(mappedBy = "order")
    private List<Line> lines;

    int customer() {
        return customer;
    }

    List<Line> lines() {
        return lines;
    }
}
