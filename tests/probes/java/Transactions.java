import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;

/** H2 in memory: statements of every kind, with literals and parameters, in transactions that are committed or not. */
public final class Transactions {
    private static final String INSERT = "INSERT INTO account(id, owner) VALUES (?, ?)";

    private Transactions() {}

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection("jdbc:h2:mem:bank")) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE account(id INT PRIMARY KEY, owner VARCHAR(40))");
            }
            PreparedStatement early = connection.prepareStatement("SELECT COUNT(*) FROM account");
            connection.setAutoCommit(false);
            Gate.await();
            try (PreparedStatement insert = connection.prepareStatement(INSERT)) {
                for (int i = 0; i < 31; i++) {
                    insert.setInt(1, i % 29);
                    insert.setString(2, "owner " + i);
                    try {
                        insert.executeUpdate();
                    } catch (SQLException e) {
                        System.out.println("failed " + e.getSQLState());
                    }
                    connection.commit();
                }
                for (int i = 0; i < 7; i++) {
                    for (int n = 0; n < 3; n++) {
                        insert.setInt(1, 100 + i * 3 + n);
                        insert.setString(2, "batch");
                        insert.addBatch();
                    }
                    insert.executeBatch();
                }
                connection.rollback();
            }
            try (Statement statement = connection.createStatement()) {
                for (int i = 0; i < 23; i++) {
                    statement.executeQuery("SELECT owner FROM account WHERE id = " + i).close();
                }
                for (int i = 0; i < 17; i++) {
                    statement.executeUpdate("UPDATE account SET owner = 'a" + i + "' WHERE id = " + i);
                }
                for (int i = 0; i < 4; i++) {
                    connection.rollback();
                }
            }
            for (int i = 0; i < 13; i++) {
                early.executeQuery().close();
            }
            System.out.println("done");
            System.out.flush();
            Gate.pass();
        }
    }
}
