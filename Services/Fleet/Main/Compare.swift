import ArgumentParser
import Contracts
import FleetService
import Foundation
import Records
import Reports
import Scenarios
import Simulation
import Timeline

/// `fleet compare A B`.
struct Compare: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Simulates two scenarios with the same seed, and prints what differs and why.",
        discussion: """
            Give two files, or one file and two variants of it: --mix or --profiles twice. A file can also be the \
            report.json of an earlier run. The exit status is 0, or 2 for a bad file. It does not depend on the differences.
            """)

    @Argument(help: "A scenario (YAML or JSON), or a report.json.")
    var first: String
    @Argument(help: "The other one; none with two variants.")
    var second: String?
    @Option(
        help: "A variant by generations: ios26, or ios26=60,ios18=40. Give it twice, or once to compare with the file.",
        transform: Self.mix)
    var mix: [NamedMix] = []
    @Option(
        help: """
            A variant by profiles and readings: a JSON file as PROFILES_FILE of the services, or standard. Give it twice, or \
            once to compare with the standard table. With two files, it counts for both.
            """)
    var profiles: [String] = []
    @OptionGroup var options: SimulationOptions
    @Option(help: "Writes comparison.html, comparison.json, comparison.csv and the two reports to this directory.")
    var report: String?

    /// Generations with their shares, and the text that names them.
    struct NamedMix: Sendable {
        let name: String
        let value: Mix<ProfileName>
    }

    /// A side of the comparison: a scenario to simulate, or a report.
    private enum Side {
        case scenario(Scenario, Generations)
        case report(Reports.Report)
    }

    private typealias NamedSide = (name: String, side: Side)

    /// The name of the table of generations without overrides.
    private static let standard = "standard"

    func validate() throws {
        if second == nil, mix.isEmpty, profiles.isEmpty {
            throw ValidationError("give a second file, or --mix, or --profiles")
        }
        if !mix.isEmpty, profiles.count > 1 { throw ValidationError("give --mix or two --profiles, not both") }
        if second != nil, profiles.count > 1 { throw ValidationError("two --profiles need a single file") }
        if profiles.count > 2 { throw ValidationError("give --profiles at most twice") }
        if second != nil, !mix.isEmpty { throw ValidationError("--mix needs a single file") }
        if mix.count > 2 { throw ValidationError("give --mix at most twice") }
    }

    func run() async throws {
        let (one, other) = try sides()
        // Two files of one name in two directories need their paths.
        let names = one.name == other.name ? (first, second ?? other.name) : (one.name, other.name)
        let directory = try report.map { try ReportFiles.makeDirectory($0) }
        var seed = options.seed
        let before = try await simulate(one.side, names.0, seed: seed)
        if seed == nil { seed = before.seed.flatMap { UInt64($0) } }
        let after = try await simulate(other.side, names.1, seed: seed)
        let comparison = Comparison((names.0, before), (names.1, after))
        Terminal.write(comparison.summary() + "\n")
        guard let directory else { return }
        let files: [(String, [UInt8])] = [
            ("comparison.html", Array(try ComparisonPage().html(comparison).utf8)),
            ("comparison.json", comparison.jsonBytes), ("comparison.csv", Array(comparison.csv.utf8)),
            ("first.html", Array(try ReportPage().html(before).utf8)),
            ("second.html", Array(try ReportPage().html(after).utf8)),
        ]
        for (name, bytes) in files { try Data(bytes).write(to: directory.appending(path: name)) }
        Terminal.write("  report: \(directory.appending(path: "comparison.html").path)\n")
    }

    /// Returns the two sides with their names.
    private func sides() throws -> (NamedSide, NamedSide) {
        if let second { return ((Self.name(of: first), try read(first)), (Self.name(of: second), try read(second))) }
        guard mix.isEmpty else {
            let variants = try mix.map { mix in (name: mix.name, side: try read(first, mix: mix.value)) }
            let whole = variants.count == 2 ? variants[0] : (Self.name(of: first), try read(first))
            return (whole, variants[variants.count - 1])
        }
        let files = profiles.count == 2 ? profiles : [Self.standard] + profiles
        let variants = try files.map { file in (name: Self.name(of: file), side: try read(first, profiles: file)) }
        return (variants[0], variants[1])
    }

    private func simulate(_ side: Side, _ name: String, seed: UInt64?) async throws -> Reports.Report {
        switch side {
        case .report(let report): return report
        case .scenario(let scenario, let generations):
            let run = SimulationRun(scenario, seed: seed, threads: options.threads, generations: generations)
            let outcome = try await run.run()
            let (events, digest) = (outcome.events, outcome.digest)
            FileHandle.standardError.write(Data("\(name): \(events) events, SHA-256 \(digest)\n".utf8))
            return outcome.document
        }
    }

    /// Reads a scenario, or the report of an earlier run.
    private func read(_ file: String, mix: Mix<ProfileName>? = nil, profiles: String? = nil) throws -> Side {
        if mix == nil, profiles == nil, let data = FileManager.default.contents(atPath: file),
            data.first == UInt8(ascii: "{"),
            let report = try? Reports.Report(jsonBytes: Array(data))
        {
            return .report(report)
        }
        let scenario = try ScenarioInput.read(file, refusing: SimulationRun.faults) { scenario in
            options.change(&scenario)
            if let mix { scenario.devices.mix = mix }
        }
        let table = profiles ?? self.profiles.first
        return .scenario(scenario, table == Self.standard ? .standard : try ScenarioInput.generations(table))
    }

    private static func name(of file: String) -> String {
        URL(filePath: file).deletingPathExtension().lastPathComponent
    }

    private static func mix(_ text: String) throws -> NamedMix {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        }
        let isSingle = parts.count == 1 && parts[0].count == 1
        let json: JSON =
            isSingle
            ? .string(text)
            : .object(
                parts.map { part in
                    JSON.Member(part[0], part.count == 2 ? Int(part[1]).map { .int($0) } ?? .string(part[1]) : .null)
                })
        do {
            return NamedMix(name: text, value: try Mix<ProfileName>(json: json))
        } catch {
            throw ValidationError(
                "--mix must be generations with shares that add up to 100, such as ios26=60,ios18=40: "
                    + error.faults.map { "\($0.pointer.dropFirst()) \($0.detail)" }.joined(separator: "; "))
        }
    }
}
