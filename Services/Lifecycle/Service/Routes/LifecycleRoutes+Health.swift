import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleCore
import Machines
import Records
import ServiceKit

// HealthKit: background deliveries, and new samples.
extension LifecycleRoutes {
    func addHealth(_ table: inout RouteTable) {
        let device = "/v1/devices/{device}"
        let delivery = device + "/apps/{app}/health-deliveries/{type}"
        table.add(
            .put, delivery, "Enables the background delivery of HealthKit samples of a type", body: HealthDelivery.self,
            .refuses(.ofCode(.unsupported(.healthDelivery, on: .ios7), .tooManyHealthTypes))
        ) { delivery, call in
            try await app(
                after: .enableHealthDelivery(app: call.app, sampleType: call.identifier("type"), delivery), call)
        }
        table.add(.delete, delivery, "Disables a background delivery of HealthKit", .refuses(.ofCode())) { call in
            let type = try call.identifier("type")
            return try await commands.submit(.disableHealthDelivery(app: call.app, sampleType: type), call)
        }
        table.add(
            .post, device + "/health-samples", "Reports a new sample in the HealthKit store, which may wake apps",
            body: HealthSample.self, .refuses(.ofDevice(.deviceOff, .unsupported(.healthDelivery, on: .ios7)))
        ) { sample, call in
            try await self.device(after: .saveHealthSample(sampleType: sample.sampleType), call)
        }
    }
}
