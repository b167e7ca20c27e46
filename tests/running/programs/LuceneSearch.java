import java.nio.file.Paths;
import java.util.Locale;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntPoint;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.FSDirectory;

/** Indexes texts made of a fixed list of words, deletes, merges, and searches them in several ways. */
public final class LuceneSearch {
    private static final String[] WORDS =
        ("weave method class field load store invoke return throw catch monitor enter exit array cast line local frame stack"
            + " constant pool attribute loader thread probe count latency histogram key value agent session client").split(" ");

    private LuceneSearch() {}

    public static void main(String[] arguments) throws Exception {
        try (FSDirectory directory = FSDirectory.open(Paths.get("index"))) {
            IndexWriterConfig config = new IndexWriterConfig(new EnglishAnalyzer());
            config.setMergeScheduler(new SerialMergeScheduler()).setMaxBufferedDocs(53);
            try (IndexWriter writer = new IndexWriter(directory, config)) {
                long random = 42;
                for (int i = 0; i < 997; i++) {
                    StringBuilder text = new StringBuilder();
                    for (int word = 0; word < 40; word++) {
                        random = random * 6364136223846793005L + 1442695040888963407L;
                        text.append(WORDS[(int) (random >>> 33) % WORDS.length]).append(word % 9 == 8 ? ". " : " ");
                    }
                    Document document = new Document();
                    document.add(new StringField("id", "d" + i, Field.Store.YES));
                    document.add(new TextField("text", text.toString(), Field.Store.YES));
                    document.add(new IntPoint("size", text.length()));
                    document.add(new NumericDocValuesField("size", text.length()));
                    document.add(new StoredField("number", i * 1.5));
                    writer.addDocument(document);
                }
                writer.deleteDocuments(new PrefixQuery(new Term("id", "d10")));
                writer.commit();
                writer.forceMerge(2);
            }
            try (DirectoryReader reader = DirectoryReader.open(directory)) {
                IndexSearcher searcher = new IndexSearcher(reader);
                System.out.println(reader.numDocs() + " " + reader.maxDoc());
                search(searcher, new TermQuery(new Term("text", "weav")));
                search(searcher, new PhraseQuery("text", "monitor", "enter"));
                search(searcher, new PhraseQuery(3, "text", "stack", "frame"));
                search(searcher, new FuzzyQuery(new Term("text", "hystogram"), 2));
                search(searcher, new PrefixQuery(new Term("text", "lo")));
                BooleanQuery.Builder both = new BooleanQuery.Builder();
                both.add(new TermQuery(new Term("text", "agent")), BooleanClause.Occur.MUST);
                both.add(new TermQuery(new Term("text", "client")), BooleanClause.Occur.SHOULD);
                both.add(IntPoint.newRangeQuery("size", 0, 240), BooleanClause.Occur.MUST_NOT);
                search(searcher, both.build());
                TopDocs sorted = searcher.search(new TermQuery(new Term("text", "probe")), 7,
                    new Sort(new SortField("size", SortField.Type.INT), SortField.FIELD_DOC));
                for (ScoreDoc hit : sorted.scoreDocs) {
                    System.out.println("sorted " + searcher.storedFields().document(hit.doc).get("id"));
                }
            }
        }
    }

    private static void search(IndexSearcher searcher, Query query) throws Exception {
        TopDocs found = searcher.search(query, 11);
        System.out.println(query + " " + found.totalHits.value);
        for (ScoreDoc hit : found.scoreDocs) {
            Document document = searcher.storedFields().document(hit.doc);
            System.out.printf(Locale.ROOT, "  %s %.6f %s%n", document.get("id"), hit.score, document.get("number"));
        }
    }
}
