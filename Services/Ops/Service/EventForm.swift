import Contracts
import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import NIOCore
import Records
import Timeline

/// The media type of a page of events.
enum EventForm: String, ListForm {
    /// `{"items":[…],"next":…}`; each item is a CloudEvent in JSON.
    case json = "application/json"
    /// The JSON batch format of CloudEvents 1.0.
    case batch = "application/cloudevents-batch+json"
    /// One event per line.
    case lines = "application/x-ndjson"
    /// RFC 4180, with a header line.
    case csv = "text/csv"

    /// Returns the response. Its `Link` header has the next page (RFC 8288): some bodies cannot contain a cursor.
    ///
    /// - Parameter searchedTo: the suite time up to which a text was searched.
    func response(_ page: EventPage, _ query: EventQuery, _ call: Call, searchedTo: Instant?) -> Response {
        let next = query.next(page, call)
        var headers: HTTPFields = [.contentType: self == .csv ? "text/csv; charset=utf-8; header=present" : rawValue]
        headers[.link] = next.map { call.request.link(next: $0) }
        // With the oldest first, a stream can resume at this position.
        if query.order == .oldest { headers[.position] = EncodedPosition(page.next.mapValues(Int64.init)).description }
        headers[.searchedTo] = searchedTo?.description
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

    private static let head = [
        "partition,offset,id,time,service,type,version,key,app,correlationid,causationid,traceparent,actor,data\r\n"
    ]

    private static func row(_ event: Event) -> String {
        let cells = [
            "\(event.partition)", "\(event.offset)", event.id.lowercased, event.time.description, event.source,
            event.type, "\(event.version)", event.key.description, event.app ?? "", event.correlation.lowercased,
            event.causation?.lowercased ?? "", event.traceparent ?? "", event.actor ?? "",
            String(decoding: event.data, as: UTF8.self),
        ]
        return csvRow(cells)
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
