import Foundation
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// Uploads from 0 bytes to 2 GiB with independent clients over connections that are cut.
@Suite(.tags(.database, .processes, .stockClient), .serialized) struct UploadSizes {
    /// curl as a client of the draft: it begins an upload and continues from the offset of the service.
    private struct Curl: Sendable {
        let port: Int
        let file: URL

        /// Returns the heads of all responses, also if the connection was cut.
        private func run(_ arguments: [String]) async throws -> [String] {
            let fixed = ["-sS", "--noproxy", "*", "-D", "-", "-o", "/dev/null", "-H", "Expect:"]
            let version = ["-H", "Upload-Draft-Interop-Version: 8"]
            let process = try ChildProcess.start("/usr/bin/curl", fixed + version + arguments)
            _ = try await process.exit(within: 300)
            return process.output.lines
        }

        private func value(_ name: String, _ headers: [String]) -> String? {
            let line = headers.last { $0.hasPrefix(name + ": ") }
            return line?.dropFirst(name.count + 2).trimmingCharacters(in: .whitespacesAndNewlines)
        }

        /// Uploads the file with retries and returns the path of the upload.
        func upload() async throws -> String {
            let base = "http://127.0.0.1:\(port)"
            let create = ["-X", "POST", "-H", "Upload-Complete: ?1", "-T", file.path, base + "/uploads"]
            var told: String?
            for _ in 0..<30 {
                // A cut creation is known by its interim response. Without it curl begins again.
                if told == nil { told = value("Location", try await run(create)).flatMap(pathOfUpload) }
                guard let path = told else { continue }
                let head = try await run(["-I", base + path])
                guard let offset = value("Upload-Offset", head) else { continue }
                if value("Upload-Complete", head) == "?1" { return path }
                // The empty header removes the Content-Range that -C adds.
                let rest = ["-X", "PATCH", "-T", file.path, "-C", offset, "-H", "Content-Range:"]
                let state = ["Upload-Complete: ?1", "Upload-Offset: \(offset)"]
                let type = "Content-Type: application/partial-upload"
                _ = try await run(rest + (state + [type]).flatMap { ["-H", $0] } + [base + path])
            }
            throw Unexpected(description: "curl does not get it uploaded")
        }
    }

    private static let tuspy = #"""
        import sys
        from tusclient import client
        uploader = client.TusClient(sys.argv[1] + "/files").uploader(
            sys.argv[2], chunk_size=64 << 20, retries=30, retry_delay=0)
        uploader.upload()
        print(uploader.url.rsplit("/", 1)[1])
        """#

    @Test(arguments: [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
    func `curl uploads by the draft over cut connections`(size: Int) async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let folder = try Folder()
        let source = folder.url.appendingPathComponent("source")
        let bytes = noise(size, seed: UInt64(size))
        try Data(bytes.readableBytesView).write(to: source)
        try await propertyTest(seedsFrom: UInt64(size), count: 2) { generator in
            // Each cut is after the head, and all rations together are less than the file, so all three cuts happen.
            let rations = size < 4096 ? [] : (0..<3).map { _ in Int.random(in: 1000...size / 4, using: &generator) }
            try await RationedProxy.with(to: replica.port, rations: rations, .toServer) { proxy in
                let path = try await Curl(port: proxy.port, file: source).upload()
                try #require(sha256(try await replica.send(.GET, path).body) == sha256(bytes))
                try #require(proxy.connections.count > rations.count, "it was cut")
            }
        }
    }

    /// One upload is longer than `Int32.max`. Each is longer than the bound of the memory.
    @Test(arguments: [("tuspy", 2 << 30), ("curl", 768 << 20)])
    func `a long upload needs bounded memory`(_ client: String, _ size: Int) async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let folder = try Folder()
        let source = try folder.makeSparseFile(size)
        // This runs during the upload.
        let wanted = try ChildProcess.start("/bin/sh", ["-c", "sha256sum < \"$0\"", source.path])
        try await propertyTest(count: 1) { generator in
            let rations = (0..<4).map { _ in Int.random(in: 1000...size / 5, using: &generator) }
            try await RationedProxy.with(to: replica.port, rations: rations, .toServer) { proxy in
                let path =
                    client == "curl"
                    ? try await Curl(port: proxy.port, file: source).upload()
                    : "/files/" + (try await upload(source, by: "http://127.0.0.1:\(proxy.port)"))
                try #require(proxy.connections.count > rations.count, "it was cut")
                let kept = try ChildProcess.start(
                    "/bin/sh",
                    ["-c", "curl -sSf --noproxy '*' \"$0\" | sha256sum", "http://127.0.0.1:\(replica.port)\(path)"])
                try #require(try await kept.exit(within: 300) == .exited(0))
                try #require(try await wanted.exit(within: 300) == .exited(0))
                try #require(kept.output.lines == wanted.output.lines)
            }
        }
        #expect(try Memory.most(of: replica.process.pid) < 256 << 20)
    }

    private func upload(_ file: URL, by base: String) async throws -> String {
        let python = try await PythonEnvironment.make(StockUploadClients.packages)
        return try await python.run("-c", [Self.tuspy, base, file.path], within: 300).last ?? ""
    }
}
