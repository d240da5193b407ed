import Glibc
import NIOCore
import TestSupport
import Testing

@Suite("The figures of a load", .timeLimit(.minutes(5)))
struct FigureTests {
    @Test func `a percentile is the value of the nearest rank`() {
        let values = Array(1...200)
        #expect(nearestRank(values, 0.5) == 100)
        #expect(nearestRank(values, 0.99) == 198)
        #expect(nearestRank(values, 0) == 1)
        #expect(nearestRank(values, 1) == 200)
        #expect(nearestRank([7], 0.99) == 7)
        #expect(nearestRank([Int](), 0.5) == nil)
    }

    @Test func `the times and the parent of a process are read behind its name`() throws {
        let text =
            "4711 (postgres: a) b) S 42 4711 4711 0 -1 4194304 1 2 3 4 130 20 7 5 20 0 1 0 99 1000 25 18446744073709551615"
        let stat = try #require(ProcessStat(text))
        #expect(stat.parent == 42)
        #expect(stat.own == 150)
        #expect(stat.awaited == 12)
        #expect(ProcessStat("4711 (postgres) S 42") == nil)
        #expect(ProcessStat("") == nil)
    }

    @Test func `voluntary and involuntary context switches are added`() {
        let status = "Name:\tops\nThreads:\t4\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n"
        #expect(ProcessUsage.switches(inStatus: status) == 157)
        #expect(ProcessUsage.switches(inStatus: "") == 0)
    }

    @Test func `the usage of this process grows while it works`() throws {
        let before = try #require(ProcessUsage.of(getpid()))
        var own = before
        while own.processorSeconds == before.processorSeconds { own = try #require(ProcessUsage.of(getpid())) }
        #expect(own.processorSeconds > before.processorSeconds)
        #expect(try #require(ProcessUsage.ofFamily(getpid())).processorSeconds >= own.processorSeconds)
    }

    @Test func `an answer ends with its body`() {
        func extent(_ text: String) -> AnswerExtent? { AnswerExtent(ByteBuffer(string: text)) }
        let answer = extent("HTTP/1.1 409 Conflict\r\ncontent-length: 12\r\nDate: a\r\n\r\n{\"a\"")
        #expect(answer?.status == 409)
        #expect(answer?.bytes == "HTTP/1.1 409 Conflict\r\ncontent-length: 12\r\nDate: a\r\n\r\n".utf8.count + 12)
        #expect(extent("HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n")?.bytes == 38)
        #expect(extent("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n") == nil)
        #expect(extent("nonsense\r\n\r\n")?.status == 0)
    }
}
