import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.TreeMap;

/** H2 in memory, and a known number of statements of each text: prepared, plain and failing ones. */
public final class H2Load {
    private static final Map<String, Integer> EXECUTED = new TreeMap<>();
    private static final String INSERT = "INSERT INTO item(id, name) VALUES (?, ?)";
    private static final String SELECT = "SELECT name FROM item WHERE id = ?";
    private static final String COUNT = "SELECT COUNT(*) FROM item";

    private H2Load() {}

    public static void main(String[] arguments) throws Exception {
        int inserts = Integer.parseInt(arguments[0]);
        int selects = Integer.parseInt(arguments[1]);
        int counts = Integer.parseInt(arguments[2]);
        try (Connection connection = DriverManager.getConnection("jdbc:h2:mem:shop")) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE item(id INT PRIMARY KEY, name VARCHAR(40))");
            }
            connection.prepareStatement(COUNT).close(); // loads the class of prepared statements
            Gate.await();
            int duplicates = insert(connection, inserts);
            int found = select(connection, selects, inserts);
            long items = count(connection, counts);
            EXECUTED.forEach((sql, times) -> System.out.println("executed " + times + " " + sql));
            System.out.println("duplicates " + duplicates + " found " + found + " items " + items);
            System.out.println("done");
            System.out.flush();
            Gate.pass();
        }
    }

    private static int insert(Connection connection, int times) throws SQLException {
        int duplicates = 0;
        try (PreparedStatement insert = connection.prepareStatement(INSERT)) {
            for (int i = 0; i < times; i++) {
                insert.setInt(1, i % 97);
                insert.setString(2, "item " + i);
                EXECUTED.merge(INSERT, 1, Integer::sum);
                try {
                    insert.executeUpdate();
                } catch (SQLException e) {
                    duplicates++;
                }
            }
        }
        return duplicates;
    }

    private static int select(Connection connection, int times, int below) throws SQLException {
        int found = 0;
        try (PreparedStatement select = connection.prepareStatement(SELECT)) {
            for (int i = 0; i < times; i++) {
                select.setInt(1, i * 7 % below);
                EXECUTED.merge(SELECT, 1, Integer::sum);
                try (ResultSet rows = select.executeQuery()) {
                    found += rows.next() ? 1 : 0;
                }
            }
        }
        return found;
    }

    private static long count(Connection connection, int times) throws SQLException {
        long items = 0;
        for (int i = 0; i < times; i++) {
            try (Statement statement = connection.createStatement()) {
                EXECUTED.merge(COUNT, 1, Integer::sum);
                try (ResultSet rows = statement.executeQuery(COUNT)) {
                    rows.next();
                    items = rows.getLong(1);
                }
            }
        }
        return items;
    }
}
