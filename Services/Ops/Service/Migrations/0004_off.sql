-- The devices that are turned off are counted when it is asked for: there are few.
CREATE INDEX known_devices_off ON ops.known_devices (partition) WHERE NOT powered;
