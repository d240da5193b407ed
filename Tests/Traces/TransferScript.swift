import Contracts
package import MachineTesting
import Machines
import OrderedCollections
import Records
import Testing
import Timeline
package import TransferCore

extension TransferMachine: TracedMachine {
    package static let folder = "Transfer"
    package static let fewestTraces = 84
    package static func script(_ trace: Trace) throws -> TraceScript<Self> { try .transfer(trace) }
}

extension TraceScript<TransferMachine> {
    /// At the beginning the device is on Wi-Fi with a full battery, and the apps `a` and `b` are installed. `a` is in the
    /// foreground and has created the session `s`. By default a step is about `a`, `s`, task 1 and its latest `epoch`.
    /// `profile` is `ios18` by default; without background sessions there is no session. `resume` of a step that creates a
    /// task resumes it at once. `tasks` shows the tasks of the session: the state, and after a space the reason why it
    /// waits.
    package static func transfer(_ trace: Trace) throws -> Self {
        var policy = TransferPolicy()
        policy.jitterPercent = 0
        policy.generations = try trace.generations
        var script = Self(policy: policy, code: \.code, command: command)
        script.settings = ["configuration", "profile", "readings"]
        script.members = ["session", "task", "worker", "epoch", "resume"]
        let profile = trace["profile"] ?? "ios18"
        var beginning: [JSON] = [
            ["do": "register", "with": ["profile": profile]], ["do": "install", "app": "a"],
            ["do": "install", "app": "b"], ["do": "launch"],
        ]
        if policy.generations[try ProfileName(json: profile)].has(.backgroundSessions) {
            beginning.append(["do": "openSession", "with": trace["configuration"] ?? [:]])
        }
        script.preamble = beginning.map { TraceStep(document: $0) }
        script.views["tasks"] = { device, step in
            let tasks = device[step.taskKey.sessionKey]?.tasks ?? []
            return .object(
                tasks.map { task in
                    let words = [task.state.rawValue, task.waiting?.rawValue].compactMap { $0 }
                    return JSON.Member(String(task.task), .string(words.joined(separator: " ")))
                })
        }
        script.event = { step, player in try lifecycleEvent(step, at: player.moment) }
        return script
    }

    private static func lifecycleEvent(_ step: TraceStep, at moment: Instant) throws -> (any EventData)? {
        let app = step.taskKey.app
        let session = step.taskKey.session
        let with = step.with
        switch step.action {
        case "register": return LifecycleEvent.DeviceRegistered(registration: try Registration(json: with))
        case "deregister": return LifecycleEvent.DeviceDeregistered.placeholder
        case "client":
            return with.bool == true
                ? LifecycleEvent.DeviceTakenOver(client: "c") : LifecycleEvent.DeviceGivenBack(client: "c")
        case "power": return LifecycleEvent.DevicePowered(power: try PowerEvent(json: with))
        case "conditions": return LifecycleEvent.ConditionsChanged(conditions: try Conditions(json: with))
        case "install": return LifecycleEvent.AppInstalled(app: app, manifest: try Manifest(json: with))
        case "uninstall": return LifecycleEvent.AppUninstalled(app: app)
        case "launch": return LifecycleEvent.AppLaunched(app: app, callbacks: [])
        case "open": return LifecycleEvent.AppActivated(app: app, callbacks: [])
        case "home": return LifecycleEvent.AppBackgrounded(app: app, callbacks: [], cause: .home, taskTime: .zero)
        case "suspendApp": return LifecycleEvent.AppSuspended(app: app)
        case "terminate":
            let reason = try EndReason(json: with)
            return LifecycleEvent.AppTerminated(app: app, callbacks: [], from: .suspended, reason: reason)
        case "wakeApp":
            return LifecycleEvent.AppWoken(
                app: app, callbacks: [], deadline: moment + .seconds(30), from: .suspended, limit: .seconds(30),
                reason: try WakeReason(json: with), request: session, wake: "w")
        case "completeWake":
            return LifecycleEvent.WakeCompleted(app: app, reason: .transfer, request: session, wake: "w")
        case "refuseWake":
            let refusal = try WakeRefusal(json: with)
            return LifecycleEvent.WakeRefused(app: app, reason: .transfer, refusal: refusal, request: session)
        default: return nil
        }
    }

