import Contracts
import Foundation
import Records
import Scenarios
import Testing
import Timeline

@testable import Simulation

/// Each rule of a simulation with checks, with events that keep it and events that violate it.
@Suite struct DeviceCheckTests {
    /// Events of a device, told to its checks.
    private struct Life {
        var check = DeviceCheck()
        var violated: Set<CheckedRule> = []
        /// The identifier of the last event.
        var last = UUID()
        private static let policies = SharedPlan(ScenarioPlan(.placeholder), .standard).policies

        mutating func tell(_ event: MachineEvent, at seconds: Double, causedBy cause: UUID? = nil) {
            last = UUID()
            var violated = self.violated
            check.note(event, id: last, causation: cause, at: .epoch + .seconds(seconds), Self.policies) {
                if !$0 { violated.insert($1) }
            }
            self.violated = violated
        }

        mutating func finish(at seconds: Double) {
            var violated = self.violated
            check.finish(at: .epoch + .seconds(seconds)) { if !$0 { violated.insert($1) } }
            self.violated = violated
        }

        // MARK: lifecycle

        mutating func lifecycle(_ event: LifecycleEvent, at seconds: Double, causedBy cause: UUID? = nil) {
            tell(.lifecycle(Emitted(event)), at: seconds, causedBy: cause)
        }

        mutating func launch(_ app: String = "a", at seconds: Double) {
            lifecycle(.appLaunched(.init(app: app, callbacks: [])), at: seconds)
        }

        mutating func goHome(_ app: String = "a", at seconds: Double) {
            lifecycle(.appResigned(.init(app: app, callbacks: [], cause: .home)), at: seconds)
            lifecycle(
                .appBackgrounded(.init(app: app, callbacks: [], cause: .home, taskTime: .seconds(30))), at: seconds)
        }

        mutating func wake(
            _ app: String = "a", from: AppState = .notRunning, _ kind: WakeKind = .fetch, at seconds: Double,
            causedBy cause: UUID? = nil
        ) {
            let event = LifecycleEvent.AppWoken(
                app: app, callbacks: [], deadline: .epoch + .seconds(seconds + 30), from: from, kind: kind,
                limit: .seconds(30), reason: .fetch, wake: "w")
            lifecycle(.appWoken(event), at: seconds, causedBy: cause)
        }

        mutating func completeWake(at seconds: Double) {
            lifecycle(.wakeCompleted(.init(app: "a", reason: .fetch, wake: "w")), at: seconds)
        }

        mutating func terminate(_ app: String = "a", from: AppState, _ reason: EndReason, at seconds: Double) {
            lifecycle(.appTerminated(.init(app: app, callbacks: [], from: from, reason: reason)), at: seconds)
        }

        mutating func power(_ power: PowerEvent, at seconds: Double) {
            lifecycle(.devicePowered(.init(power: power)), at: seconds)
        }

        // MARK: fetch

        mutating func beginRefresh(_ id: String, at seconds: Double) {
            tell(.fetch(Emitted(.refreshDue(.init(app: "a", fetch: id)))), at: seconds)
            let request = last
            lifecycle(
                .wakeRefused(.init(app: "a", reason: .fetch, refusal: .deviceOff)), at: seconds, causedBy: request)
        }

        mutating func endRefresh(_ id: String, at seconds: Double) {
            var record = FetchEvent.RefreshRecorded()
            (record.app, record.fetch) = ("a", id)
            tell(.fetch(Emitted(.refreshRecorded(record))), at: seconds)
        }

        // MARK: push

        mutating func push(_ event: PushEvent, at seconds: Double) { tell(.push(Emitted(event)), at: seconds) }

        mutating func connect(at seconds: Double) { push(.deviceConnected(.init(connection: "c")), at: seconds) }

        mutating func store(_ id: String, at seconds: Double) {
            push(.notificationStored(.init(app: "a", notification: id, until: .epoch + .days(1))), at: seconds)
        }

