public import Contracts
import Foundation
import Records
public import Scenarios
public import Timeline

/// Receives what happens in a run of a scenario, for its report.
public protocol ScenarioRecorder: Sendable {
    /// The run begins. The plan has the dates of the suite.
    func begin(_ plan: ScenarioPlan, names: [String])
    /// The provider has sent a push, or could not.
    func sent(_ push: RecordedPush)
    /// Events of the devices of the run, in the order of each device.
    func took(_ events: [Event])
    /// Bytes that handlers loaded in a network.
    func loaded(_ bytes: Int, in network: NetworkText)
}

/// A push of the provider of a scenario.
public struct RecordedPush: Sendable {
    /// The outcome of the request.
    public enum Fate: Sendable, Equatable {
        /// The push service has it, under this notification identifier.
        case accepted(notification: String)
        /// The push service refused it with this reason, or could not be reached.
        case refused(String)
        /// The provider has no device token.
        case withoutToken
    }

    /// The index of the device.
    public var device: Int
    /// The index in ``Provider/sends``.
    public var item: Int
    /// When the provider sent it, in suite time.
    public var sentAt: Instant
    /// Whether a fault added it.
    public var isCopy: Bool
    public var fate: Fate
}

extension Event {
    /// Reads an event in the JSON form of CloudEvents 1.0; nil for other documents.
    init?(cloudEvent document: JSON) {
        func uuid(_ name: String) -> UUID? { document[name]?.string.flatMap(UUID.init(uuidString:)) }
        guard let id = uuid("id"), let correlation = uuid("correlationid"), let type = document["type"]?.string,
            let subject = document["subject"]?.string, let time = document["time"]?.string.flatMap({ Instant($0) }),
            let partition = document["partition"]?.int, let offset = document["offset"]?.string.flatMap({ Int($0) })
        else { return nil }
        let parts = subject.split(separator: "/", maxSplits: 1)
        self.init(
            id: id, source: String((document["source"]?.string ?? "").drop { $0 == "/" }), type: type,
            version: document["dataschema"]?.string?.split(separator: ":").last.flatMap { Int($0) } ?? 1,
            key: AggregateKey(parts.first.map(String.init) ?? subject),
            app: parts.count > 1 ? String(parts[1]) : nil, time: time, correlation: correlation,
            causation: uuid("causationid"), traceparent: document["traceparent"]?.string,
            actor: document["actor"]?.string,
            data: (document["data"] ?? .null).bytes)
        self.partition = partition
        self.offset = offset
    }
}
