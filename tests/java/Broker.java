/** Formats the storage of a Kafka broker and runs the broker, in one JVM. */
public class Broker {
    public static void main(String[] arguments) {
        String properties = arguments[0];
        String[] format = {"format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", properties};
        if (kafka.tools.StorageTool.execute(format, System.out) != 0) {
            System.exit(1);
        }
        kafka.Kafka.main(new String[] {properties});
    }
}