        mutating func deliver(_ id: String, at seconds: Double) {
            let event = PushEvent.NotificationDelivered(
                app: "a", apnsID: id, arrived: false, fromStorage: false, notification: id, payload: [:], quiet: false,
                silent: false, willPresent: false)
            push(.notificationDelivered(event), at: seconds)
        }

        mutating func replace(_ id: String, at seconds: Double) {
            push(.notificationReplaced(.init(app: "a", by: "new", notification: id)), at: seconds)
        }

        mutating func open(_ id: String, at seconds: Double) {
            push(.notificationOpened(.init(app: "a", notification: id)), at: seconds)
        }

        mutating func spend(today: Int, fullAfter: Double, at seconds: Double) {
            let event = PushEvent.BudgetChanged(
                app: "a", charged: true, day: 0, fullAt: .epoch + .seconds(seconds + fullAfter), notification: "n",
                spentToday: today)
            push(.budgetChanged(event), at: seconds)
        }

        // MARK: transfer

        private static let task = TaskKey(app: "a", session: "s", task: 1)

        mutating func startTransfer(at seconds: Double) {
            let deadline = Instant.epoch + .seconds(seconds + 60)
            let event = TransferEvent.TaskResumed(taskKey: Self.task, deadline: deadline)
            tell(.transfer(Emitted(.taskResumed(event))), at: seconds)
        }

        mutating func completeTransfer(at seconds: Double) {
            let event = TransferEvent.TaskCompleted(taskKey: Self.task, bytesReceived: 0)
            tell(.transfer(Emitted(.taskCompleted(event))), at: seconds)
        }
    }

    /// Tells events to new checks.
    ///
    /// - Returns: the violated rules.
    private func violated(_ tell: (inout Life) -> Void) -> Set<CheckedRule> {
        var life = Life()
        tell(&life)
        return life.violated
    }

    @Test func `a usual day violates no rule`() {
        let violated = violated { life in
            life.connect(at: 0)
            life.launch(at: 1)
            life.goHome(at: 2)
            life.lifecycle(.appSuspended(.init(app: "a")), at: 3)
            life.launch("b", at: 4)
            life.goHome("b", at: 5)
            life.wake(from: .suspended, at: 6)
            life.completeWake(at: 36)
            life.lifecycle(.appSuspended(.init(app: "a")), at: 37)
            life.terminate(from: .suspended, .forceQuit, at: 38)
            life.wake(from: .notRunning, .region, at: 39)
            life.completeWake(at: 40)
            life.terminate(from: .background, .crash, at: 41)
            life.beginRefresh("1", at: 50)
            life.endRefresh("1", at: 51)
            life.beginRefresh("2", at: 51 + 15 * 60)
            life.endRefresh("2", at: 52 + 15 * 60)
            life.store("n", at: 1000)
            life.deliver("n", at: 1001)
            life.store("m", at: 1002)
            life.replace("m", at: 1003)
            life.store("o", at: 1003)
            life.deliver("o", at: 1004)
            life.open("o", at: 1005)
            life.spend(today: 1, fullAfter: 60, at: 1006)
            life.startTransfer(at: 1010)
            life.completeTransfer(at: 1070)
            life.terminate("b", from: .background, .powerOff, at: 1080)
            life.power(.off, at: 1080)
            life.power(.boot, at: 1090)
            life.launch(at: 1100)
            life.finish(at: 2000)
        }
        #expect(violated.isEmpty, "\(violated)")
    }

