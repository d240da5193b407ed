import AsyncHTTPClient
import Foundation
import NIOCore
import TestSupport
import Testing

/// Scrapes of a running suite, and the alerts that they raise.
///
/// Prometheus does not run. `promtool` evaluates the rules on series that repeat what has happened between two scrapes.
final class AlertScrapes: Sendable {
    /// The folder with the rules.
    static let prometheus = Repository.file("deploy/prometheus")

    private let suite: RunningSuite
    private let folder: URL

    /// Creates a folder for scrapes, which is removed on release.
    init(_ suite: RunningSuite) throws {
        self.suite = suite
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("alerts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The names and addresses of the five services.
    var targets: [String: String] {
        Dictionary(uniqueKeysWithValues: SuiteService.allCases.map { ($0.rawValue, suite.address($0)) })
    }

    /// Scrapes targets, runs the body, and scrapes them again. Then it expects that exactly these alerts fire.
    ///
    /// - Parameters:
    ///   - name: the name of the situation.
    ///   - targets: the address of each target by its name; the five services if nil.
    ///   - alerts: the alerts with their labels, except the severity.
    ///   - ignored: the alerts that may fire.
    ///   - fault: a text of the rules, and a text in its place with which other alerts fire.
    func expect(
        _ name: String, of targets: [String: String]? = nil, _ alerts: [String], ignoring ignored: [String] = [],
        fault: (right: String, wrong: String), after body: () async throws -> Void = {}
    ) async throws {
        try await scrape(targets ?? self.targets, to: "\(name)/first")
        try await body()
        try await scrape(targets ?? self.targets, to: "\(name)/second")
        let arguments = [path(name)] + alerts + ignored.flatMap { ["--ignore", $0] }
        let differences = try await run("alerts", [Self.prometheus.path] + arguments)
        #expect(differences.isEmpty, "\(name): \(differences.joined(separator: "\n"))")
        let rules = try copyRules(with: fault)
        let found = try await run("alerts", [rules.path] + arguments)
        #expect(!found.isEmpty, "\(name): \(fault)")
    }

    /// Returns the labels in alerts and dashboards that the metrics of all scrapes so far do not have.
    ///
    /// - Parameter fault: a text of the rules, and a text in its place; nil for the shipped rules.
    func missingLabels(fault: (right: String, wrong: String)? = nil) async throws -> [String] {
        let rules = try fault.map { try copyRules(with: $0) } ?? Self.prometheus
        let dashboards = Repository.file("deploy/grafana/dashboards").path
        return try await run("labels", [rules.appendingPathComponent("rules.yml").path, dashboards, path("")])
    }

    /// Waits until the metrics of a target have these lines.
    func wait(for lines: String..., at address: String) async throws {
        try await eventually(describe: "\(lines) of \(address)") { [self] in
            let found = try await metrics(of: address).split(separator: "\n").map(String.init)
            return lines.allSatisfy { found.contains($0) }
        }
    }

    /// Returns the metrics of a target.
    func metrics(of address: String) async throws -> String {
        String(buffer: try await suite.send(HTTPClientRequest(url: address + "/metrics")).body)
    }

    /// Writes the metrics of each target to a file. The file of a target that does not answer is empty.
    private func scrape(_ targets: [String: String], to name: String) async throws {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
        for (target, address) in targets {
            let text = (try? await metrics(of: address)) ?? ""
            try text.write(toFile: path("\(name)/\(target)"), atomically: true, encoding: .utf8)
        }
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent("scrapes/\(name)").path }

    /// Copies the folder of Prometheus with a changed rule.
    private func copyRules(with fault: (right: String, wrong: String)) throws -> URL {
        let copy = folder.appendingPathComponent("rules-\(UUID().uuidString)")
        try FileManager.default.copyItem(at: Self.prometheus, to: copy)
        let file = copy.appendingPathComponent("rules.yml")
        let text = try String(contentsOf: file, encoding: .utf8)
        try #require(text.contains(fault.right), "\(fault)")
        try text.replacing(fault.right, with: fault.wrong).write(to: file, atomically: true, encoding: .utf8)
        return copy
    }

    /// Runs a script of Python, and returns the lines of its output.
    private func run(_ script: String, _ arguments: [String]) async throws -> [String] {
        let file = try #require(Bundle.module.path(forResource: script, ofType: "py", inDirectory: "Python"))
        let process = try ChildProcess.start("/usr/bin/env", ["python3", file] + arguments)
        let status = try await process.exit()
        guard status == .exited(0) else { throw Unexpected("\(script): \(status)\n\(process.errors.tail())") }
        return process.output.lines
    }
}
