import TestSupport
import Testing

/// The main scenario of the suite, with real processes, roles and bytes, in virtual time.
@Suite("One story through the whole suite", .tags(.database, .processes, .stockClient), .timeLimit(.minutes(6)))
struct StoryTests {
    @Test func `an app is used, refreshed, pushed, killed and relaunched for its download`() async throws {
        try await tell(try await RunningSuite.start(virtualTime: true))
    }

    @Test(.enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
    func `the story is the same on Citus`() async throws {
        try await tell(try await RunningSuite.start(virtualTime: true, workers: 2))
    }

    private func tell(_ suite: RunningSuite) async throws {
        let story = try await Story(suite)
        let token = try await story.install()
        try await story.useTheApp()
        try await story.refreshInTime()
        try await story.refreshNeverCompleted()
        let wake = try await story.pushes(to: token)
        try await story.download(during: wake)
        try await suite.waitUntilAllIsTakenIn()
        try await story.lookBack()

        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        _ = try await LogAudit.run(suite)
        try await suite.cluster.destroy()
    }
}
