import Contracts
import EventLog
import FetchMachine
import HTTPKit
import HTTPTypes
import Hummingbird
import Machines
import OrderedCollections
import Records
import ServiceKit
import Timeline

/// The REST calls of `fetch`. Each decodes its request, submits one command or reads, and encodes the response.
struct FetchRoutes: Sendable {
    let commands: Commands<FetchMachine>
    let history: EventHistory<FetchEvent.RefreshRecorded>
    let waits: EventHistory<FetchEvent.RefreshScheduled>
    let runs: EventHistory<FetchEvent.TaskRecorded>
    let clock: SharedClock
    let policy: FetchPolicy

    static let app = "/v1/devices/{device}/apps/{app}"

    func add(to table: inout RouteTable) {
        addScheduling(&table)
        addHistory(&table)
        addTasks(&table)
    }

    private func addScheduling(_ table: inout RouteTable) {
        table.add(
            .put, Self.app + "/minimum-interval", "Sets an app's minimum background fetch interval", access: .caller,
            request: IntervalRequest.self, response: IntervalDocument.self,
            problems: FetchRefusal.unknown + [FetchRefusal.unsupportedOnProfile(.ios6).described]
        ) { request, context in
            let interval = try await request.document(as: IntervalRequest.self).interval
            let (key, app) = try place(context)
            return try await commands.submit(.setInterval(app: app, interval), to: key, request, context) {
                aggregate, _ in IntervalDocument(app, aggregate.state).jsonBytes
            }
        }
        table.add(
            .post, Self.app + "/simulate-fetch", "Refreshes an app now: skips the scheduler, obeys the platform",
            access: .caller, response: FetchDocument.self, status: .accepted,
            problems: FetchRefusal.unknown + FetchRefusal.platform
        ) { request, context in
            let (key, app) = try place(context)
            return try await commands.submit(
                .simulateFetch(app: app), to: key, request, context, status: .accepted
            ) { aggregate, _ in
                (aggregate.state.apps[app]?.running).map { FetchDocument(app, $0).jsonBytes } ?? []
            }
        }
        table.add(
            .get, Self.app + "/forecast", "Forecasts the next refresh and explains its time",
            access: .caller, response: ForecastDocument.self, problems: FetchRefusal.unknown
        ) { request, context in
            let found = try await find(request, context)
            let now = max(clock.now, found.now)
            let waits = try await waits.since(now - .hours(24), found.key, app: found.app).map {
                PastWait(from: $0.time, wait: $0.data.wait)
            }
            guard
                let forecast = found.state.forecast(found.app, found.key, now: now, policy: policy, waits: waits)
            else { throw FetchRefusal.appNotInstalled(found.app).problem }
            return Response(ForecastDocument(found.app, found.state, forecast, now: now, policy))
        }
        table.add(
            .get, "/v1/devices/{device}/budgets", "Reads today's budgets of a device and its apps",
            access: .caller, response: BudgetsDocument.self, problems: [FetchRefusal.deviceNotRegistered.described]
        ) { request, context in
            let key = AggregateKey.device(try context.parameters.identifier("device"))
            let aggregate = try await known(key, request, context)
            return Response(BudgetsDocument(aggregate.state, now: max(clock.now, aggregate.now), policy))
        }
    }

    private func addHistory(_ table: inout RouteTable) {
        table.add(
            .get, Self.app + "/fetches", "Lists the refreshes of an app, newest first", access: .caller,
            parameters: .pages, response: FetchPage.self, problems: FetchRefusal.unknown + [.invalidQuery]
        ) { request, context in
            let limit = try request.query("limit", in: 1...200, default: 50)
            let cursor = try request.query("cursor", in: 1...Int.max, default: Int.max)
            let found = try await find(request, context)
            let entries = try await history.page(found.key, app: found.app, before: cursor, limit: limit)
            var page = FetchPage()
            page.items = entries.map { FetchDocument($0.data) }
            if cursor == .max, let running = found.record.running {
                page.items.insert(FetchDocument(found.app, running), at: 0)
            }
            page.next = entries.count == limit ? entries.last.map { String($0.offset) } : nil
            return Response(page)
        }
        table.add(
            .get, Self.app + "/fetches/{fetch}", "Reads a refresh of an app", access: .caller,
            response: FetchDocument.self,
            problems: FetchRefusal.unknown
        ) { request, context in
            let fetch = try context.parameters.identifier("fetch")
            let found = try await find(request, context)
            if let running = found.record.running, running.fetch == fetch {
                return Response(FetchDocument(found.app, running), etag: found.etag)
            }
            guard let record = try await history.last(found.key, app: found.app, where: "fetch", is: fetch) else {
                throw Problem.notFound.with(detail: "The app has no refresh \(fetch).")
            }
            return Response(FetchDocument(record.data), etag: found.etag)
        }
    }

    /// Returns the device and the app of the path.
    func place(_ context: ServiceContext) throws(Problem) -> (key: AggregateKey, app: String) {
        (.device(try context.parameters.identifier("device")), try context.parameters.identifier("app"))
    }

    typealias Found = (
        key: AggregateKey, state: FetchMachine, now: Instant, app: String, record: ScheduledApp, etag: ETag
    )

    /// Returns a registered device.
    private func known(
        _ key: AggregateKey, _ request: Request, _ context: ServiceContext
    ) async throws -> Aggregate<FetchMachine> {
        guard let aggregate = try await commands.read(key, request, context)?.aggregate, aggregate.state.profile != nil
        else { throw FetchRefusal.deviceNotRegistered.problem }
        return aggregate
    }

    /// Returns the state of the device and the app of the path.
    func find(_ request: Request, _ context: ServiceContext) async throws -> Found {
        let (key, app) = try place(context)
        let aggregate = try await known(key, request, context)
        guard let record = aggregate.state.apps[app] else { throw FetchRefusal.appNotInstalled(app).problem }
        return (key, aggregate.state, aggregate.now, app, record, ETag(version: aggregate.eventCount))
    }
}
