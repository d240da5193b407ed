import Foundation
import RandomScenarios

// Plays a random life of a machine and writes all its results, for tests that compare processes.
//
//     playscenario <lifecycle|fetch|push|transfer> <seed> <inputs>
//
// Standard error has the order in which this process iterates a set, because Swift seeds its hashing newly in each
// process.

let arguments = CommandLine.arguments
guard arguments.count == 4, let machine = LivingMachine(rawValue: arguments[1]), let seed = UInt64(arguments[2]),
    let inputs = Int(arguments[3])
else {
    print("usage: playscenario <\(LivingMachine.allCases.map(\.rawValue).joined(separator: "|"))> <seed> <inputs>")
    exit(64)
}
FileHandle.standardError.write(Data("order \(Array(Set(0..<100)))\n".utf8))
try machine.play(seed: seed, inputs: inputs) { print($0) }
