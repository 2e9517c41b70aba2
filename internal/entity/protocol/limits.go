package protocol

// Limits of one protocol. They are part of the API: the reference names them.
// Those of one property are in package schema.
const (
	maxProtocols   = 1000      // of a workspace
	maxVersions    = 100       // of a protocol
	maxBody        = 256 << 10 // bytes of a record
	maxProperties  = 200
	maxAllNodes    = 2000 // subschemas of all properties
	maxRoles       = 100
	maxIndexed     = 8
	maxName        = 200      // characters
	maxDescription = 4000     // characters
	maxTypes       = 50       // appliesTo
	maxTypeName    = 128      // characters
	maxExtra       = 64 << 10 // bytes of services, claimTypes, …
	maxExtraDepth  = 32
	maxAncestors   = 10
)
