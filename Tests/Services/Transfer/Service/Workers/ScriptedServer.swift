import Foundation
import Synchronization
import TestSupport

/// A server with a list of responses for each path. It repeats the last response and records the requests.
final class ScriptedServer: Sendable {
    private let server: CannedServer
    private let log: Log
    /// The origin for the list of allowed origins.
    var origin: String { server.url("") }

    /// - Parameter script: The responses by path.
    static func start(_ script: [String: [String]]) async throws -> ScriptedServer {
        let log = Log()
        let server = try await CannedServer.start { request in
            let count = log.requests.withLock { requests in
                requests[request.path, default: []].append(request)
                return requests[request.path, default: []].count
            }
            let answers = script[request.path] ?? []
            return answers.prefix(count).last ?? status(404)
        }
        return ScriptedServer(server, log)
    }

    private init(_ server: CannedServer, _ log: Log) {
        self.server = server
        self.log = log
    }

    func url(_ path: String) -> String { server.url(path) }

    func requests(_ path: String) -> [CannedRequest] { log.requests.withLock { $0[path] ?? [] } }

    private final class Log: Sendable { let requests = Mutex<[String: [CannedRequest]]>([:]) }
}

/// Returns a response. The connection is cut after a body that is shorter than `length`.
func answer(_ status: Int, _ fields: [String], _ body: String, of length: Int? = nil) -> String {
    let length = length ?? body.utf8.count
    let head = ["HTTP/1.1 \(status) Answer"] + fields + ["Content-Length: \(length)"]
    let isCut = body.utf8.count < length
    return head.joined(separator: "\r\n") + "\r\n\r\n" + body + (isCut ? CannedServer.close : "")
}
