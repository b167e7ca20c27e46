import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;

/** Handles values that only the user's own settings make secret. Secrets contain the word Hush, other values do not. */
public class OwnSecrets {
    static class Person {
        final String name = "alice";
        final String customerNumber = "Hush-in-a-field";
        private final String taxId = "Hush-in-a-bean";

        String getTaxId() {
            return taxId;
        }
    }

    static final class Customer extends Person {
        final String note = "alice has AC-Hush123456789 today";
        private String tariff = "";

        void setTariff(String tariff) {
            this.tariff = tariff;
        }
    }

    static String order(String customerNumber, Customer customer) {
        return customer.name;
    }

    static void note(String text) {}

    static void headers(Map<String, String> values, Properties properties) {}

    static void fail(String user) {
        throw new IllegalStateException("order of " + user + " failed: tax-id=Hush-in-a-message, AC-Hush987654321");
    }

    static int locals(String user) {
        String customerNumber = "Hush-in-a-local";
        return user.length() + customerNumber.length(); // the line of the local variables
    }

    public static void main(String[] args) {
        Map<String, String> values = new LinkedHashMap<>();
        values.put("user", "alice");
        values.put("Customer-Number", "Hush-in-a-map");
        Properties properties = new Properties();
        properties.put("billing.customerNumber", "Hush-in-properties");
        StringBuilder filler = new StringBuilder();
        while (filler.length() < 190) {
            filler.append("alice, ");
        }
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            int calls = Integer.parseInt(lines.nextLine());
            for (int i = 0; i < calls; i++) {
                Customer customer = new Customer();
                order("Hush-in-a-parameter", customer);
                note("alice: customerNumber=Hush-in-a-text&page=2");
                note("{\"name\":\"alice\",\"customer_number\":\"Hush in JSON\",\"page\":2}");
                note("https://example.org/alice?url=x&customerNumber=Hush-in-a-query&page=2");
                note("alice paid with AC-Hush123456789, twice: AC-Hush123456780");
                note("AC-Hush123456789");
                note("alice has 20 \u20ac of AC-Hush123456789 and customerNumber: Hush-in-wide");
                note(filler + "AC-Hush123456789");
                headers(values, properties);
                customer.getTaxId();
                customer.setTariff("Hush-in-an-assignment");
                locals("alice");
                try {
                    fail("alice");
                } catch (IllegalStateException expected) {
                    // the call of `fail` is there to throw this
                }
            }
            System.out.println("called " + calls);
        }
    }
}
