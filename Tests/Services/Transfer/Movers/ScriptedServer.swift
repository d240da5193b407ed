import Foundation
import Synchronization

/// Gives the answers that each path has in turn, the last one again and again, and remembers what it was asked.
final class ScriptedServer: Sendable {
    private let server: CannedServer
    private let log: Log
    /// What may be fetched from.
    var origin: String { server.url("") }

    /// - Parameter script: the answers, by the path.
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

/// An answer whose connection is cut where its body is shorter than it says.
func answer(_ status: Int, _ fields: [String], _ body: String, of length: Int? = nil) -> String {
    let length = length ?? body.utf8.count
    let head = ["HTTP/1.1 \(status) Answer"] + fields + ["Content-Length: \(length)"]
    let isCut = body.utf8.count < length
    return head.joined(separator: "\r\n") + "\r\n\r\n" + body + (isCut ? CannedServer.close : "")
}
