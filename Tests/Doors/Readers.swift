import Contracts
import EventLog
import Foundation
import HTTPKit
import Machines
import PushCore
import Records

@testable import LifecycleService
@testable import OpsService
@testable import PushService

/// Every reader of an event, and every format in which it is written. A foreign parser reads each format again.
enum Readers {
    static func check(_ event: Event) throws {
        guard let data = try JSONSerialization.jsonObject(with: Data(event.data)) as? NSDictionary else {
            throw DoorFault("not a JSON object: \(text(event.data))")
        }
        guard !event.data.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw DoorFault("a control character") }
        for text in [event.key.description, event.app ?? "", event.type] where text.utf8.contains(0) {
            throw DoorFault("U+0000 in \(text)")
        }
        try requireReadable(event)
        let cloudEvent = try object(event.cloudEvent)
        guard cloudEvent["data"] as? NSDictionary == data else { throw DoorFault("the CloudEvent has other data") }
        guard try object(TimelineEntry(event, .first).jsonBytes)["data"] as? NSDictionary == data else {
            throw DoorFault("the line of the timeline differs")
        }
        if let order = Order(event) {
            let told = try object(Array(sseData(order.serverSentEvent(of: event).text).utf8))
            guard told["order"] as? String == order.order else { throw DoorFault("the order differs") }
        }
        try checkForms([event, event], data)
        try checkPush(event)
    }

    /// The row of a sent notification, as JSON and as CSV.
    private static func checkPush(_ event: Event) throws {
        guard event.type == PushEvent.NotificationReceived.type else { return }
        let received = try PushEvent.NotificationReceived(jsonBytes: event.data)
        let row = PushRow(
            apnsID: received.apnsID, app: received.app, channel: received.channel, collapseID: received.collapseID,
            device: event.key.device ?? "", event: event.id.lowercased, expiration: received.until,
            notification: received.notification, outcome: received.status.rawValue, priority: received.priority,
            sentAt: event.time, type: received.pushType.rawValue)
        guard try object(row.jsonBytes)["collapseID"] as? String == received.collapseID else {
            throw DoorFault("the row of the push differs")
        }
        let lines = try csv(Array((PushRow.csvHead + row.csv).utf8))
        guard lines.count == 2, lines[0].count == lines[1].count, lines[1][7] == Array((received.collapseID ?? "").utf8)
        else { throw DoorFault("the CSV of the push differs: \(row.csv)") }
    }

    private static func requireReadable(_ event: Event) throws {
        func check<F: EventFamily>(_ family: F.Type) throws {
            let read = try F(type: event.type, version: event.version, data: event.data)
            guard read.data.jsonBytes == event.data else {
                throw DoorFault("the data changes in a round trip: \(text(event.data))")
            }
        }
        switch event.source {
        case LifecycleEvent.source: try check(LifecycleEvent.self)
        case FetchEvent.source: try check(FetchEvent.self)
        case PushEvent.source: try check(PushEvent.self)
        default: try check(TransferEvent.self)
        }
    }

    /// JSON, a CloudEvents batch, NDJSON, CSV and server-sent events.
    private static func checkForms(_ events: [Event], _ data: NSDictionary) throws {
        func isSame(_ item: Any?) -> Bool { (item as? NSDictionary)?["data"] as? NSDictionary == data }
        let listing = try object(EventForm.json.body(events, "next"))["items"] as? [Any] ?? []
        guard listing.count == 2, listing.allSatisfy(isSame) else { throw DoorFault("the list differs") }
        let batch = try JSONSerialization.jsonObject(with: Data(EventForm.batch.body(events, nil))) as? [Any] ?? []
        guard batch.count == 2, batch.allSatisfy(isSame) else { throw DoorFault("the CloudEvents batch differs") }
        let lines = EventForm.lines.body(events, nil).split(separator: 0x0A)
        guard lines.count == 2, try lines.allSatisfy({ isSame(try object(Array($0))) }) else {
            throw DoorFault("the NDJSON differs")
        }
        let rows = try csv(EventForm.csv.body(events, nil))
        guard rows.count == 3, rows.allSatisfy({ $0.count == 14 }), rows[1][13] == events[0].data,
            rows[2][8] == Array((events[1].app ?? "").utf8)
        else { throw DoorFault("the CSV differs: \(text(events[0].data))") }
        let told = ServerSentEvent(id: "0:1", data: text(events[0].cloudEvent)).text
        guard isSame(try object(Array(sseData(told).utf8))) else { throw DoorFault("the server-sent event differs") }
    }

    /// The formats of a state: stored, and in answers to operators and devices.
    static func check<M: Machine>(_ aggregate: Aggregate<M>) throws {
        let binary = aggregate.state.binary
        guard M(binary: binary)?.binary == binary else {
            throw DoorFault("the state of \(M.name) changes in a round trip")
        }
        guard try object(aggregate.state.jsonBytes).count > 0 else { throw DoorFault("the state is empty") }
        _ = try object(try PastState(aggregate, 3, 7).jsonBytes)
        if let state = aggregate.state as? PushMachine {
            _ = try object(NotificationList(inFlight: state).jsonBytes)
        }
    }

    static func object(_ bytes: [UInt8]) throws -> NSDictionary {
        guard let object = try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary else {
            throw DoorFault("not a JSON object: \(text(bytes))")
        }
        return object
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// The data of the one event in a stream, by the HTML standard, section 9.2.6.
    private static func sseData(_ stream: String) -> String {
        var data: [[UInt8]] = []
        var line: [UInt8] = []
        func take() {
            guard line.starts(with: "data:".utf8) else { return }
            let value = line.dropFirst(5)
            data.append(Array(value.first == 0x20 ? value.dropFirst() : value))
        }
        for byte in stream.utf8 {
            if byte == 0x0A || byte == 0x0D {
                take()
                line = []
            } else {
                line.append(byte)
            }
        }
        return String(decoding: Array(data.joined(separator: [0x0A])), as: UTF8.self)
    }

    /// Rows and cells by RFC 4180.
    private static func csv(_ bytes: [UInt8]) throws -> [[[UInt8]]] {
        var rows: [[[UInt8]]] = []
        var row: [[UInt8]] = []
        var cell: [UInt8] = []
        var isQuoted = false
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            let next = index < bytes.count ? bytes[index] : 0
            switch (isQuoted, byte) {
            case (true, 0x22) where next == 0x22:
                cell.append(0x22)
                index += 1
            case (true, 0x22): isQuoted = false
            case (true, _): cell.append(byte)
            case (false, 0x22) where cell.isEmpty: isQuoted = true
            case (false, 0x2C):
                row.append(cell)
                cell = []
            case (false, 0x0D) where next == 0x0A:
                rows.append(row + [cell])
                (row, cell) = ([], [])
                index += 1
            case (false, 0x22), (false, 0x0A), (false, 0x0D): throw DoorFault("not CSV: \(text(bytes))")
            default: cell.append(byte)
            }
        }
        return rows
    }
}
