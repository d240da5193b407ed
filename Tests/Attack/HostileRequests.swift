import Foundation
import NIOHTTP1
import Records
import TestSupport

/// Makes invalid requests to every operation that a service describes. Some documents follow the schema, with one
/// hostile value; others are wholly hostile. Headers, paths and queries are hostile too.
struct HostileRequests {
    struct Made {
        let call: Call
        let operation: String
        /// The path of the operation, with its parameters in braces.
        let path: String
        var hasHostilePath = false
        var authorized = true
    }

    private let description: APIDescription
    private let document: JSON
    private let targets: HostileTargets
    private let provider: Provider
    private var random: SplitMix64
    private var documents: HostileDocuments
    private var schemas: SchemaDocument
    private var hasHostilePath = false

    /// - Parameters:
    ///   - document: the service's `/openapi.json`.
    ///   - provider: the provider whose token the provider endpoint accepts.
    init(_ document: JSON, _ targets: HostileTargets, _ provider: Provider, seed: UInt64) {
        description = APIDescription(document)
        (self.document, self.targets, self.provider) = (document, targets, provider)
        random = SplitMix64(seed: seed)
        documents = HostileDocuments(seed: seed &+ 1)
        schemas = SchemaDocument(seed: seed &+ 2)
    }

    /// Returns the undescribed part of an answer; nil if the description covers it.
    func fault(of answer: Answer, to made: Made) -> String? {
        if answer.status >= 500, answer.status != 503 { return "\(answer.status) \(answer.excerpt)" }
        // The server answers a head that it rejects before it knows the operation.
        if [400, 431].contains(answer.status) { return nil }
        // A path of no operation has no description.
        if made.hasHostilePath, [404, 405].contains(answer.status) { return nil }
        if answer.isSuccess {
            let described = document["paths"]?[made.path]?[made.call.method.rawValue.lowercased()]?["responses"]
            return described?["\(answer.status)"] == nil ? "the status \(answer.status) is not described" : nil
        }
        return description.fault(of: answer, to: made.call.method.rawValue, made.call.path)
    }

    mutating func next() -> Made? {
        guard let operation = choose() else { return nil }
        hasHostilePath = false
        var values: [String: String] = [:]
        for place in operation.places { values[place] = value(of: place) }
        // Without its devices, most of the other requests would have no target.
        if operation.name == "DELETE /v1/fleets/{fleet}" { values["fleet"] = "removed" }
        var path = operation.path(values).replacing("**", with: "x")
        if chance(10) { path += "?" + query() }
        var call = Call(HTTPMethod(rawValue: operation.method), path)
        let isOfProviders = ["/3/", "/4/", "/1/"].contains { path.hasPrefix($0) }
        if isOfProviders { call.headers += provider.headers(silent: chance(50)) }
        if let schema = operation.lineSchema, chance(80) {
            call.headers.append(("content-type", "application/x-ndjson"))
            call.body = lines(like: schema)
        } else if operation.takesDocument || isOfProviders || chance(5) {
            call.headers.append(("content-type", chance(3) ? "text/plain" : "application/json"))
            call.body = body(of: operation)
        }
        if operation.path.hasPrefix("/files") { call.headers.append(("Tus-Resumable", "1.0.0")) }
        if chance(25) { addHeader(to: &call) }
        return Made(
            call: call, operation: operation.name, path: operation.path, hasHostilePath: hasHostilePath,
            authorized: !isOfProviders && !chance(3))
    }

    /// Chooses operations with a document more often, and notifications most often.
    private mutating func choose() -> APIDescription.Operation? {
        let taking = description.operations.filter { $0.takesDocument || $0.path.hasPrefix("/4/") }
        if let notify = description.operation("POST", "/3/device/x"), chance(30) { return notify }
        return chance(50) && !taking.isEmpty
            ? taking.randomElement(using: &random) : description.operations.randomElement(using: &random)
    }

