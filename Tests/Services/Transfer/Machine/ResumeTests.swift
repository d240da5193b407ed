import Contracts
import Testing
import TransferCore

@Suite struct Resuming {
    private static func head(_ change: (inout ResponseHead) -> Void) -> ResponseHead {
        var head = ResponseHead()
        head.status = 200
        head.acceptsRanges = true
        head.contentLength = 100
        change(&head)
        return head
    }

    private static let known = head { $0.etag = "\"a\"" }

    @Test func `the validator is the strong ETag or else the date`() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(ResumeRule.validator(Self.known) == "\"a\"")
        #expect(ResumeRule.validator(Self.head { $0.etag = "W/\"a\"" }) == nil)
        #expect(
            ResumeRule.validator(
                Self.head {
                    $0.etag = "W/\"a\""; $0.lastModified = date
                }) == nil, "a date can't replace a weak tag")
        #expect(ResumeRule.validator(Self.head { $0.lastModified = date }) == date)
        #expect(
            ResumeRule.validator(
                Self.head {
                    $0.etag = "\"a\""; $0.acceptsRanges = false
                }) == nil)
        #expect(
            ResumeRule.validator(
                Self.head {
                    $0.etag = "\"a\""; $0.status = 404
                }) == nil)
        #expect(ResumeRule.validator(Self.head { _ in }) == nil)
        #expect(ResumeRule.validator(nil) == nil)
    }

    @Test func `only a response with the same bytes resumes a download`() {
        func decide(_ change: (inout ResponseHead) -> Void) -> ResumeRule.Decision {
            let head = Self.head {
                $0.status = 206
                $0.etag = "\"a\""
                $0.rangeStart = 40
                $0.completeLength = 100
                change(&$0)
            }
            return ResumeRule.decide(head, held: 40, known: Self.known)
        }
        #expect(decide { _ in } == .resume)
        #expect(decide { $0.etag = nil } == .resume)
        #expect(decide { $0.completeLength = nil } == .resume)
        #expect(decide { $0.rangeStart = 39 } == .contradiction)
        #expect(decide { $0.rangeStart = nil } == .contradiction)
        #expect(decide { $0.etag = "\"b\"" } == .contradiction)
        #expect(decide { $0.completeLength = 101 } == .contradiction)
        #expect(decide { $0.status = 200 } == .restart)
        #expect(decide { $0.status = 503 } == .restart)
        #expect(
            decide {
                $0.status = 416; $0.completeLength = 40
            } == .resume)
        #expect(
            decide {
                $0.status = 416; $0.completeLength = 30
            } == .contradiction)
        #expect(ResumeRule.decide(Self.head { $0.status = 206 }, held: 0, known: nil) == .restart)
    }
}
