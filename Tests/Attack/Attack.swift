import Foundation
import NIOHTTP1
import Records
import Synchronization
import TestSupport

/// An attack on the whole suite: honest clients, hostile clients and faults at once, and then the audit.
public final class Attack: Sendable {
    private let options: AttackOptions
    private let say: @Sendable (String) -> Void
    private let isStopped = Flag()

    /// - Parameter say: receives each line of output.
    public init(_ options: AttackOptions, say: @escaping @Sendable (String) -> Void) {
        (self.options, self.say) = (options, say)
    }

    /// Ends the attack early. The audit then judges the commands so far.
    public func stop() { isStopped.raise() }

    /// Starts a suite, attacks it, judges it, and removes everything.
    ///
    /// - Returns: the findings.
    /// - Throws: an error if the attack could not run.
    public func run() async throws -> AttackReport {
        say("seed \(options.seed)")
        let suite = try await AttackedSuite.start(replicas: options.replicas, isProxied: true)
        let client = AttackClient(authority: suite.authority)
        let result: Result<AttackReport, any Error>
        do { result = .success(try await attack(suite, client)) } catch { result = .failure(error) }
        try? await client.shutdown()
        let ends = try await suite.stop()
        var report = try result.get()
        for (name, status) in ends where status != .exited(0) {
            report.faults.append("\(name) ended with \(status) on SIGTERM")
        }
        return report
    }

    private func attack(_ suite: AttackedSuite, _ client: AttackClient) async throws -> AttackReport {
        var random = SplitMix64(seed: options.seed)
        let run = AttackRun(suite, client, Ledger(run: random.next()))
        try await prepare(run, &random)
        say(
            "\(run.devices.count) devices are ready on \(suite.replicas.count) processes; PostgreSQL \(suite.cluster.port)"
        )
        let begin = ContinuousClock.now
        let end = begin + options.duration
        let goesOn: @Sendable () -> Bool = { [isStopped] in ContinuousClock.now < end && !isStopped.isRaised }
        let saboteur = Saboteur(suite) { [say] fault in
            say("  \(Self.seconds(since: begin)) s: \(fault)")
        }
        await load(run, saboteur, &random, begin: begin, while: goesOn)
        return await Judgement(run, saboteur, say: say).report()
    }

    private func prepare(_ run: AttackRun, _ random: inout SplitMix64) async throws {
        let (suite, client) = (run.suite, run.client)
        try await run.provider.register(suite, client)
        let transfer = suite.replicas(of: .transfer)[0].directAddress
        let bytes = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        try await client.require(Call(.PUT, "/content/\(HonestDevice.content)", body: bytes), to: transfer)
        for number in 0..<options.devices {
            run.devices.append(try await HonestDevice.make(number, suite, client))
        }
        let honest = HonestClient(suite: suite, client: client, ledger: run.ledger)
        run.broadcasters.append(
            try await Broadcaster(honest, run.provider, run.devices, pause: .seconds(4), seed: random.next()))
        run.orders = run.devices.prefix(4).map { OrdersReader($0, suite, client) }
        for service in AttackedService.allCases where options.hostilePerSecond > 0 {
            let seed = random.next()
            run.hostile.append(
                try await HostileClient(
                    suite, client, run.hostileBook, service, run.targets, run.provider,
                    pause: .seconds(AttackedService.allCases.count) / options.hostilePerSecond, seed: seed))
        }
    }

