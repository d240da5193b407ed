import Contracts
import EventLog
import FetchCore
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
            .put, Self.app + "/minimum-interval", "Sets an app's minimum background fetch interval",
            body: IntervalRequest.self,
            .refuses(FetchRefusal.unknownOrNotRunning + [FetchRefusal.noBackgroundFetch.described])
        ) { request, call in
            let app = try call.app
            return try await commands.submit(.setInterval(app: app, request.interval), call) { aggregate, _ in
                IntervalDocument(app, aggregate.state, policy)
            }
        }
        table.add(
            .post, Self.app + "/simulate-fetch", "Refreshes an app now, without the scheduler but by the rules of iOS",
            .status(.accepted), .refuses(FetchRefusal.unknown + FetchRefusal.platform)
        ) { call in
            let app = try call.app
            return try await commands.submit(.simulateFetch(app: app), call) { aggregate, _ in
                (aggregate.state.apps[app]?.running).map { FetchDocument(app, $0) }
            }
        }
        table.add(
            .get, Self.app + "/forecast", "Forecasts the next refresh and explains its time",
            .refuses(FetchRefusal.unknown)
        ) { try await forecast($0) }
        table.add(
            .get, "/v1/devices/{device}/budgets", "Reads today's budgets of a device and its apps",
            .refuses([FetchRefusal.deviceNotRegistered.described])
        ) { call in
            let device = try await known(call)
            return Reply(BudgetsDocument(device.state, now: max(clock.now, device.now), policy))
        }
    }

    private func forecast(_ call: Call) async throws -> Reply<ForecastDocument> {
        let (device, app, _) = try await find(call)
        let now = max(clock.now, device.now)
        let waits = try await waits.since(now - .hours(24), device.key, app: app).map {
            PastWait(from: $0.time, wait: $0.data.wait)
        }
        guard let forecast = device.state.forecast(app, device.key, now: now, policy: policy, waits: waits) else {
            throw FetchRefusal.appNotInstalled(app).problem
        }
        return Reply(ForecastDocument(app, device.state, forecast, now: now, policy))
    }

    private func addHistory(_ table: inout RouteTable) {
        table.add(
            .get, Self.app + "/fetches", "Lists the refreshes of an app, newest first", .parameters(.pages),
            .refuses(FetchRefusal.unknown + [.invalidQuery])
        ) { call in
            let (limit, cursor) = try call.page()
            let (device, app, record) = try await find(call)
            let entries = try await history.page(device.key, app: app, before: cursor, limit: limit)
            let running = cursor == .max ? record.running.map { FetchDocument(app, $0) } : nil
            return Reply(call.marked(Page(entries, limit: limit, after: running) { FetchDocument($0) }))
        }
        table.add(
            .get, Self.app + "/fetches/{fetch}", "Reads a refresh of an app", .refuses(FetchRefusal.unknown)
        ) { call in
            let fetch = try call.identifier("fetch")
            let (device, app, record) = try await find(call)
            if let running = record.running, running.fetch == fetch {
                return Reply(FetchDocument(app, running), etag: call.etag(of: device))
            }
            guard let record = try await history.last(device.key, app: app, where: "fetch", is: fetch) else {
                throw Problem.notFound.with(detail: "The app has no refresh \(fetch).")
            }
            return Reply(FetchDocument(record.data), etag: call.etag(of: device))
        }
    }

    /// Returns the registered device in the path.
    ///
    /// - Parameter suffices: whether the state has the needed content. If not, the latest events are read first.
    private func known(
        _ call: Call, suffices: @Sendable (FetchMachine) -> Bool = { $0.profile != nil }
    ) async throws -> Aggregate<FetchMachine> {
        let found = try await commands.read(call, suffices: suffices)
        guard let device = found?.aggregate, device.state.profile != nil else {
            throw FetchRefusal.deviceNotRegistered.problem
        }
        return device
    }

    /// Returns the device and the app in the path.
    func find(_ call: Call) async throws -> (device: Aggregate<FetchMachine>, app: String, record: ScheduledApp) {
        let app = try call.app
        let device = try await known(call) { $0.apps[app] != nil }
        guard let record = device.state.apps[app] else { throw FetchRefusal.appNotInstalled(app).problem }
        return (device, app, record)
    }
}

extension Page {
    /// Creates a page of the log: an entry in progress, then past ones.
    init<Event>(
        _ entries: [EventHistory<Event>.Entry], limit: Int, after running: Item?, _ item: (Event) -> Item
    ) {
        self.init(
            (running.map { [$0] } ?? []) + entries.map { item($0.data) },
            next: entries.count == limit ? entries.last.map { String($0.offset) } : nil)
    }
}
