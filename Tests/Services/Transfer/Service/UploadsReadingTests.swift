import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// Reads of uploads, also of uploads that consist of several files.
@Suite(.tags(.database, .processes)) struct UploadsReading {
    @Test func `ranges of a concatenated upload cross file boundaries`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        // Files of 5, 0, 300,000 and again 5 bytes.
        let (large, small) = (noise(300_000, seed: 1), noise(5, seed: 2))
        var parts: [String] = []
        for bytes in [small, ByteBuffer(), large] {
            let path = try await replica.begin(["Upload-Length": "\(bytes.readableBytes)", "Upload-Concat": "partial"])
            let headers = [
                "Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream", "Upload-Offset": "0",
            ]
            #expect(try await replica.send(.PATCH, path, headers, bytes).status == 204)
            parts.append(path)
        }
        let path = try await replica.begin(["Upload-Concat": "final;" + (parts + [parts[0]]).joined(separator: " ")])
        let whole = [small, large, small].flatMap { Array($0.readableBytesView) }
        let size = whole.count
        for path in [path, path.replacing("/files/", with: "/uploads/")] {
            let all = try await replica.send(.GET, path)
            #expect(all.status == 200 && Array(all.body.readableBytesView) == whole)
            #expect(all["Accept-Ranges"] == "bytes" && all["Content-Length"] == "\(size)")
            #expect(all["Content-Disposition"] == "attachment" && all["Content-Type"] == "application/octet-stream")
            for range in [0..<1, 4..<6, 5..<300_005, 3..<300_009, 300_004..<size, size - 1..<size] {
                let headers = ["Range": "bytes=\(range.lowerBound)-\(range.upperBound - 1)"]
                let part = try await replica.send(.GET, path, headers)
                #expect(part.status == 206 && Array(part.body.readableBytesView) == Array(whole[range]), "\(range)")
                #expect(part["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)")
            }
            let several = try await replica.send(.GET, path, ["Range": "bytes=3-6,-7"])
            let boundary = try #require(several["Content-Type"]?.split(separator: "boundary=").last)
            var want: [UInt8] = []
            for range in [3..<7, size - 7..<size] {
                let head = "Content-Type: application/octet-stream\r\nContent-Range: bytes "
                want += Array("\(want.isEmpty ? "" : "\r\n")--\(boundary)\r\n\(head)".utf8)
                want += Array("\(range.lowerBound)-\(range.upperBound - 1)/\(size)\r\n\r\n".utf8) + whole[range]
            }
            want += Array("\r\n--\(boundary)--\r\n".utf8)
            #expect(several.status == 206 && Array(several.body.readableBytesView) == want)
        }
    }

    @Test func `reads of uploads support preconditions and digests`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let path = try await replica.begin(["Upload-Length": "10"], "0123456789")
        let etag = try #require(try await replica.send(.GET, path)["ETag"])
        let other = try await replica.begin(["Upload-Length": "1"], "0")
        #expect(try await replica.send(.GET, other)["ETag"] != etag)
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let rows: [([String: String], Int, String?)] = [
            (["If-None-Match": etag], 304, nil), (["If-Match": etag], 200, "0123456789"),
            (["If-Match": "\"other\""], 412, nil), (["If-None-Match": "\"other\""], 200, "0123456789"),
            (["Range": "bytes=2-3", "If-Range": etag], 206, "23"),
            (["Range": "bytes=2-3", "If-Range": "\"other\""], 200, "0123456789"),
            // An upload has no date, so conditions on dates are ignored.
            (["Range": "bytes=2-3", "If-Range": date], 200, "0123456789"),
            (["Range": "bytes=2-3", "If-Range": "no date"], 200, "0123456789"),
            (["If-Unmodified-Since": date], 200, "0123456789"), (["If-Modified-Since": date], 200, "0123456789"),
            (["Range": "bytes=10-"], 416, nil),
        ]
        for (headers, status, body) in rows {
            let answer = try await replica.send(.GET, path, headers)
            #expect(answer.status == status, "\(headers)")
            if let body { #expect(String(buffer: answer.body) == body, "\(headers)") }
            #expect(answer["Last-Modified"] == nil)
            if status == 416 { #expect(answer["Content-Range"] == "bytes */10") }
        }
        func field(_ text: String) -> String {
            "sha-256=:" + Data(SHA256.hash(data: Array(text.utf8))).base64EncodedString() + ":"
        }
        let wishes = ["Want-Repr-Digest": "sha-256=1", "Want-Content-Digest": "sha-256=1"]
        let whole = try await replica.send(.GET, path, wishes)
        #expect(whole["Repr-Digest"] == field("0123456789") && whole["Content-Digest"] == field("0123456789"))
        let part = try await replica.send(.GET, path, wishes.merging(["Range": "bytes=2-3"]) { $1 })
        #expect(part["Repr-Digest"] == field("0123456789") && part["Content-Digest"] == field("23"))
    }

    /// In both protocols HEAD asks for the offset of an upload, so it ignores ranges and preconditions.
    @Test func `HEAD describes the upload and not its content`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let path = try await replica.begin(["Upload-Length": "10"], "0123456789")
        let wishes = ["Range": "bytes=0-1", "If-None-Match": "*", "Want-Repr-Digest": "sha-256=1"]
        let tus = try await replica.tus(.HEAD, path, wishes)
        #expect(tus.status == 200 && tus["Upload-Offset"] == "10" && tus["Repr-Digest"] == nil)
        let draft = try await replica.draft("8", .HEAD, path.replacing("/files/", with: "/uploads/"), wishes)
        #expect(draft.status == 204 && draft["Upload-Offset"] == "10" && draft["Content-Range"] == nil)
    }
}
