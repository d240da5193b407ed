import Foundation
import NIOHTTP1
import Records
import TestSupport

/// Sends commands about one device to one service, one after the other.
///
/// A command that switches something is certain to change it only while the worker knows the current value.
struct HonestWorker {
    let honest: HonestClient
    let provider: Provider
    let device: HonestDevice
    let service: AttackedService
    /// The mean pause between two commands.
    let pause: Duration
    private var random: SplitMix64
    private var number = 0
    private var task: String?
    private var transition = "home"
    private var isOn = [CommandKind: Bool]()
    /// The time until which a command with an unknown outcome may still throw a switch.
    private var uncertainUntil = ContinuousClock.now

    init(
        _ honest: HonestClient, _ provider: Provider, _ device: HonestDevice, _ service: AttackedService,
        pause: Duration, seed: UInt64
    ) {
        (self.honest, self.provider, self.device, self.service) = (honest, provider, device, service)
        (self.pause, random) = (pause, SplitMix64(seed: seed))
    }

    /// Runs until it is stopped, and finishes the command under way.
    mutating func run(while goesOn: @Sendable () -> Bool) async {
        while goesOn(), !Task.isCancelled {
            number += 1
            switch service {
            case .lifecycle: await lifecycle()
            case .fetch: await fetch()
            case .push: await push()
            case .transfer: await transfer()
            case .ops: return
            }
            try? await Task.sleep(for: pause * Double.random(in: 0.5..<1.5, using: &random))
        }
    }

    private mutating func lifecycle() async {
        switch number % 3 {
        case 0:
            let level = Double(300 + number / 3 % 600) / 1000
            let report: JSON = ["battery": ["level": .double(level)]]
            await perform(.conditions, Call(.PATCH, device.path + "/conditions", report))
        case 1 where device.staysOnScreen:
            let begin = Call(.POST, device.path(of: HonestDevice.app) + "/tasks", ["name": "save"])
            task = await perform(.beginTask, begin).answer?.json["task"]?.string
        case 1:
            let event = transition
            let call = Call(
                .POST, device.path(of: HonestDevice.app) + "/transitions", ["event": .string(event)])
            let outcome = await perform(event == "home" ? .home : .open, call).outcome
            switch (event, outcome) {
            case ("home", .acknowledged): transition = "open"
            case ("open", .refused): transition = "launch"
            default: transition = event == "launch" && outcome == .refused ? "open" : "home"
            }
        default:
            guard let task else { return }
            self.task = nil
            await perform(.endTask, Call(.DELETE, device.path(of: HonestDevice.app) + "/tasks/\(task)", nil))
        }
    }

    private mutating func fetch() async {
        switch number % 4 {
        case 0:
            let seconds = String(
                format: "2099-01-%02dT%02d:%02d:00.000Z", 1 + number / 1440 % 28, number / 60 % 24, number % 60)
            let request: JSON = ["identifier": "clean", "kind": "processing", "earliestBeginDate": .string(seconds)]
            await perform(.taskRequest, Call(.POST, device.path(of: HonestDevice.tasks) + "/task-requests", request))
        case 1 where !device.staysOnScreen && number % 16 == 1:
            let simulate = Call(.POST, device.path(of: HonestDevice.app) + "/simulate-fetch")
            await perform(.simulateFetch, simulate)
        // The code of an app that leaves the screen can't always run.
        default:
            guard device.staysOnScreen else { return }
            let interval: JSON = ["interval": .int(3600 + number % 50_000)]
            await perform(.interval, Call(.PUT, device.path(of: HonestDevice.app) + "/minimum-interval", interval))
        }
    }

    private mutating func push() async {
        switch number % 4 {
        case 0:
            let isOn = isOn[.throttle] ?? true
            self.isOn[.throttle] = !isOn
            await perform(
                .throttle, Call(.PUT, device.path + "/throttle", ["enabled": .bool(!isOn)]), isSwitch: true)
        case 1:
            let isOn = isOn[.register] ?? false
            self.isOn[.register] = !isOn
            let path = device.path(of: HonestDevice.toggled) + "/registration"
            let call = isOn ? Call(.DELETE, path) : Call(.PUT, path, ["environment": "sandbox"])
            await perform(isOn ? .unregister : .register, call, isSwitch: true)
        default:
            await provider.notify(device, number: number, isHTTP2: number % 4 == 2, honest, &random)
        }
    }

    private mutating func transfer() async {
        let app = device.path(of: HonestDevice.app)
        guard device.staysOnScreen, number % 3 > 0 else {
            let bytes = (0..<Int.random(in: 1...2000, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let call = Call(.PUT, app + "/files/file-\(number % 8)", body: bytes)
            await perform(.storeFile, call)
            return
        }
        let session = app + "/sessions/s"
        guard number % 30 != 1 else {
            let url = honest.suite.replicas(of: .transfer)[0].directAddress + "/content/\(HonestDevice.content)"
            await perform(.download, Call(.POST, session + "/downloads", ["url": .string(url), "resume": true]))
            return
        }
        let isOn = isOn[.suspendTask] ?? true
        self.isOn[.suspendTask] = !isOn
        let call = Call(.POST, session + "/tasks/1/" + (isOn ? "suspend" : "resume"))
        await perform(isOn ? .suspendTask : .resumeTask, call, isSwitch: true)
    }

    @discardableResult
    private mutating func perform(
        _ kind: CommandKind, _ call: Call, isSwitch: Bool = false
    ) async -> (answer: Answer?, outcome: Outcome) {
        var record = CommandRecord(kind: kind, key: device.key)
        record.isCertain = !isSwitch || ContinuousClock.now >= uncertainUntil
        let honest = honest
        let done = await honest.perform(record, random: &random) { replica, number in
            try await honest.attempt(call, at: replica, number)
        }
        // A stopped process may still execute a command after its client has given up.
        if isSwitch, done.outcome != .acknowledged { uncertainUntil = .now + .seconds(120) }
        return done
    }
}
