import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport

/// One or more processes of `transfer` with one database and one directory, to test uploads.
final class UploadsSuite: Sendable {
    let cluster: PrivateCluster
    let database: String
    let directory: URL
    private let settings: [String]

    /// A process of the suite.
    struct Replica {
        let port: Int
        let process: ChildProcess
        /// The OpenAPI document, against which all responses are checked.
        var description = APIDescription(.null)
    }

    /// - Parameters:
    ///   - settings: Further arguments of the command line.
    ///   - cluster: The database server; nil for the shared one.
    static func start(
        _ settings: [String] = [], on cluster: PrivateCluster? = nil
    ) async throws -> (UploadsSuite, Replica) {
        let cluster = if let cluster { cluster } else { try await PrivateCluster.shared() }
        let database = try await cluster.makeNamedDatabase()
        try await ChildProcess.migrate("transfer", cluster.url(database: database))
        let suite = UploadsSuite(cluster, database, settings)
        return (suite, try await suite.replica())
    }

    private init(_ cluster: PrivateCluster, _ database: String, _ settings: [String]) {
        self.cluster = cluster
        self.database = database
        self.settings = settings
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Starts another process, or a stopped one again.
    func replica(port: Int? = nil, access: [String] = ["--insecure-dev"]) async throws -> Replica {
        let (process, port) = try await ChildProcess.serve(
            "transfer", cluster.url(database: database), port: port ?? 0,
            ["--log-level", "warning", "--data-directory", directory.path] + access + settings)
        var replica = Replica(port: port, process: process)
        replica.description = try await APIDescription(replica.send(.GET, "/openapi.json").json)
        return replica
    }

    /// Ends processes. The call also keeps the suite and its directory alive until here.
    func stop(_ replicas: Replica...) { for replica in replicas { replica.process.signal(SIGTERM) } }

    /// The files of uploads on disk.
    var files: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory.appendingPathComponent("uploads").path)) ?? []
    }

    /// The number of bytes in these files.
    var bytesOnDisk: Int {
        files.reduce(0) { sum, name in
            let path = directory.appendingPathComponent("uploads/\(name)").path
            return sum + ((try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0)
        }
    }

    func sql(_ query: String) async throws -> String {
        try await cluster.sql(query, database: database).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

extension UploadsSuite.Replica {
    /// - Parameter isChunked: Whether to send the body without its length.
    func send(
        _ method: HTTPMethod, _ path: String, _ headers: [String: String] = [:], _ body: ByteBuffer? = nil,
        isChunked: Bool = false
    ) async throws -> HTTPAnswer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = method
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.body = body.map { isChunked ? .bytes($0.readableBytesView, length: .unknown) : .bytes($0) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(300))
        let answer = HTTPAnswer(
            status: Int(response.status.code), headers: response.headers,
            body: try await response.body.collect(upTo: 1 << 26))
        // An override method that the path does not have is refused as the method of the request.
        let override = headers["X-HTTP-Method-Override"].map { HTTPMethod(rawValue: $0) }
        let meant = override.flatMap { description.operation($0.rawValue, path) == nil ? nil : $0 }
        description.hold(answer, to: meant ?? method, path)
        return answer
    }

    /// Sends a request of a tus client.
    func tus(
        _ method: HTTPMethod, _ path: String, _ headers: [String: String] = [:], _ body: String? = nil
    ) async throws -> HTTPAnswer {
        var headers = headers
        if headers["Tus-Resumable"] == nil { headers["Tus-Resumable"] = "1.0.0" }
        if body != nil, headers["Content-Type"] == nil { headers["Content-Type"] = "application/offset+octet-stream" }
        return try await send(method, path, headers, body.map { ByteBuffer(string: $0) })
    }

    /// Sends a request of a client of the draft.
    func draft(
        _ version: String, _ method: HTTPMethod, _ path: String, _ headers: [String: String] = [:],
        _ body: String? = nil
    ) async throws -> HTTPAnswer {
        let own = ["Upload-Draft-Interop-Version": version].merging(headers) { $1 }
        return try await send(method, path, own, body.map { ByteBuffer(string: $0) })
    }

    /// Begins an upload by tus and returns its path.
    func begin(_ headers: [String: String], _ body: String? = nil) async throws -> String {
        let created = try await tus(.POST, "/files", headers, body)
        guard created.status == 201, let path = created.uploadPath else {
            throw Unexpected(description: "\(created.status) \(String(buffer: created.body))")
        }
        return path
    }

    /// Returns the offset from a tus HEAD.
    func offset(_ path: String) async throws -> Int? { try await tus(.HEAD, path)["Upload-Offset"].flatMap { Int($0) } }
}

extension HTTPAnswer {
    subscript(_ name: String) -> String? { headers.first(name: name) }

    /// The path of a new upload, from the URL in `Location`.
    var uploadPath: String? { self["Location"].flatMap(pathOfUpload) }
}

/// Returns the path of an absolute URL; nil for other texts.
func pathOfUpload(_ location: String) -> String? {
    guard let url = URLComponents(string: location), url.scheme != nil, url.host != nil else { return nil }
    return url.path
}

func sha256(_ buffer: ByteBuffer) -> String {
    SHA256.hash(data: Data(buffer.readableBytesView)).map { String(format: "%02x", $0) }.joined()
}
