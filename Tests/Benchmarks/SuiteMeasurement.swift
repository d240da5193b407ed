import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport

/// The loads on a ``MeasuredSuite``, one after another.
struct SuiteMeasurement: Sendable {
    private static let plainConnections = 64

    let seconds: Int
    let connections: [Int]
    let devices: Int
    let idleSeconds: Int
    let hasFleet: Bool
    /// The number of workers of Citus; 0 measures one PostgreSQL server.
    let workers: Int

    /// Starts a suite, measures, and removes everything, also after a cancellation.
    func run() async throws -> SuiteFigures {
        Report.progress("starting PostgreSQL and five services")
        let suite = try await MeasuredSuite.start(workers: workers)
        let result: Result<SuiteFigures, any Error>
        do { result = .success(try await measure(suite)) } catch { result = .failure(error) }
        try await suite.stop()
        return try result.get()
    }

    private func measure(_ suite: MeasuredSuite) async throws -> SuiteFigures {
        Report.progress("registering \(devices) devices")
        var scripts = try await register(suite)
        _ = try await CatchUp.wait(suite)
        try await Task.sleep(for: SuiteCounters.statisticsDelay)
        var loads: [SuiteLoad] = []
        for count in connections {
            Report.progress("\(count) connections")
            let (load, next) = try await measure(suite, count, scripts)
            loads.append(load)
            scripts = next
            Report.progress(
                "\(Table.number(load.commands.perSecond)) commands/s, \(Table.number(load.plain.perSecond)) plain answers/s"
            )
        }
        Report.progress("no load for \(idleSeconds) s")
        let before = try await SuiteCounters.read(suite)
        try await Task.sleep(for: .seconds(idleSeconds))
        let idle = try await SuiteCounters.read(suite) - before
        var figures = SuiteFigures(loads: loads, idle: idle)
        if hasFleet {
            // The figures of the loads are valid without the fleet.
            do { figures.fleet = try await steadyFleet(suite) } catch let failure as ChildFailed {
                figures.fleetFailure = failure.description
            }
        }
        return figures
    }

    /// Measures the plain answer, then one load with `count` connections.
    func measure(
        _ suite: MeasuredSuite, _ count: Int, _ scripts: [LoadScript]
    ) async throws -> (SuiteLoad, [LoadScript]) {
        let port = suite.port("lifecycle")
        let request = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
        let plain = try await HTTPLoad.run(
            port: port, connections: Self.plainConnections, seconds: max(1, Double(seconds) / 2),
            Array(repeating: LoadScript([request]), count: Self.plainConnections))
        let before = try await SuiteCounters.read(suite)
        let load = try await HTTPLoad.run(port: port, connections: count, seconds: Double(seconds), scripts)
        let caughtUp = try await CatchUp.wait(suite)
        var cost = try await SuiteCounters.read(suite) - before
        try await Task.sleep(for: SuiteCounters.statisticsDelay)
        let later = try await SuiteCounters.read(suite) - before
        cost.transactions = later.transactions - caughtUp.queries
        let figures = SuiteLoad(
            connections: count, plain: plain, commands: load, caughtUp: caughtUp, cost: cost,
            transactionSeconds: later.seconds)
        return (figures, load.scripts)
    }

    /// Registers devices with a running app each.
    ///
    /// - Returns: for each device the transitions of its app, with the token of the device.
    func register(_ suite: MeasuredSuite) async throws -> [LoadScript] {
        try await withParallelClient { client in
            let made = try await withThrowingTaskGroup(of: [(Int, LoadScript)].self) { group in
                for worker in 0..<64 {
                    group.addTask {
                        var made: [(Int, LoadScript)] = []
                        for number in stride(from: worker, to: devices, by: 64) {
                            made.append((number, try await register(number, suite, client)))
                        }
                        return made
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            return made.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func register(_ number: Int, _ suite: MeasuredSuite, _ client: HTTPClient) async throws -> LoadScript {
        let path = "/v1/devices/fixture-\(number)"
        let device = suite.address("lifecycle") + path
        let registered = try await send(client, .PUT, device, #"{"profile":"ios15"}"#, suite.operatorHeaders)
        guard let token = registered["token"]?.string else {
            throw ToolFailed(description: "the registration of \(path) has no token")
        }
        let own: HTTPHeaders = ["Authorization": "Bearer \(token)", "Content-Type": "application/json"]
        _ = try await send(client, .PUT, "\(device)/apps/app", #"{"backgroundModes":["fetch"]}"#, own)
        _ = try await send(client, .POST, "\(device)/apps/app/transitions", #"{"event":"launch"}"#, own)
        return suite.transitions(of: "fixture-\(number)", credential: token)
    }

    private func send(
        _ client: HTTPClient, _ method: HTTPMethod, _ url: String, _ body: String, _ headers: HTTPHeaders
    ) async throws -> JSON {
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers = headers
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await client.execute(request, timeout: .seconds(30))
        let answer = try await response.body.collect(upTo: 1 << 20)
        guard (200..<300).contains(response.status.code) else {
            throw ToolFailed(description: "\(method) \(url): \(response.status) \(String(buffer: answer))")
        }
        return (try? JSON(parsing: answer.readableBytesView)) ?? .null
    }

    /// Measures 30 s of a fleet after all its devices are registered.
    private func steadyFleet(_ suite: MeasuredSuite) async throws -> SteadyFleet {
        let devices = 500
        Report.progress("a fleet of \(devices) devices")
        let fleet = try suite.startFleet(devices: devices, rate: 60, pushesPerMinute: 600)
        try await fleet.waitForLine(containing: "· \(devices) devices ·", within: 120)
        try await Task.sleep(for: .seconds(5))
        let before = try await SuiteCounters.read(suite)
        try await Task.sleep(for: .seconds(30))
        let cost = try await SuiteCounters.read(suite) - before
        fleet.signal(SIGINT)
        let status = try await fleet.exit(within: 180)
        return SteadyFleet(
            devices: devices, cost: cost, passed: status == .exited(0), summary: fleet.output.tail(24))
    }
}
