import OpsService
import ServiceKit

await ServiceMain.run(Ops.self)
