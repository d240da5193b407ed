public import ServiceLifecycle

extension ServiceGroup {
    /// Runs the services while the body runs, then shuts them down gracefully.
    ///
    /// A service that fails cancels the body.
    /// - Parameters:
    ///   - seconds: the limit of the body in real seconds.
    ///   - body: the actions of the test with the services.
    /// - Throws: the first error of a service or of the body, or ``TimedOut``.
    public func run(seconds: Double = 180, while body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await self.run() }
            tasks.addTask {
                do { try await withTimeout(seconds: seconds, "the body", operation: body) } catch {
                    await self.triggerGracefulShutdown()
                    throw error
                }
                await self.triggerGracefulShutdown()
            }
            while try await tasks.next() != nil {}
        }
    }
}
