import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import NIOCore
import Postgres
import Records
import Timeline

/// The notifications that providers sent, and what became of them.
struct PushRoutes: Sendable {
    let store: OpsStore
    let queries: LogQueries

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/pushes", "Lists the notifications that providers sent and what became of each, newest first",
            .scope(.read), .parameters(PushQuery.parameters), .answers(Page<PushRow>.self),
            .text(TextContent("text/csv", example: PushRow.csvHead)),
            .refuses([.invalidQuery, .notAcceptable] + Problem.ofLog), .unknownQuery(.refusedByHandler)
        ) { call in
            let query = try PushQuery(call)
            let form = try PushForm(call.request)
            return response(call.marked(try await page(query)), form, call.request)
        }
        table.add(
            .get, "/v1/pushes/{notification}",
            "Returns what became of a notification, by its apns-unique-id, and the events that explain it",
            .scope(.read), .parameters([PushQuery.lateAfter]), .refuses([.invalidQuery] + Problem.ofLog)
        ) { call in
            let id = try call.identifier("notification")
            let lateAfter = try call.number("lateAfter", default: PushQuery.usualDelay)
            return Reply(try await asking { try await explained(id, lateAfter: lateAfter) })
        }
    }

    private func explained(_ id: String, lateAfter: Int) async throws -> ExplainedPush {
        _ = try await store.countEvents()
        guard let push = try await store.push(id, lateAfter: lateAfter * 1000) else {
            throw Problem.notFound.with(detail: "the log has no notification with this apns-unique-id")
        }
        return ExplainedPush(push.row, try await PushReasons(queries: queries, store: store).reasons(of: push))
    }

    private func page(_ query: PushQuery) async throws -> Page<PushRow> {
        try await asking {
            _ = try await store.countEvents()
            return try await store.pushes(query, partitions: queries.partitions)
        }
    }

    private func response(_ page: Page<PushRow>, _ form: PushForm, _ request: Request) -> Response {
        let body: [UInt8]
        var headers: HTTPFields = [:]
        switch form {
        case .json:
            headers[.contentType] = form.rawValue
            body = page.jsonBytes
        case .csv:
            headers[.contentType] = "text/csv; charset=utf-8; header=present"
            body = Array((PushRow.csvHead + page.items.map(\.csv).joined()).utf8)
        }
        headers[.link] = page.next.map { request.link(next: $0) }
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
    }
}
