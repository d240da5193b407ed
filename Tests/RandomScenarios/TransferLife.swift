package import Contracts
package import Machines
import OrderedCollections
import Records
package import MachineTesting
package import Timeline
package import TransferCore

/// A random life of a device and its transfer workers.
package struct TransferLife: Life {
    package static let key = AggregateKey.device("d")
    private var random: SplitMix64
    package private(set) var runtime: InMemoryRuntime<TransferMachine>
    package private(set) var now = Instant(milliseconds: 1_750_000_000_000)
    private var told = 0
    package var device: TransferMachine { runtime.state(Self.key) }
    private let seed: String
    private let registration: Registration

    /// - Parameters:
    ///   - builtIn: the behaviour of a built-in device.
    ///   - fileBytes: the most bytes of the files of the device.
    package init(_ random: SplitMix64, builtIn: BuiltInDevice? = nil, fileBytes: Int = .max) {
        self.random = random
        registration = Registration(profile: .ios18, simulate: builtIn)
        seed = String(self.random.next())
        var policy = TransferPolicy()
        policy.fileBytes = fileBytes
        runtime = InMemoryRuntime(policy: policy, seed: seed)
    }

    /// Registers the device.
    package mutating func begin() throws {
        try deliver(LifecycleEvent.DeviceRegistered(registration: registration))
    }

    @discardableResult
    package mutating func step() throws -> (any Error)? {
        now = now + .milliseconds(Int64.random(in: 0...20_000, using: &random))
        if roll(20) == 0 { try sufferOutage() }
        try runtime.advance(to: now)
        let before = device.binary
        do {
            if roll(3) == 0 { try deliver(happening()) } else { try runtime.obey(command(), to: Self.key, at: now) }
            return nil
        } catch let refusal as TransferRefusal {
            try hold(device.binary == before, "a refusal changes nothing")
            return refusal
        }
    }

    /// Passes an outage. The limits of apps must have the same rest at its end; the daemon's own limits continue.
    private mutating func sufferOutage() throws {
        let from = now - .milliseconds(Int64.random(in: 0...4000, using: &random))
        let until = now + .milliseconds(Int64.random(in: 1...60_000, using: &random))
        try runtime.advance(to: from)
        let before = device
        let length = until - max(from, runtime.aggregates[Self.key]?.now ?? from)
        let events = try runtime.pass(Outage(from: from, until: until))
        now = until
        let limits = before.limitsOfApps
        let noted = limits.isEmpty ? [] : [TransferEvent.OutageRecorded.type]
        try hold(events.map(\.type) == noted, "an outage is noted once, if it affects a limit")
        try hold(
            device.limitsOfApps == limits.map { $0 + length }, "an outage extends the limits of apps by its length")
        for (key, session) in before.sessions {
            let timeouts = device[key]?.tasks.map(\.timeout)
            try hold(timeouts == session.tasks.map(\.timeout), "the limit of a task itself continues")
        }
    }

    /// Lets time pass without an input.
    package mutating func pass(until moment: Instant) throws {
        now = moment
        try runtime.advance(to: now)
    }

    package mutating func submit(_ command: TransferCommand) throws {
        try runtime.submit(command, to: Self.key, at: now)
    }

    package mutating func deliver(_ data: any EventData) throws {
        told += 1
        let id = DecisionIdentifiers.derived(seed, String(told))
        try runtime.deliver(
            Event(
                id: id, source: LifecycleEvent.source, type: type(of: data).type, version: 1, key: Self.key,
                app: data.app, time: now, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes))
    }

    private mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }

    private mutating func happening() -> any EventData {
        let app = ["a", "b"][roll(2)]
        switch roll(14) {
        case 0: return LifecycleEvent.DeviceRegistered(registration: registration)
        case 1: return LifecycleEvent.AppInstalled(app: app, manifest: Manifest())
        case 2, 3, 4: return LifecycleEvent.AppLaunched(app: app, callbacks: [])
        case 5: return LifecycleEvent.AppBackgrounded(app: app, callbacks: [], cause: .home, taskTime: .zero)
        case 6: return LifecycleEvent.AppSuspended(app: app)
        case 7:
            return LifecycleEvent.AppTerminated(
                app: app, callbacks: [], from: .suspended, reason: roll(2) == 0 ? .forceQuit : .crash)
        case 8: return LifecycleEvent.DevicePowered(power: roll(3) == 0 ? .off : .boot)
        case 9, 10:
            var conditions = Conditions()
            var network = Network()
            network.kind = NetworkKind.allCases[roll(3)]
            network.expensive = roll(4) == 0
            conditions.network = network
            var battery = Battery()
            battery.level = Double(roll(11)) / 10
            conditions.battery = battery
            return LifecycleEvent.ConditionsChanged(conditions: conditions)
        case 11:
            return LifecycleEvent.AppWoken(
                app: app, callbacks: [], deadline: now + .seconds(30), from: .suspended, limit: .seconds(30),
                reason: .transfer, request: "s-0", wake: "w")
        case 12: return LifecycleEvent.WakeCompleted(app: app, reason: .transfer, request: "s-0", wake: "w")
        default:
            if roll(6) == 0 { return LifecycleEvent.AppUninstalled(app: app) }
            return LifecycleEvent.WakeRefused(app: app, reason: .transfer, refusal: .forceQuit, request: "s-0")
        }
    }

    /// The longest stored part of a field.
    private static let longest = String(repeating: "x", count: 250)

    /// The target of a redirect. The log takes 8 KiB of it.
    private mutating func elsewhere() -> Redirect {
        let url = "http://other.example/" + String(repeating: "x", count: roll(3) == 0 ? 8171 : roll(300))
        return Redirect(status: 302, method: "GET", url: url, crossesOrigins: true)
    }

    private mutating func command() -> TransferCommand {
        let app = ["a", "b"][roll(2)]
        // Both apps use the same identifiers.
        let id = "s-\(roll(2))"
        let tasks = device[SessionKey(app: app, session: id)]?.tasks ?? []
        let unfinished = tasks.filter { $0.state != .completed }
        let task = unfinished.randomElement(using: &random) ?? tasks.randomElement(using: &random)
        let place = TaskKey(app: app, session: id, task: task?.task ?? 1)
        let claim = AttemptClaim(
            place, epoch: (task?.epoch ?? 1) - (roll(8) == 0 ? 1 : 0), worker: task?.attempt?.worker ?? "m\(roll(2))")
        let held = task?.bytesReceived ?? 0
        switch roll(30) {
        case 0, 1:
            var configuration = SessionConfiguration()
            configuration.httpMaximumConnectionsPerHost = 2
            configuration.isDiscretionary = roll(4) == 0
            configuration.handlesDelayedRequests = roll(2) == 0
            configuration.allowsCellularAccess = roll(2) == 0
            configuration.sessionSendsLaunchEvents = roll(4) != 0
            configuration.sharedContainerIdentifier = roll(3) == 0 ? "group.a" : nil
            return .openSession(app: app, session: id, configuration, by: roll(4) == 0 ? .appExtension : .app)
        case 2, 3:
            var request = TransferRequest(url: "http://files.example/")
            if roll(4) == 0 { request.earliestBeginDate = now + .seconds(Int64(roll(60))) }
            request.priority = Double(roll(3)) / 2
            if roll(4) == 0 { request.secretHeaders = "h" }
            return .download(app: app, session: id, request, isDataTask: roll(5) == 0, resumes: roll(3) > 0)
        case 4: return roll(2) == 0 ? .suspend(place) : .resume(place)
        case 5: return roll(3) == 0 ? .cancel(place) : .resume(place)
        case 6: return roll(8) == 0 ? .invalidateSession(app: app, session: id, cancels: roll(2) == 0) : .resume(place)
        case 7, 8, 9: return .startAttempt(claim)
        case 10, 11:
            var head = ResponseHead()
            head.status = held > 0 && roll(3) > 0 ? 206 : 200
            head.etag = "\"\(roll(3))\(roll(4) == 0 ? Self.longest : "")\""
            head.acceptsRanges = roll(4) > 0
            head.contentLength = head.status == 206 ? 1000 - held : 1000
            head.rangeStart = head.status == 206 ? held : nil
            head.completeLength = head.status == 206 ? 1000 : nil
            return .receiveResponse(claim, head)
        case 12: return .report(claim, total: min(1000, held + roll(500)))
        case 13: return .finish(claim, total: roll(3) == 0 ? held : 1000, sha256: "00")
        case 14:
            return .fail(claim, total: roll(3) == 0 ? 0 : held, AttemptEnd.allCases[roll(AttemptEnd.allCases.count)])
        case 15: return .takeOver(claim)
        case 16: return .storeFile(app: app, name: "f\(roll(3))", AppFile(length: 500))
        case 17:
            var request = TransferRequest(url: "http://files.example/up")
            request.method = "POST"
            return .upload(app: app, session: id, request, .file("f\(roll(3))"), resumes: roll(3) > 0)
        case 18: return roll(4) == 0 ? .removeFile(app: app, name: "f\(roll(3))") : .reportSent(claim, total: roll(600))
        case 19:
            return roll(2) == 0
                ? .claim(place, name: "c\(roll(3))") : .returnFromCallback(app: app, session: id, task: nil)
        case 20: return roll(3) == 0 ? .cancelByProducingResumeData(place) : .followRedirect(claim, elsewhere())
        case 21:
            let data = tasks.compactMap(\.error?.resumeData).randomElement(using: &random) ?? "none"
            return .downloadResuming(app: app, session: id, resumeData: data, RequestChanges(), resumes: roll(3) > 0)
        case 24:
            let data = tasks.compactMap(\.error?.resumeData).randomElement(using: &random) ?? "none"
            return .uploadResuming(app: app, session: id, resumeData: data, RequestChanges(), resumes: roll(3) > 0)
        case 25:
            return .createUpload(
                claim, url: "http://files.example/uploads/\(roll(9))" + (roll(4) == 0 ? Self.longest : ""))
        case 29: return .receiveInformational(claim, InformationalResponse(status: 100 + roll(100)))
        case 27: return roll(2) == 0 ? .becomeDownload(place) : .endExtension(app: app, session: id)
        case 28:
            return .cancelBySystem(place, CancellationReason.allCases[roll(CancellationReason.allCases.count)])
        case 26: return .resumeUpload(claim, from: roll(520))
        case 22:
            var challenge = AuthenticationChallenge()
            challenge.host = "files.example"
            challenge.authenticationMethod = AuthenticationMethod.allCases[roll(AuthenticationMethod.allCases.count)]
            return .challenge(claim, challenge)
        case 23:
            let asked = tasks.filter(\.delayedRequest.isPending).randomElement(using: &random)?.task ?? place.task
            return .answerDelayedRequest(
                TaskKey(app: app, session: id, task: asked),
                DelayedRequestDisposition.allCases[roll(DelayedRequestDisposition.allCases.count)],
                NewRequest(url: "http://files.example/new", secretHeaders: roll(2) == 0 ? "n" : nil))
        default:
            let asked = tasks.compactMap(\.challenge?.id).randomElement(using: &random) ?? "none"
            return .answerChallenge(
                app: app, id: asked, ChallengeDisposition.allCases[roll(4)], credential: "k\(roll(9))")
        }
    }
}

extension TransferMachine {
    /// The current deadlines of apps.
    fileprivate var limitsOfApps: [Instant] {
        sessions.flatMap { _, session in
            ([session.finishing?.countdown]
                + session.tasks.flatMap {
                    [$0.challenge?.countdown, $0.redirect?.countdown, $0.delayedRequest.countdown]
                }).compactMap {
                    $0?.until
                }
        }
    }
}

extension AppFile {
    fileprivate init(length: Int) {
        self.init()
        pieces = [StoredPiece(length: length, name: "piece")]
    }
}
