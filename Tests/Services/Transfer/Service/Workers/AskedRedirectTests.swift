import Foundation
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Redirects by the reading of the source document: the delegate decides. Workers are real.
@Suite(.tags(.database, .processes), .serialized) struct AskedRedirects {
    @Test(arguments: [("follow", 200), ("refuse", 302)])
    func `the delegate decides about a redirect`(disposition: String, code: Int) async throws {
        let server = try await ScriptedServer.start([
            "/": [status(302, "Location: /there")], "/there": [answer(200, [], "there")],
        ])
        let profiles = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        try Data(#"{"readings":{"redirects":"document"}}"#.utf8).write(to: profiles)
        defer { try? FileManager.default.removeItem(at: profiles) }
        let (suite, transfer) = try await TransferSuite.start(
            origins: [server.origin], settings: ["--profiles-file", profiles.path])
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        try await suite.download(server.url("/"))
        try await suite.task(1, until: "asks its delegate") { $0["waiting"]?.string == "waitingForDelegate" }
        #expect(server.requests("/there").isEmpty)
        try await suite.call(
            .POST, suite.transferPort, Downloads.session("phone") + "/tasks/1/redirect",
            #"{"disposition":"\#(disposition)"}"#)
        let done = try await suite.completed(1)
        #expect(done["error"] == .null && done["response"]?["status"]?.int == code)
        #expect(done.ends == ["redirected", "finished"])
        #expect(server.requests("/").count == 2)
        #expect(server.requests("/there").count == (disposition == "follow" ? 1 : 0))
    }
}
