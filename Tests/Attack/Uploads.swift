import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport

/// The results of uploads, and their faults.
final class UploadBook: Sendable {
    struct Entry: Sendable {
        var path: String
        var sha256: [UInt8]
    }

    private struct State {
        /// The latest uploads that the service has acknowledged as complete.
        var complete: [Entry] = []
        var faults: [String] = []
        var count = 0
    }

    private let state = Mutex(State())
    private static let kept = 200

    /// The number of uploads that were acknowledged as complete.
    var count: Int { state.withLock(\.count) }
    var faults: [String] { state.withLock(\.faults) }
    var complete: [Entry] { state.withLock(\.complete) }

    func add(_ path: String, _ bytes: [UInt8]) {
        state.withLock { state in
            state.count += 1
            // Every upload of the attack has the same chance to be checked.
            let entry = Entry(path: path, sha256: Array(SHA256.hash(data: bytes)))
            if state.complete.count < Self.kept {
                state.complete.append(entry)
            } else if let place = (0..<state.count).randomElement(), place < Self.kept {
                state.complete[place] = entry
            }
        }
    }

    func add(fault: String) { state.withLock { $0.faults.append(fault) } }

    /// Reads the acknowledged uploads, and records those that differ.
    func check(_ suite: AttackedSuite, _ client: AttackClient) async {
        let address = suite.replicas(of: .transfer)[0].directAddress
        for entry in complete {
            do {
                let answer = try await client.require(Call(.GET, entry.path), to: address)
                guard Array(SHA256.hash(data: Data(answer.body.readableBytesView))) == entry.sha256 else {
                    add(fault: "the bytes of \(entry.path) differ from the acknowledged ones")
                    continue
                }
            } catch { add(fault: "\(entry.path) was acknowledged and can't be read: \(error)") }
        }
    }
}

/// Uploads one file after the other, by tus 1.0 and as contents, at any replica.
struct Uploader {
    let suite: AttackedSuite
    let client: AttackClient
    let book: UploadBook
    let name: String
    let pause: Duration
    private static let part = 32 << 10
    private var random: SplitMix64

    init(
        _ suite: AttackedSuite, _ client: AttackClient, _ book: UploadBook, name: String, pause: Duration, seed: UInt64
    ) {
        (self.suite, self.client, self.book, self.name) = (suite, client, book, name)
        (self.pause, random) = (pause, SplitMix64(seed: seed))
    }

    /// Runs until it is stopped.
    mutating func run(while goesOn: @Sendable () -> Bool) async {
        var number = 0
        while goesOn(), !Task.isCancelled {
            number += 1
            let count = Int.random(in: 1...6 * Self.part, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            if number % 2 == 0 { await tus(bytes) } else { await content(bytes, "attack/\(name)/\(number)") }
            try? await Task.sleep(for: pause)
        }
    }

    /// Uploads a content. It is harmless to send the same bytes to the same path again.
    private mutating func content(_ bytes: [UInt8], _ path: String) async {
        let call = Call(.PUT, "/content/\(path)", body: bytes)
        guard let answer = await retry({ _ in call }) else { return }
        guard answer.isSuccess else { return book.add(fault: "PUT /content: \(answer.status) \(answer.excerpt)") }
        book.add("/content/\(path)", bytes)
    }

    private mutating func tus(_ bytes: [UInt8]) async {
        let version = ("Tus-Resumable", "1.0.0")
        let create = Call(.POST, "/files", headers: [version, ("Upload-Length", "\(bytes.count)")])
        guard let created = await retry({ _ in create }), created.status == 201,
            let location = created.headers.first(name: "location"), let slash = location.range(of: "/files/")
        else { return }
        let path = String(location[slash.lowerBound...])
        var (offset, rounds) = (0, 0)
        while offset < bytes.count {
            rounds += 1
            guard rounds < 200 else { return book.add(fault: "\(path) stays at \(offset) of \(bytes.count)") }
            let part = Array(bytes[offset..<min(offset + Self.part, bytes.count)])
            let patch = Call(
                .PATCH, path, body: part,
                headers: [
                    version, ("Upload-Offset", "\(offset)"), ("content-type", "application/offset+octet-stream"),
                ])
            let head = Call(.HEAD, path, headers: [version])
            // After an attempt with an unknown outcome, the service returns the upload's offset.
            guard let answer = await retry({ $0 == 0 || $0 % 2 == 0 ? patch : head }) else { return }
            guard let next = answer.headers.first(name: "upload-offset").flatMap({ Int($0) }) else {
                // Another part is under way: a stopped process may still hold the upload.
                if [409, 423].contains(answer.status) {
                    try? await Task.sleep(for: .milliseconds(300))
                    guard !Task.isCancelled, let known = await retry({ _ in head }) else { return }
                    let place = known.headers.first(name: "upload-offset").flatMap { Int($0) } ?? -1
                    if place < offset { return book.add(fault: "\(path) went back from \(offset) to \(place)") }
                    offset = place
                    continue
                }
                return book.add(fault: "\(path): \(answer.status) \(answer.excerpt)")
            }
            if next < offset { return book.add(fault: "\(path) went back from \(offset) to \(next)") }
            offset = next
        }
        book.add(path, bytes)
    }

    /// Repeats a call until it has a final answer; nil after a minute.
    private mutating func retry(_ call: (_ attempt: Int) -> Call) async -> Answer? {
        let replicas = suite.replicas(of: .transfer)
        let deadline = ContinuousClock.now + .seconds(60)
        var attempt = 0
        while ContinuousClock.now < deadline, !Task.isCancelled {
            let replica = replicas[Int.random(in: 0..<replicas.count, using: &random)]
            if let answer = try? await client.send(call(attempt), to: replica.address, within: 6),
                answer.status < 500, answer.status != 429
            {
                return answer
            }
            attempt += 1
            try? await Task.sleep(for: .milliseconds(200))
        }
        return nil
    }
}
