import EventLog
import HTTPKit
import Testing

/// Positions of clients name the incarnation of the log.
struct IncarnationTests {
    private let first = LogIncarnation(id: "0123456789ab", isFirst: true)
    private let restored = LogIncarnation(id: "ba9876543210", isFirst: false)

    @Test func `positions of the first incarnation do not name it`() throws {
        #expect(first.marked("4:100") == "4:100")
        #expect(try first.unmarked("4:100") == "4:100")
    }

    @Test func `positions of a restored log name its incarnation`() throws {
        #expect(restored.marked("4:100,5:1") == "ba9876543210.4:100,5:1")
        #expect(try restored.unmarked("ba9876543210.4:100,5:1") == "4:100,5:1")
    }

    @Test(arguments: ["4:100", "0123456789ab.4:100", ".4:100", "ba9876543210.ba9876543210.4:100"])
    func `a restored log refuses positions of other incarnations`(position: String) {
        #expect(throws: Problem.earlierIncarnation) { try restored.unmarked(position) }
    }

    @Test func `a log that was never restored refuses positions of other logs`() {
        for position in ["ba9876543210.4:100", "0123456789ab.4:100"] {
            #expect(throws: Problem.earlierIncarnation) { try first.unmarked(position) }
        }
    }

    @Test func `the text of a position may be of any incarnation`() {
        #expect(LogIncarnation.plain("ba9876543210.4:100") == "4:100")
        #expect(LogIncarnation.plain("4:100") == "4:100")
        #expect(LogIncarnation.plain("") == "")
    }
}
