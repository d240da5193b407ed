import Contracts
import LifecycleCore
import OrderedCollections
import Scenarios
import Timeline
import TransferCore

// The transfers of apps. The machine of `transfer` moves their bytes, because the device is built-in.
extension DeviceSimulation {
    /// Schedules the transfers of an app that begin now.
    mutating func startTransfers(_ start: TransferPlan.Start, of app: Int, _ context: PartitionContext) {
        for (number, plan) in context.plan.scenario.apps[app].transfers.enumerated() where plan.start == start {
            guard apps[app].started[number] < plan.limit ?? .max else { continue }
            apps[app].started[number] += 1
            schedule(.startTransfer(plan: number), of: app, after: DeviceTimes.transfer)
        }
    }

    /// The app opens the session of a plan, and starts a task in it.
    mutating func startTransfer(_ number: Int, _ app: ScenarioApp, _ context: inout PartitionContext) throws {
        guard profile.has(.backgroundSessions) else { return }
        let plan = app.transfers[number]
        let session = TransferPlan.session(number)
        let request = plan.request(app: app.id, number: number)
        try submit(.openSession(app: app.id, session: session, plan.configuration(on: profile)), &context)
        try settle(&context)
        switch plan.kind {
        case .download: try submit(.download(app: app.id, session: session, request, resumes: true), &context)
        case .upload:
            let name = TransferPlan.file(number)
            if transfer.state.apps[app.id]?.files[name] == nil {
                let file = AppFile(pieces: [StoredPiece(length: plan.size.bytes, name: name)])
                try submit(.storeFile(app: app.id, name: name, file), &context)
                try settle(&context)
            }
            try submit(.upload(app: app.id, session: session, request, .file(name), resumes: true), &context)
        }
    }

    mutating func react(to event: TransferEvent, _ context: inout PartitionContext) {
        guard case .downloadFinished(let finished) = event, let app = context.appIndexes[finished.taskKey.app]
        else { return }
        schedule(
            .returnFromDownload(session: finished.taskKey.session, task: finished.taskKey.task), of: app,
            after: DeviceTimes.answer)
    }
}
