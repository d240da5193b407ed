import Contracts
import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import NIOCore
import Records
import Timeline

/// The media type of a page of events.
enum EventForm: String, CaseIterable {
    /// `{"items":[…],"next":…}`; each item is a CloudEvent in JSON.
    case json = "application/json"
    /// The JSON batch format of CloudEvents 1.0.
    case batch = "application/cloudevents-batch+json"
    /// One event per line.
    case lines = "application/x-ndjson"
    /// RFC 4180, with a header line.
    case csv = "text/csv"

    /// Selects the media type that the request's `Accept` prefers; JSON without a preference.
    ///
    /// - Throws: `not_acceptable` if `Accept` allows none of the media types.
    init(_ request: Request) throws(Problem) {
        let accepted = request.headers[values: .accept].flatMap { $0.split(separator: ",") }
        guard !accepted.isEmpty else {
            self = .json
            return
        }
        var best: (form: EventForm, quality: Double)?
        for range in accepted {
            let parts = range.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            let form =
                switch parts.first ?? "" {
                case "*/*", "application/*": EventForm.json
                case "text/*": EventForm.csv
                case let type: EventForm(rawValue: type)
                }
            if let form, quality > best?.quality ?? 0 { best = (form, quality) }
        }
        guard let best else {
            throw .notAcceptable.with(
                detail: "the supported types are " + EventForm.allCases.map(\.rawValue).joined(separator: ", "))
        }
        self = best.form
    }

    /// Returns the response. Its `Link` header has the next page (RFC 8288): some bodies cannot contain a cursor.
    func response(_ page: EventPage, _ query: EventQuery, _ request: Request) -> Response {
        let next = page.isComplete ? nil : PositionCursor(position: page.next, order: query.order).text
        var headers: HTTPFields = [.contentType: self == .csv ? "text/csv; charset=utf-8; header=present" : rawValue]
        if let next { headers[.link] = "<\(address(of: request, next))>; rel=\"next\"" }
        // With the oldest first, a stream can resume at this position.
        if query.order == .oldest { headers[.position] = EncodedPosition(page.next.mapValues(Int64.init)).description }
        return Response(
            status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body(page.events, next))))
    }

    func body(_ events: [Event], _ next: String?) -> [UInt8] {
        switch self {
        case .json: Listing(events.map(\.cloudEvent), next: next).bytes
        case .batch:
            Array("[".utf8) + events.map(\.cloudEvent).joined(separator: ",".utf8) + Array("]".utf8)
        case .lines: events.flatMap { $0.cloudEvent + [0x0A] }
        case .csv: Array((Self.head + events.map(Self.row)).joined().utf8)
        }
    }

    private func address(of request: Request, _ next: String) -> String {
        let others = (request.uri.query ?? "").split(separator: "&").filter { !$0.hasPrefix("cursor=") }
        return "\(request.uri.path)?" + (others + ["cursor=\(next)"]).joined(separator: "&")
    }

    private static let head = [
        "partition,offset,id,time,service,type,version,key,app,correlationid,causationid,traceparent,data\r\n"
    ]

    private static func row(_ event: Event) -> String {
        let cells = [
            "\(event.partition)", "\(event.offset)", event.id.lowercased, event.time.description, event.source,
            event.type,
            "\(event.version)", event.key.description, event.app ?? "", event.correlation.lowercased,
            event.causation?.lowercased ?? "", event.traceparent ?? "", String(decoding: event.data, as: UTF8.self),
        ]
        return cells.map(quoted).joined(separator: ",") + "\r\n"
    }

    private static func quoted(_ cell: String) -> String {
        guard cell.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else { return cell }
        // Works on bytes: in Swift a quote and a following combining mark form one character.
        var bytes: [UInt8] = [0x22]
        for byte in cell.utf8 {
            if byte == 0x22 { bytes.append(0x22) }
            bytes.append(byte)
        }
        return String(decoding: bytes + [0x22], as: UTF8.self)
    }
}

/// The JSON of a list, `{"items":[…],"next":…}`, from items that are already JSON.
struct Listing {
    let bytes: [UInt8]

    init(_ items: [[UInt8]], next: String? = nil) {
        var json = JSONWriter()
        json.object { json in
            json.member("items") { $0.array(items) { $0.append(raw: $1) } }
            json.member("next") { next.write(to: &$0) }
        }
        bytes = json.bytes
    }
}

extension HTTPField.Name {
    static let link = HTTPField.Name("Link")!
}
