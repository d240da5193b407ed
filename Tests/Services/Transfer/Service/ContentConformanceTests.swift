import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// RFC 9110 and RFC 9530 over HTTP, by the table `Conformance/content.json`.
///
/// A row has the `size` of a file and the headers to `send`. The expectations are the `status`, the headers to `get` (null
/// for none), and the offsets of the bytes in `body` or `parts`.
@Suite(.tags(.database, .processes)) struct ContentConformance {
    @Test func `every row of the table gets its response`() async throws {
        let url = try #require(
            Bundle.module.url(forResource: "content", withExtension: "json", subdirectory: "Conformance"))
        let rows = try #require(try JSON(parsing: Array(try Data(contentsOf: url))).items)
        #expect(rows.count >= 130, "rows are missing")
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        var files: [Int: ContentFile] = [:]
        for row in rows {
            let size = row["size"]?.int ?? 0
            let file: ContentFile
            if let known = files[size] { file = known } else { file = try await ContentFile.put(size, suite) }
            files[size] = file
            let method = HTTPMethod(rawValue: row["method"]?.string ?? "GET")
            let headers = (row["send"]?.members ?? []).map { ($0.name, file.filled($0.value.string ?? "")) }
            let answer = try await suite.send(
                method, suite.transferPort, file.path, headers: Dictionary(uniqueKeysWithValues: headers))
            for fault in ContentRow(row, file, answer).faults {
                Issue.record("\(row["name"]?.string ?? "?"): \(fault)")
            }
        }
    }
}

/// The differences between a response and a row of the table.
private struct ContentRow {
    private(set) var faults: [String] = []

    init(_ row: JSON, _ file: ContentFile, _ answer: HTTPAnswer) {
        let body = Array(answer.body.readableBytesView)
        check(answer.status == row["status"]?.int, "status \(answer.status)")
        for header in row["get"]?.members ?? [] {
            let want = header.value.string.map { file.filled($0, body: body) }
            let got = answer.headers.first(name: header.name)
            check(got == want, "\(header.name) is \(got ?? "absent"), not \(want ?? "absent")")
        }
        if [200, 206, 304].contains(answer.status) {
            check(answer.headers.first(name: "ETag") == file.etag, "another tag")
            check(answer.headers.first(name: "Accept-Ranges") == "bytes", "no Accept-Ranges")
        }
        if [200, 206].contains(answer.status), row["method"]?.string != "HEAD" {
            check(answer.headers.first(name: "Content-Length") == "\(body.count)", "another length")
        }
        if let want = row["body"]?.items, let from = want[0].int, let to = want[1].int {
            check(body == Array(file.bytes[from..<to]), "\(body.count) bytes that differ")
        }
        if let parts = row["parts"]?.items { checkParts(parts, file, answer, body) }
    }

    private mutating func check(_ holds: Bool, _ fault: String) { if !holds { faults.append(fault) } }

    /// Compares the parts byte for byte with RFC 2046. Only the boundary is free.
    private mutating func checkParts(_ parts: [JSON], _ file: ContentFile, _ answer: HTTPAnswer, _ body: [UInt8]) {
        let type = answer.headers.first(name: "Content-Type") ?? ""
        let head = "multipart/byteranges; boundary="
        guard type.hasPrefix(head) else { return faults.append("type \(type)") }
        let boundary = type.dropFirst(head.count)
        var want: [UInt8] = []
        for part in parts {
            guard let from = part[0]?.int, let to = part[1]?.int else { return faults.append("the row is wrong") }
            want += Array("\(want.isEmpty ? "" : "\r\n")--\(boundary)\r\nContent-Type: text/plain\r\n".utf8)
            want += Array("Content-Range: bytes \(from)-\(to - 1)/\(file.bytes.count)\r\n\r\n".utf8)
            want += file.bytes[from..<to]
        }
        check(body == want + Array("\r\n--\(boundary)--\r\n".utf8), "\(body.count) bytes that differ from the parts")
    }
}

/// A file of the service with its validators.
private struct ContentFile {
    let path: String
    let bytes: [UInt8]
    let etag: String
    let modified: Date

    static func put(_ size: Int, _ suite: TransferSuite) async throws -> ContentFile {
        let alphabet = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
        let bytes = (0..<size).map { alphabet[$0 % alphabet.count] }
        let path = "/content/sizes/\(size)"
        let put = try await suite.send(
            .PUT, suite.transferPort, path, headers: ["Content-Type": "text/plain"], ByteBuffer(bytes: bytes))
        try #require(put.status == 201)
        let got = try await suite.send(.HEAD, suite.transferPort, path)
        return ContentFile(
            path: path, bytes: bytes, etag: try #require(put.headers.first(name: "ETag")),
            modified: try #require(format(today).date(from: got.headers.first(name: "Last-Modified") ?? "")))
    }

    private static let today = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"

    private static func format(_ pattern: String) -> DateFormatter {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = pattern
        return formatter
    }

    /// Replaces the words in braces in a text of the table.
    func filled(_ text: String, body: [UInt8] = []) -> String {
        var text = text
        let words: [(String, () -> String)] = [
            ("{etag}", { etag }),
            ("{date}", { date(Self.today) }), ("{rfc850}", { date("EEEE, dd-MMM-yy HH:mm:ss 'GMT'") }),
            ("{asctime}", { asctime }), ("{earlier}", { date(Self.today, -1) }), ("{later}", { date(Self.today, 1) }),
            ("{sha-256 whole}", { "sha-256=:" + Data(SHA256.hash(data: bytes)).base64EncodedString() + ":" }),
            ("{sha-512 whole}", { "sha-512=:" + Data(SHA512.hash(data: bytes)).base64EncodedString() + ":" }),
            ("{sha-256 body}", { "sha-256=:" + Data(SHA256.hash(data: body)).base64EncodedString() + ":" }),
            ("{sha-512 body}", { "sha-512=:" + Data(SHA512.hash(data: body)).base64EncodedString() + ":" }),
        ]
        for (word, value) in words where text.contains(word) {
            text = text.replacingOccurrences(of: word, with: value())
        }
        return text
    }

    private func date(_ pattern: String, _ seconds: Double = 0) -> String {
        Self.format(pattern).string(from: modified.addingTimeInterval(seconds))
    }

    /// The asctime form, which pads a day of one digit with a space.
    private var asctime: String {
        let day = Int(date("d")) ?? 0
        return date("EEE MMM ") + (day < 10 ? " \(day)" : "\(day)") + date(" HH:mm:ss yyyy")
    }
}
