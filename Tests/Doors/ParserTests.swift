import Contracts
import EventLog
import Foundation
import HTTPKit
import HTTPTypes
import NIOHTTP1
import RandomScenarios
import Records
import ServiceKit
import Telemetry
import TestSupport
import Testing
import Timeline

@testable import FetchService
@testable import OpsService
@testable import PushService
@testable import TransferService

/// Parsers of headers, queries and paths.
@Suite struct ParserTests {
    @Test func `every header value is parsed without a trap`() throws {
        var documents = HostileDocuments(seed: 21)
        for _ in 0..<20_000 {
            let text = String(decoding: documents.nextHeaderValue(), as: UTF8.self)
            let size = documents.pick([0, 1, 10, 1 << 36])
            if case .some(let ranges) = ByteRanges(header: text, size: size) {
                #expect(ranges.allSatisfy { !$0.isEmpty && $0.lowerBound >= 0 && $0.upperBound <= size }, "\(text)")
            }
            if let moment = HTTPDate.instant(text, now: .monday) {
                #expect(HTTPDate.instant(HTTPDate.text(moment), now: .monday) == moment, "\(text)")
            }
            if let point = EncodedPosition(text) { #expect(EncodedPosition(point.description) == point, "\(text)") }
            if let place = PositionCursor(text, .newest) {
                #expect(PositionCursor(place.text, .newest)?.position == place.position)
            }
            if let letter = DeadLetterCursor(text) {
                #expect(DeadLetterCursor(letter.text)?.position == letter.position)
            }
            if let trace = Traceparent(text) { #expect(Traceparent(trace.description) == trace, "\(text)") }
            if let channel = ChannelID(text) { #expect(channel.description == text) }
            _ = EntityTags(text).matchStrongly("\"1\"")
            _ = DigestAlgorithm(wanted: text)
            _ = HTTPChallenge.parse([text]).compactMap { DigestChallenge($0) }
            _ = ReprDigest(["Repr-Digest": text])
            _ = try? UploadChecksum(header: text)
            _ = try? UploadDraftVersion([.draftVersion: text]).completes([.uploadComplete: text])
            _ = try? TusCreation([.uploadConcat: text, .uploadLength: text])
            _ = try? ProviderSession.token(text)
            _ = try? ContentPath(target: "/content/" + text)
        }
    }

    @Test func `a written instant reads back, and all are within the years 1970 to 9999`() {
        var documents = HostileDocuments(seed: 22)
        var read = 0
        for _ in 0..<5000 {
            let text = documents.pick(HostileDocuments.instants)
            guard let moment = Instant(text) else { continue }
            read += 1
            #expect(Instant.documented.contains(moment), "\(text)")
            #expect(Instant(moment.description) == moment, "\(text)")
        }
        #expect(read > 500)
    }

    @Test(arguments: [
        "", "/", "..", "../../etc/passwd", "/etc/passwd", "/etc/localtime", "GMT+99999999999999999999", "GMT-23:59",
        "UTC+25", "+99:99", "é", "\u{301}", "Europe/Zürich", String(repeating: "x", count: 64), "Europe/Zurich\u{7F}",
    ])
    func `any name of a time zone has an offset of less than a day`(name: String) {
        let offset = TimeZones().offset(name, at: .monday)
        #expect(abs(offset) < 86_400)
    }

    @Test func `a slash in a segment is refused, whatever follows it`() {
        #expect(throws: Problem.self) { try ContentPath(target: "/content/a%2Fb") }
        #expect(throws: Problem.self) { try ContentPath(target: "/content/a%2F%CC%81b") }
    }
}
