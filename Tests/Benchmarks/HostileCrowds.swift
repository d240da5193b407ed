import ArgumentParser
import AsyncHTTPClient
import Attack
import Foundation
import NIOCore
import TestSupport

/// `benchmarks hostile`: what a crowd of hostile connections takes from other callers of the port that it attacks.
struct HostileCrowds: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hostile",
        abstract: "Measures honest callers of a port beside thousands of hostile connections to the same port.",
        discussion:
            """
            Starts the whole suite with the settings of deploy/up on loopback. Honest callers send commands to the port \
            that a crowd attacks, each over one connection: the transitions of an app to lifecycle, intervals to fetch, \
            switches to push, files to transfer, and notifications over HTTP/2 to the provider endpoint. Their rate is \
            measured before the crowd comes, beside it, and after it has left. The crowd uses the same processors, and \
            the figures show its share. The command fails if a crowd takes more than its bounds allow.
            """)

    @Option(help: "The number of hostile connections of each kind.")
    var hostile = 2000

    @Option(help: "The number of devices whose tokens a crowd has. A service limits the requests of each device.")
    var hostileDevices = 1

    @Option(
        help:
            """
            The number of addresses of a crowd. A service limits the invalid credentials of each. With 1, honest callers \
            have the same address.
            """)
    var hostileAddresses = 1

    @Option(help: "Measures only the kinds whose name contains this text, such as tokens.")
    var only = ""

    @Option(help: "The number of honest callers of each port.")
    var callers = 8

    @Option(help: "The requests a second of each honest caller; 0 sends the next request after each answer.")
    var rate = 20

    @Option(help: "Seconds of each measurement.")
    var seconds = 10

    private var kinds: [HostileCrowd.Kind] {
        HostileCrowd.Kind.allCases.filter { only.isEmpty || $0.rawValue.contains(only) }
    }

    func validate() throws {
        guard (1...8000).contains(hostile) else { throw ValidationError("--hostile must be from 1 to 8000") }
        guard (1...1000).contains(hostileDevices) else {
            throw ValidationError("--hostile-devices must be from 1 to 1000")
        }
        guard (1...250).contains(hostileAddresses) else {
            throw ValidationError("--hostile-addresses must be from 1 to 250")
        }
        guard !kinds.isEmpty else {
            let names = HostileCrowd.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--only must be a part of one of these: \(names)")
        }
        guard (1...500).contains(callers) else { throw ValidationError("--callers must be from 1 to 500") }
        guard (0...1000).contains(rate) else { throw ValidationError("--rate must be from 0 to 1000") }
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds must be from 1 to 600") }
    }

    func run() async throws {
        allowManyFiles()
        Report.heading("Honest callers beside \(hostile) hostile connections of each kind")
        let suite = try await MeasuredSuite.start()
        do { try await measure(suite) } catch {
            try await suite.stop()
            throw error
        }
        try await suite.stop()
    }

    private func measure(_ suite: MeasuredSuite) async throws {
        let crowded = suite.crowded()
        let targets = try await crowded.prepare(hostileDevices: hostileDevices, contentBytes: 64 << 20)
        var honest: [AttackedPort: [HonestCaller]] = [:]
        var results: [(figures: CrowdFigures, missed: [String])] = []
        for kind in kinds {
            if honest[kind.target] == nil {
                Report.progress("registering honest callers of \(kind.target.rawValue)")
                honest[kind.target] = try await makeCallers(at: kind.target, crowded)
            }
            let figures = try await figures(of: kind, honest[kind.target] ?? [], targets, suite)
            results.append((figures, figures.report()))
        }
        for caller in honest.values.joined() { await caller.leave() }
        Report.line("\nRatio to the rate alone, and latency, of honest callers beside each crowd")
        for (figures, missed) in results { figures.summarize(isKept: missed.isEmpty) }
        let missed = results.flatMap { $0.missed }
        guard missed.isEmpty else {
            throw ToolFailed(description: "bounds that were not kept: \(missed.joined(separator: ", "))")
        }
    }

    /// Registers honest callers, and sends requests until caches are full.
    private func makeCallers(at port: AttackedPort, _ crowded: CrowdedSuite) async throws -> [HonestCaller] {
        // `push` accepts ten notifications a second for a device token, after a burst of 100.
        let devices = rate > 0 ? rate / 8 + 1 : 8
        let made = try await crowded.honestCallers(at: port, count: callers, devicesOfProvider: devices)
        _ = try await HonestLoad.run(made, seconds: seconds, rate: rate)
        return made
    }

    private func figures(
        of kind: HostileCrowd.Kind, _ honest: [HonestCaller], _ targets: HostileCrowd.Targets, _ suite: MeasuredSuite
    ) async throws -> CrowdFigures {
        let (service, seconds) = (kind.target.service, seconds)
        let before = try await HonestLoad.run(honest, seconds: seconds, rate: rate)
        let files = try suite.openFiles(of: service)
        let crowd = try HostileCrowd(kind, count: hostile, addresses: hostileAddresses, targets)
        try await crowd.gather()
        let start = try await ProcessorShares.Reading.take(suite)
        async let counting = CrowdConnections.count(
            of: crowd, at: service, in: suite, filesBefore: files, seconds: seconds)
        let beside = try await HonestLoad.run(honest, seconds: seconds, rate: rate)
        let end = try await ProcessorShares.Reading.take(suite)
        let (opened, answers) = (crowd.opened, crowd.answers)
        let counts = try await counting
        let inProgress = await suite.requestsInProgress(at: kind.target)
        await crowd.leave()
        let after = try await HonestLoad.run(honest, seconds: seconds, rate: rate)
        return CrowdFigures(
            kind: kind, before: before, beside: beside, after: after,
            connections: CrowdConnections(
                wanted: hostile, opened: opened, answers: answers, atCrowd: counts.atCrowd,
                atService: counts.atService, inProgress: inProgress),
            processors: end.since(start))
    }
}

extension MeasuredSuite {
    /// Returns the number of requests over HTTP/1.1 that the service of a port processes; nil for the port of providers,
    /// and if the service does not answer within 10 s.
    fileprivate func requestsInProgress(at port: AttackedPort) async -> Double? {
        guard port != .apns else { return nil }
        let request = HTTPClientRequest(url: address(port.service) + "/metrics")
        guard let answer = try? await HTTPClient.shared.execute(request, timeout: .seconds(10)),
            let body = try? await answer.body.collect(upTo: 1 << 24)
        else { return nil }
        return String(buffer: body).number(after: "\ndormouse_http_requests_in_flight")
    }
}
