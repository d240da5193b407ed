// Machines
