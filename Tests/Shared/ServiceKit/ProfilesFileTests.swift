import Contracts
import Foundation
import ServiceKit
import Testing
import Timeline

@Suite("The file of profiles") struct ProfilesFileTests {
    private func read(_ path: String?) throws(ConfigurationError) -> Generations {
        try ProfilesFile(SettingsReader(path.map { ["PROFILES_FILE": $0] } ?? [:])).read()
    }

    private func read(text: String) throws -> Generations {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("profiles-\(UUID().uuidString)")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        return try read(file.path)
    }

    @Test func `without a file the built-in table applies`() throws {
        #expect(try read(nil) == .standard)
    }

    @Test func `a file overrides the built-in table`() throws {
        let table = try read(text: #"{"ios15":{"limits":{"backgroundTasks":25}}}"#)
        #expect(table[.ios15][.backgroundTasks] == .seconds(25.0))
    }

    @Test func `a file names the rules that are read as in the source documents`() throws {
        let table = try read(text: #"{"readings":{"resourceTimeout":"document"}}"#)
        #expect(table[.resourceTimeout] == .document && table[.appSwitcher] == .apple)
        #expect(
            throws: ConfigurationError("PROFILES_FILE: /readings/appSwitcher: must be apple or document")
        ) { try read(text: #"{"readings":{"appSwitcher":"seed"}}"#) }
    }

    @Test func `a bad file stops the start with one line`() throws {
        #expect(throws: ConfigurationError("PROFILES_FILE: cannot read the file that it names")) {
            try read("/nonexistent")
        }
        #expect(
            throws: ConfigurationError(
                "PROFILES_FILE: /ios15/limits/launch: must be from 0.001 to 86400 seconds; "
                    + "/ios26/features/prewarming: must be true or false")
        ) {
            try read(text: #"{"ios15":{"limits":{"launch":-1}},"ios26":{"features":{"prewarming":null}}}"#)
        }
    }
}
