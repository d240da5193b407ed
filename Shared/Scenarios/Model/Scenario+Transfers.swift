public import Contracts

// The modelled transfers of a scenario. In a simulation and in a running suite, the same rules move the bytes.
extension Scenario {
    /// The built-in part of each device: its transfers. All else is the work of a client. Nil without transfers.
    public var builtInDevice: BuiltInDevice? {
        let plans = apps.flatMap(\.transfers)
        guard !plans.isEmpty else { return nil }
        var transfers = BuiltInTransfers()
        transfers.rates = rates.transferRates
        for failures in Set(plans.map(\.failures)).filter({ $0 != .none }).sorted(by: { $0.fraction < $1.fraction }) {
            transfers.servers.append(ModelledServer(failures: failures.fraction, url: TransferPlan.server(failures)))
        }
        return BuiltInDevice(answers: BuiltInAnswers(by: .client), online: false, transfers: transfers)
    }
}

extension TransferPlan {
    /// The name of the session in which an app starts a transfer.
    ///
    /// - Parameter number: the position of the plan in the app, from 0.
    public static func session(_ number: Int) -> String { "background-\(number)" }

    /// The request of an app's transfer.
    public func request(app: String, number: Int) -> TransferRequest {
        var request = TransferRequest(url: "\(Self.server(failures))\(app)/\(number)")
        switch kind {
        case .download: request.countOfBytesClientExpectsToReceive = size.bytes
        case .upload: request.method = "POST"
        }
        return request
    }

    /// Whether the plans of a session may use a network, for its `URLSessionConfiguration`.
    public func configuration(on profile: Profile) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.isDiscretionary = isDiscretionary
        configuration.allowsCellularAccess = allowsCellular
        if profile.has(.expensiveNetworkAccess) { configuration.allowsExpensiveNetworkAccess = allowsCellular }
        if profile.has(.lowDataMode) { configuration.allowsConstrainedNetworkAccess = allowsConstrained }
        return configuration
    }

    /// The name of the file that an app uploads.
    public static func file(_ number: Int) -> String { "upload-\(number)" }

    /// The root of the server that fails with a probability.
    fileprivate static func server(_ failures: Percent) -> String {
        failures == .none ? "https://origin.example/" : "https://fails-\(failures.basisPoints).example/"
    }
}

extension Rates {
    /// The rates of the transfers of a built-in device.
    fileprivate var transferRates: TransferRates {
        var rates = TransferRates()
        rates.edge = edge.bytesPerSecond
        rates.fifthGeneration = fifthGeneration.bytesPerSecond
        rates.lossy = lossy.bytesPerSecond
        rates.lte = lte.bytesPerSecond
        rates.thirdGeneration = thirdGeneration.bytesPerSecond
        rates.wifi = wifi.bytesPerSecond
        return rates
    }
}
