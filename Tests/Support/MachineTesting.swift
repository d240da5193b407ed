/// Tests that use processes and databases also use the seeds, machines and documents of the pure tests.
@_exported public import MachineTesting