    @Test func `each rule finds what violates it`() {
        let violations: [CheckedRule: (inout Life) -> Void] = [
            .burstBudget: { $0.spend(today: 1, fullAfter: 86_400, at: 0) },
            .dailyBudget: { $0.spend(today: 100_000, fullAfter: 1, at: 0) },
            .deliveredWhileConnected: { $0.deliver("n", at: 0) },
            .deliveredWhileOn: {
                $0.connect(at: 0)
                $0.power(.off, at: 1)
                $0.deliver("n", at: 2)
            },
            .endsOnce: {
                $0.replace("n", at: 0)
                $0.replace("n", at: 1)
            },
            .followsFromState: { $0.goHome(at: 0) },
            .oneAnswerToWake: {
                $0.beginRefresh("1", at: 0)
                $0.tell(.push(Emitted(.wakeRequested(.init(app: "a", notification: "n", payload: [:])))), at: 1)
                let request = $0.last
                $0.wake(at: 2, causedBy: request)
                $0.lifecycle(
                    .wakeRefused(.init(app: "a", reason: .push, refusal: .deviceOff)), at: 3, causedBy: request)
            },
            .oneAppOnScreen: {
                $0.launch(at: 0)
                $0.launch("b", at: 1)
            },
            .oneRefresh: {
                $0.beginRefresh("1", at: 0)
                $0.beginRefresh("2", at: 86_400)
            },
            .oneStoredPush: {
                $0.store("n", at: 0)
                $0.store("m", at: 1)
            },
            .openedWhileOn: {
                $0.power(.off, at: 0)
                $0.open("n", at: 1)
            },
            .refreshFloor: {
                $0.beginRefresh("1", at: 0)
                $0.endRefresh("1", at: 1)
                $0.beginRefresh("2", at: 15 * 60)
            },
            .runsWhileOn: {
                $0.power(.off, at: 0)
                $0.launch(at: 1)
            },
            .timeGoesForward: {
                $0.connect(at: 1)
                $0.connect(at: 0)
            },
            .transferEnds: {
                $0.startTransfer(at: 0)
                $0.finish(at: 61)
            },
            .transferEndsOnce: {
                $0.startTransfer(at: 0)
                $0.completeTransfer(at: 1)
                $0.completeTransfer(at: 2)
            },
            .wakeAfterForceQuit: {
                $0.launch(at: 0)
                $0.terminate(from: .active, .forceQuit, at: 1)
                $0.wake(at: 2)
            },
            .wakeEnds: {
                $0.wake(at: 0)
                $0.completeWake(at: 31)
            },
        ]
        for rule in CheckedRule.allCases where rule != .equalsFold && rule != .oneOutcome {
            guard let tell = violations[rule] else {
                Issue.record("\(rule) has no example")
                continue
            }
            #expect(violated(tell) == [rule], "\(rule)")
        }
    }

    @Test func `what is not over at the end violates its rule`() {
        #expect(
            violated { life in
                life.wake(at: 0)
                life.finish(at: 31)
            } == [.wakeEnds])
        #expect(
            violated { life in
                life.tell(.push(Emitted(.wakeRequested(.init(app: "a", notification: "n", payload: [:])))), at: 1)
                life.finish(at: 2)
            } == [.oneAnswerToWake])
        #expect(
            violated { life in
                life.startTransfer(at: 0)
                life.completeTransfer(at: 61)
            } == [.transferEnds])
    }

    @Test func `a push without an outcome, and a state that is not its fold, violate their rules`() throws {
        var figures = PushFigures()
        figures.sent = 1
        #expect(!figures.isBalanced)
        figures.never["Expired"] = 1
        #expect(figures.isBalanced)

        let shared = SharedPlan(ScenarioPlan(.placeholder), .standard)
        var context = shared.context(of: 0)
        var device = DeviceSimulation(0, shared.plan, shared.policies, checks: true)
        device.examineEnd(at: .epoch, &context)
        #expect(context.violations.isEmpty)
        let event = Event(
            id: UUID(), source: "lifecycle", type: LifecycleEvent.DeviceRegistered.type, version: 1, key: device.key,
            app: nil, time: .epoch, correlation: UUID(), causation: nil, traceparent: nil,
            data: LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18)).jsonBytes)
        try device.lifecycle.fold(event)
        device.examineEnd(at: .epoch, &context)
        #expect(context.violations.map(\.rule) == [.equalsFold])
    }
}