    /// Runs all clients and faults at once until the end of the attack, and then finishes the work under way.
    private func load(
        _ run: AttackRun, _ saboteur: Saboteur, _ random: inout SplitMix64, begin: ContinuousClock.Instant,
        while goesOn: @escaping @Sendable () -> Bool
    ) async {
        let honest = HonestClient(suite: run.suite, client: run.client, ledger: run.ledger)
        let workers = run.devices.count * AttackedService.writers.count
        let pause = Duration.seconds(workers) / max(1, options.commandsPerSecond)
        var seeds = (0..<workers).map { _ in random.next() }
        let (faultSeed, uploadSeed) = (random.next(), random.next())
        let isOver = Flag()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in await progress(run, saboteur, begin) { !isOver.isRaised } }
            await withDiscardingTaskGroup { group in
                for device in run.devices {
                    for service in AttackedService.writers {
                        let made = HonestWorker(
                            honest, run.provider, device, service, pause: pause, seed: seeds.removeLast())
                        group.addTask {
                            var worker = made
                            await worker.run(while: goesOn)
                        }
                    }
                }
                for number in 0..<2 {
                    let made = Uploader(
                        run.suite, run.client, run.uploads, name: "\(number)", pause: .milliseconds(700),
                        seed: uploadSeed &+ UInt64(number))
                    group.addTask {
                        var uploader = made
                        await uploader.run(while: goesOn)
                    }
                }
                for made in run.hostile {
                    group.addTask {
                        var client = made
                        await client.run(while: goesOn)
                    }
                }
                if !run.hostile.isEmpty {
                    group.addTask { await run.targets.keep(run.suite, run.client, while: goesOn) }
                }
                for number in 0..<(options.hostilePerSecond > 0 ? 2 : 0) {
                    let made = RawClient(
                        run.suite, run.hostileBook, pause: .seconds(10) / options.hostilePerSecond,
                        seed: uploadSeed &- UInt64(number))
                    group.addTask {
                        var client = made
                        await client.run(while: goesOn)
                    }
                }
                for made in run.broadcasters {
                    group.addTask {
                        var broadcaster = made
                        await broadcaster.run(while: goesOn)
                    }
                }
                for reader in run.orders { group.addTask { await reader.run(while: goesOn) } }
                group.addTask { await run.feed.run(partitions: 16, while: goesOn) }
                group.addTask { [self] in await watch(run.suite, saboteur, while: goesOn) }
                if let mean = options.timeBetweenFaults {
                    group.addTask { [options] in
                        await saboteur.run(seed: faultSeed, replicas: options.replicas, mean: mean, while: goesOn)
                        await saboteur.mend()
                    }
                }
            }
            isOver.raise()
        }
    }

    /// Restarts processes that have ended by themselves, so that the attack continues.
    private func watch(_ suite: AttackedSuite, _ saboteur: Saboteur, while goesOn: @Sendable () -> Bool) async {
        var told: [String: Int] = [:]
        while goesOn() {
            for replica in suite.replicas {
                let deaths = replica.deaths
                if deaths.count > told[replica.name] ?? 0, let death = deaths.last {
                    told[replica.name] = deaths.count
                    let lines = death.lines.joined(separator: "\n    ")
                    say("  \(replica.name) ended by itself: \(death.status)\n    \(lines)")
                }
                if !replica.isRunning { await saboteur.tend(replica) }
            }
            try? await Task.sleep(for: .milliseconds(300))
        }
    }

    private func progress(
        _ run: AttackRun, _ saboteur: Saboteur, _ begin: ContinuousClock.Instant, while goesOn: @Sendable () -> Bool
    ) async {
        var next = ContinuousClock.now + options.progress
        while goesOn() {
            try? await Task.sleep(for: .milliseconds(200))
            guard ContinuousClock.now >= next else { continue }
            next = .now + options.progress
            let counts = run.ledger.counts
            func count(_ outcome: Outcome) -> Int { counts[outcome] ?? 0 }
            let faults = saboteur.counts.values.reduce(0, +)
            say(
                "\(Self.seconds(since: begin)) s: \(count(.acknowledged)) acknowledged, \(count(.refused)) refused, "
                    + "\(count(.unknown)) unknown, \(count(.pending)) under way; \(run.uploads.count) uploads; "
                    + "\(run.hostileBook.count) hostile (\(run.hostileBook.faults.count) faults); \(faults) faults made"
            )
        }
    }

    private static func seconds(since begin: ContinuousClock.Instant) -> String {
        String(format: "%5.1f", begin.duration(to: .now) / .seconds(1))
    }
}

/// A flag that one task raises and all tasks see.
final class Flag: Sendable {
    private let state = Atomic(false)

    var isRaised: Bool { state.load(ordering: .relaxed) }

    func raise() { state.store(true, ordering: .relaxed) }
}

/// The shared parts of an attack.
final class AttackRun: @unchecked Sendable {
    // One task changes these while it prepares the attack; afterwards they are only read.
    var devices: [HonestDevice] = []
    var hostile: [HostileClient] = []
    var broadcasters: [Broadcaster] = []
    var orders: [OrdersReader] = []
    let feed: FeedReader
    let suite: AttackedSuite
    let client: AttackClient
    let ledger: Ledger
    let provider = Provider()
    let uploads = UploadBook()
    let hostileBook = HostileBook()
    let targets = HostileTargets()

    init(_ suite: AttackedSuite, _ client: AttackClient, _ ledger: Ledger) {
        (self.suite, self.client, self.ledger) = (suite, client, ledger)
        feed = FeedReader(suite, client)
    }
}
