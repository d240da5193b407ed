import Foundation
import TestSupport

/// Compares accepted notifications with plain answers of the same process over HTTP/2.
///
/// h2load uses the same processors. It sends over TLS, over one connection and over sixteen, to 2,000 offline devices.
/// Each 200 is one committed transition of two or three events, and replaces the previous notification. A plain answer
/// is `BadPath`; one request in 1,000 is a notification there too, because a connection has one stream until it has
/// sent a valid token.
struct AcceptedPushes {
    let seconds: Int
    private let devices = 2000
    private let rounds = 3
    private let streams = 100

    func run() async throws {
        Report.heading("Notifications accepted over HTTP/2")
        let rig = try await PushRig.start()
        Report.progress("registering \(devices) devices")
        let tokens = try await rig.makeDevices(devices + 50)
        let pushes = tokens.prefix(devices).map { "\(rig.apns)/3/device/\($0)" }
        // Each run has its own devices, because a device with too many notifications is throttled.
        let plain = tokens.dropFirst(devices).flatMap { token in
            ["\(rig.apns)/3/device/\(token)"] + (1..<1000).map { "\(rig.apns)/plain/\($0)" }
        }
        for connections in [1, 16] {
            var accepted: [Double] = []
            var ratios: [Double] = []
            var failures = 0.0
            var answers: [Double] = []
            // Alternating runs share the other load of the machine equally.
            for _ in 0..<rounds {
                let base = try load(plain, connections, rig.bearer)
                let sent = try load(pushes, connections, rig.bearer)
                answers.append(base.perSecond)
                accepted.append(sent.perSecond)
                ratios.append(sent.perSecond / base.perSecond)
                failures += sent.refused
            }
            let name = connections == 1 ? "1 connection" : "\(connections) connections"
            Report.figure("plain answers, \(name)", median(answers), "per second")
            Report.figure("accepted notifications, \(name)", median(accepted), "per second")
            Report.figure("answers other than 200", failures, "")
            Report.figure("least and greatest ratio of \(rounds) rounds", ratios.min() ?? .nan, "")
            Report.figure("", ratios.max() ?? .nan, "")
            Report.ratio("accepted ÷ plain, \(name), median", median(ratios), reach: 0.4)
        }
        try await rig.stop()
    }

    private func load(
        _ addresses: [String], _ connections: Int, _ bearer: String
    ) throws -> (perSecond: Double, refused: Double) {
        let folder = URL.temporaryDirectory.appending(path: "dormouse-h2load-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (list, body) = (folder.appending(path: "addresses"), folder.appending(path: "body"))
        try (addresses.joined(separator: "\n") + "\n").write(to: list, atomically: true, encoding: .utf8)
        try #"{"aps":{"alert":{"title":"Hello","body":"from the benchmark"},"badge":1}}"#.write(
            to: body, atomically: true, encoding: .utf8)
        let output = try tool(
            "h2load",
            [
                "--duration=\(max(1, seconds / rounds))", "--clients=\(connections)",
                "--max-concurrent-streams=\(streams)", "--input-file=\(list.path)", "--data=\(body.path)",
                "--header=authorization: bearer \(bearer)", "--header=apns-topic: \(PushRig.app)",
            ])
        let line = output.split(separator: "\n").first { $0.hasPrefix("finished in") }
        guard let words = line?.split(separator: " "), words.count > 3, let perSecond = Double(words[3]) else {
            throw ToolFailed(description: output)
        }
        func statuses(_ word: String) -> Double {
            guard let end = output.range(of: " \(word)") else { return 0 }
            return Double(output[..<end.lowerBound].split { !$0.isNumber }.last ?? "0") ?? 0
        }
        return (perSecond, statuses("4xx") + statuses("5xx"))
    }
}
