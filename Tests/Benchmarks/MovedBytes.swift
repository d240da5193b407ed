import Foundation
import Records

/// Measures the throughput of tasks of devices with nginx, and of downloads and uploads at this service.
///
/// Each has a ratio to a stock tool that does the same with the same nginx on the same disk: one large file, and 1,000
/// small files at once. The service flushes all bytes that it reports, hashes all bytes and logs its progress; nginx
/// and curl do not.
struct MovedBytes {
    let mebibytes: Int
    let transfers: Int
    private let rounds = 3
    private let devices = 25

    func run() async throws {
        Report.heading("Throughput of transfers")
        let rig = try await TransferRig.start(mebibytes: mebibytes)
        try await rig.makeDevice("one", file: "large")
        let out = rig.folder.appending(path: "out").path
        let www = rig.folder.appending(path: "www").path
        let content = rig.transfer + "/content/large"
        try curl(["-T", "\(www)/large", content])
        try curl(["-T", "\(www)/small", rig.transfer + "/content/small"])

        try await compare(
            "one download, task ÷ curl", mebibytes,
            ours: {
                try await tasks("downloads", 1, ["one"], rig, ["url": .string(rig.nginx + "/large"), "resume": true])
            },
            theirs: { try curl(["-o", "\(out)/large", rig.nginx + "/large"]) })
        try await compare(
            "one upload, task ÷ curl", mebibytes,
            ours: {
                let document: JSON = [
                    "url": .string(rig.nginx + "/sent"), "method": "PUT", "file": "large", "resume": true,
                ]
                try await tasks("uploads", 1, ["one"], rig, document)
            }, theirs: { try curl(["-T", "\(www)/large", rig.nginx + "/sent"]) })
        try await compare(
            "one download, served here ÷ by nginx", mebibytes,
            ours: { try curl(["-o", "/dev/null", content]) },
            theirs: { try curl(["-o", "/dev/null", rig.nginx + "/large"]) })
        try await compare(
            "one upload, received here ÷ by nginx", mebibytes,
            ours: { try curl(["-T", "\(www)/large", content]) },
            theirs: { try curl(["-T", "\(www)/large", rig.nginx + "/received"]) })

        let idle = try rig.memory(peak: false)
        for (kind, document, stock) in [
            (
                "downloads", ["url": .string(rig.nginx + "/small"), "resume": true],
                { "url = \(rig.nginx)/small\noutput = \(out)/\($0)" }
            ),
            (
                "uploads", ["url": .string(rig.nginx + "/sent"), "method": "PUT", "file": "small", "resume": true],
                { "url = \(rig.nginx)/s\($0)\nupload-file = \(www)/small" }
            ),
        ] as [(String, JSON, (Int) -> String)] {
            // A session takes no more tasks until its app has received the finished ones, so each round uses other
            // devices.
            var fresh: [[String]] = []
            for round in 0..<rounds {
                let names = (0..<devices).map { "\(kind)-\(round)-\($0)" }
                for name in names { try await rig.makeDevice(name, file: "small") }
                fresh.append(names)
            }
            try await compare(
                "\(transfers) \(kind) at once, tasks ÷ curl", transfers,
                ours: { try await tasks(kind, transfers / devices, fresh.removeLast(), rig, document) },
                theirs: { try manyByCurl(out, stock) })
        }
        let peak = try rig.memory(peak: true)
        Report.bound("memory of a transfer", (peak - idle) / Double(transfers), "MiB", limit: 1)
        try await compare(
            "\(transfers) downloads at once, served here ÷ by nginx", transfers,
            ours: { try load(rig.transfer + "/content/small") }, theirs: { try load(rig.nginx + "/small") })
        try await compare(
            "\(transfers) uploads at once, received here ÷ by nginx", transfers,
            ours: {
                try load(
                    rig.transfer + "/uploads",
                    ["-H", "Upload-Complete: ?1", "-H", "Upload-Draft-Interop-Version: 8", "-d", "\(www)/small"])
            }, theirs: { try load(rig.nginx + "/received", ["-H", ":method: PUT", "-d", "\(www)/small"]) })
        try await rig.stop()
    }

    /// Alternates both, so that they share the other load of the machine equally.
    private func compare(
        _ name: String, _ mebibytes: Int, ours: () async throws -> Void, theirs: () async throws -> Void
    ) async throws {
        var speeds: [(ours: Double, theirs: Double)] = []
        for _ in 0..<rounds {
            let stock = try await speed(mebibytes, theirs)
            speeds.append((try await speed(mebibytes, ours), stock))
        }
        Report.figure(name + ": ours", median(speeds.map(\.ours)), "MiB a second")
        Report.figure("theirs", median(speeds.map(\.theirs)), "MiB a second")
        let ratios = speeds.map { $0.ours / $0.theirs }
        Report.figure("least and greatest ratio", ratios.min() ?? .nan, "")
        Report.figure("", ratios.max() ?? .nan, "")
        Report.ratio("median ratio", median(ratios), reach: 0.5)
    }

    private func speed(_ mebibytes: Int, _ body: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        try await body()
        return Double(mebibytes) / ((ContinuousClock.now - start) / .seconds(1))
    }

    /// Makes each device carry out a number of tasks, all at once.
    private func tasks(
        _ kind: String, _ count: Int, _ devices: [String], _ rig: TransferRig, _ document: JSON
    ) async throws {
        let pause = Duration.milliseconds(devices.count == 1 ? 10 : 250)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for device in devices {
                group.addTask {
                    for _ in 0..<count { try await rig.create(kind, of: device, document) }
                    // Rarely, because the query itself costs time.
                    while try await rig.unfinished(device) > 0 { try await Task.sleep(for: pause) }
                }
            }
            try await group.waitForAll()
        }
    }

    private func curl(_ arguments: [String]) throws { _ = try tool("curl", ["-sf"] + arguments) }

    /// The same number of transfers in groups of 300, the limit of curl.
    private func manyByCurl(_ folder: String, _ transfer: (Int) -> String) throws {
        let file = "\(folder)/transfers"
        let list = (0..<transfers).map(transfer).joined(separator: "\nnext\n")
        try list.write(toFile: file, atomically: true, encoding: .utf8)
        try curl(["--parallel", "--parallel-immediate", "--parallel-max", "300", "-K", file])
    }

    private func load(_ url: String, _ more: [String] = []) throws {
        let output = try tool("h2load", ["--h1", "-n", "\(transfers)", "-c", "\(transfers)", "-t", "1"] + more + [url])
        guard output.contains("\(transfers) succeeded") else { throw ToolFailed(description: output) }
    }
}
