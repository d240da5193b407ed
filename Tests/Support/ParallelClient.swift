public import AsyncHTTPClient

/// Runs `body` with a client that opens up to 64 connections to a host. The shared client opens eight.
public func withParallelClient<Value: Sendable>(
    _ body: (HTTPClient) async throws -> Value
) async throws -> Value {
    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let value: Value
    do { value = try await body(client) } catch {
        try? await client.shutdown()
        throw error
    }
    try await client.shutdown()
    return value
}
