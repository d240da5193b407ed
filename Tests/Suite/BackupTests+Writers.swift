import NIOHTTP1
import Records
import TestSupport
import Testing

/// Writers during a backup.
extension BackupTests {
    /// Registers devices and changes content while `body` runs.
    ///
    /// - Returns: the result, and the number of files that were written. Each third one was deleted.
    func writing<T: Sendable>(
        _ installation: Installation, _ body: @Sendable @escaping () async throws -> T
    ) async throws -> (result: T, files: Int) {
        let isOver = Signal<Void>()
        let written = Tally()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !isOver.hasFired {
                    let number = written.count
                    let put = try await installation.call(
                        .PUT, .transfer, "/content/\(number)", Self.document(number))
                    #expect(put.status == 201)
                    if number % 3 == 0 {
                        #expect(try await installation.call(.DELETE, .transfer, "/content/\(number)").status == 204)
                    }
                    let device = try await installation.call(
                        .PUT, .lifecycle, "/v1/devices/writer-\(number)", ["profile": "ios18"])
                    #expect(device.status == 201)
                    written.add()
                }
            }
            try await written.reaches(3)
            let result = try await body()
            isOver.fire(())
            try await group.waitForAll()
            return (result, written.count)
        }
    }

    private static func document(_ number: Int) -> JSON { ["number": .int(number)] }

    /// Expects that each file of the restored database has its bytes, and that the log is sound.
    func expectWhole(_ installation: Installation, _ files: Int) async throws {
        var found = 0
        for number in 0..<files {
            let answer = try await installation.call(.GET, .transfer, "/content/\(number)")
            #expect([200, 404].contains(answer.status), "\(number): \(answer)")
            guard answer.status == 200 else { continue }
            found += 1
            #expect(answer.json == Self.document(number))
        }
        #expect(found > 0)
        let check = try await installation.call(.GET, .ops, "/v1/log/check?folds=100").json
        #expect(check["dense"]?.bool == true && check["sound"]?.bool == true, "\(check)")
    }
}
