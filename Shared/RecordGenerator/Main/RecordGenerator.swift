import Foundation
import RecordGeneration

/// Generates the code that records and event families need beside their declarations.
///
/// A record gets a memberwise initializer, a placeholder and the method that visits its fields. An event family gets its
/// catalogue.
///
/// A record is declared once, as a structure with stored properties:
///
///     /// An attempt of a task was scheduled.
///     public struct AttemptScheduled: EventData {
///         public static let type = "transfer.attempt.scheduled"
///         public var epoch: Int
///         public var app: Nullable<String>
///         enum Constraints { static let epoch: Constraint<Int> = .range(0...9) }
///     }
///
/// The order of the properties is the order of the binary form. The type aliases `Nullable`, `Defaulted` and `Flattened`
/// of `Records` decide the form of a property in JSON. The generator skips a record that declares `visit` itself.
///
/// Usage: RecordGenerator SOURCE OUTPUT
@main enum RecordGenerator {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else { return fail("usage: RecordGenerator SOURCE OUTPUT") }
        let file = URL(fileURLWithPath: arguments[1]).lastPathComponent
        do throws(UnreadableDeclaration) {
            let source = (try? String(contentsOfFile: arguments[1], encoding: .utf8)) ?? ""
            let code = GeneratedCode(try DeclarationReader(source), file: file)
            let text = code?.text ?? "// \(file) declares no record.\n"
            do { try text.write(toFile: arguments[2], atomically: true, encoding: .utf8) } catch { fail("\(error)") }
        } catch {
            fail("\(arguments[1]):\(error.line):1: error: \(error.reason)")
        }
    }

    private static func fail(_ message: String) {
        FileHandle.standardError.write(Data((message + "\n").utf8))
        exit(1)
    }
}
