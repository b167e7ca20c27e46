package com.acme.shop;

import java.util.List;
import java.util.Optional;
import org.springframework.data.jpa.repository.EntityGraph;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.Query;

interface OrderRepository extends JpaRepository<Order, Integer> {
    @EntityGraph(attributePaths = "lines")
    Optional<Order> findWithLinesById(int id);

    List<Order> findTop40ByOrderById();

    @Query(value = "SELECT id, PAUSE(350) FROM orders WHERE id = 7", nativeQuery = true)
    List<Object[]> report();
}
