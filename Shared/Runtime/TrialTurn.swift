/// Lets one trial run at a time in a process, so that when an input ends the process no innocent one is under note.
actor TrialTurn {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Waits for the turn. Whoever takes it passes it on.
    func take() async {
        guard isTaken else { return isTaken = true }
        await withCheckedContinuation { waiting.append($0) }
    }

    func pass() {
        guard !waiting.isEmpty else { return isTaken = false }
        waiting.removeFirst().resume()
    }
}
