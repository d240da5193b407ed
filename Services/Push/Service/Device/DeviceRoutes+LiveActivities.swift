import Contracts
import HTTPKit
import Hummingbird
import Machines
import OrderedCollections
import PushCore
import Records
import ServiceKit

// Live Activities: the calls of their app, and the user's dismissal.
extension DeviceRoutes {
    func addLiveActivities(_ table: inout RouteTable) {
        let path = "/v1/devices/{device}/apps/{app}/live-activities"
        table.add(
            .get, path, "The Live Activities of an app, in the order of their start",
            .refuses(refusals(.deviceNotRegistered, .appNotInstalled("…")))
        ) { call in
            let app = try call.app
            let device = try await commands.device(call) { $0.apps[app] != nil }
            guard let record = device.aggregate.state.apps[app] else { throw PushRefusal.appNotInstalled(app).problem }
            return Reply(LiveActivityList(record))
        }
        table.add(
            .put, path + "/{activity}", "Starts a Live Activity of an app on screen",
            body: LiveActivityStartDocument.self,
            .refuses(
                refusals(
                    .deviceNotRegistered, .appNotInstalled("…"), .appNotRunning(.suspended), .appNotOnScreen,
                    .activityExists("…"), .tooManyActivities(policy.liveActivities), .contentTooLarge,
                    .unsupported(.liveActivities, on: Generations.standard[.ios15])) + [.unknownChannel])
        ) { document, call in
            let (app, activity) = (try call.app, try call.identifier("activity"))
            let channels = document.channel.map { [$0] } ?? []
            let problem = try await prepare(channels, document.environment, app, call)
            let command = PushCommand.startActivity(app: app, activity: activity, document.request)
            return try await submit(command, app, activity, call, problem: problem)
        }
        table.add(
            .post, path + "/{activity}/update", "Changes the content of a Live Activity",
            body: LiveActivityUpdateDocument.self,
            .refuses(
                refusals(
                    .deviceNotRegistered, .appNotInstalled("…"), .appNotRunning(.suspended), .activityNotRunning("…"),
                    .contentTooLarge, .unsupported(.liveActivities, on: Generations.standard[.ios15])))
        ) { document, call in
            let (app, activity) = (try call.app, try call.identifier("activity"))
            let command = PushCommand.updateActivity(
                app: app, activity: activity, contentState: document.contentState, staleDate: document.staleDate)
            return try await submit(command, app, activity, call)
        }
        table.add(
            .post, path + "/{activity}/end", "Ends a Live Activity, which stays on the Lock Screen until its dismissal",
            body: LiveActivityEndDocument.self,
            .refuses(
                refusals(
                    .deviceNotRegistered, .appNotInstalled("…"), .appNotRunning(.suspended), .activityNotRunning("…"),
                    .contentTooLarge, .unsupported(.liveActivities, on: Generations.standard[.ios15])))
        ) { document, call in
            try await commands.submit(
                .endActivity(
                    app: call.app, activity: call.identifier("activity"), contentState: document.contentState,
                    dismissalDate: document.dismissalDate), call)
        }
        table.add(
            .delete, path + "/{activity}", "Removes a Live Activity, as a user who swipes it away",
            .refuses(
                refusals(
                    .deviceNotRegistered, .deviceOff, .appNotInstalled("…"), .activityNotRunning("…"),
                    .unsupported(.liveActivities, on: Generations.standard[.ios15])))
        ) { call in
            try await commands.submit(.dismissActivity(app: call.app, activity: call.identifier("activity")), call)
        }
    }

    private func submit(
        _ command: PushCommand, _ app: String, _ activity: String, _ call: Call, problem: Problem? = nil
    ) async throws -> Reply<LiveActivityDocument> {
        try await commands.submit(command, call, problem: problem) { aggregate, _ in
            aggregate.state.apps[app].flatMap { record in
                record.liveActivities[activity].map { LiveActivityDocument(activity, $0, of: record) }
            }
        }
    }
}
