import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import TestSupport

/// Compares durable transitions over HTTP with plain answers of the same server.
///
/// wrk uses the same processors. It opens and closes the app of each of 2,000 devices in turn; every request is one
/// committed transition of two or more events.
struct TransitionsOverHTTP {
    let seconds: Int
    private let threads = 2
    private let devicesPerThread = 1000
    private let rounds = 5
    let connections: Int

    func run() async throws {
        Report.heading("Durable transitions over HTTP")
        // The same settings as in deploy/up.
        let cluster = try await PrivateCluster.make(settings: ["shared_buffers": "256MB", "max_wal_size": "2GB"])
        let url = try await cluster.makeDatabase()
        try await ChildProcess.migrate("lifecycle", url)
        let (service, port) = try await ChildProcess.serve("lifecycle", url, benchmarkSettings)
        let base = "http://127.0.0.1:\(port)"
        try await prepare(base)
        let script = FileManager.default.temporaryDirectory.appendingPathComponent("dormouse-transitions-\(port).lua")
        try lua.write(to: script, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: script) }

        // Alternating runs share the other load of the machine equally.
        var plain: [Load] = []
        var transitions: [Load] = []
        for _ in 0..<rounds {
            plain.append(try load("\(base)/healthz", seconds: max(1, seconds / rounds / 2)))
            transitions.append(try load(base, script: script.path, seconds: max(1, seconds / rounds)))
            try await everyDevice(base, strict: false) {
                [("POST", "\($0)/apps/app/transitions", #"{"event":"open"}"#)]
            }
        }
        Report.figure("plain answers", median(plain.map(\.perSecond)), "per second")
        Report.figure("durable transitions", median(transitions.map(\.perSecond)), "per second")
        Report.figure("their latency, p50", median(transitions.map(\.p50)), "ms")
        Report.figure("their latency, p99", median(transitions.map(\.p99)), "ms")
        Report.figure("answers other than 2xx", transitions.map(\.failures).reduce(0, +), "")
        let ratios = zip(transitions, plain).map { $0.perSecond / $1.perSecond }
        Report.figure("least and greatest ratio of \(rounds) rounds", ratios.min() ?? .nan, "")
        Report.figure("", ratios.max() ?? .nan, "")
        Report.ratio("durable transitions ÷ plain answers, median", median(ratios), reach: 0.35)
        service.signal(SIGTERM)
        _ = try await service.exit()
        try await cluster.destroy()
    }

    private func prepare(_ base: String) async throws {
        try await everyDevice(base) { device in
            [
                ("PUT", device, #"{"profile":"ios15"}"#),
                ("PUT", "\(device)/apps/app", #"{"backgroundModes":["fetch"]}"#),
                ("POST", "\(device)/apps/app/transitions", #"{"event":"launch"}"#),
            ]
        }
    }

    private typealias Step = (method: String, url: String, body: String)

    /// - Parameter strict: whether a refusal is an error.
    private func everyDevice(
        _ base: String, strict: Bool = true, _ steps: @escaping @Sendable (_ device: String) -> [Step]
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<32 {
                group.addTask {
                    for number in stride(from: worker, to: threads * devicesPerThread, by: 32) {
                        for step in steps("\(base)/v1/devices/fixture-\(number)") {
                            try await send(HTTPMethod(rawValue: step.method), step.url, step.body, strict: strict)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func send(_ method: HTTPMethod, _ url: String, _ body: String, strict: Bool) async throws {
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let text = try await response.body.collect(upTo: 1 << 20)
        guard !strict || (200..<300).contains(response.status.code) else {
            throw ToolFailed(description: "\(method) \(url): \(response.status) \(String(buffer: text))")
        }
    }

    private struct Load {
        let perSecond, p50, p99, failures: Double
    }

    private func load(_ url: String, script: String? = nil, seconds: Int) throws -> Load {
        let output = try tool(
            "wrk",
            ["-t\(threads)", "-c\(connections)", "-d\(seconds)s", "--latency"] + (script.map { ["-s", $0] } ?? []) + [
                url
            ])
        guard let perSecond = output.number(after: "Requests/sec") else { throw ToolFailed(description: output) }
        return Load(
            perSecond: perSecond, p50: milliseconds(output, "50%"), p99: milliseconds(output, "99%"),
            failures: output.number(after: "Non-2xx or 3xx responses") ?? 0)
    }

    private func milliseconds(_ output: String, _ label: String) -> Double {
        guard let line = output.split(separator: "\n").first(where: { $0.drop { $0 == " " }.hasPrefix(label) }),
            let text = line.split(separator: " ").last, let number = Double(text.prefix { $0.isNumber || $0 == "." })
        else { return .nan }
        return text.hasSuffix("us") ? number / 1000 : text.hasSuffix("ms") ? number : number * 1000
    }

    /// Each thread cycles through its own devices, alternately home and open. It builds the requests in advance, so
    /// that the load generator uses little processor time.
    private var lua: String {
        """
        local count = 0
        local threads = 0
        local requests = {}
        -- wrk asks its first thread for one request that it never sends.
        local isSent = false
        setup = function(thread) thread:set("id", threads); threads = threads + 1 end
        init = function()
            for turn, event in ipairs({ "home", "open" }) do
                for number = 0, \(devicesPerThread) - 1 do
                    local device = id * \(devicesPerThread) + number
                    requests[(turn - 1) * \(devicesPerThread) + number] = wrk.format(
                        "POST", "/v1/devices/fixture-" .. device .. "/apps/app/transitions",
                        { ["Content-Type"] = "application/json" }, '{"event":"' .. event .. '"}')
                end
            end
        end
        request = function()
            local request = requests[count % (2 * \(devicesPerThread))]
            if isSent or id > 0 then count = count + 1 end
            isSent = true
            return request
        end
        """
    }
}
