import LifecycleService
import ServiceKit

await ServiceMain.run(Lifecycle.self)