    @Sendable private static func command(
        _ step: TraceStep, _ player: TracePlayer<TransferMachine>
    ) throws -> TransferCommand {
        let taskKey = step.taskKey
        let (app, session, with) = (taskKey.app, taskKey.session, step.with)
        let epoch = step["epoch"]?.int ?? player.state.task(taskKey)?.epoch ?? 0
        let claim = AttemptClaim(taskKey, epoch: epoch, worker: step["worker"]?.string ?? "m1")
        let resumes = step["resume"]?.bool == true
        let total = with["total"]?.int ?? with.int ?? 0
        switch step.action {
        case "openSession": return .openSession(app: app, session: session, try SessionConfiguration(json: with))
        case "openInExtension":
            return .openSession(app: app, session: session, try SessionConfiguration(json: with), by: .appExtension)
        case "endExtension": return .endExtension(app: app, session: session)
        case "invalidate":
            return .invalidateSession(app: app, session: session, cancels: with["cancels"]?.bool == true)
        case "download":
            var request = (["url": "http://files.example/f"] as JSON).overlaid(with: with)
            // Times are in seconds after the beginning.
            if let seconds = with["earliestBeginDate"]?.double {
                let moment = player.moment + .seconds(seconds - step.at)
                request = request.overlaid(with: ["earliestBeginDate": .string(moment.description)])
            }
            return .download(app: app, session: session, try TransferRequest(json: request), resumes: resumes)
        case "dataTask":
            return .download(
                app: app, session: session, TransferRequest(url: "http://files.example/f"), isDataTask: true,
                resumes: resumes)
        case "becomeDownload": return .becomeDownload(taskKey)
        case "downloadResuming":
            // `with` is the identifier of the task that produced the resume data.
            let left = TaskKey(app: app, session: session, task: with.int ?? 1)
            return .downloadResuming(
                app: app, session: session, resumeData: player.state.task(left)?.error?.resumeData ?? "", .init(),
                resumes: resumes)
        case "storeFile":
            var file = AppFile()
            file.pieces = [StoredPiece(length: with["length"]?.int ?? 1000, name: "piece")]
            return .storeFile(app: app, name: with["name"]?.string ?? "f", file)
        case "removeFile": return .removeFile(app: app, name: with.string ?? "f")
        case "upload":
            let blank: JSON = ["url": "http://files.example/f", "method": "POST"]
            let request = try TransferRequest(json: blank.overlaid(with: with))
            return .upload(app: app, session: session, request, .file("f"), resumes: resumes)
        case "uploadResuming":
            // `with` is the identifier of the task that produced the resume data.
            let left = TaskKey(app: app, session: session, task: with.int ?? 1)
            return .uploadResuming(
                app: app, session: session, resumeData: player.state.task(left)?.error?.resumeData ?? "", .init(),
                resumes: resumes)
        case "createUpload": return .createUpload(claim, url: with.string ?? "http://files.example/uploads/1")
        case "resumeUpload": return .resumeUpload(claim, from: total)
        case "resume": return .resume(taskKey)
        case "suspend": return .suspend(taskKey)
        case "cancel": return .cancel(taskKey)
        case "cancelBySystem": return .cancelBySystem(taskKey, try CancellationReason(json: with))
        case "cancelByProducingResumeData": return .cancelByProducingResumeData(taskKey)
        case "return": return .returnFromCallback(app: app, session: session, task: with.int)
        case "claim": return .claim(taskKey, name: with.string ?? "mine")
        case "challenge":
            let blank: JSON = ["host": "files.example", "port": 80, "realm": "r", "authenticationMethod": "basic"]
            return .challenge(claim, try AuthenticationChallenge(json: blank.overlaid(with: with)))
        case "answer":
            // The challenge that a task waits for.
            let id = player.state.task(taskKey)?.challenge?.id ?? "none"
            return .answerChallenge(app: app, id: id, try ChallengeDisposition(json: with), credential: "k")
        case "proceed":
            let request = with["url"]?.string.map { NewRequest(url: $0) }
            return .answerDelayedRequest(
                taskKey, try DelayedRequestDisposition(json: with["disposition"] ?? with), request)
        case "decide": return .answerRedirect(taskKey, try RedirectDisposition(json: with))
        case "redirect":
            return .followRedirect(
                claim,
                Redirect(
                    status: with["status"]?.int ?? 302, method: with["method"]?.string ?? "GET",
                    url: with["url"]?.string ?? "http://other.example/f", crossesOrigins: true))
        case "sent": return .reportSent(claim, total: total)
        case "start": return .startAttempt(claim)
        case "receive":
            let blank: JSON = ["acceptsRanges": true]
            return .receiveResponse(claim, try ResponseHead(json: blank.overlaid(with: with)))
        case "inform": return .receiveInformational(claim, try InformationalResponse(json: with))
        case "report": return .report(claim, total: total)
        case "finish": return .finish(claim, total: total, sha256: "00")
        case "fail": return .fail(claim, total: total, try AttemptEnd(json: try #require(with["end"])))
        case "takeOver": return .takeOver(claim)
        default: throw TraceFailed.unknown(step)
        }
    }
}

extension TraceStep {
    fileprivate var taskKey: TaskKey {
        TaskKey(
            app: self["app"]?.string ?? "a", session: self["session"]?.string ?? "s", task: self["task"]?.int ?? 1)
    }
}