    private mutating func body(of operation: APIDescription.Operation) -> [UInt8] {
        if chance(15) { return documents.next() }
        let schema = document["paths"]?[operation.path]?[operation.method.lowercased()]?["requestBody"]?["content"]?[
            "application/json"]?["schema"]
        if let schema { return documents.nextBody(like: schemas.make(schema)) }
        return chance(50) ? documents.nextBody(like: Self.payload) : payload(with: documents.nextObject())
    }

    /// Returns a batch of a few lines, some of them hostile.
    private mutating func lines(like schema: JSON) -> [UInt8] {
        var body: [UInt8] = []
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            body += chance(15) ? documents.next() : documents.nextBody(like: schemas.make(schema))
            body.append(UInt8(ascii: "\n"))
        }
        return body
    }

    /// The payload of a notification.
    private static let payload: JSON = [
        "aps": ["alert": ["title": "a", "body": "b"], "badge": 1, "content-available": 1, "sound": "s"],
        "custom": ["number": 1, "list": [1, 2.5, "x"]],
    ]

    /// Returns the payload of a notification that contains a document.
    private func payload(with document: [UInt8]) -> [UInt8] {
        Array(#"{"aps":{"alert":"a","content-available":1},"custom":"#.utf8) + document + Array("}".utf8)
    }

    private mutating func value(of place: String) -> String {
        if chance(8) {
            hasHostilePath = true
            return segment()
        }
        switch place {
        case "device": return "hostile-\(Int.random(in: 0..<HostileTargets.count, using: &random))"
        case "app", "bundle": return HostileTargets.app
        case "token": return targets.tokens.randomElement(using: &random) ?? "x"
        case "key": return chance(50) ? "device:hostile-0" : "HOSTILEKEY"
        case "service": return AttackedService.writers.randomElement(using: &random)?.rawValue ?? "x"
        case "callback": return ["didFinishDownloadingTo", "didEnterBackground"].randomElement(using: &random) ?? "x"
        case "fleet": return "hostile"
        case "team": return "HOSTILE001"
        case "task": return ["1", "0", "-1", "9223372036854775807", "clean"].randomElement(using: &random) ?? "1"
        case "kind": return ["audio", "location", "voip"].randomElement(using: &random) ?? "x"
        default: return ["x", "s", "a", "1"].randomElement(using: &random) ?? "x"
        }
    }

    private mutating func query() -> String {
        let names = [
            "limit", "cursor", "since", "until", "wait", "after", "at", "type", "folds", "partition", "interval", "app",
            "service", "status", "from", "to", "device", "order", "prefix",
        ]
        let name = names.randomElement(using: &random) ?? "limit"
        return "\(name)=\(segment())"
    }

    private mutating func addHeader(to call: inout Call) {
        let names = [
            "Idempotency-Key", "Dormouse-Position", "If-Match", "If-None-Match", "traceparent", "Last-Event-ID",
            "Range",
            "Accept", "apns-expiration", "apns-priority", "apns-collapse-id", "apns-id", "apns-push-type",
            "Upload-Offset",
            "Upload-Length", "Upload-Metadata", "Upload-Complete", "Upload-Checksum", "Content-Range", "Tus-Resumable",
            "X-HTTP-Method-Override", "Upload-Concat", "Expect", "If-Range", "apns-channel-id", "apns-request-id",
        ]
        let name = names.randomElement(using: &random) ?? "If-Match"
        call.headers.append((name, String(decoding: documents.nextHeaderValue(), as: UTF8.self)))
    }

    /// Returns a path segment or a value of the query.
    private mutating func segment() -> String {
        let values = [
            "%00", "%ff", "..%2f..", "%F0%9F%98%80", "-1", "9223372036854775808", "x%20y", "0:0", "a:b:c", "*", "%25",
            String(repeating: "a", count: 129), String(repeating: "9", count: 40), "2026-11-21T07:40:00.000Z",
            "99999-99-99T99:99:99Z", "1e400", "%E2%80%AE", "0:9223372036854775807", "-9223372036854775808",
        ]
        return values.randomElement(using: &random) ?? "x"
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
}
