public import Contracts
public import Timeline

// What the code of apps sends, in a simulation and in a running suite.

extension ScenarioApp {
    /// The request of a continued processing task.
    ///
    /// - Parameter number: the number of the task on its device, from 1.
    public func continuedTaskRequest(_ number: Int, _ plan: ContinuedProcessingPlan) -> BackgroundTaskRequest {
        var request = BackgroundTaskRequest(continuedProcessingPrefix + String(number), .continuedProcessing)
        request.title = "Export"
        request.subtitle = "Number \(number)"
        request.strategy = plan.strategy
        return request
    }
}

extension ContinuedProcessingPlan {
    /// Returns the times after its launch at which a task has done one of its equal parts.
    public func ends(_ random: inout SeededRandom) -> [Interval] {
        let takes = max(.seconds(1), takes.drawn(&random)).milliseconds
        let parts = (takes - 1) / DeviceTimes.progress.milliseconds + 1
        return (1...parts).map { .milliseconds(takes * $0 / parts) }
    }
}

extension HandlerResult {
    /// The call of the completion handler of a wake.
    public func completion(of reason: WakeReason) -> WakeCompletion {
        var completion = WakeCompletion()
        // An app that fails leaves its channel.
        completion.pushResult = self == .failed ? .leaveChannel : .activeRemoteParticipant
        switch reason {
        case .fetch, .push: completion.result = result
        case .task: completion.success = self != .failed
        case .transfer, .location, .voip, .bluetooth, .health, .notificationResponse: break
        }
        return completion
    }
}

extension NetworkText {
    /// The report of a device about its network.
    public func report(on profile: Profile) -> NetworkReport {
        var report = NetworkReport(kind: network.kind)
        report.expensive = isExpensive
        report.constrained = isConstrained && profile.has(.lowDataMode)
        report.shape = network.shape
        return report
    }
}
