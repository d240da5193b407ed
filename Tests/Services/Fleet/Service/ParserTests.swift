import Testing

@testable import FleetService

@Suite struct ParserTests {
    private static let text = """
        \u{FEFF}: open\r\n\r\nid: 3:17\r\ndata: {"a":1}\r\n\r\n: heartbeat\n\ndata:one\ndata:  two\nevent: more\n\n\
        id: 3:18,4:2\n\ndata\rid\r\rretry: 10\nunknown: x\ndata: é€😀\n\ndata: unfinished\n
        """

    private static let events = [
        StreamEvent(id: "3:17", event: nil, data: #"{"a":1}"#),
        StreamEvent(id: "3:17", event: "more", data: "one\n two"),
        StreamEvent(id: "", event: nil, data: ""),
        StreamEvent(id: "", event: nil, data: "é€😀"),
    ]

    @Test func `the events are the same for every split of the bytes`() throws {
        let bytes = Array(Self.text.utf8)
        for split in 0...bytes.count {
            var parser = ServerSentEventParser()
            let events = try parser.feed(bytes[..<split]) + parser.feed(bytes[split...])
            #expect(events == Self.events, "split at \(split)")
        }
        var parser = ServerSentEventParser()
        #expect(try bytes.flatMap { try parser.feed([$0]) } == Self.events)
    }

    @Test func `an id without data is still the id to resume after`() throws {
        var parser = ServerSentEventParser(lastEventID: "1:1")
        #expect(try parser.feed(Array("id: 3:18,4:2\n".utf8)).isEmpty)
        #expect(parser.lastEventID == "1:1")
        #expect(try parser.feed(Array("\n".utf8)).isEmpty)
        #expect(parser.lastEventID == "3:18,4:2")
    }

    @Test func `an event without end is refused`() throws {
        var parser = ServerSentEventParser()
        #expect(throws: StreamEventTooLarge.self) {
            for _ in 0..<20 { _ = try parser.feed(Array(repeating: UInt8(ascii: "x"), count: 65_536)) }
        }
    }
}
