"""Generated from the contract, the protobuf package outrigger.v1."""
