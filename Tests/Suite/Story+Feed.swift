import Foundation
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

extension Story {
    /// The CloudEvents SDK for Python parses each event of both media types.
    func readTheFeedWithAnothersLibrary(_ count: Int) async throws {
        let python = try await PythonEnvironment.make(["cloudevents==2.2.0"])
        let script = try #require(Bundle.module.path(forResource: "feed", ofType: "py", inDirectory: "Python"))
        for form in ["application/cloudevents-batch+json", "application/x-ndjson"] {
            let feed = try await suite.call(
                .GET, .ops, "/v1/events?device=phone&limit=1000", headers: ["Accept": form])
            #expect(feed.headers.first(name: "Content-Type") == form)
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: file) }
            try Data(feed.body.readableBytesView).write(to: file)
            #expect(try await python.run(script, [file.path]) == ["\(count)"], "\(form)")
        }
    }
}
