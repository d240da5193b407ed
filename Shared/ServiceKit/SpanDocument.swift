import CommandLines
import Foundation
import Records
import Telemetry

/// Encodes spans as JSON of OTLP (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids are hexadecimal
/// and 64-bit numbers are strings.
struct SpanDocument: Sendable {
    /// The attributes of the process.
    private let resource: JSON
    private let scope: JSON = ["name": "dormouse", "version": .string(Version.current)]

    /// - Parameters:
    ///   - service: the name of the service, such as `push`.
    ///   - instance: the id of the process.
    init(service: String, instance: String) {
        resource = [
            "attributes": Self.attributes([
                ("service.name", .text("dormouse-\(service)")), ("service.namespace", .text("dormouse")),
                ("service.version", .text(Version.current)), ("service.instance.id", .text(instance)),
            ])
        ]
    }

    /// Returns a request with spans.
    ///
    /// - Parameter real: the real time of an instant, in nanoseconds since 1970.
    func json(_ spans: [Span], real: (ContinuousClock.Instant) -> Int) -> JSON {
        let items = spans.map { Self.json($0, real) }
        return ["resourceSpans": [["resource": resource, "scopeSpans": [["scope": scope, "spans": .array(items)]]]]]
    }

    private static func json(_ span: Span, _ real: (ContinuousClock.Instant) -> Int) -> JSON {
        var members: [JSON.Member] = [
            .init("traceId", .string(span.context.traceID)), .init("spanId", .string(hexadecimal(span.context.spanID))),
            .init("name", .string(span.name)), .init("kind", .int(span.kind.rawValue)),
            .init("startTimeUnixNano", .string(String(real(span.start)))),
            .init("endTimeUnixNano", .string(String(real(span.end)))),
            .init("attributes", attributes(span.attributes)),
        ]
        if let parent = span.parent { members.append(.init("parentSpanId", .string(hexadecimal(parent)))) }
        // STATUS_CODE_ERROR
        if span.isFailed { members.append(.init("status", ["code": 2])) }
        return .object(members)
    }

    private static func hexadecimal(_ id: UInt64) -> String {
        let digits = String(id, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func attributes(_ attributes: [(name: String, value: Span.Value)]) -> JSON {
        .array(
            attributes.map { name, value in
                switch value {
                case .text(let text): ["key": .string(name), "value": ["stringValue": .string(text)]]
                case .number(let number): ["key": .string(name), "value": ["intValue": .string(String(number))]]
                }
            })
    }
}
