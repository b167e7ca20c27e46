import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.ObjectMapper;
import java.util.List;

/** Jackson 3. */
public final class Jackson3 extends Mapping {
    private final ObjectMapper mapper = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        new Jackson3().run();
    }

    @Override
    String write(Object value) throws Exception {
        return mapper.writeValueAsString(value);
    }

    @Override
    byte[] writeThroughWriter(Object value) throws Exception {
        return mapper.writerFor(value.getClass()).writeValueAsBytes(value);
    }

    @Override
    <T> T read(String json, Class<T> type) throws Exception {
        return mapper.readValue(json, type);
    }

    @Override
    <T> T readThroughReader(String json, Class<T> type) throws Exception {
        return mapper.readerFor(type).readValue(json);
    }

    @Override
    List<Line> readLines(String json) throws Exception {
        return mapper.readValue(json, new TypeReference<List<Line>>() {});
    }

    @Override
    void readTree(String json) throws Exception {
        mapper.readTree(json);
    }

    @Override
    <T> T convert(Object value, Class<T> type) {
        return mapper.convertValue(value, type);
    }
}
