import Foundation
import Records
import Scenarios
import TestSupport
import Testing

/// `fleet` with scenario files, as a user calls it.
@Suite("The commands of fleet", .tags(.processes), .timeLimit(.minutes(5))) final class FleetCommandTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "fleet-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static let scenario = """
        name: two days
        for: 2d
        devices: {count: 3, seed: 7}
        people: [{habits: {opens: ["07:30±20m", "18:00±1h"]}}]
        apps: [{id: com.example.news, backgroundModes: [fetch, remote-notification]}]
        provider: [{at: "07:00", every: 1h, send: silent}, {at: "08:00", send: alert}]
        expect:
          - {what: alerts shown, of: sent, atLeast: 10%}
        """

    private struct Result {
        var status: TestSupport.ExitStatus
        var output: String
        var errors: String
    }

    private func file(_ name: String, _ text: String? = nil) throws -> String {
        let path = folder.appending(path: name).path
        if let text { try text.write(toFile: path, atomically: true, encoding: .utf8) }
        return path
    }

    private func start(_ arguments: [String]) throws -> ChildProcess {
        try ChildProcess.start(ChildProcess.product("fleet"), arguments)
    }

    private func fleet(_ arguments: String...) async throws -> Result {
        let process = try start(arguments)
        let status = try await process.exit(within: 120)
        return Result(status: status, output: process.output.tail(5000), errors: process.errors.tail(5000))
    }

    /// Returns the SHA-256 that a simulation prints.
    private func hash(_ result: Result) throws -> String {
        String(try #require(result.output.firstMatch(of: /SHA-256 ([0-9a-f]{64})/), "\(result)").1)
    }

    @Test func `a scenario is checked, with line and column of each fault`() async throws {
        let good = try await fleet("scenario", "check", try file("good.yaml", Self.scenario))
        #expect(good.status == .exited(0) && good.output.contains("two days") && good.errors.isEmpty, "\(good)")

        let path = try file(
            "bad.yaml", "name: bad\napps: [{id: a, colour: red}]\nprovider:\n  - {at: 25:00, send: alert}\n")
        for command in [["scenario", "check"], ["simulate"]] {
            let process = try start(command + [path])
            #expect(try await process.exit() == .exited(2))
            let lines = process.errors.tail(100).split(separator: "\n")
            #expect(lines.contains { $0.hasPrefix("\(path):2:16: /apps/0/colour ") }, "\(lines)")
            #expect(lines.contains { $0.hasPrefix("\(path):4:10: /provider/0/at must be ") }, "\(lines)")
            #expect(process.output.tail().isEmpty)
        }
        let external = try file(
            "external.yaml", Self.scenario.replacing(/provider: .*/, with: "provider: external"))
        let refused = try await fleet("simulate", external)
        let fault = "\(external):6:11: /provider must be a list of sends in a simulation, found \"external\""
        #expect(refused.status == .exited(2) && refused.errors == fault, "\(refused)")
        for command in ["check", "simulate"] {
            let missing = folder.appending(path: "missing.yaml").path
            let result =
                command == "check"
                ? try await fleet("scenario", "check", missing) : try await fleet("simulate", missing)
            #expect(result.status == .exited(64) && result.errors == "fleet: cannot read \(missing)", "\(result)")
        }
    }

    @Test func `the schema is printed as JSON`() async throws {
        let result = try await fleet("scenario", "schema")
        #expect(result.status == .exited(0))
        #expect(result.output == String(decoding: ScenarioReader.schema.bytes, as: UTF8.self))
    }

    @Test func `a simulation prints its hash and seed, and its exit status says whether it is good`() async throws {
        let path = try file("good.yaml", Self.scenario)
        let one = try await fleet("simulate", path, "--threads", "1")
        let two = try await fleet("simulate", path, "--threads", "2")
        #expect(one.status == .exited(0) && one.output.contains("two days: 3 devices, 2d"), "\(one)")
        #expect(try hash(one) == hash(two))
        let other = try await fleet("simulate", path, "--seed", "8")
        #expect(try hash(one) != hash(other))

        let strict = try file("strict.yaml", Self.scenario + "\n  - {what: content age at opening, p90: 1s}\n")
        let unmet = try await fleet("simulate", strict)
        #expect(unmet.status == .exited(1) && unmet.output.contains("NOT MET"), "\(unmet)")
        #expect(unmet.output.contains("--seed 7 repeats it"), "\(unmet)")
        let wrong = try await fleet("simulate", path, "--days", "0")
        #expect(wrong.status == .exited(64) && wrong.errors.hasSuffix("--days must be 1 to 366"), "\(wrong)")
    }

    @Test func `an interrupted simulation continues from its snapshot, and both have a report`() async throws {
        let path = try file("long.yaml", Self.scenario.replacing("for: 2d", with: "for: 20d"))
        let (snapshot, reports) = (try file("snapshot"), try file("reports"))
        let whole = try await fleet("simulate", path)
        let process = try start(["simulate", path, "--snapshot", snapshot, "--report", reports, "--devices", "3"])
        try await eventually(describe: "there is a snapshot") { FileManager.default.fileExists(atPath: snapshot) }
        process.signal(SIGINT)
        let status = try await process.exit()
        let words = process.output.tail()
        // A fast machine may have ended by then.
        if status == .exited(1) {
            #expect(words.contains("It was interrupted."), "\(words)")
            let data = try #require(FileManager.default.contents(atPath: reports + "/report.json"))
            let report = try JSON(parsing: Array(data))
            #expect(report["complete"] == false && report["endReason"] == "It was interrupted.")
            let page = try String(contentsOfFile: reports + "/report.html", encoding: .utf8)
            #expect(page.contains("It was interrupted."))
        } else {
            #expect(status == .exited(0), "\(words)")
        }
        let rest = try await fleet("simulate", path, "--resume", snapshot)
        #expect(rest.status == whole.status && rest.status == .exited(0), "\(rest)")
        #expect(try hash(rest) == hash(whole))

        let other = try await fleet("simulate", path, "--resume", snapshot, "--seed", "8")
        #expect(other.status != .exited(0) && other.errors.contains("the snapshot is of another scenario"), "\(other)")
    }

    @Test func `two generations are compared, differences first`() async throws {
        let path = try file("good.yaml", Self.scenario)
        let report = try file("compared")
        let result = try await fleet("compare", path, "--mix", "ios12", "--mix", "ios26", "--report", report)
        #expect(result.status == .exited(0) && result.output.contains("ios26"), "\(result)")
        let names = ["comparison.html", "comparison.json", "comparison.csv", "first.html", "second.html"]
        #expect(names.allSatisfy { FileManager.default.fileExists(atPath: report + "/" + $0) })
        let alone = try await fleet("compare", path)
        #expect(alone.status == .exited(64) && alone.errors.contains("give a second file"), "\(alone)")
        let mix = try await fleet("compare", path, "--mix", "ios26=60,ios18=30")
        #expect(mix.status == .exited(64) && mix.errors.contains("shares that add up to 100"), "\(mix)")
    }
}
