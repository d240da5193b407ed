import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// Downloads with independent clients over connections that are cut.
@Suite(.tags(.database, .processes, .stockClient), .serialized) struct StockDownloaders {
    private static let sizes = [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 4 << 20]

    @Test(arguments: [Downloader.curl, .wget, .aria2])
    func `a client resumes a cut download`(_ downloader: Downloader) async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        let folder = try Folder()
        for size in Self.sizes {
            let path = "/content/downloads/\(size)"
            let content = noise(size, seed: UInt64(size))
            _ = try await suite.send(.PUT, suite.transferPort, path, content)
            try await propertyTest(seedsFrom: UInt64(size), count: 2) { generator in
                // Each cut is after the head, and all rations together are less than the file, so all three cuts happen.
                let rations = size < 4096 ? [] : (0..<3).map { _ in Int.random(in: 1000...size / 4, using: &generator) }
                let file = "\(size)"
                try? FileManager.default.removeItem(at: folder.url.appendingPathComponent(file))
                try await RationedProxy.with(to: suite.transferPort, rations: rations) { proxy in
                    try await downloader.download(
                        "http://127.0.0.1:\(proxy.port)\(path)", to: folder.url, as: file)
                    try #require(proxy.connections.count > rations.count, "it was cut")
                    // The head of a response has less than 1,000 bytes.
                    let most = size + 1000 * proxy.connections.count
                    try #require(!downloader.isFrugal || proxy.bytes <= most, "no byte is sent twice")
                }
                let got = try Data(contentsOf: folder.url.appendingPathComponent(file))
                try #require(SHA256.hash(data: got) == SHA256.hash(data: Data(content.readableBytesView)))
            }
        }
    }

    @Test func `curl gets the ranges that it requests`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        let url = "http://127.0.0.1:\(suite.transferPort)/content/digits"
        _ = try await suite.send(.PUT, suite.transferPort, "/content/digits", ByteBuffer(string: "0123456789"))
        for (range, want) in [("0-3", "0123"), ("4-", "456789"), ("-2", "89")] {
            #expect(try await Downloader.curl.run(["-sS", "-f", "--noproxy", "*", "-r", range, url]) == want)
        }
        let parts = try await Downloader.curl.run(["-sS", "-f", "--noproxy", "*", "-r", "0-1,5-6", url])
        #expect(parts.contains("Content-Range: bytes 5-6/10\r\n\r\n56"))
    }

    @Test func `If-Range with an old validator gets the whole changed file`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        let url = "http://127.0.0.1:\(suite.transferPort)/content/changing"
        func put(_ text: String) async throws {
            _ = try await suite.send(.PUT, suite.transferPort, "/content/changing", ByteBuffer(string: text))
        }
        try await put("old old old")
        let old = try await suite.send(.GET, suite.transferPort, "/content/changing", headers: ["Range": "bytes=0-3"])
        let validators = ["ETag", "Last-Modified"].map { old.headers.first(name: $0) ?? "" }
        // The change is within the same second, but the dates differ.
        try await put("new new new")
        for validator in validators {
            let rest = ["-sS", "-f", "--noproxy", "*", "-r", "4-", "-H", "If-Range: \(validator)", url]
            #expect(try await Downloader.curl.run(rest) == "new new new", "\(validator)")
        }
    }

    @Test func `a download of 2 GiB needs bounded memory`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        let folder = try Folder()
        let source = try folder.makeSparseFile(2 << 30)
        let url = "http://127.0.0.1:\(suite.transferPort)/content/large"
        let put = ["-sS", "-f", "--noproxy", "*", "-H", "Expect:", "-T", source.path, url]
        let document =
            try JSONSerialization.jsonObject(
                with: Data(try await Downloader.curl.run(put, within: 300).utf8)) as? [String: Any]
        let sha256 = try #require(document?["sha256"] as? String)
        try #require(try await Folder.hash(source) == sha256)
        try await RationedProxy.with(to: suite.transferPort, rations: [700 << 20, 123_456_789]) { proxy in
            try await Downloader.curl.download(
                "http://127.0.0.1:\(proxy.port)/content/large", to: folder.url, as: "large", within: 300)
            #expect(proxy.connections.count > 2)
        }
        #expect(try await Folder.hash(folder.url.appendingPathComponent("large")) == sha256)
        #expect(try Memory.most(of: transfer.pid) < 256 << 20)
    }
}
