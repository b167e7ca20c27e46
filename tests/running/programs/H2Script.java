import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;

/** An H2 database in a file: tables, indexes, joins, windows, recursion, JSON, transactions, errors, a restart. */
public final class H2Script {
    private static final String[] SCRIPT = {
        "CREATE TABLE customer(id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, born DATE, notes CLOB)",
        "CREATE TABLE item(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer INT REFERENCES customer(id),"
            + " price DECIMAL(12, 2), tags VARCHAR(20) ARRAY, data BLOB)",
        "CREATE INDEX item_price ON item(price DESC, customer)",
        "INSERT INTO customer SELECT x, 'name ' || x, DATEADD(DAY, x * 100, DATE '1970-01-01'), REPEAT('note ', x) FROM SYSTEM_RANGE(1, 97)",
        "INSERT INTO item(customer, price, tags, data) SELECT MOD(x * 31, 97) + 1, x * 1.37, ARRAY['t' || MOD(x, 7), 'all'],"
            + " CAST(REPEAT('ab', MOD(x, 50)) AS VARBINARY) FROM SYSTEM_RANGE(1, 1009) ",
        "SELECT c.name, COUNT(*) n, SUM(i.price) s, AVG(i.price) a FROM customer c JOIN item i ON i.customer = c.id"
            + " GROUP BY c.name HAVING COUNT(*) > 10 ORDER BY s DESC, c.name FETCH FIRST 11 ROWS ONLY",
        "SELECT id, price, RANK() OVER (PARTITION BY customer ORDER BY price DESC) r, LAG(price) OVER (ORDER BY id) l"
            + " FROM item WHERE customer < 4 ORDER BY id",
        "WITH RECURSIVE f(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM f WHERE b < 5000) SELECT MAX(a), COUNT(*) FROM f",
        "SELECT tags[1], COUNT(DISTINCT customer), LISTAGG(id, ',') WITHIN GROUP (ORDER BY id) FROM item WHERE id < 60"
            + " GROUP BY tags[1] ORDER BY 1",
        "SELECT JSON_OBJECT('id': id, 'name': name, 'born': CAST(born AS VARCHAR)) FROM customer WHERE id IN (2, 3, 5, 7) ORDER BY id",
        "UPDATE item SET price = price * 1.1 WHERE id IN (SELECT id FROM item WHERE customer BETWEEN 10 AND 20)",
        "DELETE FROM item WHERE REGEXP_LIKE(tags[1], 't[35]')",
        "MERGE INTO customer KEY(id) VALUES (5, 'merged', DATE '2000-02-29', NULL), (500, 'new', NULL, 'x')",
        "SELECT * FROM customer WHERE id IN (5, 500)",
        "SELECT COUNT(*), SUM(price), MIN(LENGTH(data)), MAX(LENGTH(data)) FROM item",
        "SELECT nonsense FROM customer",
        "INSERT INTO item(customer) VALUES (-1)",
        "SELECT 1 / (id - 3) FROM customer WHERE id < 5",
        "EXPLAIN SELECT * FROM item WHERE price > 100 AND customer = 7",
        "SELECT FORMATDATETIME(TIMESTAMP '2026-11-21 10:11:12', 'yyyy-MM-dd HH:mm:ss', 'en', 'UTC'), SOUNDEX('weaver'),"
            + " RAWTOHEX(HASH('SHA-256', 'x')), ROUND(SQRT(2), 12), TRANSLATE('abc', 'ab', 'xy')",
    };

    private H2Script() {}

    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:h2:./data;DB_CLOSE_DELAY=0";
        try (Connection connection = DriverManager.getConnection(url, "sa", "")) {
            for (String sql : SCRIPT) {
                execute(connection, sql);
            }
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO customer(id, name) VALUES (?, ?)")) {
                for (int i = 1000; i < 1211; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, "batch " + i);
                    insert.addBatch();
                }
                System.out.println("batch " + insert.executeBatch().length);
            }
            connection.rollback();
            execute(connection, "SELECT COUNT(*) FROM customer");
            connection.commit();
        }
        try (Connection again = DriverManager.getConnection(url, "sa", "")) {
            execute(again, "SELECT COUNT(*), MAX(id) FROM customer");
        }
    }

    private static void execute(Connection connection, String sql) {
        try (Statement statement = connection.createStatement()) {
            if (!statement.execute(sql)) {
                System.out.println("updated " + statement.getUpdateCount());
                return;
            }
            try (ResultSet rows = statement.getResultSet()) {
                ResultSetMetaData columns = rows.getMetaData();
                while (rows.next()) {
                    StringBuilder line = new StringBuilder();
                    for (int i = 1; i <= columns.getColumnCount(); i++) {
                        line.append(columns.getColumnLabel(i)).append('=').append(rows.getString(i)).append(' ');
                    }
                    System.out.println(line.toString().trim());
                }
            }
        } catch (SQLException refused) {
            System.out.println("refused " + refused.getSQLState() + " " + refused.getMessage());
        }
    }
}
