import Contracts
import Records
import Scenarios
import Timeline

// The reactions of the device and its apps to orders.
extension ScenarioDevice {
    /// Obeys an order: schedules its work. An order that the device has obeyed already changes nothing.
    ///
    /// - Returns: the time of the next step.
    @discardableResult
    func obey(_ order: Order) -> Instant? {
        guard let app = scenario.apps.firstIndex(where: { $0.id == order.app }), isNew(order) else { return nextStep }
        world.statistics.order(order, isNew: true)
        let time = order.issuedAt ?? now
        switch order.kind {
        case .callback: called(app, order, at: time)
        case .wake: woken(app, order, at: time)
        case .terminate:
            apps[app].run += 1
            apps[app].activity = nil
        case .taskExpiration:
            guard let wake = order.data["wake"]?.string, hangingTasks.remove(wake) != nil else { break }
            schedule(.completeWake(wake, .task, .failed, bytes: 0), of: app, after: DeviceTimes.answer, from: time)
        case .challenge:
            guard let challenge = order.subject else { break }
            schedule(.answerChallenge(challenge), of: app, after: DeviceTimes.answer, from: time)
        case .expiration, .suspend, .transferProgress: break
        }
        return nextStep
    }

    private func called(_ app: Int, _ order: Order, at time: Instant) {
        let callbacks = Set(order.callbacks)
        if let kind = order.data["kind"]?.string, let token = order.data["token"]?.string {
            take(token, kind, of: app)
        } else if let session = order.data["session"]?.string {
            guard order.wantsAnswer || order.name == "didFinishDownloadingTo" else { return }
            schedule(.returnFromDownload(session: session), of: app, after: DeviceTimes.answer, from: time)
        } else if callbacks.contains("didFinishLaunching") {
            launched(app, callbacks, at: time)
        } else if callbacks.contains("didBecomeActive") || callbacks.contains("sceneDidBecomeActive") {
            let enters = callbacks.contains("willEnterForeground") || callbacks.contains("sceneWillEnterForeground")
            scheduleQuestion(of: app, at: time)
            if enters, !apps[app].isLaunching { opened(app, at: time) }
            apps[app].isLaunching = false
        } else if callbacks.contains("didEnterBackground") || callbacks.contains("sceneDidEnterBackground") {
            apps[app].isLaunching = false
        }
        if order.wantsAnswer, order.data["session"] == nil {
            schedule(.completeCallback(order.name), of: app, after: DeviceTimes.answer, from: time)
        }
    }

    /// The person has launched an app.
    private func launched(_ app: Int, _ callbacks: Set<String>, at time: Instant) {
        schedule(.startUp, of: app, after: DeviceTimes.start, from: time)
        scheduleQuestion(of: app, at: time)
        opened(app, at: time)
        // A scene enters the foreground at a launch too, in this order or in the next one.
        apps[app].isLaunching = !callbacks.contains("sceneWillEnterForeground")
    }

    /// The person has opened an app.
    private func opened(_ app: Int, at time: Instant) {
        startTransfers(.opening, of: app, at: time)
        if scenario.apps[app].activity != nil {
            schedule(.startActivity, of: app, after: DeviceTimes.activity, from: time)
        }
        scheduleContinuedTask(of: app, at: time)
    }

    private func woken(_ app: Int, _ order: Order, at time: Instant) {
        guard let wake = order.data["wake"]?.string,
            let reason = order.data["reason"]?.string.flatMap(WakeReason.init(rawValue:))
        else { return }
        if order.callbacks.contains("didFinishLaunching") {
            schedule(.startUp, of: app, after: DeviceTimes.answer, from: time)
        }
        switch reason {
        case .push: startTransfers(.push, of: app, at: time)
        case .fetch, .task: startTransfers(.refresh, of: app, at: time)
        case .transfer, .location, .voip, .bluetooth, .health, .notificationResponse: break
        }
        guard order.data["kind"]?.string != WakeKind.continuedProcessingTask.rawValue else {
            return beginContinuedTask(wake, of: app, at: time)
        }
        let handler = scenario.apps[app].handler(of: reason)
        var random = draw(.handlers)
        var (takes, result) = handler.outcome(&random)
        if activeFaults.contains(where: { faults[$0].kind == .neverReturns(app: order.app) }) {
            result = .neverReturns
        }
        guard result != .neverReturns else {
            if reason == .task { hangingTasks.insert(wake) }
            return
        }
        takes = max(takes, .milliseconds(1))
        schedule(
            .completeWake(wake, reason, result, bytes: handler.bytes.bytes), of: app, after: takes, from: time)
    }

    /// The length of a full page of orders.
    private static let pageLength = 100

    /// Reads the orders after the last one, without a stream.
    func poll() async throws(CancellationError) -> Instant? {
        while let after = lastOrder {
            var request = Call(.lifecycle, "GET", "/v1/devices/{device}/orders", [name])
            request.query = "wait=0&after=\(after)"
            guard let page = try await perform(request) else { break }
            lastOrder = page["next"]?.string ?? after
            let orders = page["items"]?.items ?? []
            for order in orders.compactMap(Order.init) { obey(order) }
            guard orders.count >= Self.pageLength else { break }
        }
        return nextStep
    }
}
